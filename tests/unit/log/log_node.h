// SPDX-License-Identifier: BSD-3-Clause
// A node reduced to its log: shards whose commits are numbered, so that whatever recovery brings back can be judged.
// Commit n of a shard writes n under key n % kKeys and under the key kLast. So after recovery the value of kLast
// tells how many commits survived, and every other key must agree: a prefix, nothing lost, nothing invented.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/log/keeper.h"
#include "host/log/kept_transactions.h"
#include "host/log/recovery.h"
#include "host/log/worker_log.h"

namespace txnic::test {

inline constexpr uint64_t kKeys = 7;
inline constexpr uint64_t kLast = 1000;

// What one shard holds.
struct ShardState {
  std::map<uint64_t, uint64_t> rows;  // key -> commit number
  std::map<uint64_t, uint64_t> versions;
  uint64_t outcome = 0;  // newest sequence with an outcome
  std::map<uint64_t, Stamp> sessions;
  Version shard_version = 0;
  log::KeptTransactions kept;
  uint64_t replayed = 0;
};

class ModelSink final : public log::RecoverySink {
 public:
  explicit ModelSink(uint32_t shards) : states(shards) {}
  bool on_put(ShardId shard, TableId, Bytes key, Bytes value, Version version) override {
    ++states[shard].replayed;
    if (out_of_memory) return false;
    states[shard].rows[load<uint64_t>(key.data())] = load<uint64_t>(value.data());
    states[shard].versions[load<uint64_t>(key.data())] = version;
    return true;
  }
  bool on_delete(ShardId shard, TableId, Bytes key, Version) override {
    states[shard].rows.erase(load<uint64_t>(key.data()));
    return true;
  }
  bool on_outcome(ShardId shard, SessionId, uint64_t key, Version, Sequence) override {
    states[shard].outcome = std::max(states[shard].outcome, key >> 16);
    return true;
  }
  bool on_shard_version(ShardId shard, Version newest) override {
    states[shard].shard_version = newest;
    return true;
  }
  bool on_session_open(ShardId shard, SessionId session, Endpoint, Stamp stamp, Sequence, Sequence) override {
    states[shard].sessions[session] = stamp;
    return true;
  }
  bool on_session_close(ShardId shard, SessionId session) override {
    states[shard].sessions.erase(session);
    return true;
  }
  bool on_transaction(ShardId shard, const log::TransactionEntry& entry) override {
    states[shard].kept.on_transaction(entry);
    return true;
  }
  std::vector<ShardState> states;
  bool out_of_memory = false;
};

// What the outside world knows of a shard across restarts.
struct ShardHistory {
  uint64_t appended = 0;      // commits that may be on disk
  uint64_t acknowledged = 0;  // commits that must be
};

struct NodeConfig {
  uint32_t workers = 1;
  uint64_t segment_bytes = 64 << 10;
  uint32_t group_bytes = 16 << 10;
  Durability durability = Durability::kSync;
  uint32_t checkpoint_rows_per_step = 3;
  uint64_t checkpoint_log_bytes = 0;
  TimeNs mark_delay_ns = 100'000'000;
  uint64_t random_seed = 1;
  uint32_t value_bytes = 8;
  bool keeps_front_incarnation = false;
};

class LogNode {
 public:
  LogNode(log::Disk& disk, NodeConfig config, std::vector<ShardHistory>* history)
      : disk_(disk), config_(config), history_(*history) {}

  // Recovers, judges what came back, and opens the logs. False: error.
  bool start();
  // One commit of a shard; false: refused.
  bool commit(uint32_t shard);
  // A record about a transaction over several shards, which is not of those that judge() counts.
  bool transact(uint32_t shard, log::RecordType type, Sequence sequence);
  bool open_session(uint32_t worker, SessionId session, Stamp stamp);
  // One round of every worker's loop and of the keeper (if it has no thread).
  void step(TimeNs nanoseconds = 1000);
  void worker_step(uint32_t worker);
  // Steps until everything is durable; false after `steps_max`.
  bool settle(uint32_t steps_max = 1000);
  bool close(uint32_t steps_max = 1000);
  // Steps until no checkpoint is running.
  bool checkpoint(uint32_t steps_max = 10000);

  uint32_t shards() const { return static_cast<uint32_t>(history_.size()); }
  log::WorkerLog& log(uint32_t worker) { return *workers_[worker].log; }
  log::Keeper& keeper() { return *keeper_; }
  bool failed() const;
  TimeNs now() const { return now_; }

  std::string error;
  log::RecoveryReport report;
  std::vector<ShardState> states;  // as the store of a node would hold them

 private:
  struct Pending {
    Lsn lsn;
    uint32_t shard;
    uint64_t number;
  };
  struct Worker {
    std::unique_ptr<log::WorkerLog> log;
    std::deque<Pending> pending;
    std::vector<uint32_t> shards;
    size_t scan_shard = 0;
    uint64_t scan_key = 0;  // next key of that shard
    bool finished_part = false;
  };
  void judge(const ModelSink& sink);
  void acknowledge(Worker& worker);
  void write_part(Worker& worker, log::CheckpointWriter* part);
  bool write_part_record(Worker& worker, log::CheckpointWriter* part);

  log::Disk& disk_;
  const NodeConfig config_;
  std::vector<ShardHistory>& history_;
  std::unique_ptr<log::Keeper> keeper_;
  std::vector<Worker> workers_;  // after the keeper: logs go first
  TimeNs now_ = 1;
};

// Writes a commit record of `writes` (key, number) pairs at `at`; answers its length. With `at` null: only that.
uint32_t write_record(std::byte* at, log::RecordType type, uint16_t shard, Version version, SessionId session,
                      uint64_t sequence, std::span<const std::pair<uint64_t, uint64_t>> writes,
                      uint32_t value_bytes = 8);

}  // namespace txnic::test
