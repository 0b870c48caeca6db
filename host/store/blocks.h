// SPDX-License-Identifier: BSD-3-Clause
// The block allocator of a shard: pages of 64 KiB, taken from the top of the shard's memory downwards, each cut
// into blocks of one size class. Every operation is a handful of steps; nothing loops.
//
//   memory  | buckets --> |   gap   | page n | ... | page 1 | page 0 |
//                         ^ bottom  ^ floor
//
// A page keeps its own list of free blocks, so that a page whose blocks are all free can serve another class, and
// the lowest one can go back to the gap. Records never move by themselves: a page with one live record stays.
#pragma once

#include <array>
#include <cassert>

#include "txn/limits.h"
#include "txn/types.h"

namespace txnic::storage {

// A place in the shard's memory in units of 16 bytes. 0 is the first bucket, so no block has it.
using Reference = uint32_t;
inline constexpr uint32_t kReferenceUnitBytes = 16;
inline constexpr uint64_t kMaximumMemoryBytes = uint64_t{kReferenceUnitBytes} << 32;

inline constexpr uint32_t kPageBytes = 64 * 1024;
inline constexpr uint32_t kPageHeaderBytes = 64;  // so that blocks of 64, 128, ... bytes are whole cache lines
inline constexpr uint32_t kRecordHeaderBytes = 16;
inline constexpr uint32_t kRecordBytesMax = kRecordHeaderBytes + limits::kKeyBytesMax + limits::kValueBytesMax;

// Classes are 16 bytes apart up to 256, 32 up to 512, 64 up to 1,024: at most 12 % of slack from 128 bytes on.
inline constexpr uint32_t kSizeClasses = 32;
inline constexpr std::array<uint16_t, kSizeClasses> kSizeClassBytes = [] {
  std::array<uint16_t, kSizeClasses> bytes{};
  uint32_t size = 16;
  for (uint16_t& entry : bytes) {
    size += size < 256 ? 16u : size < 512 ? 32u : 64u;
    if (size > kRecordBytesMax) size = kRecordBytesMax;
    if (size == 1088) size = kRecordBytesMax;  // the last class holds the largest record, without one 16 bytes below
    entry = static_cast<uint16_t>(size);
  }
  return bytes;
}();
static_assert(kSizeClassBytes.front() == 32 && kSizeClassBytes.back() == kRecordBytesMax);
static_assert(kSizeClassBytes[kSizeClasses - 2] == 1024);

// By size in units of 16 bytes, rounded up.
inline constexpr auto kClassOfUnits = [] {
  std::array<uint8_t, kRecordBytesMax / kReferenceUnitBytes + 1> classes{};
  uint32_t size_class = 0;
  for (uint32_t units = 0; units < classes.size(); ++units) {
    while (kSizeClassBytes[size_class] < units * kReferenceUnitBytes) ++size_class;
    classes[units] = static_cast<uint8_t>(size_class);
  }
  return classes;
}();

inline constexpr uint32_t size_class_of(uint32_t bytes) {
  return kClassOfUnits[(bytes + kReferenceUnitBytes - 1) / kReferenceUnitBytes];
}
inline constexpr auto kBlocksPerPage = [] {
  std::array<uint16_t, kSizeClasses> counts{};
  for (uint32_t i = 0; i < kSizeClasses; ++i) {
    counts[i] = static_cast<uint16_t>((kPageBytes - kPageHeaderBytes) / kSizeClassBytes[i]);
  }
  return counts;
}();
inline constexpr uint32_t kLineClass = size_class_of(64);  // one cache line: overflow buckets, too

class Blocks {
 public:
  // The first `bottom_bytes` (a multiple of 64) belong to the buckets.
  void init(std::byte* memory, uint64_t memory_bytes, uint64_t bottom_bytes);

  // A block; there must be one (can_allocate(), or the shard's room()).
  Reference allocate(uint32_t size_class);
  void release(Reference block, uint32_t size_class);

  bool can_allocate(uint32_t size_class) const { return free_blocks_[size_class] != 0 || free_pages() != 0; }
  // Free blocks in the pages of one class.
  uint64_t free_blocks(uint32_t size_class) const { return free_blocks_[size_class]; }
  // Pages that any class may take.
  uint64_t free_pages() const { return listed_free_pages_ + ((floor_ - bottom_) / kPageBytes); }
  // Pages that hold blocks now.
  uint64_t used_pages() const { return page_count_ - listed_free_pages_; }

  // Gives `bytes` more to the buckets; false if the gap is too small and the lowest page is in use.
  bool extend_bottom(uint32_t bytes) {
    if (floor_ - bottom_ < bytes && !give_back_lowest_page()) [[unlikely]]
      return false;
    bottom_ += bytes;
    return true;
  }

  bool extending_takes_page(uint32_t bytes) const { return (floor_ - bottom_) % kPageBytes < bytes; }

  std::byte* at(Reference reference) const { return memory_ + uint64_t{reference} * kReferenceUnitBytes; }
  Reference reference_of(const void* block) const {
    return static_cast<Reference>(static_cast<uint64_t>(static_cast<const std::byte*>(block) - memory_) /
                                  kReferenceUnitBytes);
  }

 private:
  // Pages are numbered from the top, from 0. Lists of pages are doubly linked through the page headers.
  static constexpr uint32_t kNoPage = ~0u;
  static constexpr uint16_t kNoBlock = 0;  // unit 0 of a page is its header
  struct Page {
    uint32_t next;
    uint32_t previous;
    uint16_t free_head;     // a block freed before: its unit inside the page, kNoBlock = none
    uint16_t free_count;    // freed ones and never used ones
    uint16_t unused_units;  // where the blocks begin that were never used
    uint16_t size_class;    // kFreePageClass on the list of free pages
  };
  static_assert(sizeof(Page) <= kPageHeaderBytes);
  static constexpr uint16_t kFreePageClass = kSizeClasses;

  uint64_t page_offset(uint32_t page) const { return top_ - (uint64_t{page} + 1) * kPageBytes; }
  Page* page_at(uint32_t page) const { return reinterpret_cast<Page*>(memory_ + page_offset(page)); }
  void link(uint32_t page, uint32_t list);
  void unlink(uint32_t page, uint32_t list);
  uint32_t take_page(uint32_t size_class);
  bool give_back_lowest_page();

  std::byte* memory_ = nullptr;
  uint64_t top_ = 0;     // end of page 0
  uint64_t floor_ = 0;   // start of the lowest page
  uint64_t bottom_ = 0;  // end of the buckets
  uint64_t listed_free_pages_ = 0;
  uint32_t page_count_ = 0;
  std::array<uint32_t, kSizeClasses + 1> lists_{};  // pages with a free block, by class; the last: free pages
  std::array<uint64_t, kSizeClasses> free_blocks_{};
};

}  // namespace txnic::storage
