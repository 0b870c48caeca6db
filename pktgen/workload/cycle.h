// SPDX-License-Identifier: BSD-3-Clause
// cycle (FoundationDB's): keys form a ring, each value names the next key. A transaction follows it over three keys,
// reading one after the other, and lets the second and the third change places, validated at commit and over as many
// shards as they are of. A lost, doubled or half applied transaction tears the ring: at the end it is walked.
#pragma once

#include <array>
#include <vector>

#include "pktgen/workload/key_space.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class Cycle final : public Workload {
 public:
  explicit Cycle(const WorkloadSettings& settings) : settings_(settings) {}
  const char* name() const override { return "cycle"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  std::unique_ptr<Workload> loader() override;
  std::unique_ptr<Workload> survey(Survey when) override;
  Check check() const override;

 private:
  static constexpr uint32_t kNeighbours = 3;

  struct FlowState {
    uint32_t read = 0;  // keys read; kNeighbours: to be written
    bool is_drawn = false;
    std::array<uint64_t, kNeighbours + 1> keys;  // those read, and the one that the last of them names
    std::array<Version, kNeighbours> versions;
  };

  const WorkloadSettings settings_;
  KeySpace keys_;
  std::vector<FlowState> flows_;
  std::vector<Random> random_;   // by flow
  std::vector<uint64_t> next_;   // by key, from the survey; out of the ring: absent
  uint64_t moved_ = 0;           // transactions that were acknowledged
  bool is_surveyed_ = false;
};

}  // namespace txnic::pktgen
