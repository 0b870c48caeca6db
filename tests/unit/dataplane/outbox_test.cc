// SPDX-License-Identifier: BSD-3-Clause
// Messages that a node sends by itself: how they share frames, where they go, what becomes of those that cannot.
// A mode takes orders ("n messages of so many bytes to that shard") by packet; the test's end of the link is the rest
// of the cluster.
#include "dataplane/outbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include <rte_mbuf.h>

#include "dataplane/statistics.h"
#include "tests/unit/dataplane/link_fixture.h"
#include "txn/wire/header.h"

namespace txnic::dataplane {
namespace {

using test::Frame;
using test::kTestWorkers;

constexpr uint32_t kUs = 0x0a630001, kPeer = 0x0a630002, kSilent = 0x0a630003;

// We have two workers and the shards 0 and 1; the peer three workers and 2, 3, 4; the silent one shard 5.
ShardMap three_nodes() {
  ShardMap map;
  map.epoch = 1;
  map.shard_count = 0;
  map.node_count = 3;
  map.nodes[0] = {{kUs, 7700}, kTestWorkers, 0};
  map.nodes[1] = {{kPeer, 9000}, 3, 0};
  map.nodes[2] = {{kSilent, 7700}, 1, 0};
  for (const uint32_t node : {0u, 0u, 1u, 1u, 1u, 2u}) map.add_shard(node);
  return map;
}

struct Order {
  uint16_t shard;
  uint16_t count;
  uint16_t bytes;
};

// A message whose header tells its length, whose sequence counts, and whose other bytes are not zero.
std::string message_of(uint32_t bytes, uint64_t sequence) {
  std::string message(bytes, 'm');
  wire::Header header = wire::request_header(wire::Type::kAsk, 1, sequence, 0);
  header.length = static_cast<uint16_t>(bytes);
  wire::write_header(reinterpret_cast<std::byte*>(message.data()), header);
  return message;
}

// The messages of a payload. Fails the test if anything but zeros stands between them.
std::vector<std::string> split(const std::string& payload) {
  std::vector<std::string> messages;
  for (size_t at = 0; at < payload.size();) {
    if (payload.size() - at < wire::kHeaderBytes) {
      ADD_FAILURE() << "rubbish at " << at << " of " << payload.size();
      break;
    }
    const size_t length = wire::read_header(reinterpret_cast<const std::byte*>(payload.data()) + at).length;
    messages.push_back(payload.substr(at, length));
    const size_t end = at + length;
    at = (end + 7) / 8 * 8;
    for (size_t i = end; i < std::min(at, payload.size()); ++i) EXPECT_EQ(payload[i], '\0') << "padding";
  }
  return messages;
}

// What the modes of all workers share with the test.
struct Shared {
  std::atomic<bool> stall{false};          // worker 1 stays in process() as long as this holds
  std::atomic<bool> is_stalled{false};
  std::atomic<uint32_t> from_poll{0};      // worker 0's poll() sends so many full messages to shard 2
  std::atomic<uint64_t> messages_heard{0}; // of other workers
  std::atomic<uint64_t> bad{0};
};

class OrderMode final : public Mode {
 public:
  OrderMode(uint32_t worker, Dataplane* plane, Shared* shared)
      : worker_(worker), plane_(plane), shared_(shared), done_(register_reason("outbox_test_done")) {}
  const char* name() const override { return "order"; }
  void process(std::span<Packet> burst, TimeNs) override {
    for (const Packet& packet : burst) {
      plane_->counters(worker_).drop(done_);
      const std::string payload(reinterpret_cast<const char*>(packet.message), packet.length);
      if (packet.tag == kFromWorkerTag) {
        hear(packet, payload);
        continue;
      }
      for (size_t at = 0; at + sizeof(Order) <= payload.size(); at += sizeof(Order)) {
        carry_out(load<Order>(payload.data() + at));
      }
    }
    shared_->is_stalled.store(worker_ == 1 && shared_->stall.load());
    while (worker_ == 1 && shared_->stall.load()) rte_pause();
  }
  uint32_t poll(TimeNs) override {
    if (worker_ != 0) return 0;
    const uint32_t count = shared_->from_poll.exchange(0);
    for (uint32_t i = 0; i < count; ++i) carry_out({2, 1, limits::kMessageBytesMax});
    return count;
  }
  uint32_t release(std::span<Packet>) override { return 0; }
  bool busy() const override { return false; }

