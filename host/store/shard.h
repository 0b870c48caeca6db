// SPDX-License-Identifier: BSD-3-Clause
// One shard of the store: a hash table over records in size-classed blocks, inside one piece of memory that
// was reserved at start. Owned by one lcore; no locks, no allocation, no system call.
//
// Table: linear hashing (Litwin 1980): the bucket array grows by one bucket at a time, each growth step splits
// one bucket, so that there is no rehash pause: the longest step is one chain's split. A bucket is one 64-byte
// line: an absence version and seven slots (a tag of the hash, and a 16-byte-granular reference), the last of
// which may lead to an overflow bucket. The bucket array grows from the bottom of the memory, pages of records
// from its top; when they meet, memory is full, and room() says so before anything is changed.
//
// Caveats first: pointers to records and buckets are stable until the next maintain() or the next call that
// writes that record. Writers call room() before the first write of a transaction and maintain() after its last.
#pragma once

#include <array>

#include "txn/limits.h"
#include "txn/types.h"

namespace txnic::store {

// A record: 16 bytes, then the key, then the value. Records of 64 bytes or less do not straddle cache lines
// needlessly (size classes are multiples of 16).
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
static_assert(sizeof(Record) == 16);

struct Table {
  TableId id = 0;
  uint64_t capacity = 0;  // records that this shard may hold of the table
};

struct ShardStatistics {
  uint64_t records = 0;
  uint64_t buckets = 0;           // main buckets
  uint64_t overflow_buckets = 0;
  uint64_t payload_bytes = 0;     // keys and values
  uint64_t used_bytes = 0;        // buckets, and pages given to size classes
  uint64_t memory_bytes = 0;
  uint64_t splits = 0;
  double load() const { return buckets == 0 ? 0 : static_cast<double>(records) / (7.0 * static_cast<double>(buckets)); }
};

// What a lookup found: the record, or for an absent key the version of its bucket (its last change, COMMIT 17).
struct Lookup {
  Record* record = nullptr;
  Version absence_version = 0;
};

// One write that a transaction is about to do, for room().
struct Need {
  uint32_t table_index;
  uint32_t record_bytes;  // 16 + key + value
  bool inserts;           // the key is absent now
};

class Shard {
 public:
  // `memory`: 64-aligned and zeroed, the caller's; at least kMinimumBytes. `expected_records` sizes the initial
  // bucket array (0: the minimum). `first`: the absence version of every bucket. False if memory is too small.
  bool init(MutableBytes memory, std::span<const Table> tables, uint64_t expected_records, Version first);

  // Index of a declared table (for Need), or -1. `tables` order of init().
  int32_t table_index(TableId id) const;

  // ---- lookup: hash is table_hash(key_hash, table). Staged: issue prefetch_bucket for a whole burst, then
  // prefetch_record for the burst, then find.
  void prefetch_bucket(uint64_t hash) const;
  void prefetch_record(uint64_t hash) const;
  Lookup find(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash) const;

  // ---- writes
  // True if `needs` can all be satisfied, whatever happens in between: memory, overflow and table capacities.
  bool room(std::span<const Need> needs) const;
  // Writes a key; after room() it cannot fail (asserted). Returns the record. `existing`: find()'s record, or null.
  Record* put(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash, const std::byte* value,
              uint32_t value_length, Version version, Record* existing);
  // Removes a present key; its bucket's absence version becomes `version` (or stays, if larger).
  void erase(Record* record, uint64_t hash, Version version);
  // Growth: at most kSplitsPerInsertMax bucket splits if the load factor asks for it. Bounded.
  void maintain();

  // ---- scans, for checkpoints: calls `emit(const Record&)` for the records of up to `bucket_count` buckets from
  // `cursor` on. Growth during the scan is allowed: a record may be seen twice, none that stays is missed.
  // False when the scan is over.
  template <class Emit>
  bool scan(uint64_t* cursor, uint32_t bucket_count, Emit&& emit) const;

  // Recovery: put() that answers false when memory is full instead of asserting. Calls maintain().
  bool load(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash, const std::byte* value,
            uint32_t value_length, Version version);

  ShardStatistics statistics() const;
  // Number of live records of a table (by table_index).
  uint64_t table_records(uint32_t table_index) const;
};

// How much memory a shard needs for `records` records of `record_bytes` (16 + key + value) each, with room
// for the load factor; what the preflight and the sizing section of the docs use.
uint64_t shard_memory_bytes(uint64_t records, uint32_t record_bytes);

}  // namespace txnic::store
