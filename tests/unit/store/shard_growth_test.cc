// SPDX-License-Identifier: BSD-3-Clause
// Growth: bounded steps, nothing lost, absence versions kept, scans that see everything.
#include <set>

#include "tests/unit/store/store_fixture.h"

namespace txnic::storage {
namespace {

TEST_F(StoreTest, GrowsFromAThousandToAMillion) {
  constexpr uint64_t kRecords = 1'000'000;
  start(shard_memory_bytes(kRecords, 16 + 8 + 8), 1000, kRecords);
  uint64_t splits = 0;
  for (uint64_t i = 0; i < kRecords; ++i) {
    const Key key = number_key(i);
    const Need need = {0, 32, true, key.hash};
    ASSERT_TRUE(shard_.room({&need, 1})) << i;
    shard_.put(kTable, key.data(), key.length(), key.hash, key.data(), 8, ++version_, nullptr);
    shard_.maintain();
    if (i % 64 != 0) continue;
    const ShardStatistics statistics = shard_.statistics();
    ASSERT_LE(statistics.splits - splits, 64u * limits::kSplitsPerInsertMax * 2);
    splits = statistics.splits;
    ASSERT_LE(statistics.load(), 0.801);
  }
  const ShardStatistics statistics = shard_.statistics();
  EXPECT_EQ(statistics.records, kRecords);
  EXPECT_GE(statistics.load(), 0.79);
  EXPECT_LT(statistics.overhead_per_record(), 40.0);
  EXPECT_LT(statistics.overflow_buckets, statistics.buckets / 3);
  for (uint64_t i = 0; i < kRecords; ++i) {
    const Key key = number_key(i);
    const Record* const record = find(key).record;
    ASSERT_NE(record, nullptr) << i;
    ASSERT_EQ(load<uint64_t>(record->value()), i);
    ASSERT_EQ(record->version, kFirst + i + 1);
    ASSERT_EQ(find(number_key(kRecords + i)).record, nullptr);
  }
}

TEST_F(StoreTest, MaintainIsBounded) {
  start(8u << 20);
  // 64 inserts, then one maintain(): at most two splits for each.
  for (uint64_t i = 0; i < 6400; i += 64) {
    for (uint64_t j = i; j < i + 64; ++j) {
      const Key key = number_key(j);
      shard_.put(kTable, key.data(), key.length(), key.hash, nullptr, 0, ++version_, nullptr);
    }
    const uint64_t before = shard_.statistics().splits;
    shard_.maintain();
    ASSERT_LE(shard_.statistics().splits - before, 65u * limits::kSplitsPerInsertMax);
    ASSERT_LE(shard_.statistics().load(), 0.801);
    shard_.maintain();
    ASSERT_LE(shard_.statistics().splits - before, 66u * limits::kSplitsPerInsertMax);
  }
}

TEST_F(StoreTest, ASplitCopiesTheAbsenceVersion) {
  start(32u << 20);
  // Probes: absent keys, and what was last seen of each. Only inserts and deletes in the bucket may raise it, and
  // a split must never lower it: that would hide an insert and delete between two looks.
  constexpr uint64_t kProbes = 2000;
  std::vector<Version> seen(kProbes, 0);
  const auto probe = [](uint64_t i) { return number_key(1'000'000 + i); };
  for (uint64_t i = 0; i < 30'000; ++i) {
    if (i % 10 == 0) {
      const Key touched = probe(i / 10 % kProbes);
      ASSERT_TRUE(put(touched, "short-lived"));
      ASSERT_TRUE(erase(touched));
      ASSERT_EQ(find(touched).absence_version, version_);
      seen[i / 10 % kProbes] = version_;
    }
    ASSERT_TRUE(put(number_key(i), "v"));
    for (uint64_t j = i * 31; j < i * 31 + 8; ++j) {
      const Version now = find(probe(j % kProbes)).absence_version;
      ASSERT_GE(now, seen[j % kProbes]);
      seen[j % kProbes] = now;
    }
  }
  EXPECT_GT(shard_.statistics().splits, 5000u);
  for (uint64_t j = 0; j < kProbes; ++j) ASSERT_GE(find(probe(j)).absence_version, seen[j]);
}

TEST_F(StoreTest, AnUntouchedBucketKeepsItsAbsenceVersionThroughSplits) {
  start(8u << 20);
  // All records in buckets of the lower half of the hash space; the upper half only splits.
  const uint64_t upper = 0xffff'ff00;
  ASSERT_TRUE(put(hashed_key(1'000'000, upper), "v"));
  const Version inserted = version_;
  for (uint64_t i = 0; i < 5000; ++i) {
    Key key = number_key(i);
    key.hash &= 0xffff'ffff'7fff'ffff;
    ASSERT_TRUE(put(key, "v"));
  }
  EXPECT_GT(shard_.statistics().splits, 500u);
  for (uint64_t high = 0; high < 64; ++high) {
    EXPECT_EQ(find(hashed_key(7, upper | high << 32)).absence_version, inserted) << high;
  }
}

TEST_F(StoreTest, ScanSeesEachRecordOnce) {
  start(8u << 20);
  uint64_t cursor = 0;
  EXPECT_FALSE(shard_.scan(&cursor, 1000, [](const Record&) { FAIL() << "the shard is empty"; }));
  for (uint64_t i = 0; i < 10'000; ++i) ASSERT_TRUE(put(number_key(i), value_of(i, 20)));
  for (const uint32_t step : {1u, 7u, 1'000'000u}) {
    std::multiset<uint64_t> seen;
    cursor = 0;
    uint64_t calls = 1;
    while (shard_.scan(&cursor, step, [&](const Record& record) {
      seen.insert(load<uint64_t>(record.key()));
      EXPECT_EQ(record.value_length, 20);
    })) {
      ++calls;
      ASSERT_LE(calls, shard_.statistics().buckets + 1);
    }
    EXPECT_EQ(seen.size(), 10'000u);
    EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), 10'000u);
    EXPECT_FALSE(shard_.scan(&cursor, step, [](const Record&) { FAIL() << "the scan is over"; }));
  }
}

TEST_F(StoreTest, ScanUnderGrowthAndChangeMissesNothingThatStays) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    start(16u << 20);
    constexpr uint64_t kStay = 4000;
    for (uint64_t i = 0; i < kStay; ++i) ASSERT_TRUE(put(number_key(i), value_of(i, 16)));
    std::set<uint64_t> seen;
    uint64_t cursor = 0, next = kStay, random = seed;
    const uint64_t buckets_before = shard_.statistics().buckets;
    bool more = true;
    for (uint64_t calls = 0; more; ++calls) {
      ASSERT_LT(calls, 100'000u);
      more = shard_.scan(&cursor, 1, [&](const Record& record) { seen.insert(load<uint64_t>(record.key())); });
      for (uint32_t i = 0; i < 12 && next < 30'000; ++i) {
        random = mix64(random + 0x9e3779b97f4a7c15ull);
        const uint64_t number = random % kStay;
        ASSERT_TRUE(put(number_key(number), value_of(number, 16 + static_cast<uint32_t>(random >> 32) % 200)));
        ASSERT_TRUE(put(number_key(next++), "new"));
        if (i % 4 == 0) erase(number_key(kStay + (next - kStay) / 2));
      }
    }
    EXPECT_GT(shard_.statistics().buckets, buckets_before * 2);
    for (uint64_t i = 0; i < kStay; ++i) ASSERT_TRUE(seen.contains(i)) << i;
  }
}

TEST_F(StoreTest, ShrinksToNothingAndIsUsable) {
  start(8u << 20);
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(put(number_key(i), value_of(i, 24)));
    for (uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(erase(number_key(i * 7 % 20'000)));
    EXPECT_EQ(shard_.statistics().records, 0u);
    EXPECT_EQ(shard_.statistics().overflow_buckets, 0u);
    EXPECT_EQ(shard_.statistics().used_bytes, shard_.statistics().buckets * 64);
  }
}

}  // namespace
}  // namespace txnic::storage
