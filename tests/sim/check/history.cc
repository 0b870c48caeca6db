// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/history.h"

#include <cassert>

namespace txnic::check {

size_t History::invoke(int64_t process, std::vector<MicroOp> micro_ops, int64_t time_ns) {
  Operation operation;
  operation.process = process;
  operation.invoked = next_position++;
  operation.invoked_ns = time_ns;
  operation.micro_ops = std::move(micro_ops);
  operations.push_back(std::move(operation));
  return operations.size() - 1;
}

void History::complete(size_t operation, Outcome outcome, int64_t time_ns) {
  assert(operation < operations.size() && operations[operation].completed == kNever);
  operations[operation].completed = next_position++;
  operations[operation].completed_ns = time_ns;
  operations[operation].outcome = outcome;
}

std::string edn_list(const std::vector<Value>& list, size_t list_elements_max) {
  std::string text = "[";
  const size_t half = list_elements_max / 2;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += ' ';
    if (list.size() > list_elements_max && i == half) {
      i = list.size() - half;
      text += "… ";
    }
    text += std::to_string(list[i]);
  }
  text += ']';
  if (list.size() > list_elements_max) text += std::string(" (") + std::to_string(list.size()) + " elements)";
  return text;
}

std::string edn_micro_ops(const Operation& operation, bool with_lists, size_t list_elements_max) {
  std::string text = "[";
  for (const MicroOp& micro : operation.micro_ops) {
    if (text.size() > 1) text += ' ';
    if (micro.kind == MicroOp::Kind::kAppend) {
      text += std::string("[:append ") + std::to_string(micro.key) + ' ' + std::to_string(micro.value) + ']';
    } else {
      text += std::string("[:r ") + std::to_string(micro.key) + ' ';
      text += (with_lists ? edn_list(micro.list, list_elements_max) : "nil") + ']';
    }
  }
  return text + ']';
}

}  // namespace txnic::check
