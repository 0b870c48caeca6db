// SPDX-License-Identifier: BSD-3-Clause
// What fits into a shard: the check before a transaction's writes, what is set aside for prepared ones, and the sizing
// of its memory.
//
// Why set_aside() holds: three sums are never overdrawn by anybody's writes.
// - Tables: records + inserts set aside <= capacity.
// - Blocks: the pages that the blocks set aside would take beyond their classes' free blocks are free. room() asks for
//   its own blocks and all of these together; a page that becomes free leaves its class for the free pages, which is
//   one more there and at most one more to take; growth stops before the last page that is needed.
// - Chains: with all that is set aside for it, no chain is too long. A split only parts what is set aside.
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
  if (blocks_.free_pages() > needs.size() + aside_pages_) [[likely]]
    return true;
  return blocks_have_room(needs, inserts);
}

bool Shard::set_aside(std::span<const Need> needs) {
  if (!room(needs)) return false;
  count_aside(needs, 1);
  return true;
}

void Shard::give_back(std::span<const Need> needs) { count_aside(needs, ~0u); }

// `sign`: 1, or all ones to take it back.
void Shard::count_aside(std::span<const Need> needs, uint32_t sign) {
  const auto count = [&](uint32_t size_class, uint32_t number) {
    uint32_t& blocks = aside_.blocks[size_class];
    const uint32_t per_page = kBlocksPerPage[size_class];
    aside_pages_ -= (blocks + per_page - 1) / per_page;
    blocks += sign * number;
    assert(blocks <= ~0u / 2 && "more is given back than was set aside");
    aside_pages_ += (blocks + per_page - 1) / per_page;
  };
  for (const Need& need : needs) {
    if (!stays_in_place(need)) count(size_class_of(need.record_bytes), 1);
    if (!need.inserts) continue;
    assert(need.hash != 0);
    count(kLineClass, 1);  // it may take an overflow bucket
    aside_chain(need.hash) += sign;
    const uint64_t wide_sign = sign == 1 ? 1 : ~uint64_t{0};
    tables_[need.table_index].aside += wide_sign;
    aside_inserts_ += wide_sign;
  }
}

// A split takes 64 bytes, which may cost the gap a whole page.
bool Shard::may_grow() const {
  if (blocks_.free_pages() > aside_pages_ || !blocks_.extending_takes_page(sizeof(Bucket))) [[likely]]
    return true;
  return aside_pages_ == 0 || pages_for({}) < blocks_.free_pages();
}

bool Shard::tables_have_room(std::span<const Need> needs, uint32_t inserts) const {
  for (const Need& need : needs) {
    const TableState& table = tables_[need.table_index];
    if (!need.inserts || table.records + table.aside + inserts <= table.capacity) [[likely]]
      continue;
    // As if all inserts went to this table, it would be full: count its own.
    const auto own = static_cast<uint64_t>(std::count_if(needs.begin(), needs.end(), [&](const Need& other) {
      return other.inserts && other.table_index == need.table_index;
    }));
    if (table.records + table.aside + own > table.capacity) return false;
  }
  return true;
}

// Chains that are not long take any transaction's inserts; usually none is long, and nothing is set aside.
bool Shard::chains_have_room(std::span<const Need> needs, uint32_t inserts) const {
  if (buckets_.long_chains() == 0 && aside_inserts_ == 0) [[likely]]
    return true;
  return std::all_of(needs.begin(), needs.end(), [&](const Need& need) {
    if (!need.inserts) return true;
    if (need.hash == 0) return buckets_.long_chains() == 0 && aside_inserts_ + inserts <= limits::kOperationsMax;
    const uint32_t longer = (inserts + aside_chain(need.hash) + kSlots - 2) / (kSlots - 1);
    return buckets_.chain_length(need.hash, blocks_) + longer <= limits::kBucketChainMax;
  });
}

bool Shard::blocks_have_room(std::span<const Need> needs, uint32_t inserts) const {
  std::array<uint32_t, kSizeClasses> wanted{};
  for (const Need& need : needs) {
    if (!stays_in_place(need)) ++wanted[size_class_of(need.record_bytes)];
  }
  wanted[kLineClass] += inserts;  // each insert may take an overflow bucket
  return pages_for(wanted) <= blocks_.free_pages();
}

// Free pages that it takes to have these blocks beside all that is set aside.
uint64_t Shard::pages_for(const std::array<uint32_t, kSizeClasses>& wanted) const {
  uint64_t pages = 0;
  for (uint32_t i = 0; i < kSizeClasses; ++i) {
    const uint64_t blocks = uint64_t{wanted[i]} + aside_.blocks[i];
    const uint64_t free_blocks = blocks_.free_blocks(i);
    if (blocks > free_blocks) pages += (blocks - free_blocks + kBlocksPerPage[i] - 1) / kBlocksPerPage[i];
  }
  return pages;
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
