// SPDX-License-Identifier: BSD-3-Clause
// What fits into a shard: the check before a transaction's writes, and the sizing of its memory.
#include <algorithm>

#include "host/store/shard.h"

namespace txnic::storage {

namespace {

bool stays_in_place(const Need& need) {
  return need.existing != nullptr && need.existing->size_class == size_class_of(need.record_bytes);
}

}  // namespace

bool Shard::room(std::span<const Need> needs) const {
  assert(needs.size() <= limits::kOperationsMax);
  uint32_t inserts = 0;
  for (const Need& need : needs) inserts += need.inserts;
  if (inserts != 0 && !(tables_have_room(needs, inserts) && chains_have_room(needs, inserts))) return false;
  // A class needs at most one page for each of its writes, and the overflow buckets' class at most one more.
  if (blocks_.free_pages() > needs.size()) [[likely]]
    return true;
  return blocks_have_room(needs, inserts);
}

bool Shard::tables_have_room(std::span<const Need> needs, uint32_t inserts) const {
  for (const Need& need : needs) {
    const TableState& table = tables_[need.table_index];
    if (!need.inserts || table.records + inserts <= table.capacity) [[likely]]
      continue;
    // As if all inserts went to this table, it would be full: count its own.
    const auto own = static_cast<uint64_t>(std::count_if(needs.begin(), needs.end(), [&](const Need& other) {
      return other.inserts && other.table_index == need.table_index;
    }));
    if (table.records + own > table.capacity) return false;
  }
  return true;
}

// Chains that are not long take any transaction's inserts; usually none is long.
bool Shard::chains_have_room(std::span<const Need> needs, uint32_t inserts) const {
  if (buckets_.long_chains() == 0) [[likely]]
    return true;
  const uint32_t longer = (inserts + kSlots - 2) / (kSlots - 1);
  return std::all_of(needs.begin(), needs.end(), [&](const Need& need) {
    if (!need.inserts) return true;
    return need.hash != 0 && buckets_.chain_length(need.hash, blocks_) + longer <= limits::kBucketChainMax;
  });
}

bool Shard::blocks_have_room(std::span<const Need> needs, uint32_t inserts) const {
  std::array<uint32_t, kSizeClasses> wanted{};
  for (const Need& need : needs) {
    if (!stays_in_place(need)) ++wanted[size_class_of(need.record_bytes)];
  }
  wanted[kLineClass] += inserts;  // each insert may take an overflow bucket
  uint64_t pages = 0;
  for (uint32_t i = 0; i < kSizeClasses; ++i) {
    const uint64_t free_blocks = blocks_.free_blocks(i);
    if (wanted[i] > free_blocks) pages += (wanted[i] - free_blocks + kBlocksPerPage[i] - 1) / kBlocksPerPage[i];
  }
  return pages <= blocks_.free_pages();
}

// Buckets and overflow buckets together take about 14.5 bytes a record, at 5 records a bucket as well as at 5.6
// (fewer buckets, longer chains); 16 leaves a margin for the hash's luck. Four pages are for partly used ones.
uint64_t shard_memory_bytes(uint64_t records, uint32_t record_bytes) {
  constexpr uint64_t kTableBytesPerRecord = 16;
  constexpr uint64_t kSparePages = 4;
  const uint32_t per_page = kBlocksPerPage[size_class_of(record_bytes)];
  const uint64_t pages = (records + per_page - 1) / per_page + kSparePages;
  return Buckets::kMinimum * sizeof(Bucket) + (records * kTableBytesPerRecord + 63) / 64 * 64 + pages * kPageBytes;
}

}  // namespace txnic::storage
