// SPDX-License-Identifier: BSD-3-Clause
#include "host/store/buckets.h"

#include "txn/prefetch.h"

namespace txnic::storage {

void Buckets::init(std::byte* memory, uint64_t count, Version first) {
  assert(count >= kMinimum);
  *this = Buckets();
  buckets_ = reinterpret_cast<Bucket*>(memory);
  base_ = count_ = half_ = count;
  level_mask_ = 1;
  for (uint64_t i = 0; i < count; ++i) buckets_[i] = Bucket{first, {}, {}};
}

void Buckets::insert(uint64_t hash, Reference record, uint32_t extra_lines, Blocks& blocks) {
  Bucket* bucket = head(hash);
  uint32_t length = 1;
  for (; bucket->has_link(); ++length) bucket = next(bucket, blocks);
  const uint32_t used = used_slots(bucket);
  const uint32_t tag = full_tag(hash, extra_lines);
  if (used < kSlots) {
    bucket->tags[used] = tag;
    bucket->references[used] = record;
    return;
  }
  assert(length < limits::kBucketChainMax && "room() must be asked before a write");
  const Reference overflow = blocks.allocate(kLineClass);
  *reinterpret_cast<Bucket*>(blocks.at(overflow)) =
      Bucket{0, {bucket->tags[kLinkSlot], tag}, {bucket->references[kLinkSlot], record}};
  bucket->tags[kLinkSlot] = Bucket::kTagLink;
  bucket->references[kLinkSlot] = overflow;
  ++overflow_count_;
  if (length + 1 == kLongChain) ++long_chains_;
}

void Buckets::remove(uint64_t hash, Reference record, Blocks& blocks) {
  const uint32_t tag = Bucket::tag_of(hash);
  Bucket* hole_bucket = nullptr;
  uint32_t hole = 0;
  Bucket* before_last = nullptr;
  Bucket* last = head(hash);
  uint32_t length = 1;
  for (;; ++length) {
    for (uint32_t found = last->match(tag); hole_bucket == nullptr && found != 0; found &= found - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(found));
      if (last->references[i] == record) hole_bucket = last, hole = i;
    }
    if (!last->has_link()) break;
    before_last = last;
    last = next(last, blocks);
  }
  assert(hole_bucket != nullptr && "the record is not in the chain of this hash");
  // The chain's last record fills the hole.
  const uint32_t end = used_slots(last) - 1;
  hole_bucket->tags[hole] = last->tags[end];
  hole_bucket->references[hole] = last->references[end];
  last->tags[end] = Bucket::kTagEmpty;
  if (before_last == nullptr || end > 1) return;
  // One record is left in the overflow bucket: it takes the place of the link.
  const Reference overflow = before_last->references[kLinkSlot];
  before_last->tags[kLinkSlot] = last->tags[0];
  before_last->references[kLinkSlot] = last->references[0];
  blocks.release(overflow, kLineClass);
  --overflow_count_;
  if (length == kLongChain) --long_chains_;
}

void Buckets::replace(uint64_t hash, Reference old_record, Reference new_record, uint32_t extra_lines,
                      const Blocks& blocks) {
  const uint32_t tag = Bucket::tag_of(hash);
  for (Bucket* bucket = head(hash);; bucket = next(bucket, blocks)) {
    for (uint32_t found = bucket->match(tag); found != 0; found &= found - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(found));
      if (bucket->references[i] != old_record) continue;
      bucket->tags[i] = full_tag(hash, extra_lines);
      bucket->references[i] = new_record;
      return;
    }
    assert(bucket->has_link() && "the record is not in the chain of this hash");
  }
}

uint32_t Buckets::chain_length(uint64_t hash, const Blocks& blocks) const {
  uint32_t length = 1;
  for (const Bucket* bucket = head(hash); bucket->has_link(); ++length) bucket = next(bucket, blocks);
  return length;
}

// The overflow buckets of a chain that is being split. Two chains never need more than their union did.
struct Buckets::Spare {
  Reference buckets[limits::kBucketChainMax];
  uint32_t count = 0;
};

// Writes a chain anew: `count` slots into `head` and as many spare buckets as it takes. Leaves head->version.
void Buckets::fill(Bucket* head, const Slot* slots, uint32_t count, Spare& spare, const Blocks& blocks) {
  uint32_t length = 1;
  for (Bucket* bucket = head;; ++length) {
    const bool is_last = count <= kSlots;
    const uint32_t here = is_last ? count : kSlots - 1;
    for (uint32_t i = 0; i < here; ++i) {
      bucket->tags[i] = slots[i].tag;
      bucket->references[i] = slots[i].reference;
    }
    if (is_last) {
      for (uint32_t i = here; i < kSlots; ++i) bucket->tags[i] = Bucket::kTagEmpty;
      break;
    }
    assert(spare.count != 0);
    bucket->tags[kLinkSlot] = Bucket::kTagLink;
    bucket->references[kLinkSlot] = spare.buckets[--spare.count];
    bucket = next(bucket, blocks);
    slots += here;
    count -= here;
  }
  if (length >= kLongChain) ++long_chains_;
}

void Buckets::split(Blocks& blocks) {
  Bucket* const source = buckets_ + (count_ - half_);
  Bucket* const target = buckets_ + count_;
  const uint32_t split_bit = static_cast<uint32_t>(level_mask_ - (level_mask_ >> 1)) << Bucket::kTagHashShift;
  Slot slots[2][kChainRecordsMax];
  uint32_t counts[2] = {0, 0};
  Spare spare;
  const Bucket* bucket = source;
  for (;;) {
    const bool has_link = bucket->has_link();
    const uint32_t records = has_link ? kSlots - 1 : used_slots(bucket);
    for (uint32_t i = 0; i < records; ++i) {
      const uint32_t side = (bucket->tags[i] & split_bit) != 0;
      slots[side][counts[side]++] = {bucket->tags[i], bucket->references[i]};
    }
    if (!has_link) break;
    spare.buckets[spare.count++] = bucket->references[kLinkSlot];
    bucket = next(bucket, blocks);
  }
  if (spare.count + 1 >= kLongChain) --long_chains_;
  target->version = source->version;  // COMMIT 17: whoever saw a key absent here is not told otherwise there
  fill(source, slots[0], counts[0], spare, blocks);
  fill(target, slots[1], counts[1], spare, blocks);
  overflow_count_ -= spare.count;
  while (spare.count != 0) blocks.release(spare.buckets[--spare.count], kLineClass);
  if (++count_ == half_ * 2) {
    half_ = count_;
    level_mask_ = level_mask_ * 2 + 1;
  }
  // The chain that the next split will read; the bucket after it comes with it, so that its link is at hand then.
  const Bucket* const upcoming = buckets_ + (count_ - half_);
  prefetch(upcoming + 1);
  if (upcoming->has_link()) prefetch(next(upcoming, blocks));
}

}  // namespace txnic::storage
