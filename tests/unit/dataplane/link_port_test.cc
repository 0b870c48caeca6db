// SPDX-License-Identifier: BSD-3-Clause
// The host link on a port of its own beside the wire: its frames reach the mode of the right worker with their tag, and
// what the mode sends arrives at the other end.
#include "dataplane/link_port.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "dataplane/lcores.h"
#include "dataplane/statistics.h"
#include "tests/unit/dataplane/link_fixture.h"

namespace txnic::dataplane {
namespace {

using test::kTestWorkers;

constexpr uint32_t kOwn = 0xa9fe6301, kPeer = 0xa9fe6302;  // 169.254.99.1 and .2
constexpr uint16_t kUdpPort = 7800;

// Sends a link frame back with its worker's number behind; anything else is dropped.
class EchoLinkMode final : public Mode {
 public:
  EchoLinkMode(uint32_t worker, Dataplane* plane)
      : worker_(worker), plane_(plane), link_(register_reason("test_link")), other_(register_reason("test_other")) {}
  const char* name() const override { return "echo_link"; }
  void process(std::span<Packet> burst, TimeNs) override {
    for (Packet& p : burst) {
      plane_->counters(worker_).drop(p.tag == kLinkTag ? link_ : other_);
      if (p.tag != kLinkTag) continue;
      const MutableBytes room = plane_->link_port(worker_)->room();
      ASSERT_FALSE(room.empty());
      std::memcpy(room.data(), p.message, p.length);
      room[p.length] = std::byte{static_cast<uint8_t>(worker_)};
      plane_->link_port(worker_)->send(p.length + 1u);
    }
  }
  uint32_t poll(TimeNs) override { return 0; }
  uint32_t release(std::span<Packet>) override { return 0; }
  bool busy() const override { return false; }

 private:
  uint32_t worker_;
  Dataplane* plane_;
  Reason link_, other_;
};

class LinkPortTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::start_test_eal(); }

  void start(ChecksumPolicy checksum) {
    DataplaneOptions options;
    options.port_ids = {wire_.listener(), link_.listener()};
    options.idle = Idle::kSleep;
    options.held_packets_max = 0;
    options.checksum = checksum;
    options.link = LinkOptions{1, kOwn, kPeer, kUdpPort};
    std::string error;
    plane_ = Dataplane::open(options, &error);
    ASSERT_NE(plane_, nullptr) << error;
    for (uint32_t w = 0; w < kTestWorkers; ++w) {
      modes_.push_back(std::make_unique<EchoLinkMode>(w, plane_.get()));
      plane_->set_mode(w, modes_.back().get());
    }
    ASSERT_TRUE(plane_->start(&error)) << error;
    client_ = std::make_unique<test::Wire>(wire_.connector());
    host_ = std::make_unique<test::Wire>(link_.connector());
    ASSERT_TRUE(client_->connect());
    ASSERT_TRUE(host_->connect());
    ASSERT_TRUE(test::eventually([&] {
      plane_->housekeep();
      return plane_->all_links_up();
    }));
  }
  void TearDown() override {
    if (plane_ == nullptr) return;
    std::string error;
    EXPECT_TRUE(plane_->stop(&error)) << error;
    const Totals totals = read_totals(*plane_);
    EXPECT_EQ(totals.received, totals.ended_total);
    EXPECT_EQ(totals.ended[reason::kOther], 0u);
    plane_.reset();
  }
  test::Frame link_frame(uint32_t worker, const std::string& payload) {
    test::UdpFrame udp;
    udp.source_mac = {2, 0, 0, 0, 0, 9};
    udp.source = kPeer;
    udp.destination = kOwn;
    udp.destination_port = static_cast<uint16_t>(kUdpPort + worker);
    udp.payload = payload;
    udp.with_udp_checksum = true;
    return test::make(udp);
  }

  test::Link wire_, link_;
  std::unique_ptr<Dataplane> plane_;
  std::vector<std::unique_ptr<Mode>> modes_;
  std::unique_ptr<test::Wire> client_, host_;
};

TEST_F(LinkPortTest, FramesFindTheirWorkerAndAnswersTheirWayBack) {
  start(ChecksumPolicy::kAuto);
  EXPECT_EQ(plane_->link_port(0)->frame_bytes_max(), limits::kMessageBytesMax);
  std::vector<test::Frame> frames;
  for (uint32_t i = 0; i < 100; ++i) frames.push_back(link_frame(i % kTestWorkers, "frame " + std::to_string(i)));
  ASSERT_TRUE(host_->send(frames));
  ASSERT_TRUE(host_->gather_until(frames.size()));
  std::map<std::string, uint32_t> seen;
  for (const test::Frame& f : host_->answers) {
    EXPECT_EQ(f[5], 9) << "the MAC address of whoever spoke last";
    EXPECT_EQ(test::get16(f, 26) << 16 | test::get16(f, 28), kOwn);
    EXPECT_EQ(test::get16(f, 30) << 16 | test::get16(f, 32), kPeer);
    EXPECT_EQ(test::reference_sum(f, 14, 20, 0), 0xffffu);
    const uint32_t worker = f.back();
    EXPECT_EQ(test::get16(f, 36), kUdpPort + worker);
    seen[std::string(f.begin() + 42, f.end() - 1)] = worker;
  }
  ASSERT_EQ(seen.size(), frames.size());
  for (uint32_t i = 0; i < frames.size(); ++i) EXPECT_EQ(seen["frame " + std::to_string(i)], i % kTestWorkers);
  const LinkTotals link = read_totals(*plane_).link;
  EXPECT_EQ(link.rx_frames, frames.size());
  EXPECT_EQ(link.tx_frames, frames.size());
  EXPECT_EQ(link.tx_bytes, link.rx_bytes + frames.size());
}

// A client cannot speak on the link, nor the host on the wire's ports.
TEST_F(LinkPortTest, EachPortHasItsOwnAddresses) {
  start(ChecksumPolicy::kAuto);
  test::UdpFrame request;
  ASSERT_TRUE(client_->send({link_frame(0, "forged"), test::make(request)}));
  ASSERT_TRUE(host_->send({test::make(request), link_frame(1, "true")}));
  ASSERT_TRUE(host_->gather_until(1));
  ASSERT_TRUE(test::eventually([&] { return read_totals(*plane_).ended_total == 4; }));
  const Totals totals = read_totals(*plane_);
  EXPECT_EQ(totals.link.rx_frames, 1u);
  EXPECT_EQ(totals.ended[reason::kOtherAddress], 2u);
  EXPECT_EQ(totals.ended[register_reason("test_other")], 1u);
}

TEST_F(LinkPortTest, SoftwareChecksumsWhereThePolicySaysSo) {
  start(ChecksumPolicy::kSoftware);
  ASSERT_TRUE(host_->send({link_frame(0, "sum")}));
  ASSERT_TRUE(host_->gather_until(1));
  const test::Frame& f = host_->answers.front();
  EXPECT_EQ(test::get16(f, 40), test::reference_udp_checksum(f));
}

TEST_F(LinkPortTest, AMissingPortIsNamed) {
  DataplaneOptions options;
  options.port_ids = {wire_.listener()};
  options.link = LinkOptions{1, kOwn, kPeer, kUdpPort};
  std::string error;
  EXPECT_EQ(Dataplane::open(options, &error), nullptr);
  EXPECT_NE(error.find("host link is port 1"), std::string::npos) << error;
}

}  // namespace
}  // namespace txnic::dataplane
