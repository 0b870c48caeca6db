// SPDX-License-Identifier: BSD-3-Clause
// The engine's statistics of a whole node: the sum of its workers, as a table for people and JSON for scripts.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "host/back/link_server.h"
#include "host/log/keeper.h"
#include "offload/front.h"
#include "offload/link/nic_back.h"

namespace txnic::apps {

// A transaction that is prepared here and waits for others.
struct InDoubt {
  TransactionId id;
  ShardId shard = 0;  // ours
  TimeNs age_ns = 0;
  std::vector<ShardId> waits_for;  // of the coordinator: whose votes are missing; of a participant: the coordinator
};
inline constexpr size_t kInDoubtShown = 20;          // the oldest
inline constexpr TimeNs kInDoubtAfterNs = 1'000'000'000;  // what is younger is on its way

// Placement NIC, the front's side: cache and its end of the link.
struct NicStatistics {
  uint64_t fronts = 0;       // that have served, one after the other
  uint64_t serving_now = 0;  // workers whose front serves
  offload::NicBackCounters cache;
  link::FrontEndCounters link;
  link::ChannelCounters frames;
};

// Placement NIC, the back's side.
struct LinkServerStatistics {
  back::LinkServerCounters server;
  link::BackEndCounters link;
  link::ChannelCounters frames;
  uint64_t deaths = 0;  // fronts whose lease ended without a word
};

struct EngineStatistics {
  offload::FrontCounters front;  // summed over the workers
  uint64_t held_now = 0;
  commit::MachineCounters commit;  // transactions over several shards
  uint64_t transactions_now = 0, locks_now = 0;  // of them: not over, and held
  std::vector<InDoubt> in_doubt;
  uint64_t sessions = 0;
  bool has_store = true;
  storage::ShardStatistics store;
  std::vector<std::pair<std::string, uint64_t>> table_records;  // by table name
  bool has_log = false;
  log::WorkerLogStatistics log;
  log::KeeperStatistics keeper;
  std::optional<NicStatistics> nic;
  std::optional<LinkServerStatistics> link_server;
};

void add(const offload::FrontCounters& from, offload::FrontCounters* to);
void add_in_doubt(const commit::Machine& machine, TimeNs now, std::vector<InDoubt>* to);
void add(const commit::MachineCounters& from, commit::MachineCounters* to);
void add(const storage::ShardStatistics& from, storage::ShardStatistics* to);
void add(const log::WorkerLogStatistics& from, log::WorkerLogStatistics* to);

// For structs of nothing but counts.
template <class Counters>
void add_counters(const Counters& from, Counters* to) {
  static_assert(std::is_trivially_copyable_v<Counters> && sizeof(Counters) % sizeof(uint64_t) == 0);
  using Words = std::array<uint64_t, sizeof(Counters) / sizeof(uint64_t)>;
  const auto add = std::bit_cast<Words>(from);
  auto sum = std::bit_cast<Words>(*to);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += add[i];
  *to = std::bit_cast<Counters>(sum);
}

// What one worker's front holds at this moment.
template <class Front>
void add_held(const Front& front, TimeNs now, EngineStatistics* sum) {
  sum->held_now += front.held();
  sum->transactions_now += front.machine().size();
  sum->locks_now += front.machine().locks().size();
  if (front.machine().size() != 0) add_in_doubt(front.machine(), now, &sum->in_doubt);
}

std::string to_text(const EngineStatistics& statistics);
// A JSON object, without a line end.
std::string to_json(const EngineStatistics& statistics);

}  // namespace txnic::apps
