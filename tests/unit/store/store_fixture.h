// SPDX-License-Identifier: BSD-3-Clause
// Memory, keys and values for the store's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "host/store/shard.h"
#include "txn/hash.h"

namespace txnic::storage {

inline constexpr Version kFirst = first_version(7);
inline constexpr TableId kTable = 3;
inline constexpr TableId kOtherTable = 515;  // the same slot as 3 in the table map
inline constexpr uint64_t kManyRecords = uint64_t{1} << 40;

// 64-aligned memory of a shard.
class Arena {
 public:
  explicit Arena(uint64_t bytes)
      : bytes_(bytes), memory_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))) {
    std::memset(memory_.get(), 0, bytes);
  }
  MutableBytes all() const { return {memory_.get(), bytes_}; }
  std::vector<std::byte> copy() const { return {memory_.get(), memory_.get() + bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  uint64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

struct Key {
  std::string bytes;
  TableId table = kTable;
  uint64_t hash = 0;
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(bytes.data()); }
  uint32_t length() const { return static_cast<uint32_t>(bytes.size()); }
};

inline Key make_key(std::string bytes, TableId table = kTable) {
  Key key{std::move(bytes), table, 0};
  key.hash = table_hash(hash_key(key.data(), key.length()), table);
  return key;
}
inline Key number_key(uint64_t number, TableId table = kTable) {
  return make_key(std::string(reinterpret_cast<const char*>(&number), sizeof number), table);
}
// A key with a hash of the test's choice.
inline Key hashed_key(uint64_t number, uint64_t hash) {
  Key key = number_key(number);
  key.hash = hash;
  return key;
}

inline std::string value_of(uint64_t seed, uint32_t length) {
  std::string value(length, '\0');
  for (uint32_t i = 0; i < length; ++i) value[i] = static_cast<char>(seed * 131 + i * 7);
  return value;
}

// A shard with two tables, and the calls that a back makes.
class StoreTest : public testing::Test {
 protected:
  void start(uint64_t memory_bytes, uint64_t expected_records = 0, uint64_t capacity = kManyRecords) {
    arena_ = std::make_unique<Arena>(memory_bytes);
    const Table tables[] = {{kTable, capacity}, {kOtherTable, capacity}};
    ASSERT_TRUE(shard_.init(arena_->all(), tables, expected_records, kFirst));
    version_ = kFirst;
  }
  Lookup find(const Key& key) const { return shard_.find(key.table, key.data(), key.length(), key.hash); }
  Need need_of(const Key& key, const std::string& value) const {
    const Record* const existing = find(key).record;
    return {static_cast<uint32_t>(shard_.table_index(key.table)),
            static_cast<uint32_t>(kRecordHeaderBytes + key.length() + value.size()), existing == nullptr, key.hash,
            existing};
  }
  bool has_room(const Key& key, const std::string& value) const {
    const Need need = need_of(key, value);
    return shard_.room({&need, 1});
  }
  // One transaction that writes one key. False: no room, and nothing was changed.
  bool put(const Key& key, const std::string& value) {
    if (!has_room(key, value)) return false;
    Record* const record =
        shard_.put(key.table, key.data(), key.length(), key.hash, reinterpret_cast<const std::byte*>(value.data()),
                   static_cast<uint32_t>(value.size()), ++version_, find(key).record);
    EXPECT_EQ(find(key).record, record);
    shard_.maintain();
    return true;
  }
  bool erase(const Key& key) {
    Record* const record = find(key).record;
    if (record == nullptr) return false;
    shard_.erase(record, key.hash, ++version_);
    shard_.maintain();
    return true;
  }
  // The value, or "absent".
  std::string get(const Key& key) const {
    const Record* const record = find(key).record;
    if (record == nullptr) return "absent";
    EXPECT_EQ(record->table, key.table);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(record->key()), record->key_length), key.bytes);
    return {reinterpret_cast<const char*>(record->value()), record->value_length};
  }

  std::unique_ptr<Arena> arena_;
  Shard shard_;
  Version version_ = kFirst;
};

}  // namespace txnic::storage
