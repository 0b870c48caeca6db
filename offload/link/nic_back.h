// SPDX-License-Identifier: BSD-3-Clause
// The back of one worker with placement NIC: a cache in front of the host link (offload/back.h has the contract). The
// host has the store and the log; here are hot keys, the filter of absent keys, and the commits that are on their way.
//
// Order of a commit: room in the cache and in the link (can_commit), then take the version, append the redo record to
// the link, change the cache. The record is the same as the host's log has, and the host applies it as recovery would.
// What was changed stays pinned until the host has taken its record, so a question about it finds it there.
//
// Positions are the link's. A commit of one shard is answered when the host has taken it (mode `sync`: when it is
// durable there), in every mode: the death of the NIC side loses nothing that was acknowledged. Records about
// transactions over several shards wait for durable() as ever; where nothing is logged that is the same as taken.
//
// Caveats first:
// - Frames that come (link().on_frame) and poll() move entries: neither is called within Front::step().
// - The time of step() must have been read after its messages came, else a read may be told that was overtaken by
//   another front (COMMIT 21).
// - One of these is one life of a front: when the link is lost, it, the front and the sessions are thrown away.
#pragma once

#include <algorithm>
#include <array>

#include "offload/cache/absence.h"
#include "offload/cache/cache.h"
#include "offload/link/front_end.h"
#include "offload/records.h"

namespace txnic::offload {

struct NicBackConfig {
  uint32_t worker = 0;
  uint32_t worker_count = 1;
  uint32_t shards = 1;  // the worker's own
  Durability durability = Durability::kNone;
  bool use_filter = true;  // off: an absent key is asked for like any other (an ablation)
  uint32_t session_window = limits::kWindowDefault;
  uint64_t filter_keys = 1 << 20;  // of this worker: sizes the filter; at more keys it is less sharp
  CacheOptions cache;
};

// What an operator wants to see, all in one place.
struct NicBackCounters {
  uint64_t hits = 0;    // keys named by transactions that were in the cache
  uint64_t misses = 0;  // keys asked of the host
  uint64_t joined = 0;  // keys that another transaction had asked for already
  uint64_t absent_by_filter = 0;
  uint64_t absent_by_host = 0;  // misses that turned out to be absent keys
  uint64_t evictions = 0, kept = 0;
  uint64_t cache_full = 0;            // BUSY: everything is pinned, or swept too slowly
  uint64_t link_full = 0;             // BUSY: the link's windows
  uint64_t store_full = 0;            // BUSY: the host's store
  uint64_t no_lease = 0;              // BUSY: keys that could not be told, because the lease has ended
  uint64_t dropped = 0;               // answers of the host that found no room
  uint64_t stale = 0;                 // answers for keys that were written meanwhile
  uint64_t commits = 0, applied = 0;  // of one shard; parts of transactions over several
  uint64_t entries = 0, cache_bytes = 0, cache_used_bytes = 0;
};

// What the host has kept of earlier fronts, record by record, before this one serves (FrontEvents::on_kept).
class KeptReader {
 public:
  virtual bool on_kept(Bytes record) = 0;

 protected:
  ~KeptReader() = default;
};

// `Link`: link::FrontEnd, or a test's model of it.
template <class Link>
class NicBackOf final : public link::FrontEvents {
 public:
  static constexpr bool kMayMiss = true;

  // Memory for the filters, 64-aligned.
  static size_t filter_bytes(const NicBackConfig& config) {
    return config.shards * Absence::memory_bytes(config.filter_keys / config.shards);
  }
  // All outlive this. `cache`: 64-aligned. `kept` may be null if nothing was kept. False: too little memory.
  bool init(const NicBackConfig& config, std::span<const TableId> tables, MutableBytes cache, MutableBytes filter,
            Link* link, KeptReader* kept);
  // What was kept is installed: serves from now on, under this incarnation (COMMIT 14, 21).
  void serve(uint32_t incarnation);

  // ---- Back
  bool knows_table(TableId table) const { return (tables_[table / 64] >> table % 64 & 1) != 0; }
  void prefetch_bucket(uint32_t, uint64_t hash) const { cache_.prefetch_bucket(hash); }
  void prefetch_record(uint32_t local_shard, uint64_t hash) const {
    if (!cache_.prefetch_record(hash)) shards_[local_shard].absence.prefetch(hash);
  }
  Found find(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length, uint64_t hash);
  BusyReason can_commit(const CommitRequest& request);
  Version commit(const CommitRequest& request);
  bool log_session_open(SessionId session, Endpoint from, Stamp stamp, Sequence attempt);
  bool log_session_close(SessionId session);
  Lsn dependency(uint32_t local_shard, Version version) const {
    return version > shards_[local_shard].answerable ? link_->end() : 0;
  }
  Lsn dependency_on_all() const { return link_->end(); }
  Lsn durable() const { return link_->durable(); }
  Lsn answerable() const { return config_.durability == Durability::kSync ? link_->durable() : link_->taken(); }
  uint32_t poll(TimeNs now);
  bool quiet() const { return link_->quiet(); }