 private:
  void carry_out(const Order& order) {
    for (uint32_t i = 0; i < order.count; ++i) {
      const std::string message = message_of(order.bytes, ++sequence_);
      plane_->outbox(worker_)->send(order.shard, {reinterpret_cast<const std::byte*>(message.data()), message.size()});
    }
  }
  void hear(const Packet& packet, const std::string& payload) {
    const std::vector<std::string> messages = split(payload);
    shared_->messages_heard.fetch_add(messages.size());
    const Endpoint other{kUs, static_cast<uint16_t>(7700 + 1 - worker_)};
    if (packet.from != other) shared_->bad.fetch_add(1);
    for (const std::string& message : messages) {
      const auto header = wire::read_header(reinterpret_cast<const std::byte*>(message.data()));
      if (message != message_of(header.length, header.sequence)) shared_->bad.fetch_add(1);
    }
  }

  const uint32_t worker_;
  Dataplane* const plane_;
  Shared* const shared_;
  const Reason done_;
  uint64_t sequence_ = 0;
};

class Outbox : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::start_test_eal(); }

  void start(DataplaneOptions options = {}) {
    options.port_ids = {link_.listener()};
    if (second_link_ != nullptr) options.port_ids.push_back(second_link_->listener());
    options.idle = Idle::kSleep;
    options.held_packets_max = 64;
    options.map = three_nodes();
    std::string error;
    plane_ = Dataplane::open(options, &error);
    ASSERT_NE(plane_, nullptr) << error;
    for (uint32_t w = 0; w < kTestWorkers; ++w) {
      modes_.push_back(std::make_unique<OrderMode>(w, plane_.get(), &shared_));
      plane_->set_mode(w, modes_.back().get());
    }
    ASSERT_TRUE(plane_->start(&error)) << error;
    wire_ = std::make_unique<test::Wire>(link_.connector());
    ASSERT_TRUE(wire_->connect());
    if (second_link_ != nullptr) {
      second_wire_ = std::make_unique<test::Wire>(second_link_->connector());
      ASSERT_TRUE(second_wire_->connect());
    }
    ASSERT_TRUE(test::eventually([&] {
      plane_->housekeep();
      return plane_->all_links_up();
    }));
  }
  // The peer makes itself known.
  void resolve_peer() {
    ASSERT_TRUE(wire_->send({test::make_arp(1, kPeer, kSilent)}));
    ASSERT_TRUE(test::eventually([&] { return plane_->next_hops_known() == 1; }));
  }
  void order(uint32_t worker, const std::vector<Order>& orders) {
    const std::string payload(reinterpret_cast<const char*>(orders.data()), orders.size() * sizeof(Order));
    ASSERT_TRUE(wire_->send({test::make({.source = 0x0a6300c8,
                                         .destination_port = static_cast<uint16_t>(7700 + worker),
                                         .payload = payload})}));
  }
  OutboxTotals outbox() { return read_totals(*plane_).outbox; }
  // UDP frames, sorted out from ARP.
  std::vector<Frame> datagrams() const { return of_type(0x0800); }
  std::vector<Frame> of_type(uint32_t type) const {
    std::vector<Frame> frames;
    for (const Frame& f : wire_->answers) {
      if (test::get16(f, 12) == type) frames.push_back(f);
    }
    return frames;
  }
  bool gather_datagrams(size_t count) {
    return test::eventually([&] {
      wire_->gather();
      return datagrams().size() >= count;
    });
  }
  static std::string payload_of(const Frame& f) {
    return {f.begin() + 42, f.begin() + static_cast<std::ptrdiff_t>(34 + test::get16(f, 38))};
  }

