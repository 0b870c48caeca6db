// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/brute_force.h"

#include <map>
#include <vector>

namespace txnic::check {
namespace {

using State = std::map<Key, std::vector<Value>>;

// Executes on `state`; false if an acknowledged read returned something else.
bool execute(const Operation& operation, State& state) {
  for (const MicroOp& micro : operation.micro_ops) {
    if (micro.kind == MicroOp::Kind::kAppend) {
      state[micro.key].push_back(micro.value);
    } else if (operation.outcome == Outcome::kOk && state[micro.key] != micro.list) {
      return false;
    }
  }
  return true;
}

// Extends an order of transactions by each one that real time allows next.
bool extend(const History& history, std::vector<bool>& done, const State& state) {
  bool is_complete = true;
  for (size_t i = 0; i < done.size(); ++i) {
    is_complete &= done[i] || history.operations[i].outcome != Outcome::kOk;
  }
  if (is_complete) return true;
  for (size_t i = 0; i < done.size(); ++i) {
    if (done[i] || history.operations[i].outcome == Outcome::kFail) continue;
    bool must_wait = false;
    for (size_t k = 0; k < done.size(); ++k) {
      must_wait |= !done[k] && history.operations[k].outcome == Outcome::kOk &&
                   history.operations[k].completed < history.operations[i].invoked;
    }
    if (must_wait) continue;
    State next = state;
    if (!execute(history.operations[i], next)) continue;
    done[i] = true;
    if (extend(history, done, next)) return true;
    done[i] = false;
  }
  return false;
}

}  // namespace

bool is_strictly_serializable_by_force(const History& history) {
  std::vector<bool> done(history.operations.size(), false);
  return extend(history, done, {});
}

}  // namespace txnic::check
