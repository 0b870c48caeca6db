// SPDX-License-Identifier: BSD-3-Clause
// The whole dataplane with two workers on one port: every packet ends in one counter, wherever it arrived.
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "dataplane/modes/registry.h"
#include "dataplane/statistics.h"
#include "dataplane/transmit.h"
#include "tests/unit/dataplane/link_fixture.h"
#include "txn/wire/header.h"

namespace txnic::dataplane {
namespace {

using test::Frame;
using test::kTestWorkers;

std::string echo_message(size_t bytes) {
  std::string message(bytes, '\0');
  wire::Header header = wire::request_header(wire::Type::kEcho, 1, 1, 0);
  header.length = static_cast<uint16_t>(bytes);
  wire::write_header(reinterpret_cast<std::byte*>(message.data()), header);
  return message;
}

// Does with each message what its first byte says.
class ScriptedMode final : public Mode {
 public:
  ScriptedMode(const ModeContext& context, std::atomic<bool>* may_release)
      : context_(context), may_release_(may_release), named_(register_reason("scripted_drop")) {}
  const char* name() const override { return "scripted"; }
  void process(std::span<Packet> burst, TimeNs) override {
    for (Packet& p : burst) {
      p.reply_length = p.length;
      p.to_worker = static_cast<uint8_t>((context_.worker + 1) % context_.worker_count);
      switch (static_cast<char>(p.message[0])) {
        case 'd':
          context_.counters->drop(named_);
          p.verdict = Verdict::kDrop;
          break;
        case 'n': p.verdict = Verdict::kDrop; break;  // a bug: dropped without a name
        case 'h':
          p.verdict = Verdict::kHold;
          held_.push_back(p);
          break;
        case 'f': p.verdict = context_.worker == 0 ? Verdict::kForward : Verdict::kReply; break;
        case 'p':  // goes round once; the tag counts
          p.verdict = p.tag == context_.worker_count ? Verdict::kReply : Verdict::kPass;
          ++p.tag;
          break;
        case 'w':
          p.verdict = Verdict::kForward;
          p.to_worker = 200;  // a bug: no such worker
          break;
        case 'l':
          p.verdict = Verdict::kReply;
          p.reply_length = 4000;  // a bug: more than fits
          break;
        default: p.verdict = Verdict::kReply;
      }
    }
  }
  uint32_t poll(TimeNs) override { return 0; }
  uint32_t release(std::span<Packet> out) override {
    uint32_t count = 0;
    while (may_release_->load() && !held_.empty() && count < out.size()) {
      out[count] = held_.back();
      out[count++].verdict = Verdict::kReply;
      held_.pop_back();
    }
    return count;
  }
  bool busy() const override { return !held_.empty(); }

 private:
  ModeContext context_;
  std::atomic<bool>* may_release_;
  Reason named_;
  std::vector<Packet> held_;
};

class Plane : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::start_test_eal(); }

  void start(const std::string& mode, DataplaneOptions options = {}) {
    options.port_ids = {link_.listener()};
    options.idle = Idle::kSleep;
    options.held_packets_max = 1024;
    std::string error;
    plane_ = Dataplane::open(options, &error);
    ASSERT_NE(plane_, nullptr) << error;
    ASSERT_EQ(plane_->worker_count(), kTestWorkers);
    for (uint32_t w = 0; w < kTestWorkers; ++w) {
      const ModeContext context{w, kTestWorkers, &plane_->counters(w)};
      modes_.push_back(mode == "scripted" ? std::make_unique<ScriptedMode>(context, &may_release_)
                                          : make_mode(mode, context, &error));
      ASSERT_NE(modes_.back(), nullptr) << error;
      plane_->set_mode(w, modes_.back().get());
    }
    ASSERT_TRUE(plane_->start(&error)) << error;
    wire_ = std::make_unique<test::Wire>(link_.connector(), std::max(1u, options.queues));
    ASSERT_TRUE(wire_->connect());
    ASSERT_TRUE(test::eventually([&] {
      plane_->housekeep();
      return plane_->all_links_up();
    }));
  }

  bool all_received(uint64_t packets) {
    return test::eventually([&] {
      wire_->gather();
      return read_totals(*plane_).received == packets;
    });
  }

  // Stops, and checks what must always hold.
  Totals stop() {
    std::string error;
    EXPECT_TRUE(plane_->stop(&error)) << error;
    const Totals totals = read_totals(*plane_);
    EXPECT_EQ(totals.received, totals.ended_total);
    const uint64_t answered = totals.ended[reason::kReplied] + totals.ended[reason::kArpAnswered] +
                              totals.ended[reason::kIcmpAnswered];
    EXPECT_EQ(answered, totals.ports[0].tx_packets + totals.ports[0].tx_dropped);
    return totals;
  }

  void TearDown() override {
    std::string error;
    if (plane_ != nullptr) {
      EXPECT_TRUE(plane_->stop(&error)) << error;
    }
    wire_.reset();
    plane_.reset();
  }

