// SPDX-License-Identifier: BSD-3-Clause
// The bucket array of a shard: linear hashing with chains of overflow buckets.
//
// The array starts with `base` buckets (any number) and doubles by splitting bucket 0, 1, 2, ... in order, each
// split adding one bucket at the end. The low 32 bits of the hash choose the bucket among the base; each doubling
// takes one more of the next 29 bits, and those 29 bits are what a slot keeps in its tag: a split needs neither the
// keys nor their hashes. The tag also tells how many cache lines the record spans, for prefetching.
//
// A chain is dense: all its buckets but the last are full (six records and the link), and its last bucket, if it
// is not the first, holds at least two. So chains shrink again when records are deleted.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>

#include "host/store/blocks.h"
#include "txn/limits.h"
#include "txn/types.h"

namespace txnic::storage {

inline constexpr uint32_t kSlots = 7;
inline constexpr uint32_t kLinkSlot = kSlots - 1;

// One cache line. A slot is a tag and a reference; tags and references lie apart, so that all tags are compared
// with two vector operations.
struct alignas(64) Bucket {
  static constexpr uint32_t kTagEmpty = 0;
  static constexpr uint32_t kTagLink = 4;  // in the last slot: the reference is an overflow bucket
  static constexpr uint32_t kTagRecord = 1u << 31;
  static constexpr uint32_t kTagHashShift = 2;
  static constexpr uint32_t kTagExtraLines = 3;  // mask: the record's cache lines after its first, at most 3

  Version version;  // of a main bucket: its last insert or delete
  uint32_t tags[kSlots];
  Reference references[kSlots];

  // Without the lines, which match() leaves out.
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) << kTagHashShift | kTagRecord; }
  bool has_link() const { return tags[kLinkSlot] == kTagLink; }

  // Bit i is set if slot i has this tag. The compilers' vector extension, not intrinsics: SSE2 and NEON alike.
  uint32_t match(uint32_t tag) const {
    using Four = uint32_t __attribute__((vector_size(16)));
    using Two = uint64_t __attribute__((vector_size(16)));
    Four low, high;  // slots 0-3 and 3-6
    std::memcpy(&low, tags, sizeof low);
    std::memcpy(&high, tags + 3, sizeof high);
    const Four needle = {tag, tag, tag, tag};
    constexpr Four kMask = {~kTagExtraLines, ~kTagExtraLines, ~kTagExtraLines, ~kTagExtraLines};
    const auto equal = (Four)((low & kMask) == needle) & Four{1, 2, 4, 8};
    const auto equal_high = (Four)((high & kMask) == needle) & Four{8, 16, 32, 64};
    const Two both = (Two)(equal | equal_high);
    const uint64_t halves = both[0] | both[1];
    return static_cast<uint32_t>(halves | halves >> 32);
  }
};
static_assert(sizeof(Bucket) == 64);

class Buckets {
 public:
  static constexpr uint32_t kMinimum = 64;
  // A chain this long may not take the inserts of a whole transaction any more: room() then looks closely.
  static constexpr uint32_t kLongChain = limits::kBucketChainMax - (limits::kOperationsMax + kSlots - 2) / (kSlots - 1);
  static constexpr uint32_t kChainRecordsMax = limits::kBucketChainMax * (kSlots - 1) + 1;

  // Fills `count` buckets at `memory`.
  void init(std::byte* memory, uint64_t count, Version first);

  Bucket* head(uint64_t hash) const {
    const uint64_t extra = (hash >> 32) & level_mask_;
    uint64_t index = (((hash & 0xffffffff) * base_) >> 32) + extra * base_;
    // Not split yet: one bit less. A mask, because a branch would be mispredicted for half of all keys.
    const uint64_t is_beyond = index >= count_;
    return buckets_ + (index - (half_ & (0 - is_beyond)));
  }
  Bucket* at(uint64_t index) const { return buckets_ + index; }
  // Of the bucket that the key's bucket was split from: keys that share a bucket share it.
  uint64_t base_index(uint64_t hash) const { return ((hash & 0xffffffff) * base_) >> 32; }
  uint64_t count() const { return count_; }
  uint64_t overflow_count() const { return overflow_count_; }
  uint32_t long_chains() const { return long_chains_; }

  // Changes a chain. insert() may take a block of the line class, remove() and split() may free some.
  // `extra_lines`: cache lines of the record's block after its first.
  void insert(uint64_t hash, Reference record, uint32_t extra_lines, Blocks& blocks);
  void remove(uint64_t hash, Reference record, Blocks& blocks);
  void replace(uint64_t hash, Reference old_record, Reference new_record, uint32_t extra_lines, const Blocks& blocks);
  // Splits the next bucket. The place for the new one (64 bytes) must have been taken from the blocks.
  void split(Blocks& blocks);
  uint32_t chain_length(uint64_t hash, const Blocks& blocks) const;

 private:
  struct Slot {
    uint32_t tag;
    Reference reference;
  };
  struct Spare;
  static uint32_t full_tag(uint64_t hash, uint32_t extra_lines) {
    return Bucket::tag_of(hash) | std::min(extra_lines, Bucket::kTagExtraLines);
  }
  static Bucket* next(const Bucket* bucket, const Blocks& blocks) {
    return reinterpret_cast<Bucket*>(blocks.at(bucket->references[kLinkSlot]));
  }
  static uint32_t used_slots(const Bucket* bucket) {
    return static_cast<uint32_t>(std::countr_zero(bucket->match(Bucket::kTagEmpty) | 1u << kSlots));
  }
  void fill(Bucket* head, const Slot* slots, uint32_t count, Spare& spare, const Blocks& blocks);

  Bucket* buckets_ = nullptr;
  uint64_t base_ = 0;
  uint64_t count_ = 0;
  uint64_t half_ = 0;        // base << level: the count when this doubling began
  uint64_t level_mask_ = 0;  // the hash bits that this doubling uses: (1 << (level + 1)) - 1
  uint64_t overflow_count_ = 0;
  uint32_t long_chains_ = 0;
};

}  // namespace txnic::storage
