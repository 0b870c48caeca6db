// SPDX-License-Identifier: BSD-3-Clause
// Hello and refusals by name, epochs (COMMIT 19), leases (COMMIT 21), takeover, release.
#include "tests/unit/link/link_rig.h"

namespace txnic::test {
namespace {

using namespace txnic::link;

TEST(LinkLife, AFrontReadsWhatIsKeptAndServes) {
  LinkRig rig;
  for (uint64_t i = 0; i < 50; ++i) rig.model.what_is_kept.push_back(make_record(40 + 8 * static_cast<uint32_t>(i), i));
  rig.model.what_is_kept.push_back(make_record(limits::kLogRecordBytesMax, 99));
  rig.start();
  EXPECT_EQ(rig.front().state(), FrontState::kGreeting);
  ASSERT_TRUE(rig.serve());
  EXPECT_EQ(rig.side->model.kept, rig.model.what_is_kept);
  EXPECT_EQ(rig.front().epoch(), 101u);
  EXPECT_EQ(rig.front().incarnation(), 8u);
  EXPECT_EQ(rig.front().why(), Refusal::kNone);
}

TEST(LinkLife, NothingKeptIsRead) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  EXPECT_TRUE(rig.side->model.kept.empty());
}

TEST(LinkLife, WhoDoesNotFitIsRefusedByName) {
  const struct {
    Refusal expected;
    void (*change)(LinkRig&);
  } rows[] = {
      {Refusal::kBuild, [](LinkRig& r) { r.front_config.build = name_of("build 2"); }},
      {Refusal::kConfiguration, [](LinkRig& r) { r.front_config.configuration_hash = 78; }},
      {Refusal::kFrameBytes, [](LinkRig& r) { r.front_config.frame_bytes = limits::kLinkFrameBytesMin - 8; }},
  };
  for (const auto& row : rows) {
    LinkRig rig;
    row.change(rig);
    rig.start();
    EXPECT_TRUE(rig.run([&] { return rig.front().why() == row.expected; }, 100)) << name(row.expected);
    EXPECT_EQ(rig.front().state(), FrontState::kGreeting);
    EXPECT_EQ(rig.front().refused().build, name_of("build 1"));
    EXPECT_EQ(rig.front().refused().configuration_hash, 77u);
    EXPECT_FALSE(is_passing(row.expected));
    EXPECT_FALSE(rig.back.has_front() || rig.back.wants_front());
  }
}

TEST(LinkLife, AnotherFormatIsRefusedByName) {
  LinkRig rig;
  rig.start();
  rig.to_back.keep = true;
  rig.front().poll(rig.now);
  Frame hello = rig.to_back.history.at(0);
  hello[4] = std::byte{kFormatVersion + 1};
  rig.to_back.on_way.clear();
  rig.to_front.keep = true;
  rig.back.on_frame(hello, rig.now);
  EXPECT_EQ(rig.back.counters().other_version, 1u);
  ASSERT_EQ(rig.to_front.history.size(), 1u);
  Frame refusal = rig.to_front.history[0];
  refusal[4] = std::byte{kFormatVersion + 1};  // as the front of the other format would be answered
  rig.front().on_frame(refusal, rig.now);
  EXPECT_EQ(rig.front().why(), Refusal::kVersion);
}

TEST(LinkLife, TheSmallerFrameCounts) {
  LinkRig rig;
  rig.front_config.frame_bytes = 2000;
  rig.back_config.frame_bytes = 1304;
  rig.to_back.keep = true;
  rig.start();
  ASSERT_TRUE(rig.serve());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(rig.append(400));
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  size_t largest = 0;
  for (const Frame& frame : rig.to_back.history) largest = std::max(largest, frame.size());
  EXPECT_LE(largest, 1304u);
  EXPECT_GT(largest, 1200u);
}

TEST(LinkLife, ANewFrontWaitsForTheLeaseOfTheOld) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  ASSERT_TRUE(rig.append(80));
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  const TimeNs until = rig.back.front_until();
  rig.front_config.instance = 2;  // the first one was killed
  rig.new_front();
  ASSERT_TRUE(rig.run([&] { return rig.front().why() == Refusal::kOccupied; }, 100));
  EXPECT_TRUE(is_passing(rig.front().why()));
  EXPECT_GT(rig.front().refused().wait_ns, 0u);
  ASSERT_TRUE(rig.serve());
  EXPECT_GE(rig.now, until);
  EXPECT_EQ(rig.front().epoch(), 102u);
  EXPECT_EQ(rig.front().incarnation(), 9u);
  EXPECT_EQ(rig.front().end(), 0u) << "positions begin anew";
  EXPECT_EQ(rig.back.taken(), 0u);
}

// COMMIT 19: else a late APPEND is executed twice.
TEST(LinkLife, FramesOfAnEpochThatIsOverAreRefused) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  rig.to_back.keep = true;
  ASSERT_TRUE(rig.append(80));
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  const std::vector<Frame> late = rig.to_back.history;
  ASSERT_FALSE(late.empty());
  std::unique_ptr<FrontSide> old = std::move(rig.side);
  rig.front_config.instance = 2;
  rig.new_front();
  ASSERT_TRUE(rig.serve());
  ASSERT_EQ(rig.model.records.size(), 1u);
  rig.to_front.keep = true;
  for (const Frame& frame : late) rig.back.on_frame(frame, rig.now);
  EXPECT_EQ(rig.model.records.size(), 1u);
  EXPECT_EQ(rig.back.taken(), 0u);
  EXPECT_EQ(rig.back.counters().other_epoch, late.size());
  // Who comes back from a long sleep is told so, and the new one does not take that for its own.
  const Frame told = rig.to_front.history.back();
  rig.front().on_frame(told, rig.now);
  EXPECT_EQ(rig.front().state(), FrontState::kServing);
  old->end.on_frame(told, rig.now);
  EXPECT_EQ(old->end.state(), FrontState::kLost);
  EXPECT_EQ(old->end.why(), Refusal::kEpoch);
  EXPECT_FALSE(old->end.has_lease(0));
  EXPECT_EQ(old->end.poll(rig.now), 0u);
}

