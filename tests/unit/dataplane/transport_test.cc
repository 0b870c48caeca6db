// SPDX-License-Identifier: BSD-3-Clause
// A client's transport against a node in the same process: messages both ways, strays between queues, a node that comes
// late, goes, and comes back.
#include "dataplane/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "dataplane/memory.h"
#include "dataplane/modes/registry.h"
#include "dataplane/preflight.h"
#include "dataplane/statistics.h"
#include "tests/unit/dataplane/link_fixture.h"
#include "txn/wire/header.h"

namespace txnic::dataplane {
namespace {

class ClientAndNode : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::start_test_eal(); }

  void start_node(uint32_t queues = 1) {
    DataplaneOptions options;
    options.port_ids = {link_.listener()};
    options.idle = Idle::kSleep;
    options.held_packets_max = 0;
    options.queues = queues;
    std::string error;
    node_ = Dataplane::open(options, &error);
    ASSERT_NE(node_, nullptr) << error;
    modes_.clear();
    for (uint32_t w = 0; w < node_->worker_count(); ++w) {
      modes_.push_back(make_mode("echo", {w, node_->worker_count(), &node_->counters(w)}, &error));
      node_->set_mode(w, modes_.back().get());
    }
    ASSERT_TRUE(node_->start(&error)) << error;
  }
  void stop_node() {
    std::string error;
    ASSERT_TRUE(node_->stop(&error)) << error;
    const Totals totals = read_totals(*node_);
    EXPECT_EQ(totals.received, totals.ended_total);
    EXPECT_EQ(totals.ended[reason::kOther], 0u);
    node_.reset();
  }

