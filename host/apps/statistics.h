// SPDX-License-Identifier: BSD-3-Clause
// The engine's statistics of a whole node: the sum of its workers, as a table for people and JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "host/back/host_back.h"
#include "host/log/keeper.h"
#include "offload/front.h"

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

struct EngineStatistics {
  offload::FrontCounters front;  // summed over the workers
  uint64_t held_now = 0;
  commit::MachineCounters commit;  // transactions over several shards
  uint64_t transactions_now = 0, locks_now = 0;  // of them: not over, and held
  std::vector<InDoubt> in_doubt;
  uint64_t sessions = 0;
  storage::ShardStatistics store;
  std::vector<std::pair<std::string, uint64_t>> table_records;  // by table name
  bool has_log = false;
  log::WorkerLogStatistics log;
  log::KeeperStatistics keeper;
};

void add(const offload::FrontCounters& from, offload::FrontCounters* to);
void add_in_doubt(const commit::Machine& machine, TimeNs now, std::vector<InDoubt>* to);
void add(const commit::MachineCounters& from, commit::MachineCounters* to);
void add(const storage::ShardStatistics& from, storage::ShardStatistics* to);
void add(const log::WorkerLogStatistics& from, log::WorkerLogStatistics* to);

std::string to_text(const EngineStatistics& statistics);
// A JSON object, without a line end.
std::string to_json(const EngineStatistics& statistics);

}  // namespace txnic::apps
