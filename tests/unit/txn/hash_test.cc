// SPDX-License-Identifier: BSD-3-Clause
// The key hash is part of the protocol. The vectors are those of docs/PROTOCOL.md section 7, which an independent
// implementation (tests/e2e/python_client) computes too.
#include "txn/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "txn/limits.h"

namespace txnic::test {
namespace {

struct Row {
  std::string key;
  uint64_t hash;
  uint16_t shard_of_2, shard_of_4, shard_of_16, shard_of_1024;
};

std::string word(uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

std::string counting(size_t length) {
  std::string key(length, '\0');
  std::iota(key.begin(), key.end(), '\0');
  return key;
}

uint64_t hash_of(const std::string& key) {
  // An exact allocation, so that ASan sees a read behind the key.
  const std::vector<char> exact(key.begin(), key.end());
  return hash_key(reinterpret_cast<const std::byte*>(exact.data()), static_cast<uint32_t>(exact.size()));
}

TEST(Hash, VectorsOfTheProtocol) {
  const Row rows[] = {
      {std::string(1, '\0'), 0x9ca066f1a4ab2eea, 1, 2, 9, 626},
      {"a", 0x405337e338614e91, 0, 1, 4, 257},
      {"abc", 0x21bc67bb17b53436, 0, 0, 2, 134},
      {"1234567", 0xa00b41d538187fee, 1, 2, 10, 640},
      {word(0), 0x3defdd576ee7b7da, 0, 0, 3, 247},
      {word(1), 0xd5c989040d8212fc, 1, 3, 13, 855},
      {word(42), 0x2196e07c09491c18, 0, 0, 2, 134},
      {word(~0ull), 0xcf9b828c95ac240f, 1, 3, 12, 830},
      {"account:1", 0xfa481869842f7c07, 1, 3, 15, 1001},
      {"0123456789abcdef", 0x071353f52a2b5812, 0, 0, 0, 28},
      {counting(63), 0x8a4d0cd1240ed929, 1, 2, 8, 553},
      {counting(64), 0x8de4ee8afaf973be, 1, 2, 8, 567},
  };
  for (const Row& row : rows) {
    const uint64_t hash = hash_of(row.key);
    EXPECT_EQ(hash, row.hash) << "key of " << row.key.size() << " bytes";
    EXPECT_EQ(shard_of(hash, 1), 0);
    EXPECT_EQ(shard_of(hash, 2), row.shard_of_2);
    EXPECT_EQ(shard_of(hash, 4), row.shard_of_4);
    EXPECT_EQ(shard_of(hash, 16), row.shard_of_16);
    EXPECT_EQ(shard_of(hash, 1024), row.shard_of_1024);
  }
}

TEST(Hash, FastPathOf8BytesIsTheGeneralOne) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t value = mix64(i);
    EXPECT_EQ(hash_key8(value), hash_of(word(value)));
    EXPECT_EQ(hash_key8(value), mix64(8 * kHashLengthFactor ^ value));
  }
}

// Zero padding must not make keys of different lengths equal.
TEST(Hash, TrailingZerosMatter) {
  std::vector<uint64_t> hashes;
  for (size_t length = 1; length <= limits::kKeyBytesMax; ++length) {
    hashes.push_back(hash_of(std::string(length, '\0')));
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Hash, ShardsAreInRangeAndEven) {
  for (const uint32_t shards : {1u, 2u, 3u, 7u, 64u, limits::kShardsMax}) {
    std::vector<uint32_t> counts(shards);
    constexpr uint32_t kKeys = 100'000;
    for (uint64_t key = 0; key < kKeys; ++key) {
      const ShardId shard = shard_of(hash_key8(key), shards);
      ASSERT_LT(shard, shards);
      ++counts[shard];
    }
    const double mean = static_cast<double>(kKeys) / shards;
    for (const uint32_t count : counts) EXPECT_NEAR(count, mean, 6 * std::sqrt(mean) + 1) << shards << " shards";
  }
}

TEST(Hash, TablesSpreadApart) {
  const uint64_t hash = hash_key8(42);
  std::vector<uint64_t> hashes;
  for (uint32_t table = 0; table <= 0xffff; ++table) hashes.push_back(table_hash(hash, static_cast<TableId>(table)));
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace txnic::test
