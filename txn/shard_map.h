// SPDX-License-Identifier: BSD-3-Clause
// Which node and which of its workers owns a shard. The same on every node and at every client; a change has a new
// epoch. Shards are numbered over the whole cluster, as keys name them; a node also numbers its own, from 0, and its
// worker w has those with number % workers == w. Logs hold the node's own numbers.
#pragma once

#include <array>
#include <cassert>

#include "txn/limits.h"
#include "txn/types.h"

namespace txnic {

struct ShardMap {
  struct Node {
    Endpoint base;         // address and base port: worker w is reached at port + w
    uint16_t workers = 1;
    uint16_t shards = 0;   // how many are its
  };
  struct Place {
    uint16_t node = 0;
    uint16_t number = 0;  // among the node's shards
  };

  uint32_t epoch = 0;  // 0: the map of a single node, which no message names
  uint32_t self = 0;   // our place among the nodes; a client's: not used
  uint32_t node_count = 1;
  uint32_t shard_count = 1;
  std::array<Node, limits::kNodesMax> nodes{};
  std::array<Place, limits::kShardsMax> places{};

  // All shards on one node.
  static ShardMap of_one_node(uint32_t shards, uint32_t workers, Endpoint base) {
    ShardMap map;
    map.shard_count = 0;
    map.nodes[0] = {base, static_cast<uint16_t>(workers), 0};
    for (uint32_t i = 0; i < shards; ++i) map.add_shard(0);
    return map;
  }
  // The next shard belongs to this node.
  void add_shard(uint32_t node) {
    assert(shard_count < limits::kShardsMax && node < limits::kNodesMax);
    places[shard_count++] = {static_cast<uint16_t>(node), nodes[node].shards++};
  }

  bool is_mine(ShardId shard) const { return shard < shard_count && places[shard].node == self; }
  uint32_t own_shards() const { return nodes[self].shards; }
  // Of the node that has the shard.
  uint32_t worker_of(ShardId shard) const { return places[shard].number % nodes[places[shard].node].workers; }
  // Among the shards of that worker.
  uint32_t local_shard(ShardId shard) const { return places[shard].number / nodes[places[shard].node].workers; }
  // Where messages for the shard go.
  Endpoint endpoint_of(ShardId shard) const {
    const Endpoint base = nodes[places[shard].node].base;
    return {base.address, static_cast<uint16_t>(base.port + worker_of(shard))};
  }
  // The node that sends from there, or node_count.
  uint32_t node_at(Endpoint from) const {
    uint32_t node = 0;
    while (node < node_count && !(nodes[node].base.address == from.address && from.port >= nodes[node].base.port &&
                                  from.port < nodes[node].base.port + nodes[node].workers)) {
      ++node;
    }
    return node;
  }
};

}  // namespace txnic
