// SPDX-License-Identifier: BSD-3-Clause
// Calibration: a profile's latency and slowdown are what is seen, within a tenth. Everything is compared with a run of
// the same process without the profile, or counted by one clock; what a busy machine disturbs is tried again.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "dataplane/modes/mode.h"
#include "dataplane/statistics.h"
#include "tests/unit/dataplane/link_fixture.h"
#include "txn/wire/header.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kTriesMax = 12;
constexpr uint32_t kRoundsOfATry = 60;

// Answers after it has worked for so long.
class BusyMode final : public Mode {
 public:
  BusyMode(const Clock& clock, TimeNs busy_ns) : clock_(clock), busy_ns_(busy_ns) {}
  const char* name() const override { return "busy"; }
  void process(std::span<Packet> burst, TimeNs) override {
    const TimeNs until = clock_.now() + busy_ns_;
    while (clock_.now() < until) {
    }
    for (Packet& p : burst) {
      p.reply_length = p.length;
      p.verdict = Verdict::kReply;
    }
  }
  uint32_t poll(TimeNs) override { return 0; }
  uint32_t release(std::span<Packet>) override { return 0; }
  bool busy() const override { return false; }

 private:
  Clock clock_;
  TimeNs busy_ns_;
};

class Emulation : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::start_test_eal(); }

  // A node with this emulation; `busy_ns` of work a burst.
  void start(const EmulationOptions& emulation, TimeNs busy_ns) {
    DataplaneOptions options;
    options.port_ids = {link_->listener()};
    options.held_packets_max = 0;
    options.workers = 1;  // and the test: each its CPU
    options.idle = Idle::kYield;
    options.emulation = emulation;
    std::string error;
    plane_ = Dataplane::open(options, &error);
    ASSERT_NE(plane_, nullptr) << error;
    const Clock clock = Clock::calibrated();
    for (uint32_t w = 0; w < plane_->worker_count(); ++w) {
      modes_.push_back(std::make_unique<BusyMode>(clock, busy_ns));
      plane_->set_mode(w, modes_.back().get());
    }
    ASSERT_TRUE(plane_->start(&error)) << error;
    wire_ = std::make_unique<test::Wire>(link_->connector(), 1);
    ASSERT_TRUE(wire_->connect());
    ASSERT_TRUE(test::eventually([&] {
      plane_->housekeep();
      return plane_->all_links_up();
    }));
  }

  Totals stop() {
    std::string error;
    EXPECT_TRUE(plane_->stop(&error)) << error;
    const Totals totals = read_totals(*plane_);
    EXPECT_EQ(totals.received, totals.ended_total);
    wire_.reset();
    plane_.reset();
    modes_.clear();
    link_ = std::make_unique<test::Link>();
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

  // Polls without a pause, which gather_until() makes. False after half a minute.
  bool await(size_t count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (wire_->answers.size() < count && std::chrono::steady_clock::now() < until) wire_->gather();
    return wire_->answers.size() >= count;
  }
  // Exchanges one packet after the other. Answers the shortest round trip: the one that nobody disturbed.
  double shortest_us(uint32_t rounds) {
    const test::Frame frame = test::make({.payload = std::string(200, 'x')});
    double shortest = 1e9;
    for (uint32_t i = 0; i < rounds; ++i) {
      const auto began = std::chrono::steady_clock::now();
      EXPECT_TRUE(wire_->send({frame}));
      EXPECT_TRUE(await(1));
      wire_->answers.clear();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
      shortest = std::min(shortest, took.count());
    }
    return shortest;
  }
  double round_trip_us(const EmulationOptions& emulation) {
    start(emulation, 0);
    if (HasFatalFailure()) return 0;
    const double us = shortest_us(kRoundsOfATry);
    stop();
    return us;
  }

  std::unique_ptr<test::Link> link_ = std::make_unique<test::Link>();
  std::unique_ptr<Dataplane> plane_;
  std::vector<std::unique_ptr<Mode>> modes_;
  std::unique_ptr<test::Wire> wire_;
};