  void open_client(TransportOptions options) {
    const std::vector<uint16_t> ids = available_ports();
    options.port_index =
        static_cast<uint32_t>(std::find(ids.begin(), ids.end(), link_.connector()) - ids.begin());
    std::string error;
    client_ = Transport::open(options, &error);
    ASSERT_NE(client_, nullptr) << error;
    ASSERT_TRUE(client_->start(&error)) << error;
  }
  void resolve() {
    std::string error;
    ASSERT_TRUE(client_->resolve(60'000, &error)) << error;
  }

  void send_echo(TransportQueue& queue, uint64_t sequence, uint32_t bytes, uint32_t flow, uint32_t worker) {
    std::array<std::byte, limits::kMessageBytesMax> message{};
    wire::Header header = wire::request_header(wire::Type::kEcho, 1, sequence, 0);
    header.length = static_cast<uint16_t>(bytes);
    wire::write_header(message.data(), header);
    message[bytes - 1] = static_cast<std::byte>(sequence);
    queue.send(message.data(), bytes, flow, worker);
  }

  // Sends `count` echoes with a small window and expects every answer, whole, at its flow. `lossy`: what is sent while
  // a link comes up may be lost, so that what misses its answer for a while is sent again.
  void exchange(TransportQueue& queue, uint32_t count, bool lossy = false) {
    std::array<Received, limits::kBurstMax> received;
    std::set<uint64_t> missing;
    uint64_t next = 1;
    uint32_t silent = 0;
    const bool all = test::eventually([&] {
      while (missing.size() < 100 && next <= count) {
        send_echo(queue, next, bytes_of(next), flow_of(next), static_cast<uint32_t>(next % test::kTestWorkers));
        missing.insert(next++);
      }
      if (lossy && ++silent % kSilentCallsBeforeResending == 0) {
        for (const uint64_t sequence : missing) {
          send_echo(queue, sequence, bytes_of(sequence), flow_of(sequence),
                    static_cast<uint32_t>(sequence % test::kTestWorkers));
        }
      }
      queue.flush();
      const uint32_t n = queue.receive(received);
      if (n != 0) silent = 0;
      for (uint32_t i = 0; i < n; ++i) {
        const wire::Header header = wire::read_header(received[i].message);
        if (header.sequence == kIntoTheVoid) continue;  // a burst may wait in the queue until the node is back
        EXPECT_EQ(header.type, static_cast<uint8_t>(wire::Type::kEchoed));
        EXPECT_EQ(received[i].length, bytes_of(header.sequence));
        EXPECT_EQ(received[i].flow, flow_of(header.sequence));
        EXPECT_EQ(received[i].from.address, 0x0a630001u);
        EXPECT_EQ(received[i].message[received[i].length - 1], static_cast<std::byte>(header.sequence));
        EXPECT_TRUE(missing.erase(header.sequence) == 1 || lossy);
      }
      return next > count && missing.empty();
    });
    EXPECT_TRUE(all) << missing.size() << " answers missing";
  }
  static constexpr uint64_t kIntoTheVoid = 1'000'000;
  static constexpr uint32_t kSilentCallsBeforeResending = 40;
  static uint32_t bytes_of(uint64_t sequence) { return 49 + static_cast<uint32_t>(sequence * 7 % 1400); }
  static uint32_t flow_of(uint64_t sequence) { return static_cast<uint32_t>(sequence % kFlowsPerQueue); }

  void TearDown() override {
    std::string error;
    if (node_ != nullptr) {
      EXPECT_TRUE(node_->stop(&error)) << error;
    }
    client_.reset();
    node_.reset();
  }

  test::Link link_;
  std::unique_ptr<Dataplane> node_;
  std::vector<std::unique_ptr<Mode>> modes_;
  std::unique_ptr<Transport> client_;
};

class Checksums : public ClientAndNode, public testing::WithParamInterface<ChecksumPolicy> {};

TEST_P(Checksums, EveryMessageIsAnswered) {
  start_node();
  open_client({.checksum = GetParam()});
  resolve();
  exchange(client_->queue(0), 3000);
  const TransportCounters& counters = client_->queue(0).counters();
  EXPECT_EQ(counters.rx_messages.read(), 3000u);
  EXPECT_EQ(counters.rx_ignored.read(), 0u);
  EXPECT_EQ(counters.tx_dropped.read(), 0u);
  stop_node();
}
INSTANTIATE_TEST_SUITE_P(Policies, Checksums,
                         testing::Values(ChecksumPolicy::kOff, ChecksumPolicy::kAuto, ChecksumPolicy::kSoftware));

TEST_F(ClientAndNode, AnswersFindTheQueueOfTheirFlow) {
  start_node(2);
  open_client({.queues = 2, .checksum = ChecksumPolicy::kOff});
  resolve();
  // Each queue talks to both workers, and each worker answers on its own queue: both are polled until both are done.
  std::atomic<uint32_t> done{0};
  const auto run = [&](uint32_t index) {
    exchange(client_->queue(index), 2000);
    done.fetch_add(1);
    std::array<Received, limits::kBurstMax> none;
    EXPECT_TRUE(test::eventually([&] {
      EXPECT_EQ(client_->queue(index).receive(none), 0u);
      return done.load() == 2;
    }));
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  const uint64_t strays =
      client_->queue(0).counters().rx_strays.read() + client_->queue(1).counters().rx_strays.read();
  EXPECT_EQ(strays, 2000u);
}

TEST_F(ClientAndNode, ANodeThatComesLateGoesAndComesBack) {
  link_.unplug_listener();
  open_client({.checksum = ChecksumPolicy::kOff});
  EXPECT_FALSE(client_->link_is_up());
  std::string error;
  EXPECT_FALSE(client_->resolve(50, &error));
  EXPECT_NE(error.find("no peer"), std::string::npos) << error;
  for (int life = 0; life < 3; ++life) {
    link_.plug_listener();
    start_node();
    if (life == 0) resolve();
    ASSERT_TRUE(test::eventually([&] {
      client_->housekeep();
      return client_->link_is_up();
    })) << "life " << life;
    exchange(client_->queue(0), 500, true);
    stop_node();
    link_.unplug_listener();
    ASSERT_TRUE(test::eventually([&] {
      client_->housekeep();
      return !client_->link_is_up();
    }));
    for (int i = 0; i < 1000; ++i) send_echo(client_->queue(0), kIntoTheVoid, 48, 0, 0);
    client_->queue(0).flush();
  }
  link_.plug_listener();
}

TEST_F(ClientAndNode, RawTakesWhateverComesBack) {
  test::Wire mirror(link_.listener());
  ASSERT_TRUE(mirror.start());
  open_client({.checksum = ChecksumPolicy::kOff, .raw = true});
  ASSERT_TRUE(test::eventually([&] {
    client_->housekeep();
    return client_->link_is_up();
  }));
  TransportQueue& queue = client_->queue(0);
  for (uint64_t s = 1; s <= 64; ++s) send_echo(queue, s, 100, 3, 1);
  queue.flush();
  ASSERT_TRUE(mirror.gather_until(64));
  for (test::Frame& f : mirror.answers) {
    ASSERT_EQ(f.size(), 142u);
    ASSERT_EQ(test::reference_sum(f, 14, 20, 0), 0xffffu);
    ASSERT_EQ(test::get16(f, 34), 20003u);
    ASSERT_EQ(test::get16(f, 36), 7701u);
    for (size_t i = 0; i < 6; ++i) std::swap(f[i], f[6 + i]);
  }
  std::array<Received, limits::kBurstMax> received;
  EXPECT_EQ(queue.receive(received), 0u);  // offers its buffers to the link
  const std::vector<test::Frame> back = mirror.answers;
  ASSERT_TRUE(mirror.send(back));
  uint64_t expected = 1;
  EXPECT_TRUE(test::eventually([&] {
    const uint32_t n = queue.receive(received);
    for (uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(received[i].length, 100u);
      EXPECT_EQ(wire::read_header(received[i].message).sequence, expected++);
    }
    return expected == 65;
  }));
}

TEST_F(ClientAndNode, NobodyAnswersArp) {
  test::Wire deaf(link_.listener());
  ASSERT_TRUE(deaf.start());
  open_client({});
  std::string error;
  EXPECT_FALSE(client_->resolve(1000, &error));
  EXPECT_NE(error.find("ARP"), std::string::npos) << error;
}

// The test is two nodes on one link.
TEST_F(ClientAndNode, SeveralNodesOnOneLink) {
  test::Wire nodes(link_.listener());
  ASSERT_TRUE(nodes.start());
  open_client({});
  ASSERT_TRUE(test::eventually([&] {
    client_->housekeep();
    return client_->link_is_up();
  }));
  const uint32_t peer = client_->add_peer({0x0a630005, 9000});
  EXPECT_EQ(peer, 1u);
  EXPECT_EQ(client_->add_peer({0x0a630005, 9000}), peer);
  TransportQueue& queue = client_->queue(0);
  const std::array<std::byte, 48> message{};
  EXPECT_FALSE(queue.send(message.data(), 48, 0, 1, peer)) << "its MAC address is not known";
  EXPECT_EQ(queue.counters().tx_dropped.read(), 1u);
  std::array<Received, limits::kBurstMax> received;
  const auto is_asked = [&](uint32_t address) {
    return std::any_of(nodes.answers.begin(), nodes.answers.end(), [&](const test::Frame& f) {
      return test::get16(f, 12) == 0x0806 && (test::get16(f, 38) << 16 | test::get16(f, 40)) == address;
    });
  };
  EXPECT_TRUE(test::eventually([&] {
    queue.receive(received);
    nodes.gather();
    return is_asked(0x0a630005) && is_asked(0x0a630001);
  }));
  ASSERT_TRUE(nodes.send({test::make_arp(2, 0x0a630005, 0x0a630002)}));
  ASSERT_TRUE(test::eventually([&] {
    queue.receive(received);
    return client_->knows(peer);
  }));
  EXPECT_FALSE(client_->knows(0));
  nodes.gather();
  nodes.answers.clear();
  queue.receive(received);
  ASSERT_TRUE(queue.send(message.data(), 48, 3, 1, peer));
  EXPECT_FALSE(queue.send(message.data(), 48, 3, 1, 0));
  queue.flush();
  const auto datagram = [&] {
    return std::find_if(nodes.answers.begin(), nodes.answers.end(),
                        [](const test::Frame& f) { return test::get16(f, 12) == 0x0800; });
  };
  ASSERT_TRUE(test::eventually([&] {
    nodes.gather();
    return datagram() != nodes.answers.end();
  }));
  const test::Frame& f = *datagram();
  EXPECT_EQ(f[5], 2) << "the MAC address of the answer";
  EXPECT_EQ(test::get16(f, 30) << 16 | test::get16(f, 32), 0x0a630005u);
  EXPECT_EQ(test::get16(f, 36), 9001u);
  EXPECT_EQ(test::reference_sum(f, 14, 20, 0), 0xffffu);
  EXPECT_EQ(test::get16(f, 40), test::reference_udp_checksum(f));
}

TEST_F(ClientAndNode, OpeningWhatIsNotThere) {
  std::string error;
  EXPECT_EQ(Transport::open({.port_index = 77}, &error), nullptr);
  EXPECT_NE(error.find("--vdev"), std::string::npos);
  EXPECT_EQ(Transport::open({.queues = 0}, &error), nullptr);
}

// ---- memory and preflight, which need the same EAL -----------------------------------------------
TEST_F(ClientAndNode, RegionsAreZeroedAndAligned) {
  std::string error;
  for (const size_t bytes : {1u, 4096u, 3u << 20, (8u << 20) + 64}) {
    Region region = Region::allocate(bytes, -1, &error);
    ASSERT_NE(region.data(), nullptr) << error;
    EXPECT_EQ(region.size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(region.data()) % 64, 0u);
    for (size_t at = 0; at < bytes; at += 4093) ASSERT_EQ(region.data()[at], std::byte{0});
    region.data()[bytes - 1] = std::byte{1};
    Region moved = std::move(region);
    EXPECT_EQ(region.data(), nullptr);
    EXPECT_EQ(moved.data()[bytes - 1], std::byte{1});
  }
  const Region absurd = Region::allocate(size_t{1} << 50, -1, &error);
  EXPECT_EQ(absurd.data(), nullptr);
  EXPECT_NE(error.find("need"), std::string::npos) << error;
  EXPECT_NE(error.find("have"), std::string::npos) << error;
}

TEST_F(ClientAndNode, PreflightNamesCauseAndNextStep) {
  EXPECT_FALSE(has_errors(preflight({.ports = 1, .workers = 2, .region_bytes = 1 << 20, .packet_bytes = 1 << 20})));
  const auto text = [](const Needs& needs) {
    std::string all;
    for (const Problem& p : preflight(needs)) all += format(p) + "\n";
    return all;
  };
  EXPECT_NE(text({.ports = 99}).find("--vdev=net_memif0"), std::string::npos);
  EXPECT_NE(text({.workers = 5}).find("error: need 5 workers, have 2. Give 6 lcores (-l 0-5)"), std::string::npos);
  EXPECT_NE(text({.packet_bytes = uint64_t{1} << 40}).find("--no-huge -m"), std::string::npos);
  EXPECT_NE(text({.region_bytes = uint64_t{1} << 50}).find("not enough memory: need"), std::string::npos);
}

}  // namespace
}  // namespace txnic::dataplane
