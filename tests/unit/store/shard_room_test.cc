// SPDX-License-Identifier: BSD-3-Clause
// What happens at the limits: full memory, full tables, long chains. room() says no, nothing has changed, and
// what is deleted makes room again.
#include "tests/unit/store/store_fixture.h"

namespace txnic::storage {
namespace {

// Inserts keys from `first` on until room() says no; answers how many.
class RoomTest : public StoreTest {
 protected:
  uint64_t insert_until_full(uint64_t first, uint32_t value_bytes) {
    uint64_t count = 0;
    for (; count < 1'000'000; ++count) {
      if (!put(number_key(first + count), value_of(first + count, value_bytes))) break;
    }
    return count;
  }
  void expect_all(uint64_t first, uint64_t count, uint32_t value_bytes) const {
    for (uint64_t i = first; i < first + count; ++i) ASSERT_EQ(get(number_key(i)), value_of(i, value_bytes)) << i;
  }
};

TEST_F(RoomTest, FullMemoryRefusesAndChangesNothing) {
  for (const uint64_t bytes : {Shard::kMinimumBytes, Shard::kMinimumBytes + 64 * 37, uint64_t{1} << 20}) {
    for (const uint32_t value_bytes : {0u, 40u, 200u, 1024u}) {
      start(bytes);
      const uint64_t count = insert_until_full(0, value_bytes);
      ASSERT_GT(count, bytes / 3 / (24 + value_bytes + 64)) << "full too early";
      const std::vector<std::byte> before = arena_->copy();
      const std::string value = value_of(1, value_bytes);
      const Key absent = number_key(count);
      EXPECT_FALSE(has_room(absent, value));
      EXPECT_FALSE(shard_.load(kTable, absent.data(), absent.length(), absent.hash,
                               reinterpret_cast<const std::byte*>(value.data()), value_bytes, 1));
      EXPECT_TRUE(before == arena_->copy()) << "a refusal changed the memory";
      EXPECT_EQ(shard_.statistics().records, count);
      expect_all(0, count, value_bytes);
      EXPECT_EQ(find(absent).record, nullptr);
    }
  }
}

TEST_F(RoomTest, FullMemoryStillRewritesInPlaceAndDeletes) {
  for (const uint32_t bytes : {40u, 104u, 1000u}) {
    start(1u << 20);
    const uint64_t count = insert_until_full(0, bytes);
    // Rewrites of another size take what is left of the last page, until nothing is left.
    uint64_t others = 0;
    while (others < count && put(number_key(others), value_of(others, bytes + 20))) ++others;
    ASSERT_LT(others, count) << "another size class has no page";
    for (uint64_t i = others; i < count; ++i) ASSERT_TRUE(put(number_key(i), value_of(i + 1, bytes)));
    expect_all(0, others, bytes + 20);
    for (uint64_t i = others; i < count; ++i) ASSERT_EQ(get(number_key(i)), value_of(i + 1, bytes));
    for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(erase(number_key(i)));
    EXPECT_EQ(shard_.statistics().records, 0u);
  }
}

TEST_F(RoomTest, WhatIsDeletedIsRoomForAnySize) {
  start(1u << 20);
  uint64_t counts[2] = {0, 0};
  for (uint32_t round = 0; round < 4; ++round) {
    for (const uint32_t value_bytes : {1000u, 16u, 104u}) {
      const uint64_t first = round * 1'000'000;
      const uint64_t count = insert_until_full(first, value_bytes);
      if (value_bytes == 1000) counts[round != 0] = count;
      ASSERT_NE(count, 0u);
      expect_all(first, count, value_bytes);
      for (uint64_t i = first; i < first + count; ++i) ASSERT_TRUE(erase(number_key(i)));
      EXPECT_EQ(shard_.statistics().records, 0u);
      EXPECT_EQ(shard_.statistics().used_bytes, shard_.statistics().buckets * 64) << "all pages are free again";
    }
  }
  // The bucket array keeps what it grew to for the small records.
  EXPECT_GE(counts[1], counts[0] / 2);
}

TEST_F(RoomTest, OneDeleteMakesRoomForOneInsert) {
  start(1u << 20);
  const uint64_t count = insert_until_full(0, 40);
  for (uint64_t i = 0; i < 200; ++i) {
    // Two, because room() keeps one block for an overflow bucket that the insert might need.
    ASSERT_TRUE(erase(number_key(2 * i)));
    ASSERT_TRUE(erase(number_key(2 * i + 1)));
    ASSERT_TRUE(put(number_key(count + i), value_of(count + i, 40))) << i;
  }
  expect_all(count, 200, 40);
  expect_all(400, count - 400, 40);
}

TEST_F(RoomTest, TableCapacity) {
  start(1u << 20, 0, 100);
  for (uint64_t i = 0; i < 98; ++i) ASSERT_TRUE(put(number_key(i), "v"));
  const auto need = [](uint32_t table, bool inserts) { return Need{table, 32, inserts}; };
  const Need two[] = {need(0, true), need(0, true)};
  EXPECT_TRUE(shard_.room(two));
  const Need three[] = {need(0, true), need(0, true), need(0, true)};
  EXPECT_FALSE(shard_.room(three));
  const Need mixed[] = {need(0, true), need(0, false), need(1, true), need(1, true), need(0, true)};
  EXPECT_TRUE(shard_.room(mixed)) << "only inserts into the same table count";
  ASSERT_TRUE(put(number_key(98), "v"));
  ASSERT_TRUE(put(number_key(99), "v"));
  EXPECT_FALSE(put(number_key(100), "v"));
  EXPECT_TRUE(put(number_key(5), "rewritten"));
  EXPECT_TRUE(put(number_key(100, kOtherTable), "v"));
  EXPECT_TRUE(erase(number_key(5)));
  EXPECT_TRUE(put(number_key(100), "v"));
  EXPECT_EQ(shard_.table_records(0), 100u);
}

TEST_F(RoomTest, AWholeTransactionFitsWhenRoomSaysSo) {
  // Transactions of 64 inserts of mixed sizes until full: put() asserts that room() was right.
  for (uint32_t seed = 0; seed < 8; ++seed) {
    start((2u << 20) + seed * 5 * 40'000 / 64 * 64);  // a page for each size class, and some
    uint64_t next = 0, transactions = 0;
    for (; transactions < 10'000; ++transactions) {
      std::vector<Key> keys;
      std::vector<std::string> values;
      std::vector<Need> needs;
      for (uint32_t i = 0; i < limits::kOperationsMax; ++i, ++next) {
        keys.push_back(number_key(next));
        values.push_back(value_of(next, static_cast<uint32_t>(mix64(next + seed) % (seed < 4 ? 48 : 700))));
        needs.push_back(need_of(keys.back(), values.back()));
      }
      if (!shard_.room(needs)) break;
      for (uint32_t i = 0; i < keys.size(); ++i) {
        shard_.put(kTable, keys[i].data(), keys[i].length(), keys[i].hash,
                   reinterpret_cast<const std::byte*>(values[i].data()), static_cast<uint32_t>(values[i].size()),
                   ++version_, nullptr);
      }
      shard_.maintain();
    }
    EXPECT_GT(transactions, 0u);
    EXPECT_EQ(shard_.statistics().records, transactions * limits::kOperationsMax);
  }
}

TEST_F(RoomTest, CollidingKeysStopAtTheChainLimit) {
  start(8u << 20);
  const uint64_t hash = 0x1234'5678'9abc'def0;
  uint64_t count = 0;
  while (count < 1000 && put(hashed_key(count, hash), value_of(count, 8))) ++count;
  EXPECT_GE(count, (limits::kBucketChainMax - 1) * 6u);
  EXPECT_LE(count, Buckets::kChainRecordsMax);
  for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(get(hashed_key(i, hash)), value_of(i, 8));
  EXPECT_TRUE(put(hashed_key(0, hash), "rewritten")) << "what is there can be written";
  // Others are not concerned, if room() is told their hash.
  EXPECT_TRUE(put(number_key(1'000'000), "v"));
  const Need unknown = {0, 32, true};
  EXPECT_FALSE(shard_.room({&unknown, 1}));
  // Growth splits the bucket many times, and the colliding keys stay together.
  uint32_t refused = 0;  // those that belong into the full chain, the fewer the more buckets there are
  for (uint64_t i = 0; i < 20'000; ++i) refused += !put(number_key(2'000'000 + i), "v");
  EXPECT_GT(shard_.statistics().splits, 3000u);
  EXPECT_LT(refused, 100u);
  EXPECT_FALSE(put(hashed_key(count, hash), "v"));
  for (uint64_t i = 1; i < count; ++i) ASSERT_EQ(get(hashed_key(i, hash)), value_of(i, 8));
  // Deleting makes the chain short again.
  for (uint64_t i = 0; i < count; i += 2) ASSERT_TRUE(erase(hashed_key(i, hash)));
  for (uint64_t i = 1; i < count; i += 2) ASSERT_TRUE(erase(hashed_key(i, hash)));
  EXPECT_TRUE(shard_.room({&unknown, 1}));
  EXPECT_TRUE(put(hashed_key(count, hash), "v"));
}

TEST_F(RoomTest, RoomCountsAChainForAWholeTransaction) {
  start(8u << 20);
  const uint64_t hash = 77;
  std::vector<Need> needs(limits::kOperationsMax, Need{0, 32, true, hash});
  uint64_t count = 0;
  for (; count < 1000 && shard_.room(needs); ++count) {
    const Key key = hashed_key(count, hash);
    shard_.put(kTable, key.data(), key.length(), hash, nullptr, 0, ++version_, nullptr);
  }
  // All of the last transaction that was promised fits.
  for (uint64_t i = 0; i + 1 < limits::kOperationsMax; ++i, ++count) {
    const Key key = hashed_key(count, hash);
    shard_.put(kTable, key.data(), key.length(), hash, nullptr, 0, ++version_, nullptr);
  }
  EXPECT_GT(count, (limits::kBucketChainMax - 2) * 6u);
  EXPECT_LE(count, Buckets::kChainRecordsMax);
}

TEST_F(RoomTest, FullMemoryLengthensChainsAndGrowsAgainLater) {
  start(1u << 20, 0);
  // Large records fill the memory, so that the bucket array cannot grow with the small ones that come then.
  const uint64_t large = insert_until_full(0, 1000);
  for (uint64_t i = 0; i < 120; ++i) ASSERT_TRUE(erase(number_key(i)));
  const uint64_t small = insert_until_full(1'000'000, 8);
  ASSERT_GT(small, 1000u);
  const ShardStatistics full = shard_.statistics();
  EXPECT_GT(full.overflow_buckets, 0u);
  expect_all(1'000'000, small, 8);
  for (uint64_t i = 120; i < large; ++i) ASSERT_TRUE(erase(number_key(i)));
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(put(number_key(1'000'000), value_of(1'000'000, 8)));
  EXPECT_LE(shard_.statistics().load(), 0.81) << "growth caught up, although nothing was inserted";
  expect_all(1'000'000, small, 8);
}

TEST_F(RoomTest, SizingHoldsWhatItPromises) {
  struct Row {
    uint64_t records;
    uint32_t value_bytes;
  };
  for (const Row row : {Row{0, 8}, Row{1, 1024}, Row{1000, 8}, Row{5000, 56}, Row{40'000, 40}, Row{40'000, 8},
                        Row{10'000, 100}, Row{3000, 1024}, Row{3000, 489}, Row{100'000, 0}}) {
    const uint64_t bytes = shard_memory_bytes(row.records, 24 + row.value_bytes);
    for (const uint64_t expected : {row.records, uint64_t{0}}) {
      start(bytes, expected, row.records);
      const uint64_t count = insert_until_full(0, row.value_bytes);
      ASSERT_EQ(count, row.records) << row.value_bytes << " bytes, expected " << expected;
      EXPECT_TRUE(expected == 0 || shard_.statistics().splits == 0);
    }
  }
}

}  // namespace
}  // namespace txnic::storage
