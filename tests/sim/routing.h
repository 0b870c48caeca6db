// SPDX-License-Identifier: BSD-3-Clause
// Which node and which of its shards a key lives on: the one place that knows. Today every node counts its own shards,
// and a key's node is a matter of the clients' choice; with a shard map this header asks the map.
#pragma once

#include "txn/hash.h"

namespace txnic::sim {

struct Place {
  uint32_t node = 0;
  ShardId shard = 0;  // the node's number of it
  friend bool operator==(const Place&, const Place&) = default;
};

class Routing {
 public:
  Routing(uint32_t nodes, uint32_t shards) : nodes_(nodes), shards_(shards) {}
  Place place_of(uint64_t key) const {
    return {static_cast<uint32_t>(key % nodes_), shard_of(hash_key8(key), shards_)};
  }
  // The `index`-th key (from 0) of a place, counting from a base that tables may choose to differ in.
  uint64_t key_at(Place place, uint32_t index) const {
    for (uint64_t key = place.node + nodes_;; key += nodes_) {
      if (place_of(key) == place && index-- == 0) return key;
    }
  }
  uint32_t nodes() const { return nodes_; }
  uint32_t shards() const { return shards_; }
  uint32_t places() const { return nodes_ * shards_; }
  Place place(uint32_t number) const { return {number % nodes_, static_cast<ShardId>(number / nodes_)}; }
  uint32_t number(Place place) const { return place.shard * nodes_ + place.node; }

 private:
  const uint32_t nodes_;
  const uint32_t shards_;
};

}  // namespace txnic::sim
