// SPDX-License-Identifier: BSD-3-Clause
// TATP's keys and rows: which rows a subscriber has is decided by its number alone, so that loading needs no memory.
#pragma once

#include "pktgen/workload/key_space.h"
#include "pktgen/workload/random.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen::tatp {

// Keys: s_id in the low bytes, the type and the start time above it.
inline Key subscriber_key(uint64_t subscriber) { return Key(subscriber); }
inline Key typed_key(uint64_t subscriber, uint32_t type) { return Key(subscriber | uint64_t{type} << 40); }
inline Key forwarding_key(uint64_t subscriber, uint32_t type, uint32_t start) {
  return Key(subscriber | uint64_t{type} << 40 | uint64_t{start + 1} << 48);
}

// Passes keys through and notes their shards.
class Places {
 public:
  explicit Places(uint32_t shards) : shards_(shards) {}
  const Key& operator()(const Key& key) {
    const ShardId shard = shards_ <= 1 ? ShardId{0} : shard_of(hash_key8(load<uint64_t>(key.bytes)), shards_);
    shard_ = shard_ == wire::kNoShard || shard_ == shard ? shard : kSeveralShards;
    return key;
  }
  // Of all of them, or kSeveralShards.
  ShardId shard() const { return shard_; }

 private:
  const uint32_t shards_;
  ShardId shard_ = wire::kNoShard;
};

// Where things stand in rows.
inline constexpr uint32_t kSubscriberBytes = 40, kBit1 = 8, kLocation = 12;  // s_id is the first 8 bytes
inline constexpr uint32_t kSecondaryBytes = 8;
inline constexpr uint32_t kAccessBytes = 16;  // s_id is the first 8 bytes
inline constexpr uint32_t kFacilityBytes = 8, kIsActive = 0, kDataA = 1;
inline constexpr uint32_t kForwardingBytes = 16, kEndTime = 0;
inline constexpr double kActive = 0.85, kForwardingPresent = 0.5;

// The rows that a subscriber begins with.
struct Rows {
  uint32_t access_types = 0;  // bit t - 1: type t
  uint32_t facility_types = 0;
  uint32_t active_types = 0;
  uint8_t end_time[4][3] = {};  // by facility type - 1 and start time; 0: no such row
};

inline uint32_t draw_types(Random& random) {
  // 1 to 4 distinct ones.
  uint32_t left = 1 + static_cast<uint32_t>(random.below(4)), types = 0;
  while (left != 0) {
    const uint32_t bit = 1u << random.below(4);
    left -= (types & bit) == 0 ? 1 : 0;
    types |= bit;
  }
  return types;
}

inline Rows rows_of(uint64_t subscriber) {
  Random random(0x7461747000000000ull, subscriber);
  Rows rows;
  rows.access_types = draw_types(random);
  rows.facility_types = draw_types(random);
  for (uint32_t type = 0; type < 4; ++type) {
    if ((rows.facility_types >> type & 1) == 0) continue;
    if (random.unit() < kActive) rows.active_types |= 1u << type;
    for (auto& end_time : rows.end_time[type]) {
      if (random.unit() < kForwardingPresent) end_time = static_cast<uint8_t>(1 + random.below(24));
    }
  }
  return rows;
}

// The specification's non-uniform choice of a subscriber.
inline uint64_t choose(Random& random, uint64_t subscribers) {
  const uint64_t mask = subscribers <= 1'000'000 ? 65'535 : subscribers <= 10'000'000 ? 1'048'575 : 2'097'151;
  return (random.below(subscribers) | (random.next() & mask)) % subscribers;
}

}  // namespace txnic::pktgen::tatp
