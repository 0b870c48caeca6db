// SPDX-License-Identifier: BSD-3-Clause
// The back of one worker with placement HOST: its shards and its log, called inline by the front (offload/back.h has
// the contract). Also feeds checkpoints, in bounded steps of the worker's loop.
// With placement NIC a LinkServer (link_server.h) calls it instead of a front.
//
// Order of a commit: reserve log space and memory (can_commit), then take the version, append the redo record, apply.
// Nothing after can_commit() can fail (DESIGN 4.4, trap 16).
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <vector>

#include "host/back/checkpoint_feed.h"
#include "host/log/keeper.h"
#include "host/log/worker_log.h"
#include "host/store/shard.h"
#include "offload/records.h"
#include "txn/session.h"
#include "txn/shard_map.h"

namespace txnic::commit {
class Machine;
}

namespace txnic::back {

struct HostBackConfig {
  uint32_t worker = 0;
  uint32_t worker_count = 1;
  Durability durability = Durability::kNone;
  Version first_version = 0;  // of this incarnation: the version of everything that nobody has changed yet
};

class Mirror;

class HostBack {
 public:
  // `log` and `keeper` are null with Durability::kNone. `shards`: the worker's, in local order; `sessions`: its session
  // table. All of them outlive this.
  HostBack(const HostBackConfig& config, std::span<const storage::Table> tables, std::vector<storage::Shard*> shards,
           log::WorkerLog* log, log::Keeper* keeper, SessionTable* sessions);

  // ---- offload::Back
  bool knows_table(TableId table) const { return table_index_[table] != kUnknownTable; }
  void prefetch_bucket(uint32_t local_shard, uint64_t hash) const { shards_[local_shard]->prefetch_bucket(hash); }
  void prefetch_record(uint32_t local_shard, uint64_t hash) const { shards_[local_shard]->prefetch_record(hash); }
  offload::Found find(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length, uint64_t hash) {
    const storage::Lookup lookup = shards_[local_shard]->find(table, key, key_length, hash);
    storage::Record* const record = lookup.record;
    if (record == nullptr) return {nullptr, lookup.absence_version, nullptr, 0};
    return {record, record->version, record->value(), record->value_length};
  }
  BusyReason can_commit(const offload::CommitRequest& request);
  Version commit(const offload::CommitRequest& request);
  bool log_session_open(SessionId session, Endpoint from, Stamp stamp, Sequence attempt);
  bool log_session_close(SessionId session);
  Lsn dependency(uint32_t local_shard, Version version) const {
    return durability_ == Durability::kSync && version > durable_versions_[local_shard] ? log_->end() : 0;
  }
  Lsn dependency_on_all() const { return durability_ == Durability::kSync ? log_->end() : 0; }
  Lsn durable() const { return log_ == nullptr ? 0 : log_->durable(); }
  uint32_t poll(TimeNs now);
  bool quiet() const { return log_ == nullptr || log_->quiet(); }

  // ---- offload::CommitBack (host_back_transactions.cc). Redo is a row of writes as the log has them; no pointer into
  // the store is kept: apply() finds each key again. What is set aside is counted from the redo and from what it will
  // replace, so the keys must be locked from set_aside() to apply() or give_back().
  uint32_t encode_redo(std::span<const offload::Write> writes, MutableBytes room) const;
  bool set_aside(uint32_t local_shard, std::span<const offload::Write> writes);
  bool set_aside(uint32_t local_shard, Bytes redo);  // the same, of a recovered one
  void give_back(uint32_t local_shard, Bytes redo);
  // 0: 2^48 commits of one shard in one incarnation; a restart takes a new one.
  Version take_version(uint32_t local_shard) {
    if (((current_versions_[local_shard] + 1) << 16) == 0) [[unlikely]]
      return 0;
    return ++current_versions_[local_shard];
  }
  void apply(uint32_t local_shard, Version version, Bytes redo);
  bool log_transaction(const offload::TransactionRecord& record, Lsn* lsn);

  // ---- start-up: versions as recovery found them; everything up to now is durable.
  void set_current_version(uint32_t local_shard, Version newest);
  Version current_version(uint32_t local_shard) const { return current_versions_[local_shard]; }

