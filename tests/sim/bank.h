// SPDX-License-Identifier: BSD-3-Clause
// Workload: a bank in every shard, after SmallBank. Money moves between accounts and is never made or lost: every audit
// (one transaction that reads all of them) and the end see the same sum.
#pragma once

#include "tests/sim/task.h"

namespace txnic::sim {

class Bank final : public Workload {
 public:
  Bank(Context* context, const Routing* routing) : context_(*context), routing_(*routing) {}
  std::vector<std::unique_ptr<Task>> setup() override;
  std::unique_ptr<Task> begin(uint64_t process) override;
  std::vector<std::unique_ptr<Task>> closing() override { return {}; }
  void check(const FinalState& state) override;

 private:
  class Transfer;
  class Audit;
  static constexpr uint32_t kAccountsPerPlace = 6;
  static constexpr int64_t kOpening = 100;

  uint64_t account(Place place, uint32_t index) const { return routing_.key_at(place, index); }

  Context& context_;
  const Routing& routing_;
};

}  // namespace txnic::sim
