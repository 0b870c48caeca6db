// SPDX-License-Identifier: BSD-3-Clause
// Workload: a bank over all shards, after SmallBank. Money moves between accounts, of one shard or of two, and is never
// made or lost: every audit (which reads all of them) and the end see the same sum.
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
  static constexpr uint32_t kAccountsPerPlace = 4;
  static constexpr int64_t kOpening = 100;

  uint32_t accounts() const { return routing_.places() * kAccountsPerPlace; }
  Place place_of(uint32_t index) const { return routing_.place(index / kAccountsPerPlace); }
  uint64_t account(uint32_t index) const { return routing_.key_at(place_of(index), index % kAccountsPerPlace); }
  // As operations, and as values in the answer.
  bool fits_one_transaction() const { return routing_.places() <= limits::kParticipantsMax && accounts() <= 50; }

  Context& context_;
  const Routing& routing_;
};

}  // namespace txnic::sim