TEST(LinkLife, ABackThatStartsAgainKnowsNoFront) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  ASSERT_TRUE(rig.append(80));
  rig.back.init(rig.back_config, rig.back_memory, &rig.to_front, &rig.model);
  ASSERT_TRUE(rig.run([&] { return rig.front().state() == FrontState::kLost; }));
  EXPECT_EQ(rig.front().why(), Refusal::kEpoch);
  EXPECT_TRUE(rig.model.records.empty());
  // It is not open yet; later it is.
  rig.front_config.instance = 2;
  rig.new_front();
  ASSERT_TRUE(rig.run([&] { return rig.front().why() == Refusal::kNotReady; }, 100));
  for (int i = 0; i < 1000; ++i) rig.round();
  EXPECT_FALSE(rig.back.wants_front());
  rig.back.set_open(true);
  ASSERT_TRUE(rig.serve());
}

// COMMIT 21, with clocks of their own: the front's may be slower than the back's by what the margin allows.
TEST(LinkLife, TheLeaseEndsAtTheFrontFirst) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    LinkRig rig(seed, {.loss = 0.2, .delay_max_ns = 5'000'000});
    rig.start();
    ASSERT_TRUE(rig.serve()) << seed;
    std::mt19937_64 random(seed);
    const double rate = 1 - static_cast<double>(random() % 10) / 100;  // 9 % slow at most; the margin is 12.5 %
    const TimeNs start = rig.now;
    const auto front_time = [&] { return start + static_cast<TimeNs>(static_cast<double>(rig.now - start) * rate); };
    for (int i = 0; i < 3000; ++i) {
      rig.now += 100'000;
      rig.to_back.deliver(rig.now, [&](const Frame& frame) { rig.back.on_frame(frame, rig.now); });
      rig.back.poll(0, false);
      rig.to_front.deliver(rig.now, [&](const Frame& frame) { rig.front().on_frame(frame, front_time()); });
      if (i < 2000 || i % 2 == 0) rig.front().poll(front_time());
      if (i > 1000 && i % 700 == 0) rig.to_back.faults.loss = 1;  // from here on until it has ended
      if (rig.front().has_lease(front_time())) {
        ASSERT_LT(rig.now, rig.back.front_until()) << "two could serve, seed " << seed;
      }
    }
    EXPECT_FALSE(rig.front().has_lease(front_time())) << seed;
    EXPECT_TRUE(rig.back.front_is_dead(rig.now)) << seed;
  }
}

TEST(LinkLife, ALeaseCountsFromTheQuestionNotFromTheAnswer) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  rig.to_back.keep = true;
  const uint64_t before = rig.front().front_counters().leases;
  TimeNs asked = 0;
  ASSERT_TRUE(rig.run([&] {
    if (asked == 0 && !rig.to_back.history.empty()) asked = rig.now;
    return rig.front().front_counters().leases > before;
  }));
  ASSERT_GT(rig.now, asked) << "the answer takes a while";
  EXPECT_EQ(rig.front().lease_end(), asked + limits::kLinkLeaseNanoseconds);
}

TEST(LinkLife, ALeaseThatWasMissedIsTakenUpAgainWhileNobodyElseServes) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  rig.to_front.faults.loss = 1;
  ASSERT_TRUE(rig.run([&] { return !rig.front().has_lease(rig.now); }));
  rig.to_front.faults.loss = 0;
  ASSERT_TRUE(rig.serve());
  EXPECT_EQ(rig.front().front_counters().lease_gaps, 1u);
  EXPECT_EQ(rig.front().epoch(), 101u);
}

TEST(LinkLife, AReleasedLinkIsFreeAtOnce) {
  LinkRig rig(5, {.loss = 0.3});
  rig.start();
  ASSERT_TRUE(rig.serve());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(rig.append(400));
  rig.front().release();
  EXPECT_EQ(rig.front().reserve(80), nullptr) << "nothing more is appended";
  ASSERT_TRUE(rig.run([&] { return rig.front().state() == FrontState::kLost; }));
  EXPECT_EQ(rig.model.records, rig.appended);
  EXPECT_FALSE(rig.back.has_front());
  EXPECT_EQ(rig.back.back_counters().released, 1u);
  rig.front_config.instance = 2;
  rig.new_front();
  const TimeNs before = rig.now;
  ASSERT_TRUE(rig.serve());
  EXPECT_LT(rig.now - before, 2 * limits::kLinkHelloNanoseconds + 50'000'000) << "no lease was waited for";
}

TEST(LinkLife, ARecordThatMakesNoSenseEndsTheFront) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  std::byte* const at = rig.front().reserve(40);
  ASSERT_NE(at, nullptr);
  store(at, log::RecordHeader{40, 99, 0, 0, 0, 0, 0, 0});
  rig.front().append(40);
  ASSERT_TRUE(rig.run([&] { return rig.front().state() == FrontState::kLost; }));
  EXPECT_EQ(rig.front().why(), Refusal::kMalformed);
  EXPECT_EQ(rig.back.counters().malformed, 1u);
  EXPECT_TRUE(rig.model.records.empty());
}

}  // namespace
}  // namespace txnic::test
