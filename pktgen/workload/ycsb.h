// SPDX-License-Identifier: BSD-3-Clause
// YCSB A, B, C and F (Cooper et al., 2010), plain (one operation a transaction) and in the transactional form (K
// distinct records a transaction, each operation drawn from the mix): of one shard, but in `remote_percent` of the
// transactions of any shards, as Zipf draws them.
//
// A read is a GET, an update a PUT of the whole value, both in one one-shot transaction. Where a read-modify-write is
// drawn (F), the transaction is interactive: it reads all its records first and then commits with validation.
#pragma once

#include "pktgen/workload/micro.h"
#include "pktgen/workload/zipf.h"

namespace txnic::pktgen {

struct YcsbMix {
  const char* name;
  uint32_t read_percent;
  uint32_t update_percent;  // the rest: read-modify-write
};

class Ycsb final : public MicroWorkload {
 public:
  Ycsb(const WorkloadSettings& settings, const YcsbMix& mix)
      : MicroWorkload(settings), mix_(mix), count_(std::max(1u, settings.operations)) {}
  const char* name() const override { return mix_.name; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;

  // The mixes by letter; null if there is none.
  static const YcsbMix* find(char letter);

 private:
  enum class Action : uint8_t { kRead, kUpdate, kModify };
  enum class Step : uint8_t { kDraw, kOneShot, kReading, kCommitting };
  static constexpr uint8_t kReads = 0, kUpdates = 1, kModifies = 2;  // kinds()
  struct FlowState {
    Step step = Step::kDraw;
    uint8_t kind = kReads;
    ShardId shard = 0;  // or kSeveralShards
    struct Row {
      uint64_t record;
      Version version;
      Action action;
      bool present;
    } rows[kOperationsPerTransactionMax];
  };
  void draw(uint32_t flow);
  Action draw_action(Random& random) const;
  bool inspect_reads(FlowState& state, const Reply& reply);
  void fill_one_shot(FlowState& state, wire::ExecuteBuilder& request);
  void fill_commit(FlowState& state, wire::ExecuteBuilder& request);

  const YcsbMix mix_;
  const uint32_t count_;
  Zipf zipf_;
  Scramble scramble_;
  std::vector<FlowState> flows_;
};

}  // namespace txnic::pktgen
