// SPDX-License-Identifier: BSD-3-Clause
#include "host/store/blocks.h"

#include <set>

#include "tests/unit/store/store_fixture.h"

namespace txnic::storage {
namespace {

TEST(SizeClasses, HoldEverySizeWithLittleSlack) {
  for (uint32_t bytes = kRecordHeaderBytes + 1; bytes <= kRecordBytesMax; ++bytes) {
    const uint32_t size = kSizeClassBytes[size_class_of(bytes)];
    ASSERT_GE(size, bytes);
    ASSERT_EQ(size % kReferenceUnitBytes, 0u);
    ASSERT_TRUE(size_class_of(bytes) == 0 || kSizeClassBytes[size_class_of(bytes) - 1] < bytes) << "a smaller one fits";
    ASSERT_LE(size - bytes, std::max(15u, bytes / 8)) << bytes;
  }
  EXPECT_EQ(kSizeClassBytes[size_class_of(16 + 8 + 40)], 64);
  EXPECT_EQ(kSizeClassBytes[size_class_of(16 + 8 + 1000)], 1024);
}

class BlocksTest : public testing::Test {
 protected:
  static constexpr uint64_t kBottom = 4096;
  void start(uint32_t pages, uint64_t more = 0) {
    arena_ = std::make_unique<Arena>(kBottom + uint64_t{pages} * kPageBytes + more);
    blocks_.init(arena_->all().data(), arena_->all().size(), kBottom);
  }
  std::unique_ptr<Arena> arena_;
  Blocks blocks_;
};

TEST_F(BlocksTest, BlocksDoNotOverlapAndLinesAreAligned) {
  start(kSizeClasses);
  for (uint32_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    ASSERT_TRUE(blocks_.can_allocate(size_class));
    uint64_t previous_end = 0;
    for (uint32_t i = 0; i < kBlocksPerPage[size_class]; ++i) {
      const Reference block = blocks_.allocate(size_class);
      const uint64_t offset = static_cast<uint64_t>(blocks_.at(block) - arena_->all().data());
      ASSERT_GE(offset, kBottom);
      ASSERT_LE(offset + kSizeClassBytes[size_class], arena_->all().size());
      ASSERT_GE(offset, previous_end);
      ASSERT_EQ(blocks_.reference_of(blocks_.at(block)), block);
      ASSERT_EQ(offset % (size_class == kLineClass ? 64 : 16), 0u);
      std::memset(blocks_.at(block), 0xff, kSizeClassBytes[size_class]);
      previous_end = offset + kSizeClassBytes[size_class];
    }
    ASSERT_EQ(blocks_.free_blocks(size_class), 0u);
  }
  EXPECT_EQ(blocks_.free_pages(), 0u);
  EXPECT_EQ(blocks_.used_pages(), kSizeClasses);
}

TEST_F(BlocksTest, FreedBlocksAndPagesAreUsedAgain) {
  start(2);
  for (const uint32_t size_class : {0u, kLineClass, kSizeClasses - 1, 5u}) {
    for (uint32_t round = 0; round < 3; ++round) {
      const uint32_t count = 2 * kBlocksPerPage[size_class];
      std::vector<Reference> taken;
      for (uint32_t i = 0; i < count; ++i) taken.push_back(blocks_.allocate(size_class));
      EXPECT_FALSE(blocks_.can_allocate(size_class));
      EXPECT_EQ(std::set<Reference>(taken.begin(), taken.end()).size(), count);
      // In another order each round.
      for (uint32_t i = 0; i < count; ++i) blocks_.release(taken[(i * 7919 + round) % count], size_class);
      EXPECT_EQ(blocks_.free_pages(), 2u);
      EXPECT_EQ(blocks_.used_pages(), 0u);
      EXPECT_EQ(blocks_.free_blocks(size_class), 0u);
    }
  }
}

TEST_F(BlocksTest, OneBlockKeepsItsPage) {
  start(2);
  const Reference kept = blocks_.allocate(3);
  EXPECT_EQ(blocks_.free_blocks(3), kBlocksPerPage[3] - 1u);
  EXPECT_EQ(blocks_.free_pages(), 1u);
  blocks_.release(blocks_.allocate(3), 3);
  EXPECT_EQ(blocks_.free_pages(), 1u);
  blocks_.release(kept, 3);
  EXPECT_EQ(blocks_.free_pages(), 2u);
}

TEST_F(BlocksTest, BottomGrowsIntoTheGapAndIntoFreedPages) {
  start(2, 128);
  EXPECT_TRUE(blocks_.extend_bottom(64));
  const Reference high = blocks_.allocate(1);
  std::vector<Reference> low;
  for (uint32_t i = 1; i < kBlocksPerPage[1]; ++i) blocks_.allocate(1);
  for (uint32_t i = 0; i < kBlocksPerPage[1]; ++i) low.push_back(blocks_.allocate(1));
  EXPECT_FALSE(blocks_.can_allocate(1));
  EXPECT_TRUE(blocks_.extend_bottom(64));
  EXPECT_FALSE(blocks_.extend_bottom(64)) << "both pages are in use";
  blocks_.release(high, 1);
  EXPECT_FALSE(blocks_.extend_bottom(64)) << "the lowest page is in use";
  for (const Reference block : low) blocks_.release(block, 1);
  EXPECT_EQ(blocks_.free_pages(), 1u);
  for (uint32_t i = 0; i < kPageBytes / 64; ++i) EXPECT_TRUE(blocks_.extend_bottom(64));
  EXPECT_FALSE(blocks_.extend_bottom(64));
  EXPECT_EQ(blocks_.free_pages(), 0u);
  EXPECT_TRUE(blocks_.can_allocate(1)) << "the block freed in the higher page";
  EXPECT_FALSE(blocks_.can_allocate(2));
}

TEST_F(BlocksTest, APageGivenBackIsNotHandedOut) {
  start(2);
  std::vector<Reference> taken;
  while (blocks_.can_allocate(4)) taken.push_back(blocks_.allocate(4));
  for (const Reference block : taken) blocks_.release(block, 4);  // the lowest page's last: it is the list's first
  EXPECT_EQ(blocks_.free_pages(), 2u);
  EXPECT_TRUE(blocks_.extend_bottom(64));
  EXPECT_EQ(blocks_.free_pages(), 1u);
  uint32_t count = 0;
  for (; blocks_.can_allocate(4); ++count) {
    ASSERT_GE(blocks_.at(blocks_.allocate(4)), arena_->all().data() + arena_->all().size() - kPageBytes);
  }
  EXPECT_EQ(count, kBlocksPerPage[4]);
}

}  // namespace
}  // namespace txnic::storage