  test::Link link_;
  std::atomic<bool> may_release_{false};
  std::unique_ptr<Dataplane> plane_;
  std::vector<std::unique_ptr<Mode>> modes_;
  std::unique_ptr<test::Wire> wire_;
};

Frame for_worker(uint32_t worker, const std::string& payload) {
  return test::make({.destination_port = static_cast<uint16_t>(7700 + worker), .payload = payload});
}

TEST_F(Plane, EchoAtTheRightAndAtTheWrongWorker) {
  start("echo");
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 1000; ++i) frames.push_back(for_worker(i % kTestWorkers, echo_message(48 + i % 1425)));
  ASSERT_TRUE(wire_->send(frames));
  ASSERT_TRUE(wire_->gather_until(frames.size()));
  size_t bytes_sent = 0, bytes_back = 0;
  for (const Frame& f : frames) bytes_sent += f.size();
  for (const Frame& f : wire_->answers) {
    bytes_back += f.size();
    ASSERT_EQ(f[45], static_cast<uint8_t>(wire::Type::kEchoed));
    ASSERT_EQ(test::reference_sum(f, 14, 20, 0), 0xffffu);
    ASSERT_EQ(test::get16(f, 40), 0u) << "no checksum for who sends none";
  }
  EXPECT_EQ(bytes_sent, bytes_back);
  const Totals totals = stop();
  EXPECT_EQ(totals.ended[reason::kReplied], frames.size());
  EXPECT_EQ(totals.forwarded, frames.size() / kTestWorkers);
  EXPECT_EQ(totals.ended[reason::kOther], 0u);
}

TEST_F(Plane, WhoSendsChecksumsGetsThem) {
  start("echo");
  ASSERT_TRUE(wire_->send({test::make({.payload = echo_message(99), .with_udp_checksum = true})}));
  ASSERT_TRUE(wire_->gather_until(1));
  EXPECT_EQ(test::get16(wire_->answers[0], 40), test::reference_udp_checksum(wire_->answers[0]));
}

TEST_F(Plane, ChecksumsOff) {
  DataplaneOptions options;
  options.checksum = ChecksumPolicy::kOff;
  start("echo", options);
  Frame wrong = test::make({.payload = echo_message(99), .with_udp_checksum = true});
  wrong[40] ^= 1;
  ASSERT_TRUE(wire_->send({wrong}));
  ASSERT_TRUE(wire_->gather_until(1));
  EXPECT_EQ(test::get16(wire_->answers[0], 40), 0u);
}

TEST_F(Plane, TwoQueues) {
  DataplaneOptions options;
  options.queues = 2;
  start("echo", options);
  for (uint16_t q = 0; q < 2; ++q) {
    for (uint32_t w = 0; w < 2; ++w) {
      ASSERT_TRUE(wire_->send(std::vector<Frame>(100, for_worker(w, echo_message(64))), false, q));
    }
  }
  ASSERT_TRUE(wire_->gather_until(400));
  const Totals totals = stop();
  EXPECT_EQ(totals.received, 400u);
  EXPECT_EQ(totals.forwarded, 200u);
}

TEST_F(Plane, ArpAndPing) {
  start("drop");
  ASSERT_TRUE(wire_->send({test::make_arp(1, 0x0a630002, 0x0a630001), test::make_icmp(8, std::string(64, 'i')),
                           test::make_arp(1, 0x0a630002, 0x0a630003), test::make_icmp(0, "nobody asked")}));
  ASSERT_TRUE(wire_->gather_until(2));
  ASSERT_TRUE(all_received(4));
  const Totals totals = stop();
  EXPECT_EQ(totals.ended[reason::kArpAnswered], 1u);
  EXPECT_EQ(totals.ended[reason::kIcmpAnswered], 1u);
  EXPECT_EQ(totals.ended[reason::kArpOther], 1u);
  EXPECT_EQ(totals.ended[reason::kIcmpOther], 1u);
}

TEST_F(Plane, Verdicts) {
  start("scripted");
  const std::string script = "rdnhfpwl";
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 800; ++i) {
    frames.push_back(for_worker(i / 8 % kTestWorkers, script.substr(i % script.size(), 1) + "0123456789"));
  }
  ASSERT_TRUE(wire_->send(frames));
  ASSERT_TRUE(wire_->gather_until(300));  // r, f, p
  EXPECT_TRUE(test::eventually([&] { return read_totals(*plane_).held_now == 100; }));
  may_release_.store(true);
  ASSERT_TRUE(wire_->gather_until(400));  // and h
  const Totals totals = stop();
  EXPECT_EQ(totals.ended[reason::kReplied], 400u);
  EXPECT_EQ(totals.ended[register_reason("scripted_drop")], 100u);
  EXPECT_EQ(totals.ended[reason::kReplyTooLong], 100u);
  EXPECT_EQ(totals.ended[reason::kOther], 200u) << "both bugs of the mode show";
  EXPECT_EQ(totals.held_now, 0u);
}

