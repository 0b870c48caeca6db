// SPDX-License-Identifier: BSD-3-Clause
// MAP and MAPPED: a client asks any node that it has a session with for the shard map (docs/PROTOCOL.md, section 19).
#pragma once

#include "txn/shard_map.h"
#include "txn/wire/parse.h"

namespace txnic::wire {

// Behind the header of a MAPPED: this, the nodes, then a byte for each shard: its node.
struct MappedBody {
  uint32_t epoch;
  uint16_t node_count;
  uint16_t shard_count;
  uint64_t reserved;
};
static_assert(sizeof(MappedBody) == 16);

struct MappedNode {
  uint32_t address;  // IPv4, as a number: 10.0.0.1 is 0x0a000001
  uint16_t base_port;
  uint16_t workers;
};
static_assert(sizeof(MappedNode) == 8);

inline constexpr uint32_t mapped_bytes(uint32_t nodes, uint32_t shards) {
  return kHeaderBytes + static_cast<uint32_t>(sizeof(MappedBody) + nodes * sizeof(MappedNode)) + shards;
}
static_assert(mapped_bytes(limits::kNodesMax, limits::kShardsMax) <= limits::kMessageBytesMax, "every map fits");
static_assert(limits::kNodesMax <= 256, "a node is named by a byte");

// A MAP, header only. `sequence`: anything but 0, comes back in the answer.
uint32_t build_map(std::byte* buffer, SessionId session, Sequence sequence, Stamp stamp);

// The answer to a MAP with that header. Answers its length; 0 if `buffer` is too short (mapped_bytes). `buffer` may be
// the request itself: the header is copied first.
uint32_t build_mapped(const ShardMap& map, const Header& request, MutableBytes buffer);

// A MAPPED whose header has been checked (parse_reply_header) and that carries a map (result 0). `map->self` stays 0.
ParseError parse_mapped(const std::byte* message, const Header& header, ShardMap* map);

}  // namespace txnic::wire
