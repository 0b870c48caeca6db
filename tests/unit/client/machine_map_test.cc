// SPDX-License-Identifier: BSD-3-Clause
// The shard map at the client: learned, outdated, replaced; sessions opened where they are needed.
#include "tests/unit/client/cluster_harness.h"

namespace txnic::client::test {
namespace {

Message mapped(const ShardMap& map, const wire::Header& request) {
  Message m(limits::kMessageBytesMax);
  m.resize(wire::build_mapped(map, request, m));
  return m;
}

TEST(MachineMap, IsLearnedFromTheFirstNode) {
  ShardMap map = two_nodes();
  ClusterHarness h;
  h.machine.open(h.now);
  ASSERT_EQ(h.deliver(opened(kSession, 1, {.map_epoch = 5})).kind, EventKind::kOpened);
  h.sent.clear();
  h.poll();
  auto asked = h.take(wire::Type::kMap);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].header.stamp, make_stamp(100, 1));
  h.poll_at(h.now + 60 * kMs);  // it was lost
  asked = h.take(wire::Type::kMap);
  ASSERT_EQ(asked.size(), 1u);
  const Message answer = mapped(map, asked[0].header);
  const Event event = h.deliver(answer);
  ASSERT_EQ(event.kind, EventKind::kMapped);
  ShardMap learned;
  ASSERT_EQ(wire::parse_mapped(event.message, event.header, &learned), wire::ParseError::kNone);
  // The node that we know is the second one of the map.
  ASSERT_TRUE(h.machine.use_map(&learned, 1, h.now));
  EXPECT_EQ(h.machine.shard_count(), 4u);
  EXPECT_EQ(h.machine.node_base(0), map.nodes[1].base);
  EXPECT_EQ(h.machine.node_base(1), map.nodes[0].base);
  h.poll_at(h.now + 500 * kMs);
  EXPECT_TRUE(h.sent.empty()) << "it has the map";

  // The other node is opened when it is needed, and the first PREPARE waits for that.
  h.now += 1000 * kMs;
  Slot* slot = h.add({2, 0});
  const auto opens = h.take(wire::Type::kOpen);
  ASSERT_EQ(opens.size(), 1u);
  EXPECT_EQ(opens[0].node, 1u);
  EXPECT_EQ(opens[0].header.sequence, 2u);
  EXPECT_EQ(slot->sends, 0);
  h.poll_at(h.now + 30 * kMs);
  EXPECT_EQ(h.count(wire::Type::kPrepare), 0u);
  h.open_node(1, 2);
  h.poll();
  const auto prepares = h.take(wire::Type::kPrepare);
  ASSERT_EQ(prepares.size(), 2u);
  EXPECT_EQ(prepares[0].node, 0u);
  EXPECT_EQ(prepares[0].header.shard, 2);
  EXPECT_EQ(prepares[1].node, 1u);
  h.expect_sums();
}

TEST(MachineMap, ANodeThatIsAloneIsNotAsked) {
  ClusterHarness h;
  h.machine.open(h.now);
  h.deliver(opened(kSession, 1, {}));
  h.poll_at(h.now + 200 * kMs);
  EXPECT_EQ(h.count(wire::Type::kMap), 0u);
  EXPECT_EQ(h.machine.shard_count(), 4u);
  // And its shards are participants too.
  Slot* slot = h.add({0, 1, 3});
  const auto prepares = h.take(wire::Type::kPrepare);
  ASSERT_EQ(prepares.size(), 3u);
  EXPECT_EQ(prepares[0].header.map_epoch, 0u);
  EXPECT_EQ(prepares[1].worker, 1u);
  EXPECT_EQ(h.deliver(h.decided(slot, Result::kCommitted)).slot, slot);
}

