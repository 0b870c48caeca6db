// SPDX-License-Identifier: BSD-3-Clause
// counter: exactly-once. Every client adds 1 to its own counter and to a shared one, in one transaction, N times; at
// the end all counters are exact. Each shard has a shared counter, because a transaction stays within one shard; a
// client belongs to the shard of its own counter. A flow is a client.
#pragma once

#include <vector>

#include "pktgen/workload/key_space.h"
#include "pktgen/workload/ledger.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class Counter final : public Workload {
 public:
  // Keys far from the records of the other workloads: shared counters first, then the clients'.
  static constexpr uint64_t kSharedBase = 1ull << 40;
  static constexpr uint64_t kOwnBase = kSharedBase + (1ull << 20);

  explicit Counter(const WorkloadSettings& settings) : settings_(settings) {}
  const char* name() const override { return "counter"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  std::unique_ptr<Workload> loader() override;
  std::unique_ptr<Workload> survey(Survey when) override;
  Check check() const override;
  bool write_ledger(LedgerRecord* record) const override;
  std::string adopt(const LedgerRecord& record) override;
  uint64_t units_total() const override { return settings_.adds * clients_; }
  uint64_t units_done() const override { return acknowledged_; }

  // All counters: the shared ones by shard, then the clients'.
  const std::vector<CounterEntry>& entries() const { return entries_; }

 private:
  // With several generators at once the shared counters belong to the one whose first client is 0: it loads them, and
  // only all ledgers together can judge them.
  size_t first_of_ours() const { return settings_.first_client == 0 ? 0 : shards_; }
  void book(uint32_t flow, const Reply& reply);

  const WorkloadSettings settings_;
  uint32_t shards_ = 1;
  uint32_t clients_ = 0;
  std::vector<CounterEntry> entries_;
  std::vector<int64_t> actual_;     // by entry, from the survey
  std::vector<bool> is_present_;
  uint64_t acknowledged_ = 0;
  uint64_t wrong_sums_ = 0;         // replies whose sum was not the client's own count
  bool has_books_ = false;
  bool is_surveyed_ = false;
  bool has_adopted_ = false;
};

}  // namespace txnic::pktgen