  // Whose transactions checkpoints are to hold (null: none), and how its shards are numbered over the cluster (null: as
  // on this node). Both outlive this.
  void set_machine(commit::Machine* machine, const ShardMap* map) { machine_ = machine, map_ = map; }
  commit::Machine* machine() const { return machine_; }
  // The node's own number of one of its shards: what log and checkpoint name.
  ShardId own_number(ShardId shard) const { return map_ == nullptr ? shard : map_->places[shard].number; }

  Sequence least_watermark(Sequence sequence) const;

  // ---- placement NIC (host_back_link.cc): records that a front has made elsewhere (link_server.h)
  // Whose transactions checkpoints are to hold instead of a machine's; its session table is this one's. Outlives this.
  void set_mirror(const Mirror* mirror) { mirror_ = mirror; }
  const Mirror* mirror() const { return mirror_; }
  // `redo` is a row of `count` writes of tables that are declared here.
  bool is_redo(Bytes redo, uint32_t count) const;
  // Room in the log for a record, or true if there is no log. Then append() may follow, with nothing of the log
  // between.
  bool reserve_record(uint32_t bytes);
  void append_record(Bytes record);
  // Writes of a commit whose memory is not set aside: false if the store has none. put() follows at once, else nothing.
  bool can_put(uint32_t local_shard, Bytes redo);
  void put(uint32_t local_shard, Version version);
  // Versions are taken by the front: the newest one that was seen.
  void note_version(uint32_t local_shard, Version version) {
    current_versions_[local_shard] = std::max(current_versions_[local_shard], version);
  }
  bool store_is_full(uint64_t reserve_bytes) const;

  // ---- for checkpoints and statistics
  uint32_t shard_count() const { return static_cast<uint32_t>(shards_.size()); }
  const storage::Shard& shard(uint32_t local_shard) const { return *shards_[local_shard]; }
  ShardId global_shard(uint32_t local_shard) const {
    return static_cast<ShardId>(local_shard * config_.worker_count + config_.worker);
  }
  uint32_t local_shard(ShardId global) const { return global / config_.worker_count; }
  const SessionTable& sessions() const { return *sessions_; }
  const log::WorkerLog* log() const { return log_; }

 private:
  static constexpr uint16_t kUnknownTable = 0xffff;

  bool has_room(const offload::CommitRequest& request);
  struct Prepared {  // a write of a redo, and its key's record (null: absent)
    log::LoggedWrite write;
    uint64_t hash;
    storage::Record* record;
  };
  storage::Need need_of(TableId table, uint32_t key_length, uint32_t value_length, uint64_t hash,
                        const storage::Record* record) const {
    const auto bytes = static_cast<uint32_t>(sizeof(storage::Record)) + key_length + value_length;
    return {table_index_[table], bytes, record == nullptr, hash, record};
  }
  std::span<const Prepared> take_apart(uint32_t local_shard, Bytes redo);
  void write(storage::Shard& shard, std::span<const Prepared> writes, Version version);
  std::span<const storage::Need> needs_of(std::span<const Prepared> writes);

  const HostBackConfig config_;
  const Durability durability_;
  log::WorkerLog* const log_;
  log::Keeper* const keeper_;
  SessionTable* const sessions_;
  std::vector<storage::Shard*> shards_;
  std::vector<Version> current_versions_;                    // newest version taken, per local shard
  std::vector<Version> durable_versions_;                    // newest durable version; follows group by group
  std::array<storage::Need, limits::kOperationsMax> needs_;  // scratch of has_room(), needs_of()
  std::array<Prepared, limits::kOperationsMax> prepared_;    // scratch of take_apart()
  std::byte* reserved_ = nullptr;                            // between can_commit() and commit()
  uint32_t reserved_bytes_ = 0;
  commit::Machine* machine_ = nullptr;
  const ShardMap* map_ = nullptr;
  const Mirror* mirror_ = nullptr;
  uint32_t put_count_ = 0;     // between can_put() and put(): writes in prepared_
  CheckpointFeed checkpoint_;  // fills this worker's part of a checkpoint, in poll()
  std::array<uint16_t, 65536> table_index_;
};

}  // namespace txnic::back

#include "host/back/host_back_commit.h"
