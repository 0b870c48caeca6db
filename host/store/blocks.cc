// SPDX-License-Identifier: BSD-3-Clause
#include "host/store/blocks.h"

namespace txnic::storage {

void Blocks::init(std::byte* memory, uint64_t memory_bytes, uint64_t bottom_bytes) {
  *this = Blocks();
  memory_ = memory;
  top_ = floor_ = memory_bytes & ~uint64_t{63};
  bottom_ = bottom_bytes;
  assert(bottom_ <= top_ && top_ <= kMaximumMemoryBytes);
  lists_.fill(kNoPage);
}

void Blocks::link(uint32_t page, uint32_t list) {
  Page* const header = page_at(page);
  header->previous = kNoPage;
  header->next = lists_[list];
  if (header->next != kNoPage) page_at(header->next)->previous = page;
  lists_[list] = page;
}

void Blocks::unlink(uint32_t page, uint32_t list) {
  const Page* const header = page_at(page);
  if (header->previous == kNoPage) {
    lists_[list] = header->next;
  } else {
    page_at(header->previous)->next = header->next;
  }
  if (header->next != kNoPage) page_at(header->next)->previous = header->previous;
}

// A page for a class that has no free block.
uint32_t Blocks::take_page(uint32_t size_class) {
  uint32_t page = lists_[kFreePageClass];
  if (page != kNoPage) {
    unlink(page, kFreePageClass);
    --listed_free_pages_;
  } else {
    assert(floor_ - bottom_ >= kPageBytes && "room() must be asked before a write");
    page = page_count_++;
    floor_ -= kPageBytes;
  }
  const uint32_t blocks = kBlocksPerPage[size_class];
  *page_at(page) = {kNoPage,
                    kNoPage,
                    kNoBlock,
                    static_cast<uint16_t>(blocks),
                    kPageHeaderBytes / kReferenceUnitBytes,
                    static_cast<uint16_t>(size_class)};
  free_blocks_[size_class] += blocks;
  link(page, size_class);
  return page;
}

Reference Blocks::allocate(uint32_t size_class) {
  uint32_t page = lists_[size_class];
  if (page == kNoPage) [[unlikely]]
    page = take_page(size_class);
  Page* const header = page_at(page);
  uint32_t unit = header->free_head;
  if (unit != kNoBlock) {
    header->free_head = load<uint16_t>(reinterpret_cast<std::byte*>(header) + size_t{unit} * kReferenceUnitBytes);
  } else {
    unit = header->unused_units;
    header->unused_units = static_cast<uint16_t>(unit + kSizeClassBytes[size_class] / kReferenceUnitBytes);
  }
  --free_blocks_[size_class];
  if (--header->free_count == 0) unlink(page, size_class);
  return static_cast<Reference>(page_offset(page) / kReferenceUnitBytes + unit);
}

void Blocks::release(Reference block, uint32_t size_class) {
  const uint64_t offset = uint64_t{block} * kReferenceUnitBytes;
  assert(offset >= floor_ && offset < top_);
  const auto page = static_cast<uint32_t>((top_ - 1 - offset) / kPageBytes);
  Page* const header = page_at(page);
  assert(header->size_class == size_class);
  store<uint16_t>(memory_ + offset, header->free_head);
  header->free_head = static_cast<uint16_t>((offset - page_offset(page)) / kReferenceUnitBytes);
  ++free_blocks_[size_class];
  const uint32_t blocks = kBlocksPerPage[size_class];
  if (++header->free_count == 1) {
    link(page, size_class);
  } else if (header->free_count == blocks) {
    unlink(page, size_class);
    free_blocks_[size_class] -= blocks;
    header->size_class = kFreePageClass;
    ++listed_free_pages_;
    link(page, kFreePageClass);
  }
}

bool Blocks::give_back_lowest_page() {
  if (page_count_ == 0) return false;
  const uint32_t lowest = page_count_ - 1;
  if (page_at(lowest)->size_class != kFreePageClass) return false;
  unlink(lowest, kFreePageClass);
  --listed_free_pages_;
  --page_count_;
  floor_ += kPageBytes;
  return true;
}

}  // namespace txnic::storage
