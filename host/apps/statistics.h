// SPDX-License-Identifier: BSD-3-Clause
// The engine's statistics of a whole node: the sum of its workers, as a table for people and JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "host/back/host_back.h"
#include "host/log/keeper.h"
#include "offload/front.h"

namespace txnic::apps {

struct EngineStatistics {
  offload::FrontCounters front;  // summed over the workers
  uint64_t held_now = 0;
  commit::MachineCounters commit;  // transactions over several shards
  uint64_t transactions_now = 0, locks_now = 0;  // of them: not over, and held
  uint64_t sessions = 0;
  storage::ShardStatistics store;
  std::vector<std::pair<std::string, uint64_t>> table_records;  // by table name
  bool has_log = false;
  log::WorkerLogStatistics log;
  log::KeeperStatistics keeper;
};

void add(const offload::FrontCounters& from, offload::FrontCounters* to);
void add(const commit::MachineCounters& from, commit::MachineCounters* to);
void add(const storage::ShardStatistics& from, storage::ShardStatistics* to);
void add(const log::WorkerLogStatistics& from, log::WorkerLogStatistics* to);

std::string to_text(const EngineStatistics& statistics);
// A JSON object, without a line end.
std::string to_json(const EngineStatistics& statistics);

// Quotes a string for JSON.
std::string json_string(const std::string& text);

}  // namespace txnic::apps
