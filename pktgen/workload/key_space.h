// SPDX-License-Identifier: BSD-3-Clause
// The keys of a workload: record i has the 8-byte key i (little-endian). A transaction has to stay within one shard, so
// this class also knows which records live together.
#pragma once

#include <algorithm>
#include <vector>

#include "pktgen/workload/random.h"
#include "txn/hash.h"

namespace txnic::pktgen {

// An 8-byte key on the stack.
struct Key {
  explicit Key(uint64_t index) { store(bytes, index); }
  operator Bytes() const { return {bytes, sizeof bytes}; }
  std::byte bytes[8];
};

class KeySpace {
 public:
  // Up to so many shards a record of the same shard is found by drawing again; above it, from a list.
  static constexpr uint32_t kDrawAgainShardsMax = 8;

  void init(uint64_t records, uint32_t shards) {
    records_ = records;
    shards_ = shards;
    members_.assign(shards > 1 ? shards : 0, {});
    if (shards <= 1) return;
    for (auto& list : members_) list.reserve(records / shards + records / shards / 16 + 16);
    for (uint64_t i = 0; i < records; ++i) members_[shard(i)].push_back(static_cast<uint32_t>(i));
  }

  uint64_t records() const { return records_; }
  uint32_t shards() const { return shards_; }
  ShardId shard(uint64_t record) const {
    return shards_ <= 1 ? ShardId{0} : shard_of(hash_key8(record), shards_);
  }

  // The records of a shard, ascending.
  uint64_t count(ShardId shard) const { return shards_ <= 1 ? records_ : members_[shard].size(); }
  uint64_t at(ShardId shard, uint64_t position) const {
    return shards_ <= 1 ? position : members_[shard][position];
  }
  // How many records of the shard are below `limit`.
  uint64_t count_below(ShardId shard, uint64_t limit) const {
    if (shards_ <= 1) return std::min(limit, records_);
    const auto& list = members_[shard];
    return static_cast<uint64_t>(std::lower_bound(list.begin(), list.end(), limit) - list.begin());
  }

  // A uniform record of `shard` below `limit`. At least one exists.
  uint64_t draw(Random& random, ShardId shard, uint64_t limit) const {
    if (shards_ <= 1) return random.below(limit);
    if (shards_ <= kDrawAgainShardsMax) {
      for (uint32_t tries = 0; tries < 8 * kDrawAgainShardsMax; ++tries) {
        const uint64_t record = random.below(limit);
        if (this->shard(record) == shard) return record;
      }
    }
    return members_[shard][random.below(limit == records_ ? members_[shard].size() : count_below(shard, limit))];
  }

 private:
  uint64_t records_ = 0;
  uint32_t shards_ = 1;
  std::vector<std::vector<uint32_t>> members_;
};

}  // namespace txnic::pktgen
