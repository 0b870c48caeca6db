// SPDX-License-Identifier: BSD-3-Clause
// Next hops with a clock that the test moves: what is asked when, what is known, what is forgotten.
#include "dataplane/next_hop.h"

#include <gtest/gtest.h>

#include <memory>

namespace txnic::dataplane {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr Mac kMac = {2, 0, 0, 0, 0, 7};

// 10.0.0.1 (we), .2, .3, and 10.0.9.4, with a shard each.
ShardMap four_nodes() {
  ShardMap map;
  map.shard_count = 0;
  map.node_count = 4;
  const uint32_t addresses[] = {0x0a000001, 0x0a000002, 0x0a000003, 0x0a000904};
  for (uint32_t n = 0; n < 4; ++n) {
    map.nodes[n] = {{addresses[n], 7700}, 1, 0};
    map.add_shard(n);
  }
  return map;
}

uint32_t raw(uint32_t address) { return byte_swap(address); }

class NextHopTest : public testing::Test {
 protected:
  void init(const NextHopOptions& options = {}) {
    std::string error;
    ASSERT_TRUE(hops_->init(four_nodes(), options, {5, 6}, &error)) << error;
  }
  // Moves the clock to `until` in small steps and gathers when entry 0 was asked.
  void run(TimeNs until) {
    for (; now_ <= until; now_ += kMs) {
      std::array<uint32_t, limits::kNodesMax> ask;
      if (!questions_->is_due(now_)) continue;
      const uint32_t count = questions_->look(now_, &ask, &unanswered_);
      for (uint32_t i = 0; i < count; ++i) asked_.push_back({ask[i], now_});
    }
  }
  std::vector<TimeNs> times_of(uint32_t entry) const {
    std::vector<TimeNs> times;
    for (const auto& [asked, when] : asked_) {
      if (asked == entry) times.push_back(when / kMs);
    }
    return times;
  }