  // Stops, and checks what must always hold.
  Totals stop() {
    std::string error;
    EXPECT_TRUE(plane_->stop(&error)) << error;
    const Totals totals = read_totals(*plane_);
    EXPECT_EQ(totals.received, totals.ended_total);
    uint64_t rx = 0, tx = 0;
    for (const PortTotals& port : totals.ports) {
      rx += port.rx_packets;
      tx += port.tx_packets + port.tx_dropped;
    }
    EXPECT_EQ(totals.received, rx + totals.from_workers);
    EXPECT_EQ(totals.from_workers, totals.outbox.worker_frames);
    EXPECT_EQ(totals.ended[reason::kArpAnswered] + totals.outbox.frames + totals.outbox.arp_requests, tx);
    EXPECT_EQ(totals.ended[reason::kOther], 0u);
    EXPECT_EQ(shared_.bad.load(), 0u);
    return totals;
  }
  void TearDown() override {
    shared_.stall.store(false);
    std::string error;
    if (plane_ != nullptr) {
      EXPECT_TRUE(plane_->stop(&error)) << error;
    }
    wire_.reset();
    second_wire_.reset();
    plane_.reset();
  }

  test::Link link_;
  std::unique_ptr<test::Link> second_link_;  // made before start(): a second port
  std::unique_ptr<test::Wire> second_wire_;
  Shared shared_;
  std::unique_ptr<Dataplane> plane_;
  std::vector<std::unique_ptr<OrderMode>> modes_;
  std::unique_ptr<test::Wire> wire_;
};

TEST_F(Outbox, MessagesOfAStepForTheSameWorkerShareAFrame) {
  start();
  resolve_peer();
  order(1, {{2, 2, 50}, {3, 1, 48}, {2, 1, 61}});
  ASSERT_TRUE(gather_datagrams(2));
  const std::vector<Frame> frames = datagrams();
  ASSERT_EQ(frames.size(), 2u);
  const Frame& first = frames[test::get16(frames[0], 36) == 9000 ? 0 : 1];
  const Frame& second = frames[test::get16(frames[0], 36) == 9000 ? 1 : 0];
  EXPECT_EQ(payload_of(first), message_of(50, 1) + std::string(6, '\0') + message_of(50, 2) + std::string(6, '\0') +
                                   message_of(61, 4));
  EXPECT_EQ(payload_of(second), message_of(48, 3));
  test::UdpFrame expected;
  expected.destination_mac = {2, 0, 0, 0, 0, 2};
  for (size_t i = 0; i < 6; ++i) expected.source_mac[i] = plane_->ports()[0].mac[i];
  expected.source = kUs;
  expected.destination = kPeer;
  expected.source_port = 7701;
  expected.destination_port = 9001;
  expected.payload = message_of(48, 3);
  expected.with_udp_checksum = true;
  Frame e = test::make(expected);
  test::put16(&e, 18, 0);
  test::fix_ip_checksum(&e);
  EXPECT_EQ(second, e);
  const Totals totals = stop();
  EXPECT_EQ(totals.outbox.messages, 4u);
  EXPECT_EQ(totals.outbox.frames, 2u);
  EXPECT_EQ(totals.outbox.lost_total(), 0u);
}

TEST_F(Outbox, AFrameIsNeverLongerThanAMessageMayBe) {
  start();
  resolve_peer();
  struct Row {
    uint16_t bytes;
    size_t in_a_frame;
  };
  for (const Row& row : {Row{48, 30}, Row{49, 26}, Row{736, 2}, Row{737, 1}, Row{1472, 1}}) {
    wire_->answers.clear();
    const auto count = static_cast<uint16_t>(2 * row.in_a_frame + 1);
    order(0, {{4, count, row.bytes}});
    ASSERT_TRUE(gather_datagrams(3)) << row.bytes;
    const std::vector<Frame> frames = datagrams();
    ASSERT_EQ(frames.size(), 3u) << row.bytes;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_LE(frames[i].size(), 42u + limits::kMessageBytesMax);
      EXPECT_EQ(test::get16(frames[i], 36), 9002u);
      EXPECT_EQ(split(payload_of(frames[i])).size(), i < 2 ? row.in_a_frame : 1u) << row.bytes;
    }
  }
}

