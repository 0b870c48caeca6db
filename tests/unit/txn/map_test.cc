// SPDX-License-Identifier: BSD-3-Clause
// MAP and MAPPED: what is built is as in tests/golden; what the parser refuses, as rows.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/golden/golden.h"
#include "tests/unit/txn/message.h"

namespace txnic::test {
namespace {

using wire::Header;
using wire::ParseError;

constexpr SessionId kSession = 0x1122334455667788;
constexpr Stamp kStamp = make_stamp(7, 3);
constexpr uint32_t kBody = wire::kHeaderBytes;
constexpr uint32_t kNodes = kBody + sizeof(wire::MappedBody);

ShardMap map_of_two() {
  ShardMap map;
  map.epoch = 2;
  map.node_count = 2;
  map.shard_count = 0;
  map.nodes[0] = {{0x0a000001, 7700}, 2, 0};
  map.nodes[1] = {{0x0a000002, 7000}, 1, 0};
  for (const uint32_t node : {0u, 0u, 1u, 1u, 0u}) map.add_shard(node);
  return map;
}

Message built(const ShardMap& map) {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  Header request = wire::request_header(wire::Type::kMap, kSession, 1, kStamp);
  request.shard = wire::kNoShard;
  const uint32_t length = wire::build_mapped(map, request, buffer);
  return {buffer.data(), buffer.data() + length};
}

ParseError parse(const Message& message, ShardMap* map) {
  Header header;
  const ParseError error = wire::parse_reply_header(message.data(), static_cast<uint32_t>(message.size()), &header);
  return error != ParseError::kNone ? error : wire::parse_mapped(message.data(), header, map);
}

TEST(Map, IsBuiltAsInTheGoldenPackets) {
  const auto packets = golden::read_packets(TXNIC_GOLDEN_PACKETS);
  Message request(wire::kHeaderBytes);
  EXPECT_EQ(wire::build_map(request.data(), kSession, 1, kStamp), wire::kHeaderBytes);
  EXPECT_EQ(request, packets.at("map").bytes);
  EXPECT_EQ(built(map_of_two()), packets.at("mapped").bytes);
}

TEST(Map, IsParsedAsItWasBuilt) {
  ShardMap map;
  ASSERT_EQ(parse(built(map_of_two()), &map), ParseError::kNone);
  EXPECT_EQ(map.epoch, 2u);
  EXPECT_EQ(map.node_count, 2u);
  EXPECT_EQ(map.shard_count, 5u);
  EXPECT_EQ(map.nodes[0].shards, 3);
  EXPECT_EQ(map.nodes[1].shards, 2);
  EXPECT_EQ(map.places[4].number, 2);
  EXPECT_EQ(map.endpoint_of(1), (Endpoint{0x0a000001, 7701}));
  EXPECT_EQ(map.endpoint_of(3), (Endpoint{0x0a000002, 7000}));
  EXPECT_EQ(map.endpoint_of(4), (Endpoint{0x0a000001, 7700}));
}

TEST(Map, TheLargestOneFitsAMessage) {
  ShardMap map;
  map.epoch = 1;
  map.node_count = limits::kNodesMax;
  map.shard_count = 0;
  for (uint32_t n = 0; n < limits::kNodesMax; ++n) map.nodes[n] = {{n + 1, 7700}, limits::kWorkersMax, 0};
  for (uint32_t s = 0; s < limits::kShardsMax; ++s) map.add_shard(s * 7 % limits::kNodesMax);
  const Message message = built(map);
  EXPECT_EQ(message.size(), 1344u);
  ShardMap read;
  ASSERT_EQ(parse(message, &read), ParseError::kNone);
  for (uint32_t s = 0; s < limits::kShardsMax; ++s) ASSERT_EQ(read.places[s].node, s * 7 % limits::kNodesMax) << s;
}

TEST(Map, NeedsRoom) {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  const Header request = wire::request_header(wire::Type::kMap, kSession, 1, kStamp);
  EXPECT_EQ(wire::build_mapped(map_of_two(), request, {buffer.data(), 84}), 0u);
  EXPECT_EQ(wire::build_mapped(map_of_two(), request, {buffer.data(), 85}), 85u);
}

struct Row {
  const char* what;
  std::function<void(Message&)> damage;
  ParseError expected;
};

void set(Message& m, size_t at, uint8_t value) { m[at] = static_cast<std::byte>(value); }

TEST(Map, WhatIsMalformedIsRefused) {
  const Row rows[] = {
      {"whole", [](Message&) {}, ParseError::kNone},
      {"reserved", [](Message& m) { set(m, kBody + 8, 1); }, ParseError::kReserved},
      {"no node", [](Message& m) { set(m, kBody + 4, 0); }, ParseError::kBody},
      {"33 nodes", [](Message& m) { set(m, kBody + 4, 33); }, ParseError::kBody},
      {"no shard", [](Message& m) { set(m, kBody + 6, 0); }, ParseError::kBody},
      {"1025 shards", [](Message& m) { set(m, kBody + 6, 1); set(m, kBody + 7, 4); }, ParseError::kBody},
      {"a shard too many", [](Message& m) { set(m, kBody + 6, 6); }, ParseError::kBody},
      {"a byte too many", [](Message& m) { m.push_back(std::byte{0}); set_length(m); }, ParseError::kBody},
      {"no worker", [](Message& m) { set(m, kNodes + 6, 0); }, ParseError::kBody},
      {"65 workers", [](Message& m) { set(m, kNodes + 6, 65); }, ParseError::kBody},
      {"port 0", [](Message& m) { set(m, kNodes + 4, 0); set(m, kNodes + 5, 0); }, ParseError::kBody},
      {"ports beyond 65535", [](Message& m) { set(m, kNodes + 4, 255); set(m, kNodes + 5, 255); }, ParseError::kBody},
      {"a shard of no node", [](Message& m) { m.back() = std::byte{2}; }, ParseError::kBody},
      {"no body", [](Message& m) { m.resize(wire::kHeaderBytes); set_length(m); }, ParseError::kBody},
      {"a refusal with a body", [](Message& m) { set(m, 7, 21); }, ParseError::kBody},
  };
  for (const Row& row : rows) {
    Message message = built(map_of_two());
    row.damage(message);
    ShardMap map;
    EXPECT_EQ(parse(message, &map), row.expected) << row.what;
  }
}

TEST(Map, ARequestHasNoBody) {
  Message request(wire::kHeaderBytes);
  wire::build_map(request.data(), kSession, 1, kStamp);
  EXPECT_EQ(parse_request(request), ParseError::kNone);
  request.push_back(std::byte{0});
  set_length(request);
  EXPECT_EQ(parse_request(request), ParseError::kBody);
}

}  // namespace
}  // namespace txnic::test
