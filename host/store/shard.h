// SPDX-License-Identifier: BSD-3-Clause
// One shard of the store: a hash table over records in size-classed blocks, inside one piece of memory that
// was reserved at start. Owned by one lcore; no locks, no allocation, no system call.
//
// Table: linear hashing (Litwin 1980): the bucket array grows by one bucket at a time, each growth step splits
// one bucket, so that there is no rehash pause: the longest step is one chain's split. A bucket is one 64-byte
// line: an absence version and seven slots (a tag of the hash, and a 16-byte-granular reference), the last of
// which may lead to an overflow bucket. The bucket array grows from the bottom of the memory, pages of records
// from its top; when they meet, memory is full, and room() says so before anything is changed. Then chains
// lengthen, up to kBucketChainMax buckets.
//
// Files: buckets.h (the bucket array and its chains), blocks.h (memory for records), shard.cc (writes), room.cc
// (what fits, and how much memory a table needs).
//
// Caveats first: a pointer to a record is stable until the next put() or erase() of that record; other writes and
// growth do not move it. Writers call room() before the first write of a transaction and maintain() after its last.
// What is passed to put() must not lie inside the store, except in the record that it replaces.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>

#include "host/store/blocks.h"
#include "host/store/buckets.h"
#include "txn/limits.h"
#include "txn/prefetch.h"
#include "txn/types.h"

// The namespace is not called after the folder: txnic::store() is the unaligned store of txn/types.h.
namespace txnic::storage {

// A record: 16 bytes, then the key, then the value. One of 64 bytes (8-byte key, 40-byte value) is exactly one
// cache line; size classes are multiples of 16.
struct Record {
  Version version;
  TableId table;
  uint8_t key_length;
  uint8_t size_class;
  uint16_t value_length;
  uint16_t reserved;

  std::byte* key() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* key() const { return reinterpret_cast<const std::byte*>(this + 1); }
  std::byte* value() { return key() + key_length; }
  const std::byte* value() const { return key() + key_length; }
};
static_assert(sizeof(Record) == kRecordHeaderBytes);

struct Table {
  TableId id = 0;
  uint64_t capacity = 0;  // records that this shard may hold of the table
};

struct ShardStatistics {
  uint64_t records = 0;
  uint64_t buckets = 0;  // main buckets
  uint64_t overflow_buckets = 0;
  uint64_t payload_bytes = 0;  // keys and values
  uint64_t used_bytes = 0;     // buckets, and pages given to size classes
  uint64_t memory_bytes = 0;
  uint64_t splits = 0;
  double load() const { return buckets == 0 ? 0 : static_cast<double>(records) / (7.0 * static_cast<double>(buckets)); }
  double bytes_per_record() const { return per_record(used_bytes); }
  // Beside key and value.
  double overhead_per_record() const { return per_record(used_bytes - payload_bytes); }

 private:
  double per_record(uint64_t bytes) const {
    return records == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(records);
  }
};

// What a lookup found: the record, or for an absent key the version of its bucket (its last change, COMMIT 17).
struct Lookup {
  Record* record = nullptr;
  Version absence_version = 0;
};

// One write that a transaction is about to do, for room(). The last two are optional and sharpen the answer when
// memory is nearly full: a rewrite of `existing` that stays in its size class needs nothing, and `hash` tells which
// chain an insert will lengthen (0: unknown; then no insert is accepted while any chain is near its limit).
struct Need {
  uint32_t table_index;
  uint32_t record_bytes;  // 16 + key + value
  bool inserts;           // the key is absent now
  uint64_t hash = 0;
  const Record* existing = nullptr;
};

class Shard {
 public:
  // One page for records, one for overflow buckets, and the smallest bucket array.
  static constexpr uint64_t kMinimumBytes = 2 * uint64_t{kPageBytes} + Buckets::kMinimum * sizeof(Bucket);
  static constexpr uint64_t kMaximumBytes = kMaximumMemoryBytes;  // 64 GiB: more memory takes more shards
  static constexpr uint32_t kRecordsPerBucketInitial = 5;         // of an array sized for expected_records: 71 %