  std::unique_ptr<NextHops> hops_ = std::make_unique<NextHops>();
  std::unique_ptr<Questions> questions_ = std::make_unique<Questions>(hops_.get());
  TimeNs now_ = 1000 * kMs;
  uint32_t unanswered_ = 0;
  std::vector<std::pair<uint32_t, TimeNs>> asked_;
};

TEST_F(NextHopTest, WithoutAGatewayEachNodeIsItsOwnHop) {
  init();
  EXPECT_EQ(hops_->count(), 3u);
  EXPECT_EQ(hops_->of_node(0), NextHops::kNone);
  EXPECT_EQ(hops_->address_raw(hops_->of_node(1)), raw(0x0a000002));
  EXPECT_EQ(hops_->address_raw(hops_->of_node(3)), raw(0x0a000904));
  Way way;
  EXPECT_FALSE(hops_->find(hops_->of_node(1), &way));
  EXPECT_EQ(hops_->known(), 0u);
}

TEST_F(NextHopTest, AGatewayIsTheHopOfWhatIsOutside) {
  NextHopOptions options;
  options.gateway = 0x0a0000fe;
  options.prefix_length = 24;
  init(options);
  EXPECT_EQ(hops_->address_raw(hops_->of_node(2)), raw(0x0a000003));
  EXPECT_EQ(hops_->address_raw(hops_->of_node(3)), raw(0x0a0000fe));
  EXPECT_EQ(hops_->entry_of(raw(0x0a000904)), NextHops::kNone);
}

TEST_F(NextHopTest, StaticEntriesAreNeverAskedForAndNeverChange) {
  NextHopOptions options;
  options.gateway = 0x0a0000fe;
  options.prefix_length = 24;
  options.fixed.push_back({0x0a000904, kMac, 1});  // wins over the gateway
  init(options);
  const uint32_t entry = hops_->of_node(3);
  EXPECT_EQ(hops_->address_raw(entry), raw(0x0a000904));
  Way way;
  ASSERT_TRUE(hops_->find(entry, &way));
  EXPECT_EQ(way.mac, kMac);
  EXPECT_EQ(way.port, 6);
  hops_->learn(entry, {{2, 0, 0, 0, 0, 9}, 5}, now_);
  hops_->forget(entry, now_ + 1);
  ASSERT_TRUE(hops_->find(entry, &way));
  EXPECT_EQ(way.mac, kMac);
  questions_->want(entry, true);
  run(now_ + 2 * kNextHopFreshNs / 10);
  EXPECT_TRUE(times_of(entry).empty());
}

TEST_F(NextHopTest, AStaticEntryNeedsAPortThatIsThere) {
  NextHopOptions options;
  options.fixed.push_back({0x0a000002, kMac, 2});
  std::string error;
  EXPECT_FALSE(hops_->init(four_nodes(), options, {5, 6}, &error));
  EXPECT_EQ(error, "next_hop 10.0.0.2: port 2, but there are 2 ports, numbered from 0");
}

TEST_F(NextHopTest, AskedAtOnceThenWithGrowingPausesAndThenGivenUp) {
  init();
  run(1100 * kMs);
  EXPECT_TRUE(asked_.empty()) << "nobody wants anything";
  questions_->want(0, false);
  now_ = 1101 * kMs;
  run(20'000 * kMs);
  // 50, 100, 200, 400, 800 ms; looked at every 10 ms.
  EXPECT_EQ(times_of(0), (std::vector<TimeNs>{1101, 1151, 1251, 1451, 1851, 2651}));
  EXPECT_EQ(asked_.size(), kQuestionsMax) << "no other entry";
  EXPECT_EQ(unanswered_, 1u);
}

TEST_F(NextHopTest, WhoIsStillWantedIsAskedInANewRoundAfterAPause) {
  init();
  for (; now_ < 10'000 * kMs;) {
    questions_->want(0, false);
    run(now_ + kMs);
  }
  const std::vector<TimeNs> times = times_of(0);
  ASSERT_GT(times.size(), 2 * kQuestionsMax);
  EXPECT_LT(times.size(), 4 * kQuestionsMax) << "wanting does not make it faster";
  for (size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], 50u);
  EXPECT_GE(times[kQuestionsMax] - times[kQuestionsMax - 1], 1600u);
  EXPECT_GE(unanswered_, 2u);
}

TEST_F(NextHopTest, AnAnswerEndsTheRound) {
  init();
  questions_->want(1, false);
  run(1120 * kMs);
  hops_->learn(1, {kMac, 6}, now_);
  run(9000 * kMs);
  EXPECT_EQ(times_of(1).size(), 2u);
  EXPECT_EQ(unanswered_, 0u);
  Way way;
  ASSERT_TRUE(hops_->find(1, &way));
  EXPECT_EQ(way.mac, kMac);
  EXPECT_EQ(way.port, 6);
  EXPECT_FALSE(hops_->find(0, &way));
}

TEST_F(NextHopTest, OldOnesAreAskedForAgainWhileTheyAreUsed) {
  init();
  hops_->learn(0, {kMac, 5}, now_);
  const TimeNs old = now_ + kNextHopFreshNs;
  for (; now_ < old + 100 * kMs;) {
    questions_->want(0, true);
    run(now_ + kMs);
  }
  const std::vector<TimeNs> times = times_of(0);
  ASSERT_GE(times.size(), 1u);
  EXPECT_GE(times[0], old / kMs);
  EXPECT_LE(times[0], old / kMs + 20);
  Way way;
  EXPECT_TRUE(hops_->find(0, &way)) << "used meanwhile";
  hops_->learn(0, {kMac, 5}, now_);
  asked_.clear();
  run(now_ + 3 * kNextHopFreshNs);
  EXPECT_TRUE(asked_.empty()) << "nobody uses it any more";
}

TEST_F(NextHopTest, WhoDoesNotAnswerAnyMoreIsForgotten) {
  init();
  hops_->learn(0, {kMac, 5}, now_);
  now_ += kNextHopFreshNs;
  questions_->want(0, true);
  run(now_ + 5000 * kMs);
  EXPECT_EQ(times_of(0).size(), kQuestionsMax);
  Way way;
  EXPECT_FALSE(hops_->find(0, &way));
  EXPECT_EQ(unanswered_, 1u);
}

TEST_F(NextHopTest, AnAnswerToAnotherWorkerIsAnAnswerToAll) {
  init();
  Questions other(hops_.get());
  std::array<uint32_t, limits::kNodesMax> ask;
  uint32_t unanswered = 0;
  other.want(0, false);
  questions_->want(0, false);
  EXPECT_EQ(other.look(now_, &ask, &unanswered), 1u);
  run(now_ + 10 * kMs);
  hops_->learn(0, {kMac, 5}, now_);
  EXPECT_EQ(other.look(now_ + 1000 * kMs, &ask, &unanswered), 0u);
  EXPECT_EQ(unanswered, 0u);
  // A round of the other worker that ends in vain does not undo what was heard meanwhile.
  hops_->forget(0, now_);
  Way way;
  EXPECT_TRUE(hops_->find(0, &way));
}

TEST_F(NextHopTest, PeopleAreToldOfEachChangeOnce) {
  NextHopOptions options;
  options.fixed.push_back({0x0a000002, kMac, 0});
  init(options);
  std::vector<std::string> notes;
  hops_->tell(&notes);
  hops_->tell(&notes);
  EXPECT_EQ(notes, (std::vector<std::string>{"next hop 10.0.0.2 is 02:00:00:00:00:07 on port 5 (static)"}));
  notes.clear();
  hops_->forget(1, now_);
  hops_->tell(&notes);
  hops_->tell(&notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("next hop 10.0.0.3 does not answer ARP"), std::string::npos);
  notes.clear();
  hops_->learn(1, {kMac, 6}, now_);
  hops_->tell(&notes);
  hops_->tell(&notes);
  EXPECT_EQ(notes, (std::vector<std::string>{"next hop 10.0.0.3 is 02:00:00:00:00:07 on port 6"}));
}

}  // namespace
}  // namespace txnic::dataplane
