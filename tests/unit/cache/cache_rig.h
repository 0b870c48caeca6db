// SPDX-License-Identifier: BSD-3-Clause
// A cache over memory of its own, with keys by number.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>

#include "offload/cache/cache.h"
#include "txn/hash.h"

namespace txnic::test {

using offload::Cache;
using offload::CacheEntry;
using offload::CacheKey;
using State = offload::CacheEntry::State;

inline Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

struct CacheRig {
  explicit CacheRig(uint64_t bytes = Cache::kMinimumBytes, bool is_on = true)
      : memory(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))) {
    std::memset(memory.get(), 0xee, bytes);  // init() does not need zeroes
    EXPECT_TRUE(cache.init({memory.get(), bytes}, {.is_on = is_on}));
  }

  // Keys of all lengths; the bytes stay until the next call.
  CacheKey key(uint32_t number) {
    text = std::string(8 + number % 57, 'k');
    std::memcpy(text.data(), &number, sizeof number);
    const auto* const at = reinterpret_cast<const std::byte*>(text.data());
    const auto length = static_cast<uint32_t>(text.size());
    const auto table = static_cast<TableId>(number % 3);
    return {table_hash(hash_key(at, length), table), at, number % 2, table, static_cast<uint8_t>(length)};
  }
  CacheEntry* find(uint32_t number) { return cache.find(key(number)); }
  bool has(uint32_t number) {
    CacheEntry* entry = nullptr;
    return cache.has(key(number), taken, &entry);
  }
  CacheEntry* put(uint32_t number, const std::string& value, Lsn position = 0, Version version = 1) {
    const CacheKey k = key(number);
    return cache.put(k, cache.find(k), version, bytes_of(value), position);
  }
  // As a miss does it; false: no room.
  bool fetch(uint32_t number, const std::string& value, Version version = 1) {
    CacheEntry* const asked = cache.ask(key(number), 1);
    return asked != nullptr && cache.fill(asked, version, bytes_of(value), taken) != nullptr;
  }
  std::string value(uint32_t number) {
    const CacheEntry* const e = find(number);
    if (e == nullptr || e->state != State::kPresent) return "-";
    return {reinterpret_cast<const char*>(e->value()), e->value_length};
  }

  struct Free {
    void operator()(std::byte* at) const { ::operator delete (at, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> memory;
  Cache cache;
  std::string text;
  Lsn taken = 0;
};

}  // namespace txnic::test