  // `memory`: 64-aligned, the caller's, from kMinimumBytes to kMaximumBytes. `expected_records` sizes the initial
  // bucket array (0: the minimum), so that a table which is sized right never splits. `first`: the absence version
  // of every bucket. False if the memory is too small, too large or not aligned, or `tables` are more than
  // kTablesMax or not distinct.
  bool init(MutableBytes memory, std::span<const Table> tables, uint64_t expected_records, Version first);

  // Index of a declared table (for Need), or -1. `tables` order of init().
  int32_t table_index(TableId id) const;

  // ---- lookup: hash is table_hash(key_hash, table). Staged: issue prefetch_bucket for a whole burst, then
  // prefetch_record for the burst, then find.
  void prefetch_bucket(uint64_t hash) const { prefetch(buckets_.head(hash)); }
  void prefetch_record(uint64_t hash) const;
  Lookup find(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash) const;

  // ---- writes
  // True if `needs` (at most kOperationsMax, distinct keys) can all be satisfied, whatever happens in between:
  // memory, overflow and table capacities. It does not count on what the same transaction deletes.
  bool room(std::span<const Need> needs) const;
  // The same for writes of a prepared transaction, which come later, whatever happens in between: what they need is
  // kept from all others, growth included (DESIGN 4.4, trap 16). False: no room, and nothing has changed. `needs` tell
  // their hash; their keys must stay as they are (present or absent, and of that size class) until give_back().
  bool set_aside(std::span<const Need> needs);
  // Takes that back: the transaction is aborted; or its writes follow at once, each one a put() of a need, and cannot
  // fail. They need no room(), which may say no by then because it counts coarsely.
  void give_back(std::span<const Need> needs);
  // Writes a key; after room() it cannot fail (asserted). Returns the record. `existing`: find()'s record, or null.
  // A key that was absent raises its bucket's absence version to `version` (COMMIT 17: the last change, so that
  // insert and delete together are seen, too).
  Record* put(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash, const std::byte* value,
              uint32_t value_length, Version version, Record* existing);
  // Removes a present key; its bucket's absence version becomes `version` (or stays, if larger).
  void erase(Record* record, uint64_t hash, Version version);
  // Growth: bucket splits if the load factor asks for them, at most kSplitsPerInsertMax for each insert since the
  // last call (and for one more). Bounded.
  void maintain() {
    if (records_ > split_above_) [[unlikely]]
      grow();
    inserts_ = 0;
  }

  // ---- scans, for checkpoints: calls `emit(const Record&)` for the records of up to `bucket_count` buckets from
  // `cursor` on. Growth during the scan is allowed: a record may be seen twice, none that stays is missed, because
  // a split moves records only from a bucket to the array's new end, which the ascending cursor has yet to pass.
  // False when the scan is over. `emit` must not write to the shard.
  template <class Emit>
  bool scan(uint64_t* cursor, uint32_t bucket_count, Emit&& emit) const;

  // Recovery: put() that answers false when the memory or the table is full instead of asserting. The table must
  // be declared. Calls maintain().
  bool load(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash, const std::byte* value,
            uint32_t value_length, Version version);

  ShardStatistics statistics() const;
  // Of whole pages that nobody has, and that are not set aside.
  uint64_t spare_bytes() const {
    const uint64_t free_pages = blocks_.free_pages();
    return free_pages <= aside_pages_ ? 0 : (free_pages - aside_pages_) * kPageBytes;
  }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // Number of live records of a table (by table_index).
  uint64_t table_records(uint32_t table_index) const { return tables_[table_index].records; }

