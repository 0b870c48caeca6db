// SPDX-License-Identifier: BSD-3-Clause
// putK: K distinct uniform keys overwritten, no validation.
#pragma once

#include "pktgen/workload/micro.h"

namespace txnic::pktgen {

class Put final : public MicroWorkload {
 public:
  Put(const WorkloadSettings& settings, uint32_t count) : MicroWorkload(settings), count_(count) {}
  const char* name() const override { return "put"; }
  std::span<const char* const> kinds() const override {
    static const char* const kinds[] = {"put"};
    return kinds;
  }
  std::string prepare(const Facts& facts) override {
    const std::string problem = MicroWorkload::prepare(facts);
    return problem.empty() ? check_shards(keys_, count_, settings_.records) : problem;
  }
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override {
    uint64_t records[kOperationsPerTransactionMax];
    draw_distinct(keys_, random_[flow], records, count_);
    for (uint32_t i = 0; i < count_; ++i) request.put(settings_.table, Key(records[i]), values_.make(records[i]));
    return keys_.shard(records[0]);
  }
  Progress settled(uint32_t, const Reply& reply) override { return finished(reply, 0, true); }

 private:
  const uint32_t count_;
};

}  // namespace txnic::pktgen