TEST_F(Emulation, LatencyIsTheProfilesWithinATenth) {
  constexpr double kLatencyUs = 400;
  double ratio = 0;
  for (uint32_t i = 0; i < kTriesMax && (ratio < 0.9 || ratio > 1.1); ++i) {
    const double without = round_trip_us({});
    const double with = round_trip_us({.profile = {.link_latency_ns = 400'000}, .link_port_index = 0});
    ASSERT_FALSE(HasFatalFailure());
    ratio = (with - without) / kLatencyUs;
  }
  EXPECT_GE(ratio, 0.9);
  EXPECT_LE(ratio, 1.1);
}

TEST_F(Emulation, FramesBehindEachOtherWaitForTheWire) {
  // 20 frames of 242 bytes, with 24 of the wire's own, at 100 Mbit/s: about 0.4 ms.
  const test::Frame frame = test::make({.payload = std::string(200, 'x')});
  constexpr uint32_t kFrames = 20;
  const double expected_us = kFrames * (static_cast<double>(frame.size()) + 24) * 8 / 100;
  double ratio = 0;
  for (uint32_t i = 0; i < kTriesMax && (ratio < 0.9 || ratio > 1.1); ++i) {
    start({.profile = {.link_bits_per_second = 100'000'000}, .link_port_index = 0}, 0);
    ASSERT_FALSE(HasFatalFailure());
    double shortest = 1e9;
    for (uint32_t round = 0; round < kRoundsOfATry; ++round) {
      wire_->answers.clear();
      const auto began = std::chrono::steady_clock::now();
      ASSERT_TRUE(wire_->send(std::vector<test::Frame>(kFrames, frame)));
      ASSERT_TRUE(await(kFrames));
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
      shortest = std::min(shortest, took.count());
    }
    stop();
    ratio = shortest / expected_us;
  }
  EXPECT_GE(ratio, 0.9);
  EXPECT_LE(ratio, 1.1);
}

TEST_F(Emulation, ASlowCoreIsBusyForSoMuchLonger) {
  for (const uint32_t slowdown_milli : {1500u, 3000u, 6000u}) {
    double ratio = 0;
    const double expected = slowdown_milli / 1000.0;
    for (uint32_t i = 0; i < kTriesMax && (ratio < 0.9 * expected || ratio > 1.1 * expected); ++i) {
      start({.profile = {.soc_slowdown_milli = slowdown_milli}, .is_soc = true}, 50'000);
      ASSERT_FALSE(HasFatalFailure());
      shortest_us(kRoundsOfATry);
      const Totals totals = stop();
      ASSERT_GT(totals.busy_ns, totals.emulated_ns);
      ratio = static_cast<double>(totals.busy_ns) / static_cast<double>(totals.busy_ns - totals.emulated_ns);
    }
    EXPECT_GE(ratio, 0.9 * expected) << slowdown_milli;
    EXPECT_LE(ratio, 1.1 * expected) << slowdown_milli;
  }
}

TEST_F(Emulation, ASlowCoreAnswersLater) {
  double ratio = 0;
  for (uint32_t i = 0; i < kTriesMax && (ratio < 1.8 || ratio > 2.2); ++i) {
    std::array<double, 2> us{};
    for (uint32_t with = 0; with < 2; ++with) {
      start({.profile = {.soc_slowdown_milli = with != 0 ? 2000u : 1000u}, .is_soc = true}, 300'000);
      ASSERT_FALSE(HasFatalFailure());
      us[with] = shortest_us(20);
      stop();
    }
    ratio = us[1] / us[0];
  }
  EXPECT_GE(ratio, 1.8) << "answers leave after the time that the slow core needs, not before";
  EXPECT_LE(ratio, 2.2);
}

}  // namespace
}  // namespace txnic::dataplane
