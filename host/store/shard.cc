// SPDX-License-Identifier: BSD-3-Clause
#include "host/store/shard.h"

namespace txnic::storage {

bool Shard::init(MutableBytes memory, std::span<const Table> tables, uint64_t expected_records, Version first) {
  const uint64_t bytes = memory.size() & ~uint64_t{63};
  if (bytes < kMinimumBytes || bytes > kMaximumBytes || tables.size() > limits::kTablesMax ||
      reinterpret_cast<uintptr_t>(memory.data()) % alignof(Bucket) != 0) {
    return false;
  }
  // Two pages stay for records and overflow buckets, however much is expected.
  const uint64_t buckets_max = (bytes - 2 * uint64_t{kPageBytes}) / sizeof(Bucket);
  if (expected_records / kRecordsPerBucketInitial >= buckets_max) return false;
  *this = Shard();
  for (const Table& table : tables) {
    if (table_index(table.id) >= 0) return false;
    uint32_t at = table.id % kTableSlots;
    while (table_slots_[at].index >= 0) at = (at + 1) % kTableSlots;
    table_slots_[at] = {table.id, static_cast<int16_t>(table_count_)};
    tables_[table_count_++].capacity = table.capacity;
  }
  memory_bytes_ = bytes;
  buckets_.init(memory.data(), std::max<uint64_t>(Buckets::kMinimum, expected_records / kRecordsPerBucketInitial + 1),
                first);
  blocks_.init(memory.data(), bytes, buckets_.count() * sizeof(Bucket));
  set_split_threshold();
  return true;
}

Record* Shard::put_new_block(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash,
                             const std::byte* value, uint32_t value_length, Version version, Record* existing) {
  assert(key_length >= 1 && key_length <= limits::kKeyBytesMax && value_length <= limits::kValueBytesMax);
  const uint32_t size_class = size_class_of(record_bytes(key_length, value_length));
  const Reference reference = blocks_.allocate(size_class);
  const uint32_t extra_lines = extra_lines_of(reference, size_class);
  Record* const record = record_at(reference);
  *record = {version,
             table,
             static_cast<uint8_t>(key_length),
             static_cast<uint8_t>(size_class),
             static_cast<uint16_t>(value_length),
             0};
  copy(record->key(), key, key_length);
  copy(record->value(), value, value_length);
  payload_bytes_ += key_length + value_length;
  if (existing != nullptr) {
    assert(is_key(existing, table, key, key_length));
    payload_bytes_ -= uint32_t{existing->key_length} + existing->value_length;
    const Reference old_reference = blocks_.reference_of(existing);
    buckets_.replace(hash, old_reference, reference, extra_lines, blocks_);
    blocks_.release(old_reference, existing->size_class);
    return record;
  }
  buckets_.insert(hash, reference, extra_lines, blocks_);
  Bucket* const head = buckets_.head(hash);
  head->version = std::max(head->version, version);
  const int32_t index = table_index(table);
  assert(index >= 0 && "the table is not declared");
  ++tables_[static_cast<uint32_t>(index)].records;
  ++records_;
  ++inserts_;
  return record;
}

void Shard::erase(Record* record, uint64_t hash, Version version) {
  const Reference reference = blocks_.reference_of(record);
  buckets_.remove(hash, reference, blocks_);
  Bucket* const head = buckets_.head(hash);
  head->version = std::max(head->version, version);
  const int32_t index = table_index(record->table);
  assert(index >= 0);
  --tables_[static_cast<uint32_t>(index)].records;
  --records_;
  payload_bytes_ -= uint32_t{record->key_length} + record->value_length;
  blocks_.release(reference, record->size_class);
}

// No branch depends on what the overflow buckets hold, so that several that are still on their way overlap. A
// bucket may have been freed meanwhile: then this fetches a line in vain.
void Shard::prefetch_waiting() const {
  const uint32_t count = std::min(waiting_count_, kWaitingMax);
  for (uint32_t i = 0; i < count; ++i) {
    const Bucket* const bucket = waiting_[i].bucket;
    const uint32_t found = bucket->match(waiting_[i].tag);
    const auto slot = static_cast<uint32_t>(std::countr_zero(found | 1u << kLinkSlot));
    const std::byte* const record = blocks_.at(bucket->references[slot]);
    const std::byte* const line = found != 0 ? record : reinterpret_cast<const std::byte*>(bucket);
    prefetch(line);
    prefetch(line + ((bucket->tags[slot] & Bucket::kTagExtraLines) != 0 ? 64 : 0));
  }
  waiting_count_ = 0;
}

// Splits until the load is right again, the budget is used up, or the memory is full.
void Shard::grow() {
  uint64_t budget = limits::kSplitsPerInsertMax * (inserts_ + 1);
  for (; records_ > split_above_ && budget != 0; --budget) {
    if (!may_grow() || !blocks_.extend_bottom(sizeof(Bucket))) return;
    buckets_.split(blocks_);
    ++splits_;
    set_split_threshold();
  }
}

bool Shard::load(TableId table, const std::byte* key, uint32_t key_length, uint64_t hash, const std::byte* value,
                 uint32_t value_length, Version version) {
  const int32_t index = table_index(table);
  assert(index >= 0 && "the table is not declared");
  Record* const existing = find(table, key, key_length, hash).record;
  const Need need = {static_cast<uint32_t>(index), record_bytes(key_length, value_length), existing == nullptr, hash,
                     existing};
  if (!room({&need, 1})) [[unlikely]]
    return false;
  put(table, key, key_length, hash, value, value_length, version, existing);
  maintain();
  return true;
}

ShardStatistics Shard::statistics() const {
  ShardStatistics statistics;
  statistics.records = records_;
  statistics.buckets = buckets_.count();
  statistics.overflow_buckets = buckets_.overflow_count();
  statistics.payload_bytes = payload_bytes_;
  statistics.used_bytes = buckets_.count() * sizeof(Bucket) + blocks_.used_pages() * kPageBytes;
  statistics.memory_bytes = memory_bytes_;
  statistics.splits = splits_;
  return statistics;
}

}  // namespace txnic::storage
