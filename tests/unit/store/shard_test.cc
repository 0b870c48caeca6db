// SPDX-License-Identifier: BSD-3-Clause
// Each operation of a shard, with plenty of memory.
#include <map>

#include "tests/unit/store/store_fixture.h"

namespace txnic::storage {
namespace {

constexpr uint64_t kPlenty = 8u << 20;

TEST_F(StoreTest, InitRefusesWhatCannotWork) {
  const Arena arena(Shard::kMinimumBytes + 64);
  const MutableBytes all = arena.all();
  const Table table = {kTable, 10};
  EXPECT_TRUE(shard_.init(all.first(Shard::kMinimumBytes), {&table, 1}, 0, kFirst));
  EXPECT_FALSE(shard_.init(all.first(Shard::kMinimumBytes - 64), {&table, 1}, 0, kFirst)) << "too small";
  EXPECT_FALSE(shard_.init(all.subspan(8), {&table, 1}, 0, kFirst)) << "not aligned";
  EXPECT_FALSE(shard_.init(all, {&table, 1}, 1000, kFirst)) << "no room for so many buckets";
  EXPECT_FALSE(shard_.init({all.data(), Shard::kMaximumBytes + 64}, {&table, 1}, 0, kFirst)) << "too large";
  const Table twice[] = {{kTable, 10}, {kTable, 10}};
  EXPECT_FALSE(shard_.init(all, twice, 0, kFirst)) << "a table twice";
  const std::vector<Table> many(limits::kTablesMax + 1);
  EXPECT_FALSE(shard_.init(all, many, 0, kFirst)) << "too many tables";
}

TEST_F(StoreTest, KnowsItsTables) {
  std::vector<Table> tables;
  for (uint32_t i = 0; i < limits::kTablesMax; ++i) tables.push_back({static_cast<TableId>(65535 - i * 255), i});
  arena_ = std::make_unique<Arena>(kPlenty);
  ASSERT_TRUE(shard_.init(arena_->all(), tables, 0, kFirst));
  std::map<TableId, int32_t> expected;
  for (uint32_t i = 0; i < tables.size(); ++i) expected[tables[i].id] = static_cast<int32_t>(i);
  for (uint32_t id = 0; id <= 65535; ++id) {
    const auto it = expected.find(static_cast<TableId>(id));
    ASSERT_EQ(shard_.table_index(static_cast<TableId>(id)), it == expected.end() ? -1 : it->second) << id;
  }
}

TEST_F(StoreTest, InsertsReadsRewritesAndErases) {
  start(kPlenty);
  const Key key = number_key(42);
  EXPECT_EQ(get(key), "absent");
  EXPECT_EQ(find(key).absence_version, kFirst);
  ASSERT_TRUE(put(key, "one"));
  EXPECT_EQ(get(key), "one");
  EXPECT_EQ(find(key).record->version, kFirst + 1);
  ASSERT_TRUE(put(key, "three"));
  EXPECT_EQ(get(key), "three");
  EXPECT_EQ(find(key).record->version, kFirst + 2);
  EXPECT_EQ(get(number_key(43)), "absent");
  EXPECT_TRUE(erase(key));
  EXPECT_EQ(get(key), "absent");
  EXPECT_FALSE(erase(key));
  const ShardStatistics statistics = shard_.statistics();
  EXPECT_EQ(statistics.records, 0u);
  EXPECT_EQ(statistics.payload_bytes, 0u);
  EXPECT_EQ(statistics.used_bytes, statistics.buckets * 64);
}

TEST_F(StoreTest, TablesAreApart) {
  start(kPlenty);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(put(number_key(i, kTable), value_of(i, 10)));
    ASSERT_TRUE(put(number_key(i, kOtherTable), value_of(i + 1000, 20)));
  }
  // The same key and the same hash in both tables: the record's table decides.
  Key same = number_key(5, kTable);
  const uint64_t hash = same.hash;
  same.table = kOtherTable;
  EXPECT_EQ(shard_.find(kOtherTable, same.data(), same.length(), hash).record, nullptr);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(get(number_key(i, kTable)), value_of(i, 10));
    EXPECT_EQ(get(number_key(i, kOtherTable)), value_of(i + 1000, 20));
  }
  for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(erase(number_key(i, kOtherTable)));
  EXPECT_EQ(shard_.table_records(0), 100u);
  EXPECT_EQ(shard_.table_records(1), 50u);
  EXPECT_EQ(get(number_key(7, kTable)), value_of(7, 10));
}

TEST_F(StoreTest, AllKeyLengths) {
  start(kPlenty);
  const std::string base = value_of(1, limits::kKeyBytesMax);
  for (uint32_t length = 1; length <= limits::kKeyBytesMax; ++length) {
    ASSERT_TRUE(put(make_key(base.substr(0, length)), value_of(length, length)));
    std::string other = base.substr(0, length);  // differs in the last byte only
    other.back() = static_cast<char>(other.back() ^ 1);
    const Key collides{other, kTable, make_key(base.substr(0, length)).hash};
    EXPECT_EQ(get(collides), "absent");
    ASSERT_TRUE(put(collides, "other"));
  }
  for (uint32_t length = 1; length <= limits::kKeyBytesMax; ++length) {
    EXPECT_EQ(get(make_key(base.substr(0, length))), value_of(length, length)) << length;
  }
}