 private:
  struct TableState {
    uint64_t records = 0;
    uint64_t capacity = 0;
    uint64_t aside = 0;  // inserts of prepared transactions
  };
  // What is set aside. In `chains`, keys that share a bucket, now or after any split, share an entry.
  static constexpr uint32_t kAsideChains = 1024;
  struct Aside {
    std::array<uint32_t, kSizeClasses> blocks{};
    std::array<uint32_t, kAsideChains> chains{};
  };
  // Table ids to indexes: a small open-addressed map, half empty.
  struct TableSlot {
    TableId id = 0;
    int16_t index = -1;
  };
  static constexpr uint32_t kTableSlots = 2 * limits::kTablesMax;

  // An overflow bucket that prefetch_record() asked for, and the tag to look for in it.
  struct Waiting {
    const Bucket* bucket;
    uint32_t tag;
  };
  static constexpr uint32_t kWaitingMax = 32;

  void prefetch_waiting() const;
  static bool is_key(const Record* record, TableId table, const std::byte* key, uint32_t key_length);
  static uint32_t record_bytes(uint32_t key_length, uint32_t value_length) {
    return kRecordHeaderBytes + key_length + value_length;
  }
  Record* record_at(Reference reference) const { return reinterpret_cast<Record*>(blocks_.at(reference)); }
  const Bucket* next(const Bucket* bucket) const {
    return reinterpret_cast<const Bucket*>(blocks_.at(bucket->references[kLinkSlot]));
  }
  // Cache lines of a block after its first; the block need not begin with a line.
  static uint32_t extra_lines_of(Reference reference, uint32_t size_class) {
    return (reference * kReferenceUnitBytes % 64 + kSizeClassBytes[size_class] - 1) / 64;
  }
  static void copy(std::byte* to, const std::byte* from, uint32_t length) {
    if (length != 0) std::memcpy(to, from, length);
  }
  Record* put_new_block(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash, const std::byte* value,
                        uint32_t value_length, Version version, Record* existing);
  void grow();
  void set_split_threshold() { split_above_ = buckets_.count() * 28 / 5; }  // 5.6 records a bucket: 80 % of 7 slots
  bool chains_have_room(std::span<const Need> needs, uint32_t inserts) const;
  bool tables_have_room(std::span<const Need> needs, uint32_t inserts) const;
  bool blocks_have_room(std::span<const Need> needs, uint32_t inserts) const;
  uint64_t pages_for(const std::array<uint32_t, kSizeClasses>& wanted) const;
  uint32_t& aside_chain(uint64_t hash) { return aside_.chains[buckets_.base_index(hash) % kAsideChains]; }
  uint32_t aside_chain(uint64_t hash) const { return aside_.chains[buckets_.base_index(hash) % kAsideChains]; }
  void count_aside(std::span<const Need> needs, uint32_t sign);
  bool may_grow() const;

