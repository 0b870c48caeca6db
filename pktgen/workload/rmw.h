// SPDX-License-Identifier: BSD-3-Clause
// rmwK: K distinct uniform keys, each validated against the version known from earlier replies and rewritten.
//
// Of one shard, but in `remote_percent` of the transactions, where they are of at least two.
//
// The client keeps a table of versions: loading fills it, and every commit renews it. What it does not know (a run
// without loading, a conflict, an unknown outcome) it reads first, in a request of its own.
#pragma once

#include "pktgen/workload/micro.h"

namespace txnic::pktgen {

class Rmw final : public MicroWorkload {
 public:
  Rmw(const WorkloadSettings& settings, uint32_t count) : MicroWorkload(settings), count_(count) {}
  const char* name() const override { return "rmw"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  std::unique_ptr<Workload> loader() override { return load_into(&versions_); }

  Version version(uint64_t record) const { return versions_[record]; }

 private:
  static constexpr uint8_t kKnown = 0, kReread = 1;  // kinds()
  struct FlowState {
    uint8_t kind = kKnown;
    bool is_reading = false;    // the request in flight is the GETs
    bool is_drawn = false;      // the records of the next transaction are drawn
    ShardId shard = 0;          // or kSeveralShards
    uint64_t absent = 0;        // bit i: record i was absent when read
    struct Row {
      uint64_t record;
      Version version;
    } rows[kOperationsPerTransactionMax];
  };
  void draw(uint32_t flow);
  bool know_all(FlowState& state) const;
  Progress settled_read(FlowState& state, const Reply& reply);

  const uint32_t count_;
  std::vector<Version> versions_;  // by record; 0: unknown
  std::vector<FlowState> flows_;
};

}  // namespace txnic::pktgen