  // ---- MissingBack
  void begin_burst(TimeNs now) { has_lease_ = is_serving_ && link_->has_lease(now); }
  Want want(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length, uint64_t hash);
  Lsn fetched() const { return link_->fetched(); }

  // ---- CommitBack. Redo is a row of writes as records have them.
  uint32_t encode_redo(std::span<const Write> writes, MutableBytes room) const { return lay_redo(writes, room); }
  bool set_aside(uint32_t local_shard, std::span<const Write> writes);
  // The same, of a transaction that was kept: its keys are not here.
  bool set_aside(uint32_t local_shard, Bytes redo);
  void give_back(uint32_t local_shard, Bytes redo);
  Version take_version(uint32_t local_shard) {
    Shard& shard = shards_[local_shard];
    return is_last(shard.newest) ? 0 : ++shard.newest;
  }
  void apply(uint32_t local_shard, Version version, Bytes redo);
  bool log_transaction(const TransactionRecord& record, Lsn* lsn);

  // ---- link::FrontEvents
  bool on_kept(Bytes record) override { return kept_ != nullptr && kept_->on_kept(record); }
  void on_fetched(Lsn number, const link::Question& question, const link::Answer& answer) override;
  void on_fill(uint32_t local_shard, std::span<const uint64_t> hashes) override;
  void on_fill_done(uint32_t local_shard) override {
    if (config_.use_filter) shards_[local_shard].absence.fill_done();
  }

  Link& link() { return *link_; }
  const Cache& cache() const { return cache_; }
  NicBackCounters counters() const;

 private:
  struct Shard {
    Version newest = 0;      // taken
    Version answerable = 0;  // up to here answers need not wait
    Absence absence;
  };
  // A commit, or some of one shard that followed each other: its version is answerable at this position.
  struct Mark {
    Lsn position;
    Version version;
    uint32_t local_shard;
  };
  static constexpr uint32_t kMarkBytes = 1024;  // of records that share one

  static bool is_last(Version version) { return ((version + 1) << kSequenceShift) == 0; }
  static constexpr uint32_t kSequenceShift = 64 - kVersionSequenceBits;
  ShardId own_number(uint32_t local_shard) const {
    return static_cast<ShardId>(local_shard * config_.worker_count + config_.worker);
  }
  static CacheKey key_of(uint32_t local_shard, const Write& write) {
    return {write.hash, write.key, local_shard, write.table, write.key_length};
  }
  static CacheKey key_of(uint32_t local_shard, const log::LoggedWrite& write) {
    const auto length = static_cast<uint32_t>(write.key.size());
    return {table_hash(hash_key(write.key.data(), length), write.table), write.key.data(), local_shard, write.table,
            static_cast<uint8_t>(length)};
  }
  // A full store takes deletes: else it would stay full.
  static bool needs_memory(std::span<const Write> writes) {
    return std::any_of(writes.begin(), writes.end(), [](const Write& write) { return !write.is_delete; });
  }
  // Null handle: the key is absent, and there may be an entry that says so.
  CacheEntry* entry_of_write(const CacheKey& key, const Write& write) {
    return write.handle != nullptr ? static_cast<CacheEntry*>(write.handle) : cache_.find(key);
  }
  // Calls each(key, write) for the writes of a redo.
  template <class Each>
  void for_each(uint32_t local_shard, Bytes redo, Each&& each) {
    for (size_t at = 0; at < redo.size();) {
      log::LoggedWrite write;
      const uint32_t bytes = log::read_write(redo.data() + at, static_cast<uint32_t>(redo.size() - at), &write);
      assert(bytes != 0 && "redo is what encode_redo() made, or what was checked when it was kept");
      each(key_of(local_shard, write), write);
      at += bytes;
    }
  }
  void change(const CacheKey& key, CacheEntry* entry, bool may_be_absent, bool is_delete, Bytes value, Version version,
              Lsn position);
  void mark(uint32_t local_shard, Version version, Lsn position);

  NicBackConfig config_;
  Link* link_ = nullptr;
  KeptReader* kept_ = nullptr;
  bool is_serving_ = false;
  bool has_lease_ = false;
  std::byte* reserved_ = nullptr;  // between can_commit() and commit()
  uint32_t reserved_bytes_ = 0;
  Cache cache_;
  NicBackCounters counters_;  // without what the cache counts
  std::array<uint64_t, 65536 / 64> tables_{};
  std::array<Shard, limits::kShardsMax> shards_;
  // By position. If it is full the newest commits have none: answers that depend on them wait longer than they must.
  std::array<Mark, limits::kNicCommitsMax> marks_;
  uint32_t mark_head_ = 0, mark_tail_ = 0;
  Lsn mark_began_ = 0;  // the newest one, at this position
};

using NicBack = NicBackOf<link::FrontEnd>;

}  // namespace txnic::offload

#include "offload/link/nic_back_commit.h"
#include "offload/link/nic_back_fetch.h"