TEST(MachineMap, AWrongShardAsksForTheMap) {
  const ShardMap map = two_nodes();
  ShardMap newer;  // shard 2 has moved to the first node; and the nodes are named in another order
  newer.epoch = 6;
  newer.node_count = 2;
  newer.shard_count = 0;
  newer.nodes[0] = {map.nodes[1].base, 2, 0};
  newer.nodes[1] = {map.nodes[0].base, 2, 0};
  for (const uint32_t node : {1u, 1u, 1u, 0u}) newer.add_shard(node);
  ClusterHarness h;
  h.open_both(&map);
  Slot* slot = h.add({0, 2});
  h.sent.clear();
  h.deliver(h.refusal(slot, 2, make_stamp(200, 1), Result::kWrongShard));
  h.poll();
  auto asked = h.take(wire::Type::kMap);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(h.deliver(mapped(map, asked[0].header)).kind, EventKind::kNone) << "the node does not have it yet";
  h.sent.clear();
  h.now += 100 * kMs;
  h.deliver(h.refusal(slot, 2, make_stamp(200, 1), Result::kWrongShard));
  h.poll();
  asked = h.take(wire::Type::kMap);
  ASSERT_EQ(asked.size(), 1u);
  ASSERT_EQ(h.deliver(mapped(newer, asked[0].header)).kind, EventKind::kMapped);
  ASSERT_TRUE(h.machine.use_map(&newer, 0, h.now));
  h.poll();
  const auto copies = h.take(wire::Type::kPrepare);
  ASSERT_EQ(copies.size(), 2u);
  for (const Sent& copy : copies) {
    EXPECT_EQ(copy.node, 0u);
    EXPECT_EQ(copy.header.map_epoch, 5u) << "the id is bound to its epoch";
    EXPECT_EQ(copy.header.stamp, make_stamp(100, 1));
  }
  Slot* after = h.add({0, 3});
  const auto prepares = h.take(wire::Type::kPrepare);
  ASSERT_EQ(prepares.size(), 2u);
  EXPECT_EQ(prepares[1].header.map_epoch, 6u);
  EXPECT_EQ(prepares[1].node, 1u);
  EXPECT_EQ(h.deliver(h.decided(slot, Result::kCommitted)).slot, slot);
  EXPECT_EQ(h.deliver(h.decided(after, Result::kCommitted)).slot, after);
  h.expect_sums();
}

TEST(MachineMap, ARequestOfOneShardIsRefusedWhenItsShardHasMoved) {
  const ShardMap map = two_nodes();
  ClusterHarness h;
  h.open_both(&map);
  Slot* slot = h.put("x", 0, 2);
  h.sent.clear();
  const Event event = h.answer(slot, Result::kWrongShard);
  EXPECT_EQ(event.slot, slot);
  EXPECT_EQ(event.result, Result::kWrongShard);
  h.poll();
  EXPECT_EQ(h.count(wire::Type::kMap), 1u);
  h.expect_sums();
}

TEST(MachineMap, MoreNodesThanThereIsRoomForAreRefused) {
  ClusterHarness h({.nodes = 2});
  ShardMap map = two_nodes();
  map.nodes[2] = {{0x0a000003, 7700}, 1, 0};
  map.node_count = 3;
  map.add_shard(2);
  EXPECT_FALSE(h.machine.use_map(&map, 0, h.now));
  EXPECT_EQ(h.machine.map(), nullptr);
}

TEST(MachineMap, KeepsTheSessionAliveAtEachNode) {
  const ShardMap map = two_nodes();
  ClusterHarness h;
  ASSERT_TRUE(h.machine.use_map(&map, 0, h.now));
  h.machine.open(h.now);
  for (uint32_t node = 0; node < 2; ++node) {
    h.deliver(opened(kSession, node + 1,
                     {.stamp = make_stamp(100 * (node + 1), 1), .idle_expiry_seconds = 30, .map_epoch = 5}));
  }
  h.sent.clear();
  for (int i = 0; i < 13; ++i) {  // the first node hears of requests
    h.now += 1000 * kMs;
    for (const ShardId shard : {ShardId{0}, ShardId{1}}) {
      Slot* slot = h.put("x", 0, shard);
      h.answer(slot, Result::kCommitted);
      h.machine.release(slot);
    }
    h.poll();
  }
  const auto opens = h.take(wire::Type::kOpen);
  ASSERT_GE(opens.size(), 1u);
  for (const Sent& open : opens) {
    EXPECT_EQ(open.node, 1u);
    EXPECT_EQ(open.header.sequence, 2u);
  }
}

}  // namespace
}  // namespace txnic::client::test
