// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/history.h"

#include <cinttypes>
#include <map>

#include "tests/sim/check/list_append.h"

namespace txnic::sim {
namespace {

constexpr const char* kTypeNames[] = {":invoke", ":ok", ":fail", ":info"};

void write_operation(const MicroOperation& operation, std::FILE* to) {
  if (operation.is_append) {
    std::fprintf(to, "[:append %" PRIu64 " %" PRIu64 "]", operation.key, operation.element);
    return;
  }
  std::fprintf(to, "[:r %" PRIu64 " ", operation.key);
  if (!operation.has_list) {
    std::fputs("nil]", to);
    return;
  }
  std::fputc('[', to);
  for (size_t i = 0; i < operation.list.size(); ++i) {
    std::fprintf(to, "%s%" PRIu64, i == 0 ? "" : " ", operation.list[i]);
  }
  std::fputs("]]", to);
}

check::MicroOp micro_op(const MicroOperation& operation) {
  const auto key = static_cast<check::Key>(operation.key);
  if (operation.is_append) return check::MicroOp::append(key, static_cast<check::Value>(operation.element));
  return check::MicroOp::read(key, {operation.list.begin(), operation.list.end()});
}

}  // namespace

std::string judge(const History& history) {
  check::History judged;
  std::map<uint64_t, size_t> under_way;  // by process
  for (const HistoryEntry& entry : history) {
    std::vector<check::MicroOp> operations;
    for (const MicroOperation& operation : entry.value) operations.push_back(micro_op(operation));
    const auto at = static_cast<int64_t>(entry.at);
    if (entry.type == HistoryType::kInvoke) {
      under_way[entry.process] = judged.invoke(static_cast<int64_t>(entry.process), std::move(operations), at);
      continue;
    }
    const size_t place = under_way.at(entry.process);
    if (entry.type == HistoryType::kOk) judged.operations[place].micro_ops = std::move(operations);
    constexpr check::Outcome kOutcomes[] = {check::Outcome::kInfo, check::Outcome::kOk, check::Outcome::kFail,
                                            check::Outcome::kInfo};
    judged.complete(place, kOutcomes[static_cast<uint8_t>(entry.type)], at);
  }
  const check::Verdict verdict = check::check_list_append(judged);
  if (verdict.valid()) return {};
  return verdict.unusable.empty() ? check::summary(verdict) + "\n" + check::report(verdict) : verdict.unusable;
}

void write_edn(const History& history, std::FILE* to) {
  for (size_t index = 0; index < history.size(); ++index) {
    const HistoryEntry& entry = history[index];
    std::fprintf(to, "{:type %s, :process %" PRIu64 ", :f :txn, :value [", kTypeNames[static_cast<uint8_t>(entry.type)],
                 entry.process);
    for (size_t i = 0; i < entry.value.size(); ++i) {
      if (i != 0) std::fputc(' ', to);
      write_operation(entry.value[i], to);
    }
    std::fprintf(to, "], :time %" PRIu64 ", :index %zu}\n", entry.at, index);
  }
}

}  // namespace txnic::sim
