// SPDX-License-Identifier: BSD-3-Clause
// Workload: counters. Exactly once: a counter ends at the number of acknowledged increments, or within the unknown ones
// above it. On the way: sums never repeat, and nobody sees less than what somebody else has been told before.
#pragma once

#include <set>

#include "tests/sim/task.h"

namespace txnic::sim {

class Counters final : public Workload {
 public:
  Counters(Context* context, const Routing* routing);
  std::vector<std::unique_ptr<Task>> setup() override;
  std::unique_ptr<Task> begin(uint64_t process) override;
  std::vector<std::unique_ptr<Task>> closing() override { return {}; }
  void check(const FinalState& state) override;

 private:
  class Use;
  struct Counter {
    uint64_t key = 0;
    Place place;
    int64_t acknowledged = 0;
    int64_t unknown = 0;
    int64_t told = 0;  // the largest value that anybody has been told
    std::set<int64_t> sums;
  };
  static constexpr uint32_t kPerPlace = 2;

  Context& context_;
  const Routing& routing_;
  std::vector<Counter> counters_;  // kPerPlace of each place, by place number
};

}  // namespace txnic::sim
