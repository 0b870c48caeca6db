// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/sim/check/edn.h"

namespace txnic::check {
namespace {

const char* type_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return ":ok";
    case Outcome::kFail:
      return ":fail";
    case Outcome::kInfo:
      break;
  }
  return ":info";
}

void write_event(std::string& out, const char* type, const Operation& operation, bool with_lists, uint64_t index,
                 int64_t time_ns) {
  out += "{:type ";
  out += type;
  out += std::string(", :process ") + std::to_string(operation.process) + ", :f :txn, :value ";
  out += edn_micro_ops(operation, with_lists);
  out += std::string(", :index ") + std::to_string(index);
  if (time_ns != kNoTime) out += std::string(", :time ") + std::to_string(time_ns);
  out += "}\n";
}

}  // namespace

std::string write_edn(const History& history) {
  std::vector<std::pair<uint64_t, const Operation*>> events;
  events.reserve(history.operations.size() * 2);
  for (const Operation& operation : history.operations) {
    events.emplace_back(operation.invoked, &operation);
    if (operation.completed != kNever) events.emplace_back(operation.completed, &operation);
  }
  std::sort(events.begin(), events.end());
  std::string out;
  uint64_t index = 0;
  for (const auto& [position, operation] : events) {
    if (position == operation->invoked) {
      write_event(out, ":invoke", *operation, false, index++, operation->invoked_ns);
    } else {
      const bool with_lists = operation->outcome == Outcome::kOk;
      write_event(out, type_name(operation->outcome), *operation, with_lists, index++, operation->completed_ns);
    }
  }
  return out;
}

}  // namespace txnic::check
