// SPDX-License-Identifier: BSD-3-Clause
// A session machine with a shard map of several nodes; the test plays the nodes by hand.
#pragma once

#include "tests/unit/client/harness.h"
#include "txn/hash.h"
#include "txn/wire/map.h"

namespace txnic::client::test {

// Shards 0 and 1 on the first node, 2 and 3 on the second one, each with two workers.
inline ShardMap two_nodes(uint32_t epoch = 5) {
  ShardMap map;
  map.epoch = epoch;
  map.node_count = 2;
  map.shard_count = 0;
  map.nodes[0] = {{0x0a000001, 7700}, 2, 0};
  map.nodes[1] = {{0x0a000002, 7700}, 2, 0};
  for (const uint32_t node : {0u, 0u, 1u, 1u}) map.add_shard(node);
  return map;
}

// The number'th key that belongs to the shard.
inline std::string key_of(ShardId shard, uint32_t number = 0, uint32_t shards = 4) {
  for (uint64_t candidate = 0;; ++candidate) {
    const std::string key = "key" + std::to_string(candidate);
    if (shard_of(hash_key(bytes_of(key).data(), static_cast<uint32_t>(key.size())), shards) != shard) continue;
    if (number-- == 0) return key;
  }
}

struct ClusterHarness : Harness {
  explicit ClusterHarness(MachineLimits limits = {.nodes = 3}) : Harness(limits) {}

  // Opens at both nodes; their stamps are (100, 1) and (200, 1).
  void open_both(const ShardMap* map) {
    ASSERT_TRUE(machine.use_map(map, 0, now));
    machine.open(now);
    ASSERT_EQ(take(wire::Type::kOpen).size(), 2u);
    for (uint32_t node = 0; node < 2; ++node) open_node(node, node + 1);
    now += 1000 * kMs;
    sent.clear();
  }
  Event open_node(uint32_t node, Sequence attempt, bool survived = false, uint32_t opening = 1) {
    return deliver(opened(kSession, attempt, {.stamp = make_stamp(100 * (node + 1), opening),
                                              .survived = survived,
                                              .map_epoch = machine.map() == nullptr ? 0 : machine.map()->epoch}));
  }
  // A transaction that adds 1 to a key of each shard.
  Slot* add(const std::vector<ShardId>& shards, TimeNs deadline = 0) {
    Slot* slot = machine.acquire();
    if (slot == nullptr) return nullptr;
    wire::ExecuteBuilder builder(slot->buffer());
    for (const ShardId shard : shards) EXPECT_TRUE(builder.add(1, bytes_of(key_of(shard)), 1));
    EXPECT_TRUE(machine.submit_split(slot, builder, deadline, now));
    return slot;
  }
  Message refusal(const Slot* slot, ShardId shard, Stamp stamp, Result result, uint8_t detail = 0) {
    Message m = reply_message(wire::Type::kPrepared, kSession, slot->sequence, stamp, result, detail, 0);
    store(m.data() + offsetof(wire::Header, shard), shard);
    return m;
  }
  Message decided(const Slot* slot, Result result, Stamp stamp = 1) {
    Message m = refusal(slot, slot->shard, stamp, result);
    m[offsetof(wire::Header, flags)] = std::byte{wire::kReplyFlagDecided};
    return m;
  }
  // Refuses the stamp of the node that has the shard, and opens there again.
  void lose_node(const Slot* slot, ShardId shard, uint32_t node) {
    now += 1000 * kMs;
    deliver(refusal(slot, shard, make_stamp(999, 0), Result::kBadSession,
                    static_cast<uint8_t>(BadSessionReason::kUnknown)));
    auto opens = take(wire::Type::kOpen);
    ASSERT_EQ(opens.size(), 1u);
    EXPECT_EQ(opens[0].node, node);
    deliver(refused_opening(opens[0].header.sequence, Result::kBadSession,
                            static_cast<uint8_t>(BadSessionReason::kUnknown)));
    opens = take(wire::Type::kOpen);
    ASSERT_EQ(opens.size(), 1u);
    EXPECT_EQ(opens[0].header.stamp, 0u);
    EXPECT_EQ(open_node(node, opens[0].header.sequence, false, 9).kind, EventKind::kOpened);
  }
};

}  // namespace txnic::client::test
