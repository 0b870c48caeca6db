// SPDX-License-Identifier: BSD-3-Clause
// Loading TATP: all rows of a subscriber in one transaction. Tables that hold rows of an earlier run keep those that
// a subscriber does not begin with.
#pragma once

#include <vector>

#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class TatpLoad final : public Workload {
 public:
  TatpLoad(uint64_t subscribers, TableId first_table) : subscribers_(subscribers), first_table_(first_table) {}
  const char* name() const override { return "load"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  uint64_t units_total() const override { return subscribers_; }
  uint64_t units_done() const override { return done_; }

 private:
  static constexpr uint64_t kNone = ~0ull;
  const uint64_t subscribers_;
  const TableId first_table_;
  uint64_t next_ = 0;
  uint64_t done_ = 0;
  uint32_t shards_ = 1;
  // By flow. Over several shards a subscriber takes two transactions: all its rows could be of more shards than one
  // transaction may have.
  struct FlowState {
    uint64_t subscriber = kNone;  // kNone: the next one
    bool has_first_half = false;
  };
  std::vector<FlowState> flows_;
};

}  // namespace txnic::pktgen
