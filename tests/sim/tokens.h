// SPDX-License-Identifier: BSD-3-Clause
// Workload: a few tokens, each in one of two keys of two shards. A move deletes it here and inserts it there; a look
// reads one key after the other and then checks both, and must see it in exactly one of them. Keys are absent, present
// and absent again all the time: "still absent" is not enough (DESIGN 4.4, trap 2).
#pragma once

#include "tests/sim/task.h"

namespace txnic::sim {

class Tokens final : public Workload {
 public:
  Tokens(Context* context, const Routing* routing) : context_(*context), routing_(*routing) {}
  std::vector<std::unique_ptr<Task>> setup() override;
  std::unique_ptr<Task> begin(uint64_t process) override;
  std::vector<std::unique_ptr<Task>> closing() override { return {}; }
  void check(const FinalState& state) override;

 private:
  class Moves;
  class Looks;
  static constexpr uint32_t kTokenCount = 2;
  static constexpr uint32_t kMovesMost = 24, kLooksMost = 8;  // of one task, one after the other

  Place place_of(uint32_t token, uint32_t side) const {
    return routing_.place((token * 2 + side) % routing_.places());  // of two nodes
  }
  uint64_t key_of(uint32_t token, uint32_t side) const {
    return routing_.key_at(place_of(token, side), token * 2 + side);
  }

  Context& context_;
  const Routing& routing_;
};

}  // namespace txnic::sim