TEST_F(Plane, WhatIsHeldAtTheEndIsCounted) {
  DataplaneOptions options;
  options.drain_milliseconds = 20;
  start("scripted", options);
  ASSERT_TRUE(wire_->send(std::vector<Frame>(10, for_worker(1, "hold me"))));
  ASSERT_TRUE(test::eventually([&] { return read_totals(*plane_).held_now == 10; }));
  EXPECT_EQ(stop().ended[reason::kStopped], 10u);
}

TEST_F(Plane, APeerThatDoesNotReceive) {
  start("echo");
  constexpr size_t kPackets = 6000;  // several times the link's rings
  ASSERT_TRUE(wire_->send(std::vector<Frame>(kPackets, for_worker(0, echo_message(48))), true));
  ASSERT_TRUE(test::eventually([&] { return read_totals(*plane_).received == kPackets; }));
  const Totals totals = stop();
  EXPECT_GT(totals.ports[0].tx_dropped, 0u);
  EXPECT_EQ(totals.ended[reason::kOther], 0u);
}

// What the ring does not take at once waits: a group of the log answers more packets than a ring holds.
TEST_F(Plane, APeerThatReceivesLate) {
  DataplaneOptions options;
  options.transmit_patience_milliseconds = 60'000;
  start("echo", options);
  constexpr size_t kPackets = kTransmitBacklogMax;  // many times what the link's ring holds
  ASSERT_TRUE(wire_->send(std::vector<Frame>(kPackets, for_worker(0, echo_message(48))), true));
  ASSERT_TRUE(test::eventually([&] { return read_totals(*plane_).received == kPackets; }));
  EXPECT_LT(read_totals(*plane_).ports[0].tx_packets, kPackets);
  EXPECT_TRUE(wire_->gather_until(kPackets));
  EXPECT_EQ(stop().ports[0].tx_dropped, 0u);
}

TEST_F(Plane, AFrameInSeveralBuffers) {
  start("echo");
  Frame f = test::make({.payload = echo_message(1472)});
  f.resize(5000);
  ASSERT_TRUE(wire_->send({f, test::make({.payload = echo_message(48)})}));
  ASSERT_TRUE(wire_->gather_until(1));
  const Totals totals = stop();
  EXPECT_EQ(totals.ended[reason::kMultiSegment], 1u);
}

Frame damaged_frame(std::mt19937* random) {
  const auto r = [random] { return static_cast<uint32_t>((*random)()); };
  Frame f;
  switch (r() % 6) {
    case 0:  // noise
      f.resize(r() % 1600);
      for (uint8_t& b : f) b = static_cast<uint8_t>(r());
      return f;
    case 1: f = test::make_arp(r() % 3, 0x0a630002, 0x0a630000 + r() % 3); break;
    case 2: f = test::make_icmp(static_cast<uint8_t>(r() % 2 * 8), std::string(8 + r() % 200, 'x')); break;
    default:
      f = test::make({.destination_port = static_cast<uint16_t>(7699 + r() % 4),
                      .payload = echo_message(48 + r() % 200),
                      .with_udp_checksum = r() % 2 == 0});
  }
  for (uint32_t damages = r() % 3; damages > 0; --damages) f[r() % f.size()] = static_cast<uint8_t>(r());
  if (r() % 8 == 0) test::cut(&f, r() % (f.size() + 1));
  if (r() % 2 == 0 && f.size() >= 34 && (f[14] & 15) == 5) test::fix_ip_checksum(&f);
  return f;
}

TEST_F(Plane, ADamagedWorldLeavesOtherAtZero) {
  start("echo");
  std::mt19937 random(11);
  constexpr size_t kRounds = 200, kFrames = 256;
  for (size_t round = 0; round < kRounds; ++round) {
    std::vector<Frame> frames;
    for (size_t i = 0; i < kFrames; ++i) frames.push_back(damaged_frame(&random));
    ASSERT_TRUE(wire_->send(frames));
    wire_->answers.clear();
  }
  // A frame of no bytes is not carried by every link.
  ASSERT_TRUE(test::eventually([&] {
    wire_->gather();
    const Totals totals = read_totals(*plane_);
    return totals.received > kRounds * kFrames * 9 / 10 && totals.received == totals.ended_total;
  }));
  const Totals totals = stop();
  EXPECT_EQ(totals.ended[reason::kOther], 0u);
  for (const Reason r : {reason::kReplied, reason::kTruncated, reason::kIpChecksum, reason::kUdpChecksum,
                         reason::kOtherPort, reason::kArpAnswered, reason::kIcmpAnswered, reason::kArpOther}) {
    EXPECT_GT(totals.ended[r], 0u) << reason_name(r);
  }
}

}  // namespace
}  // namespace txnic::dataplane
