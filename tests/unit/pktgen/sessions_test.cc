// SPDX-License-Identifier: BSD-3-Clause
// The generator's sessions with several nodes: the map is learned from the first one, by one session for all.
#include "pktgen/load/sessions.h"

#include <gtest/gtest.h>

#include <map>

#include "txn/wire/map.h"

namespace txnic::pktgen {
namespace {

struct Sent {
  wire::Header header;
  uint32_t node, worker;
};

class Recorder final : public Transport {
 public:
  void send(const std::byte* message, uint32_t, uint32_t node, uint32_t worker) override {
    sent.push_back({wire::read_header(message), node, worker});
  }
  bool reach(uint32_t node, Endpoint base) override {
    reached[node] = base;
    return node < room;
  }
  void flush() override {}
  uint32_t receive(std::span<Received>) override { return 0; }
  void wait(TimeNs) override {}
  TransportStatistics statistics() const override { return {}; }

  std::vector<Sent> sent;
  std::map<uint32_t, Endpoint> reached;
  uint32_t room = kNodesMax;
};

std::vector<std::byte> opened(const wire::Header& request, uint32_t epoch) {
  wire::Header h = request;
  h.type = static_cast<uint8_t>(wire::Type::kOpened);
  h.length = wire::kOpenedBytes;
  h.stamp = make_stamp(7, 1);
  h.map_epoch = epoch;
  wire::OpenedBody body{};
  body.shard_count = 2;
  body.worker_count = 2;
  body.base_port = 7700;
  body.window = 256;
  std::vector<std::byte> out(h.length);
  wire::write_header(out.data(), h);
  store(out.data() + wire::kHeaderBytes, body);
  return out;
}

struct Learning : ::testing::Test {
  Learning() {
    map.epoch = 3;
    map.node_count = 2;
    map.shard_count = 0;
    map.nodes[0] = {{0x0a000002, 7700}, 1, 0};
    map.nodes[1] = {{0x0a000001, 7700}, 2, 0};  // the first one that is asked
    for (const uint32_t node : {0u, 1u, 1u, 0u}) map.add_shard(node);
    sessions.open_all(1);
    const std::vector<Sent> opens = std::move(transport.sent);
    transport.sent.clear();
    for (uint32_t i = 0; i < 2; ++i) {
      const auto reply = opened(opens[i].header, map.epoch);
      sessions[i].on_message(2, reply.data(), static_cast<uint32_t>(reply.size()));
      sessions[i].poll(2);
    }
  }
  // The node answers the session's MAP.
  std::string tell(uint32_t session) {
    std::vector<std::byte> reply(limits::kMessageBytesMax);
    reply.resize(wire::build_mapped(map, transport.sent.at(session).header, reply));
    const client::Event event = sessions[session].on_message(3, reply.data(), static_cast<uint32_t>(reply.size()));
    return event.kind == client::EventKind::kMapped ? sessions.use_map(event, 3) : "no map";
  }

  ShardMap map;
  Recorder transport;
  Sessions sessions{transport, 2, 64, {0x0a000001, 7700}};
};

TEST_F(Learning, OneSessionLearnsForAll) {
  EXPECT_FALSE(sessions.all_open()) << "the map is missing";
  ASSERT_EQ(transport.sent.size(), 2u);
  for (const Sent& sent : transport.sent) EXPECT_EQ(sent.header.type, static_cast<uint8_t>(wire::Type::kMap));
  ASSERT_EQ(tell(0), "");
  EXPECT_EQ(tell(1), "no map") << "it has it already";
  EXPECT_TRUE(sessions.all_open());
  ASSERT_EQ(transport.reached.size(), 1u);
  EXPECT_EQ(transport.reached.at(1), map.nodes[0].base);
  for (uint32_t session = 0; session < 2; ++session) {
    EXPECT_EQ(sessions[session].shard_count(), 4u);
    for (const ShardId shard : {ShardId{2}, ShardId{3}}) {
      transport.sent.clear();
      client::Slot* slot = sessions[session].acquire();
      wire::ExecuteBuilder request(slot->buffer());
      request.get(1, std::as_bytes(std::span("key", 3)));
      sessions[session].submit(slot, request, shard, 0, 4);
      ASSERT_EQ(transport.sent.size(), 1u);
      // Shard 2 is the second one of the node that is open; the other node is opened first.
      const auto type = shard == 2 ? wire::Type::kExecute : wire::Type::kOpen;
      EXPECT_EQ(transport.sent[0].header.type, static_cast<uint8_t>(type));
      EXPECT_EQ(transport.sent[0].node, shard == 2 ? 0u : 1u);
      EXPECT_EQ(transport.sent[0].worker, shard == 2 ? 1u : 0u);
    }
  }
}

TEST_F(Learning, APortWithoutRoomIsAnError) {
  transport.room = 1;
  EXPECT_NE(tell(0), "");
}

TEST_F(Learning, TooManyNodesAreAnError) {
  map.node_count = kNodesMax + 1;
  for (uint32_t n = 2; n < map.node_count; ++n) map.nodes[n] = {{0x0a000002 + n, 7700}, 1, 0};
  EXPECT_NE(tell(0), "");
  EXPECT_EQ(sessions[0].map(), nullptr);
}

}  // namespace
}  // namespace txnic::pktgen
