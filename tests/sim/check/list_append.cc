// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/list_append.h"

#include <string>
#include <vector>

#include "tests/sim/check/cycles.h"
#include "tests/sim/check/dependencies.h"
#include "tests/sim/check/observations.h"
#include "tests/sim/check/words.h"

namespace txnic::check {
namespace {

// In two steps: g++ 12 warns of an overlap (its bug 105651) where "T" + std::to_string() is inlined.
std::string name(uint32_t operation) {
  std::string text = "T";
  text += std::to_string(operation);
  return text;
}

// Why the first transaction of an edge comes before the second one.
std::string reason(const History& history, const Edge& edge) {
  const std::string from = name(edge.from);
  const std::string to = name(edge.to);
  const std::string key = std::string("key ") + std::to_string(edge.key);
  const std::string after = std::to_string(edge.after);
  const auto base = [&] {
    return words::list(
        std::vector<Value>(edge.list->begin(), edge.list->begin() + static_cast<std::ptrdiff_t>(edge.list_length)));
  };
  switch (edge.kind) {
    case EdgeKind::kWw:
      if (!edge.is_unseen) return to + " appended " + after + " to " + key + " next after " + from;
      return to + " appended " + after + " to " + key + ", acknowledged and behind the longest read, which ends with " +
             from + "'s append";
    case EdgeKind::kWr:
      return to + " read " + key + " as " + base() + ", where " + after + " is " + from + "'s";
    case EdgeKind::kRw:
      return from + " read " + key + " as " + base() + ", without " + after + ", which " + to + " appended";
    case EdgeKind::kProcess:
      return std::string("process ") + std::to_string(history.operations[edge.from].process) + " did " + from +
             ", then " + to;
    case EdgeKind::kRealtime:
      return from + " completed at index " + std::to_string(history.operations[edge.from].completed) + ", before " +
             to + " was invoked at index " + std::to_string(history.operations[edge.to].invoked);
    case EdgeKind::kPass:
      break;
  }
  return "";
}

const char* kind_name(EdgeKind kind) {
  constexpr const char* kNames[] = {"ww", "wr", "rw", "process", "realtime", ""};
  return kNames[static_cast<size_t>(kind)];
}

std::string cycle_text(const History& history, const Cycle& cycle) {
  std::string text = words::line(std::string("a cycle of ") + std::to_string(cycle.edges.size()) + " transactions:");
  for (const Edge& edge : cycle.edges) {
    const Operation& operation = history.operations[edge.from];
    const bool is_ok = operation.outcome == Outcome::kOk;
    text += words::line(std::string("  ") + words::label(history, edge.from) + (is_ok ? " ok " : " unknown ") +
                        edn_micro_ops(operation, is_ok, words::kListElementsMax));
  }
  for (const Edge& edge : cycle.edges) {
    text += words::line(name(edge.from) + " < " + name(edge.to) + " (" + kind_name(edge.kind) +
                        "): " + reason(history, edge));
  }
  return text;
}

}  // namespace

Verdict check_list_append(const History& history) {
  Verdict verdict;
  if (history.operations.empty()) {
    verdict.unusable = "no transaction in it";
    return verdict;
  }
  const Observations observations = observe(history, verdict);
  if (!verdict.unusable.empty()) return verdict;
  const Graph graph = build_graph(history, observations);
  for (const Cycle& cycle : find_cycles(graph, history)) {
    std::vector<size_t> operations;
    for (const Edge& edge : cycle.edges) operations.push_back(edge.from);
    verdict.add(cycle.name.c_str(), operations, [&] { return cycle_text(history, cycle); });
    verdict.counts[cycle.name] = cycle.components;
  }
  return verdict;
}

}  // namespace txnic::check
