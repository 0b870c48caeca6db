// SPDX-License-Identifier: BSD-3-Clause
// Memory set aside for prepared transactions (DESIGN 4.4, trap 16): what was promised can be written, however hard
// others try to fill the shard in between. put() asserts inside; here the rows are counted, too.
#include <map>
#include <random>

#include "tests/unit/store/store_fixture.h"

namespace txnic::storage {
namespace {

struct Prepared {
  std::vector<Key> keys;
  std::vector<std::string> values;
};

class AsideTest : public StoreTest {
 protected:
  std::vector<Need> needs_of(const Prepared& prepared) const {
    std::vector<Need> needs;
    for (size_t i = 0; i < prepared.keys.size(); ++i)
      needs.push_back(need_of(prepared.keys[i], prepared.values[i]));
    return needs;
  }
  bool prepare(const Prepared& prepared) { return shard_.set_aside(needs_of(prepared)); }
  void give_back(const Prepared& prepared) { shard_.give_back(needs_of(prepared)); }
  void carry_out(const Prepared& prepared) {
    give_back(prepared);
    ++version_;
    for (size_t i = 0; i < prepared.keys.size(); ++i) {
      const Key& key = prepared.keys[i];
      const std::string& value = prepared.values[i];
      shard_.put(key.table, key.data(), key.length(), key.hash, reinterpret_cast<const std::byte*>(value.data()),
                 static_cast<uint32_t>(value.size()), version_, find(key).record);
    }
    shard_.maintain();
    for (size_t i = 0; i < prepared.keys.size(); ++i) ASSERT_EQ(get(prepared.keys[i]), prepared.values[i]);
  }
  // Inserts until every size is refused; answers how many.
  uint64_t fill(uint64_t first) {
    uint64_t count = 0;
    for (const uint32_t bytes : {1000u, 300u, 100u, 40u, 8u, 0u}) {
      while (count < 1'000'000 && put(number_key(first + count), value_of(first + count, bytes))) ++count;
    }
    return count;
  }
};

TEST_F(AsideTest, NothingIsSetAsideWhereThereIsNoRoom) {
  start(Shard::kMinimumBytes);
  const uint64_t count = fill(0);
  const Prepared one{{number_key(1u << 30)}, {value_of(1, 40)}};
  EXPECT_FALSE(prepare(one));
  EXPECT_FALSE(prepare(one));
  for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(erase(number_key(i)));
  EXPECT_TRUE(prepare(one));
}

TEST_F(AsideTest, AFullShardStillCarriesOut) {
  for (const uint32_t bytes : {0u, 40u, 48u, 500u, 1024u}) {
    for (uint32_t count = 1; count <= 64; count *= 4) {
      start(1u << 20);
      Prepared prepared;
      for (uint32_t i = 0; i < count; ++i) {
        prepared.keys.push_back(number_key((1u << 30) + i));
        prepared.values.push_back(value_of(i, bytes));
      }
      ASSERT_TRUE(prepare(prepared));
      ASSERT_GT(fill(0), 700u);
      carry_out(prepared);
    }
  }
}

TEST_F(AsideTest, AWriteOfAnotherSizeIsSetAsideToo) {
  start(1u << 20);
  Prepared prepared;
  for (uint64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(put(number_key(i), "small"));
    prepared.keys.push_back(number_key(i));
    prepared.values.push_back(value_of(i, 600));
  }
  ASSERT_TRUE(prepare(prepared));
  fill(1000);
  carry_out(prepared);
}

TEST_F(AsideTest, GivenBackIsRoomForOthers) {
  start(1u << 20);
  const uint64_t count = fill(0);
  start(1u << 20);
  Prepared prepared;
  for (uint32_t i = 0; i < 60; ++i) {
    prepared.keys.push_back(number_key((1u << 30) + i));
    prepared.values.push_back(value_of(i, 1000));
  }
  ASSERT_TRUE(prepare(prepared));
  give_back(prepared);
  EXPECT_EQ(fill(0), count);
}

TEST_F(AsideTest, TableCapacity) {
  start(1u << 20, 0, 100);
  ASSERT_TRUE(prepare({{number_key(1000), number_key(1001)}, {"a", "b"}}));
  for (uint64_t i = 0; i < 98; ++i) ASSERT_TRUE(put(number_key(i), "v"));
  EXPECT_FALSE(put(number_key(98), "v"));
  EXPECT_TRUE(put(number_key(98, kOtherTable), "v"));
  EXPECT_TRUE(put(number_key(5), "rewritten"));
  EXPECT_FALSE(prepare({{number_key(1002)}, {"c"}}));
  carry_out({{number_key(1000), number_key(1001)}, {"a", "b"}});
  EXPECT_EQ(shard_.table_records(0), 100u);
}

TEST_F(AsideTest, ALongChain) {
  start(8u << 20);
  const uint64_t hash = 0x1234'5678'9abc'def0;
  std::vector<Prepared> many;
  for (uint64_t i = 0; i < 30; ++i) {
    many.push_back({{hashed_key(1000 + 2 * i, hash), hashed_key(1001 + 2 * i, hash)}, {"a", "b"}});
    ASSERT_TRUE(prepare(many.back()));
  }
  uint64_t count = 0;
  while (count < 1000 && put(hashed_key(count, hash), "v")) ++count;
  EXPECT_LE(count, Buckets::kChainRecordsMax - 60);
  EXPECT_GT(count, Buckets::kChainRecordsMax - 60 - 2 * kSlots);
  for (uint64_t i = 0; i < 20'000; ++i) (void)put(number_key(2'000'000 + i), "v");  // splits
  EXPECT_GT(shard_.statistics().splits, 3000u);
  for (const Prepared& prepared : many) carry_out(prepared);
  for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(get(hashed_key(i, hash)), "v");
}

// Growth must not eat the pages either: what it takes, the gap between buckets and pages, is where they come from.
TEST_F(AsideTest, GrowthLeavesIt) {
  start(Shard::kMinimumBytes + 13 * uint64_t{kPageBytes});  // whole pages: the first split takes one
  Prepared prepared;
  for (uint32_t i = 0; i < 60; ++i) {
    prepared.keys.push_back(number_key((1u << 30) + i));
    prepared.values.push_back(value_of(i, 16 * i));  // a page each
  }
  // All pages; others may use what is left in the smallest records' one, and that makes the array want to grow.
  while (!prepare(prepared)) prepared.keys.pop_back(), prepared.values.pop_back();
  ASSERT_GT(prepared.keys.size(), 8u);
  uint64_t count = 0;
  while (put(number_key(count), "")) ++count;
  EXPECT_GT(count, 1000u);
  EXPECT_EQ(shard_.statistics().splits, 0u);
  carry_out(prepared);
}

// Everything at once: prepared transactions come, are carried out or given back, while others insert, rewrite and
// delete in a shard that is full nearly all the time.
TEST_F(AsideTest, RandomTransactionsInAFullShard) {
  uint64_t refused = 0, carried = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    std::mt19937_64 random(seed);
    const bool few_buckets = seed % 3 == 0;
    start(Shard::kMinimumBytes + (random() % 9) * 40'000 / 64 * 64, 0, seed % 4 == 0 ? 900 : kManyRecords);
    const uint64_t hash_mask = few_buckets ? 0xffff'ffff'c000'0000 : ~0ull;
    const auto key_of = [&](uint64_t number) {
      Key key = number_key(number);
      key.hash &= hash_mask;
      return key;
    };
    const uint32_t bytes_max = seed % 2 == 0 ? 60 : 1024;
    std::vector<Prepared> open;
    std::map<uint64_t, bool> locked;
    std::map<uint64_t, std::string> rows;
    for (uint32_t step = 0; step < 8000; ++step) {
      const uint64_t choice = random() % 16;
      const uint64_t number = random() % 4000;
      if (choice == 0 && open.size() < 40) {
        Prepared prepared;
        const uint64_t count = 1 + random() % 6;
        for (uint64_t i = 0; i < count; ++i) {
          const uint64_t n = random() % 4000;
          if (locked[n]) continue;
          locked[n] = true;
          prepared.keys.push_back(key_of(n));
          prepared.values.push_back(value_of(n, static_cast<uint32_t>(random() % (bytes_max + 1))));
        }
        if (prepare(prepared)) {
          open.push_back(std::move(prepared));
        } else {
          ++refused;
          for (const Key& key : prepared.keys) locked[load<uint64_t>(key.data())] = false;
        }
      } else if (choice == 1 && !open.empty()) {
        std::swap(open[random() % open.size()], open.back());
        const Prepared prepared = std::move(open.back());
        open.pop_back();
        if (random() % 4 == 0) {
          give_back(prepared);
        } else {
          ++carried;
          carry_out(prepared);
          for (size_t i = 0; i < prepared.keys.size(); ++i)
            rows[load<uint64_t>(prepared.keys[i].data())] = prepared.values[i];
        }
        for (const Key& key : prepared.keys) locked[load<uint64_t>(key.data())] = false;
      } else if (choice < 6 || locked[number]) {
        if (!locked[number] && erase(key_of(number))) rows.erase(number);
      } else {
        const std::string value = value_of(number + step, static_cast<uint32_t>(random() % (bytes_max + 1)));
        if (put(key_of(number), value)) {
          rows[number] = value;
        } else {
          ++refused;
        }
      }
    }
    for (const Prepared& prepared : open) {
      carry_out(prepared);
      for (size_t i = 0; i < prepared.keys.size(); ++i)
        rows[load<uint64_t>(prepared.keys[i].data())] = prepared.values[i];
    }
    ASSERT_EQ(shard_.statistics().records, rows.size());
    for (const auto& [number, value] : rows) ASSERT_EQ(get(key_of(number)), value);
    // Nothing is left behind: an emptied shard takes as much as a new one.
    for (const auto& [number, value] : rows) ASSERT_TRUE(erase(key_of(number)));
  }
  EXPECT_GT(refused, 10'000u) << "the shards were not full";
  EXPECT_GT(carried, 1000u);
}

}  // namespace
}  // namespace txnic::storage