  Buckets buckets_;
  mutable uint32_t waiting_count_ = 0;
  uint64_t records_ = 0;
  uint64_t split_above_ = 0;
  uint64_t inserts_ = 0;  // since the last maintain()
  uint64_t payload_bytes_ = 0;
  uint64_t splits_ = 0;
  uint64_t memory_bytes_ = 0;
  uint64_t aside_inserts_ = 0;
  uint64_t aside_pages_ = 0;  // what the blocks set aside take at most, if none is free
  Blocks blocks_;
  mutable std::array<Waiting, kWaitingMax> waiting_{};
  uint32_t table_count_ = 0;
  std::array<TableSlot, kTableSlots> table_slots_{};
  std::array<TableState, limits::kTablesMax> tables_{};
  Aside aside_;
};

// How much memory a shard needs for `records` records of `record_bytes` (16 + key + value) each, with room
// for the load factor; what the preflight and the sizing section of the docs use. Of records of several sizes, the
// sum of one call for each.
uint64_t shard_memory_bytes(uint64_t records, uint32_t record_bytes);

// ---- inline: the hot path

inline int32_t Shard::table_index(TableId id) const {
  for (uint32_t i = id;; ++i) {
    const TableSlot slot = table_slots_[i % kTableSlots];
    if (slot.index < 0 || slot.id == id) [[likely]]
      return slot.index;
  }
}

inline bool Shard::is_key(const Record* record, TableId table, const std::byte* key, uint32_t key_length) {
  // Table and key length in one comparison; they are followed by the size class.
  static_assert(offsetof(Record, key_length) == offsetof(Record, table) + 2);
  if ((txnic::load<uint32_t>(&record->table) & 0xffffff) != (table | key_length << 16)) [[unlikely]]
    return false;
  if (key_length == 8) [[likely]]
    return txnic::load<uint64_t>(record->key()) == txnic::load<uint64_t>(key);
  return std::memcmp(record->key(), key, key_length) == 0;
}

inline Lookup Shard::find(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash) const {
  if (waiting_count_ != 0) [[unlikely]]
    prefetch_waiting();
  const Bucket* bucket = buckets_.head(hash);
  const Version absence_version = bucket->version;
  const uint32_t tag = Bucket::tag_of(hash);
  for (;;) {
    for (uint32_t found = bucket->match(tag); found != 0; found &= found - 1) {
      Record* const record = record_at(bucket->references[std::countr_zero(found)]);
      if (is_key(record, table, key, key_length)) [[likely]]
        return {record, absence_version};
    }
    if (!bucket->has_link()) [[likely]]
      return {nullptr, absence_version};
    bucket = next(bucket);
  }
}

// The tag decides what to fetch: a record of the main bucket, or else the first overflow bucket. Records behind
// that are fetched when the first find() of the burst comes.
inline void Shard::prefetch_record(uint64_t hash) const {
  const Bucket* const bucket = buckets_.head(hash);
  const uint32_t tag = Bucket::tag_of(hash);
  uint32_t found = bucket->match(tag);
  if (found == 0) {
    if (!bucket->has_link()) return;
    const Bucket* const overflow = next(bucket);
    prefetch(overflow);
    waiting_[waiting_count_ % kWaitingMax] = {overflow, tag};
    ++waiting_count_;
    return;
  }
  do {
    const auto slot = static_cast<uint32_t>(std::countr_zero(found));
    const std::byte* line = blocks_.at(bucket->references[slot]);
    prefetch(line);
    for (uint32_t more = bucket->tags[slot] & Bucket::kTagExtraLines; more != 0; --more) prefetch(line += 64);
    found &= found - 1;
  } while (found != 0);
}

inline Record* Shard::put(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash,
                          const std::byte* value, uint32_t value_length, Version version, Record* existing) {
  if (existing == nullptr || size_class_of(record_bytes(key_length, value_length)) != existing->size_class)
      [[unlikely]] {
    return put_new_block(table, key, key_length, hash, value, value_length, version, existing);
  }
  assert(is_key(existing, table, key, key_length));
  payload_bytes_ += value_length;
  payload_bytes_ -= existing->value_length;
  existing->version = version;
  existing->value_length = static_cast<uint16_t>(value_length);
  if (value_length != 0) std::memmove(existing->value(), value, value_length);
  return existing;
}

template <class Emit>
bool Shard::scan(uint64_t* cursor, uint32_t bucket_count, Emit&& emit) const {
  for (; bucket_count != 0 && *cursor < buckets_.count(); --bucket_count, ++*cursor) {
    if (*cursor + 1 < buckets_.count()) {  // the next bucket's records come while this one's are emitted
      const Bucket* const ahead = buckets_.at(*cursor + 1);
      for (uint32_t i = 0; i < kSlots; ++i) {
        if (ahead->tags[i] != Bucket::kTagEmpty) prefetch(blocks_.at(ahead->references[i]));
      }
    }
    for (const Bucket* bucket = buckets_.at(*cursor);; bucket = next(bucket)) {
      for (uint32_t i = 0; i < kSlots && (bucket->tags[i] & Bucket::kTagRecord) != 0; ++i) {
        emit(static_cast<const Record&>(*record_at(bucket->references[i])));
      }
      if (!bucket->has_link()) break;
    }
  }
  return *cursor < buckets_.count();
}

}  // namespace txnic::storage
