// SPDX-License-Identifier: BSD-3-Clause
// Which node and which of its shards a key lives on: the production shard map, in which nodes have alternate shards.
#pragma once

#include "txn/hash.h"
#include "txn/shard_map.h"
#include "txn/wire/header.h"

namespace txnic::sim {

struct Place {
  uint32_t node = 0;
  ShardId shard = 0;  // the node's number of it
  friend bool operator==(const Place&, const Place&) = default;
};

inline constexpr uint32_t kNodeAddress = 0x0a640000;  // 10.100.0.0 + node

class Routing {
 public:
  Routing(uint32_t nodes, uint32_t shards) : nodes_(nodes), shards_(shards) {
    map_.epoch = 1;
    map_.shard_count = 0;
    map_.node_count = nodes;
    for (uint32_t i = 0; i < nodes; ++i) map_.nodes[i] = {{kNodeAddress + i, wire::kBasePortDefault}, 1, 0};
    for (uint32_t i = 0; i < nodes * shards; ++i) map_.add_shard(i % nodes);
  }
  const ShardMap& map() const { return map_; }
  Place place_of(uint64_t key) const {
    const ShardMap::Place place = map_.places[shard_of(hash_key8(key), map_.shard_count)];
    return {place.node, place.number};
  }
  // The `index`-th key (from 0) of a place.
  uint64_t key_at(Place place, uint32_t index) const {
    for (uint64_t key = 1;; ++key) {
      if (place_of(key) == place && index-- == 0) return key;
    }
  }
  uint32_t nodes() const { return nodes_; }
  uint32_t shards() const { return shards_; }  // of each node
  uint32_t places() const { return nodes_ * shards_; }
  Place place(uint32_t number) const { return {number % nodes_, static_cast<ShardId>(number / nodes_)}; }
  // How the map numbers it.
  uint32_t number(Place place) const { return place.shard * nodes_ + place.node; }

 private:
  const uint32_t nodes_;
  const uint32_t shards_;
  ShardMap map_;
};

}  // namespace txnic::sim