TEST_F(StoreTest, AllValueLengthsGrowingAndShrinking) {
  start(kPlenty);
  const Key key = number_key(1), neighbour = number_key(2);
  ASSERT_TRUE(put(neighbour, "stays"));
  for (uint32_t length = 0; length <= limits::kValueBytesMax; ++length) {
    ASSERT_TRUE(put(key, value_of(length, length)));
    ASSERT_EQ(get(key), value_of(length, length));
    ASSERT_EQ(shard_.statistics().payload_bytes, 8 + length + 8 + 5u);
  }
  for (uint32_t length = limits::kValueBytesMax + 1; length-- != 0;) {
    ASSERT_TRUE(put(key, value_of(length, length)));
    ASSERT_EQ(get(key), value_of(length, length));
  }
  EXPECT_EQ(get(neighbour), "stays");
  EXPECT_EQ(shard_.statistics().records, 2u);
  EXPECT_EQ(shard_.statistics().used_bytes, shard_.statistics().buckets * 64 + kPageBytes) << "one page is left";
}

TEST_F(StoreTest, LargestRecord) {
  start(kPlenty);
  const Key key = make_key(std::string(limits::kKeyBytesMax, 'k'));
  ASSERT_TRUE(put(key, value_of(9, limits::kValueBytesMax)));
  EXPECT_EQ(get(key), value_of(9, limits::kValueBytesMax));
}

TEST_F(StoreTest, RecordsOf64BytesAreOneLine) {
  start(kPlenty);
  for (uint64_t i = 0; i < 2000; ++i) {
    const Key key = number_key(i);
    ASSERT_TRUE(put(key, value_of(i, 40)));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(find(key).record) % 64, 0u);
  }
}

TEST_F(StoreTest, APointerIsStableUntilItsOwnRecordIsWritten) {
  start(kPlenty);
  const Key key = number_key(0);
  ASSERT_TRUE(put(key, value_of(0, 40)));
  Record* const record = find(key).record;
  for (uint64_t i = 1; i < 20000; ++i) ASSERT_TRUE(put(number_key(i), value_of(i, static_cast<uint32_t>(i % 90))));
  for (uint64_t i = 1; i < 20000; i += 2) ASSERT_TRUE(erase(number_key(i)));
  EXPECT_GT(shard_.statistics().splits, 1000u);
  EXPECT_EQ(find(key).record, record);
  ASSERT_TRUE(put(key, value_of(1, 39)));
  EXPECT_EQ(find(key).record, record) << "rewritten in place: the size class is the same";
  ASSERT_TRUE(put(key, value_of(1, 100)));
  EXPECT_NE(find(key).record, record);
  EXPECT_EQ(get(key), value_of(1, 100));
}

TEST_F(StoreTest, PrefetchesMeanNothing) {
  start(kPlenty);
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(put(number_key(i), value_of(i, 30)));
  // Bursts over present and absent keys, with overflow buckets freed between prefetch and find.
  for (uint64_t i = 0; i < 5000; i += 50) {
    for (uint64_t j = i; j < i + 100; ++j) shard_.prefetch_bucket(number_key(j).hash);
    for (uint64_t j = i; j < i + 100; ++j) shard_.prefetch_record(number_key(j).hash);
    for (uint64_t j = i; j < i + 50; ++j) ASSERT_TRUE(erase(number_key(j)));
    for (uint64_t j = i; j < i + 50; ++j) ASSERT_EQ(get(number_key(j)), "absent");
    for (uint64_t j = i + 50; j < i + 100 && j < 5000; ++j) ASSERT_EQ(get(number_key(j)), value_of(j, 30));
  }
  EXPECT_EQ(shard_.statistics().records, 0u);
  EXPECT_EQ(shard_.statistics().overflow_buckets, 0u);
}

TEST_F(StoreTest, AbsenceVersionsRiseByInsertAndDelete) {
  start(kPlenty);
  const uint64_t hash = 12345;  // all in one bucket
  const Key key = hashed_key(1, hash), other = hashed_key(2, hash), elsewhere = hashed_key(3, ~hash);
  EXPECT_EQ(find(key).absence_version, kFirst);
  ASSERT_TRUE(put(other, "x"));
  const Version inserted = find(key).absence_version;
  EXPECT_EQ(inserted, find(other).record->version);
  ASSERT_TRUE(put(other, "y"));
  EXPECT_EQ(find(key).absence_version, inserted) << "a rewrite makes nothing absent or present";
  ASSERT_TRUE(put(other, std::string(500, 'z')));
  EXPECT_EQ(find(key).absence_version, inserted);
  ASSERT_TRUE(erase(other));
  EXPECT_EQ(find(key).absence_version, version_);
  EXPECT_EQ(find(elsewhere).absence_version, kFirst);
  // An older version (recovery replays by position) does not lower it.
  const Version highest = version_;
  ASSERT_TRUE(shard_.load(kTable, key.data(), key.length(), hash, nullptr, 0, kFirst - 5));
  EXPECT_EQ(find(other).absence_version, highest);
  EXPECT_EQ(find(key).record->version, kFirst - 5);
  shard_.erase(find(key).record, hash, kFirst - 4);
  EXPECT_EQ(find(other).absence_version, highest);
}

TEST_F(StoreTest, LoadWritesAndRewrites) {
  start(kPlenty);
  const Key key = number_key(1);
  const auto load_value = [&](const std::string& value, Version version) {
    return shard_.load(kTable, key.data(), key.length(), key.hash, reinterpret_cast<const std::byte*>(value.data()),
                       static_cast<uint32_t>(value.size()), version);
  };
  ASSERT_TRUE(load_value("first", 5));
  ASSERT_TRUE(load_value(value_of(3, 300), 4));
  EXPECT_EQ(get(key), value_of(3, 300)) << "position decides, not version";
  EXPECT_EQ(find(key).record->version, 4u);
  EXPECT_EQ(shard_.statistics().records, 1u);
}

}  // namespace
}  // namespace txnic::storage
