// SPDX-License-Identifier: BSD-3-Clause
// The key hash. Part of the protocol (docs/PROTOCOL.md, "Shards"): clients compute it to route.
//
// A key is taken as little-endian 64-bit words, the last one zero-padded; each word is folded into the state
// and mixed with the finalizer of MurmurHash3 (Austin Appleby, public domain), which is a bijection: 8-byte
// keys never collide in all 64 bits.
#pragma once

#include "txn/types.h"

namespace txnic {

inline constexpr uint64_t mix64(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  x ^= x >> 33;
  return x;
}

inline constexpr uint64_t kHashLengthFactor = 0x9e3779b97f4a7c15ull;

// The hash of an 8-byte key whose bytes are `word` in little-endian order.
inline constexpr uint64_t hash_key8(uint64_t word) { return mix64(word ^ (8 * kHashLengthFactor)); }

inline uint64_t hash_key(const std::byte* key, uint32_t length) {
  if (length == 8) return hash_key8(load<uint64_t>(key));
  uint64_t h = length * kHashLengthFactor;
  uint32_t at = 0;
  for (; at + 8 <= length; at += 8) h = mix64(h ^ load<uint64_t>(key + at));
  if (at < length) {
    uint64_t last = 0;
    std::memcpy(&last, key + at, length - at);
    h = mix64(h ^ last);
  }
  return h;
}

// The shard of a key: the high 32 bits of the hash scaled to the shard count. The table does not count, so
// rows of several tables under one key live together.
inline constexpr ShardId shard_of(uint64_t key_hash, uint32_t shard_count) {
  return static_cast<ShardId>(((key_hash >> 32) * shard_count) >> 32);
}

// The store's hash: the table is folded in by one more multiplication (low bits pick the bucket).
inline constexpr uint64_t table_hash(uint64_t key_hash, TableId table) {
  const uint64_t x = (key_hash ^ table) * 0x9e3779b97f4a7c15ull;
  return x ^ (x >> 32);
}

}  // namespace txnic