TEST_F(Outbox, ChecksumsOff) {
  DataplaneOptions options;
  options.checksum = ChecksumPolicy::kOff;
  start(options);
  resolve_peer();
  order(0, {{2, 1, 99}});
  ASSERT_TRUE(gather_datagrams(1));
  EXPECT_EQ(test::get16(datagrams()[0], 40), 0u);
}

TEST_F(Outbox, OtherWorkersOfTheNodeGetThemOverTheirRing) {
  start();
  order(0, {{1, 100, 75}});
  order(1, {{0, 7, 1472}});
  ASSERT_TRUE(test::eventually([&] { return shared_.messages_heard.load() == 107; }));
  const Totals totals = stop();
  EXPECT_EQ(totals.outbox.messages, 107u);
  EXPECT_EQ(totals.outbox.worker_frames, 100u / 18 + 1 + 7);
  EXPECT_EQ(totals.ended[register_reason("outbox_test_done")], totals.from_workers + 2);
}

TEST_F(Outbox, WhatHasNoWayIsCountedAndAskedFor) {
  start();
  // The question may be lost while the link comes up; it is asked again.
  uint64_t orders = 0;
  ASSERT_TRUE(test::eventually([&] {
    order(0, {{5, 3, 60}, {5, 1, 1472}});
    ++orders;
    wire_->gather();
    const std::vector<Frame> questions = of_type(0x0806);
    return std::any_of(questions.begin(), questions.end(), [&](const Frame& f) {
      Frame expected = test::make_arp(1, kUs, kSilent);
      for (size_t i = 0; i < 6; ++i) expected[6 + i] = expected[22 + i] = plane_->ports()[0].mac[i];
      return f == expected;
    });
  }));
  ASSERT_TRUE(test::eventually([&] { return outbox().lost_total() == orders * 4; }));
  EXPECT_TRUE(datagrams().empty());
  // An answer teaches the way, whoever asked.
  ASSERT_TRUE(wire_->send({test::make_arp(2, kSilent, kUs)}));
  ASSERT_TRUE(test::eventually([&] { return plane_->next_hops_known() == 1; }));
  order(0, {{5, 1, 60}});
  ASSERT_TRUE(gather_datagrams(1));
  const Totals totals = stop();
  EXPECT_EQ(totals.outbox.frames, 1u);
  EXPECT_EQ(totals.outbox.lost[static_cast<size_t>(Lost::kUnresolved)], orders * 4);
  EXPECT_GE(totals.outbox.arp_requests, 1u);
  EXPECT_EQ(totals.ended[reason::kArpLearned], 1u);
}

TEST_F(Outbox, AStaticNextHopNeedsNoQuestion) {
  DataplaneOptions options;
  options.next_hops.fixed.push_back({kPeer, {2, 0, 0, 0, 0, 77}, 0});
  options.next_hops.fixed.push_back({kSilent, {2, 0, 0, 0, 0, 78}, 0});
  start(options);
  order(0, {{2, 1, 60}, {5, 1, 60}});
  ASSERT_TRUE(gather_datagrams(2));
  EXPECT_EQ(datagrams()[0][5], 77);
  EXPECT_EQ(datagrams()[1][5], 78);
  EXPECT_EQ(stop().outbox.arp_requests, 0u);
}

