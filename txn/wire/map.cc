// SPDX-License-Identifier: BSD-3-Clause
#include "txn/wire/map.h"

namespace txnic::wire {

uint32_t build_map(std::byte* buffer, SessionId session, Sequence sequence, Stamp stamp) {
  Header h = request_header(Type::kMap, session, sequence, stamp);
  h.shard = kNoShard;
  write_header(buffer, h);
  return kHeaderBytes;
}

uint32_t build_mapped(const ShardMap& map, const Header& request, MutableBytes buffer) {
  const uint32_t length = mapped_bytes(map.node_count, map.shard_count);
  if (buffer.size() < length) return 0;
  Header h = request_header(Type::kMapped, request.session, request.sequence, request.stamp);
  h.length = static_cast<uint16_t>(length);
  h.shard = request.shard;
  write_header(buffer.data(), h);
  std::byte* at = buffer.data() + kHeaderBytes;
  store(at, MappedBody{map.epoch, static_cast<uint16_t>(map.node_count), static_cast<uint16_t>(map.shard_count), 0});
  at += sizeof(MappedBody);
  for (uint32_t n = 0; n < map.node_count; ++n) {
    const ShardMap::Node& node = map.nodes[n];
    store(at, MappedNode{node.base.address, node.base.port, node.workers});
    at += sizeof(MappedNode);
  }
  for (uint32_t s = 0; s < map.shard_count; ++s) *at++ = static_cast<std::byte>(map.places[s].node);
  return length;
}

ParseError parse_mapped(const std::byte* message, const Header& header, ShardMap* map) {
  if (header.length < kHeaderBytes + sizeof(MappedBody)) return ParseError::kBody;
  const auto body = load<MappedBody>(message + kHeaderBytes);
  if (body.reserved != 0) return ParseError::kReserved;
  if (body.node_count == 0 || body.node_count > limits::kNodesMax || body.shard_count == 0 ||
      body.shard_count > limits::kShardsMax || header.length != mapped_bytes(body.node_count, body.shard_count)) {
    return ParseError::kBody;
  }
  *map = ShardMap{};
  map->epoch = body.epoch;
  map->node_count = body.node_count;
  map->shard_count = 0;
  const std::byte* at = message + kHeaderBytes + sizeof body;
  for (uint32_t n = 0; n < body.node_count; ++n) {
    const auto node = load<MappedNode>(at);
    at += sizeof node;
    const bool ports_fit = node.base_port != 0 && node.base_port + node.workers <= 65536;
    if (node.workers == 0 || node.workers > limits::kWorkersMax || !ports_fit) return ParseError::kBody;
    map->nodes[n] = {{node.address, node.base_port}, node.workers, 0};
  }
  for (uint32_t s = 0; s < body.shard_count; ++s) {
    const auto node = static_cast<uint32_t>(*at++);
    if (node >= body.node_count) return ParseError::kBody;
    map->add_shard(node);
  }
  return ParseError::kNone;
}

}  // namespace txnic::wire
