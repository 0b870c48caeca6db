// SPDX-License-Identifier: BSD-3-Clause
// Retwis, the Twitter clone's transactions as TAPIR (Zhang et al., SOSP 2015) runs them: 64-byte objects, Zipf keys.
//
//   AddUser            5 %  1 get, 3 puts
//   Follow/Unfollow   15 %  2 gets, 2 puts
//   PostTweet         30 %  3 gets, 5 puts
//   GetTimeline       50 %  1 to 10 gets, evenly
//
// The keys of a transaction are distinct, sorted, and of one shard. What is read and written is the same keys' first
// part; a transaction that writes reads first and then commits with validation of all that it read.
#pragma once

#include <array>

#include "pktgen/workload/micro.h"
#include "pktgen/workload/zipf.h"

namespace txnic::pktgen {

class Retwis final : public MicroWorkload {
 public:
  enum Kind : uint8_t { kAddUser, kFollow, kPostTweet, kGetTimeline };
  static constexpr uint32_t kKinds = 4;
  static constexpr uint32_t kMixPercent[kKinds] = {5, 15, 30, 50};
  static constexpr uint32_t kGets[kKinds] = {1, 2, 3, 0};  // timeline: drawn
  static constexpr uint32_t kPuts[kKinds] = {3, 2, 5, 0};
  static constexpr uint32_t kTimelineMax = 10;
  static constexpr uint32_t kValueBytes = 64;
  static constexpr double kThetaDefault = 0.5;

  explicit Retwis(const WorkloadSettings& settings) : MicroWorkload(settings) {}
  const char* name() const override { return "retwis"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;

 private:
  enum class Step : uint8_t { kDraw, kReading, kCommitting };
  struct FlowState {
    Step step = Step::kDraw;
    Kind kind = kGetTimeline;
    uint32_t gets = 0, keys = 0;
    std::array<uint64_t, kTimelineMax> records{};
    std::array<Version, kTimelineMax> versions{};
    std::array<bool, kTimelineMax> present{};
  };
  void draw(uint32_t flow);
  void fill_commit(const FlowState& state, wire::ExecuteBuilder& request);

  Zipf zipf_;
  Scramble scramble_;
  std::vector<FlowState> flows_;
};

}  // namespace txnic::pktgen