TEST_F(Outbox, FramesLeaveByThePortOnWhichThePeerWasHeardLast) {
  second_link_ = std::make_unique<test::Link>();
  start();
  const auto heard_on_the_second = [&](size_t count) {
    return test::eventually([&] {
      second_wire_->gather();
      return static_cast<size_t>(std::count_if(second_wire_->answers.begin(), second_wire_->answers.end(),
                                               [](const Frame& f) { return test::get16(f, 12) == 0x0800; })) == count;
    });
  };
  ASSERT_TRUE(second_wire_->send({test::make_arp(1, kPeer, kSilent)}));
  ASSERT_TRUE(test::eventually([&] { return plane_->next_hops_known() == 1; }));
  order(0, {{2, 1, 60}});
  ASSERT_TRUE(heard_on_the_second(1));
  const Mac& mac = plane_->ports()[1].mac;
  const Frame& frame = second_wire_->answers.back();
  EXPECT_TRUE(std::equal(mac.begin(), mac.end(), frame.begin() + 6)) << "from that port's own address";
  // It moves: its next ARP comes by the first port.
  ASSERT_TRUE(wire_->send({test::make_arp(1, kPeer, kUs)}));
  ASSERT_TRUE(test::eventually([&] { return read_totals(*plane_).ended[reason::kArpAnswered] == 1; }));
  order(0, {{2, 1, 60}});
  ASSERT_TRUE(gather_datagrams(1));
  EXPECT_TRUE(heard_on_the_second(1));
  EXPECT_EQ(stop().outbox.frames, 2u);
}

TEST_F(Outbox, WhatIsForNobodyElseIsABugThatShows) {
  start();
  order(0, {{0, 1, 60}, {6, 1, 60}, {1000, 1, 60}});
  ASSERT_TRUE(test::eventually([&] { return outbox().lost_total() == 3; }));
  EXPECT_EQ(stop().outbox.lost[static_cast<size_t>(Lost::kNoShard)], 3u);
}

TEST_F(Outbox, AWorkerThatDoesNotTakeThem) {
  start();
  shared_.stall.store(true);
  order(1, {});
  ASSERT_TRUE(test::eventually([&] { return shared_.is_stalled.load(); }));
  constexpr uint16_t kFrames = kWorkerRingPackets + 100;
  order(0, {{1, kFrames, limits::kMessageBytesMax}});
  ASSERT_TRUE(test::eventually([&] { return outbox().messages == kFrames; }));
  shared_.stall.store(false);
  ASSERT_TRUE(test::eventually([&] { return shared_.messages_heard.load() == kWorkerRingPackets; }));
  EXPECT_EQ(stop().outbox.lost[static_cast<size_t>(Lost::kRingFull)], 100u);
}

TEST_F(Outbox, NoPacketLeft) {
  start();
  resolve_peer();
  std::vector<rte_mbuf*> taken;
  while (rte_mbuf* packet = rte_pktmbuf_alloc(plane_->ports()[0].pool)) taken.push_back(packet);
  constexpr uint32_t kMessages = 4000;  // more than a worker's cache of packets and all rings hold
  shared_.from_poll.store(kMessages);
  EXPECT_TRUE(test::eventually([&] { return outbox().messages == kMessages; }));
  rte_pktmbuf_free_bulk(taken.data(), static_cast<unsigned>(taken.size()));
  ASSERT_TRUE(test::eventually([&] {
    wire_->gather();
    const OutboxTotals now = outbox();
    return now.frames + now.lost[static_cast<size_t>(Lost::kNoPacket)] == kMessages;
  }));
  EXPECT_GT(stop().outbox.lost[static_cast<size_t>(Lost::kNoPacket)], 0u);
}

TEST_F(Outbox, NobodyElseMaySpeakAsWe) {
  start();
  const std::string payload(sizeof(Order), '\0');
  ASSERT_TRUE(wire_->send({test::make({.source = kUs, .source_port = 7701, .payload = payload}),
                           test::make({.source = kPeer, .payload = payload})}));
  ASSERT_TRUE(test::eventually([&] { return read_totals(*plane_).received == 2; }));
  const Totals totals = stop();
  EXPECT_EQ(totals.ended[reason::kOwnSource], 1u);
  EXPECT_EQ(totals.ended[register_reason("outbox_test_done")], 1u);
}

TEST_F(Outbox, AMapThatNamesOtherWorkersIsRefused) {
  DataplaneOptions options;
  options.port_ids = {link_.listener()};
  options.map = three_nodes();
  options.map->self = 1;
  std::string error;
  EXPECT_EQ(Dataplane::open(options, &error), nullptr);
  EXPECT_EQ(error, "the shard map has 3 workers for this node, but it has 2");
}

}  // namespace
}  // namespace txnic::dataplane
