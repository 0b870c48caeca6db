// SPDX-License-Identifier: BSD-3-Clause
// How operations are spoken of in messages.
#pragma once

#include <string>

#include "tests/sim/check/history.h"

namespace txnic::check::words {

inline constexpr size_t kListElementsMax = 12;  // longer lists are shortened in the middle

inline std::string list(const std::vector<Value>& values) { return edn_list(values, kListElementsMax); }

inline std::string line(const std::string& text) { return "  " + text + '\n'; }

// "40..52"; "40.." without an answer.
inline std::string index(const History& history, size_t operation) {
  const Operation& op = history.operations[operation];
  return std::to_string(op.invoked) + ".." + (op.completed == kNever ? "" : std::to_string(op.completed));
}

// "T17 (process 3, index 40..52)". The number is the transaction's place among all invocations.
inline std::string label(const History& history, size_t operation) {
  return std::string("T") + std::to_string(operation) + " (process " +
         std::to_string(history.operations[operation].process) + ", index " + index(history, operation) + ")";
}

}  // namespace txnic::check::words
