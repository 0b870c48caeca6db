// SPDX-License-Identifier: BSD-3-Clause
// Transactions that wait for keys: nothing runs before all of them are here, nothing runs twice, and what has changed
// meanwhile counts.
#include <deque>
#include <set>

#include "tests/unit/offload/front_fixture.h"
#include "tests/unit/offload/front_pair.h"
#include "tests/unit/offload/miss_back.h"

namespace txnic::test {
namespace {

using offload::Action;

class Park : public FrontFixtureOf<MissBack> {
 protected:
  void SetUp() override {
    start();
    stamp_ = open(7);
  }
  void build_put(const std::string& key, const std::string& value, Sequence sequence, uint32_t lag = 0) {
    auto b = builder();
    ASSERT_TRUE(b.put(1, bytes(key), bytes(value)));
    sent_length_ = b.finish(7, sequence, stamp_, lag, 0);
  }
  void build_get(std::initializer_list<const char*> keys, Sequence sequence, uint32_t lag = 0) {
    auto b = builder();
    for (const char* key : keys) ASSERT_TRUE(b.get(1, bytes(std::string(key))));
    sent_length_ = b.finish(7, sequence, stamp_, lag, 0);
  }
  // Sends what was built, in a buffer that outlives the call.
  Action post() {
    buffers_.push_back(request_);
    offload::Request request{.message = buffers_.back().data(), .handle = &buffers_.back(), .from = kClient,
                             .length = sent_length_, .room = limits::kMessageBytesMax};
    front_->step({&request, 1}, now_);
    last_ = wire::read_header(buffers_.back().data());
    return request.action;
  }
  // One step of the loop: what was parked and came out of it, as headers.
  std::vector<wire::Header> turn() {
    front_->idle(now_);
    std::vector<wire::Header> out;
    std::array<offload::Released, 128> released;
    const uint32_t count = front_->release(released);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(released[i].action, Action::kReply);
      out.push_back(wire::read_header(static_cast<std::vector<std::byte>*>(released[i].handle)->data()));
    }
    return out;
  }
  static Result result(const wire::Header& header) { return static_cast<Result>(header.result); }

  std::deque<std::vector<std::byte>> buffers_;
  wire::Header last_{};
  Stamp stamp_ = 0;
};

TEST_F(Park, WaitsUntilAllItsKeysAreHere) {
  build_get({"a", "b"}, 1);
  EXPECT_EQ(post(), Action::kHold);
  EXPECT_EQ(front_->parked(), 1u);
  EXPECT_EQ(back_.asked.size(), 2u);
  EXPECT_TRUE(turn().empty());
  back_.arrive();
  EXPECT_TRUE(turn().empty()) << "one key is missing yet";
  back_.arrive();
  const auto out = turn();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(result(out[0]), Result::kCommitted);
  EXPECT_EQ(out[0].operation_count, 2);
  EXPECT_EQ(front_->parked(), 0u);
  EXPECT_EQ(front_->counters().requests, 1u);
  EXPECT_EQ(front_->counters().parked, 1u);
  build_get({"b", "a"}, 2);
  EXPECT_EQ(post(), Action::kReply) << "both are here now";
}

TEST_F(Park, WritesOnceHoweverManyCopiesCome) {
  build_put("a", "1", 1);
  EXPECT_EQ(post(), Action::kHold);
  EXPECT_EQ(post(), Action::kTaken) << "a copy of what waits is dropped";
  EXPECT_EQ(front_->counters().parked_copies, 1u);
  EXPECT_EQ(back_.commits, 0u);
  back_.arrive();
  EXPECT_EQ(post(), Action::kReply) << "a copy that comes before the loop's step is executed";
  EXPECT_EQ(result(last_), Result::kCommitted);
  const auto out = turn();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].flags, wire::kReplyFlagDuplicate) << "and what waited is answered from the window";
  EXPECT_EQ(back_.commits, 1u);
}

TEST_F(Park, OneThatWaitsForAnothersKeyKeepsTheOrder) {
  build_get({"a", "b"}, 1);
  ASSERT_EQ(post(), Action::kHold);
  build_get({"a"}, 2);
  ASSERT_EQ(post(), Action::kHold);
  EXPECT_EQ(back_.asked.size(), 2u) << "a key is asked for once";
  back_.arrive(2);
  const auto out = turn();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].sequence, 1u);
  EXPECT_EQ(out[1].sequence, 2u);
}

TEST_F(Park, ClosedMeanwhileIsRefusedAndWritesNothing) {
  build_put("a", "1", 1);
  ASSERT_EQ(post(), Action::kHold);
  sessions_.erase(sessions_.find(7));
  back_.arrive();
  const auto out = turn();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(result(out[0]), Result::kBadSession);
  EXPECT_EQ(back_.commits, 0u);
}

TEST_F(Park, BelowTheWatermarkMeanwhileIsRefused) {
  build_put("a", "1", 1);
  ASSERT_EQ(post(), Action::kHold);
  back_.here.insert({0, 1, "b"});
  build_put("b", "2", 2);
  ASSERT_EQ(post(), Action::kReply);
  build_put("b", "3", 3, 1);  // needs no answer below 2
  ASSERT_EQ(post(), Action::kReply);
  back_.arrive();
  const auto out = turn();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(result(out[0]), Result::kOldSequence);
  EXPECT_EQ(back_.commits, 2u);
}

TEST_F(Park, EvictedAgainIsParkedAgainABoundedNumberOfTimes) {
  build_get({"a"}, 1);
  ASSERT_EQ(post(), Action::kHold);
  for (uint32_t times = 1; times < limits::kParkedTimesMax; ++times) {
    back_.arrive();
    back_.here.clear();
    ASSERT_TRUE(turn().empty()) << times;
    ASSERT_EQ(front_->parked(), 1u);
  }
  back_.arrive();
  back_.here.clear();
  const auto out = turn();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(result(out[0]), Result::kBusy);
  EXPECT_EQ(out[0].detail, static_cast<uint8_t>(BusyReason::kFetching));
  EXPECT_EQ(front_->counters().parked, limits::kParkedTimesMax);
  EXPECT_EQ(front_->counters().requests, 1u);
}

TEST_F(Park, AFullTableAndABackThatRefusesAreBusy) {
  std::vector<Stamp> stamps;
  Sequence sequence = 0;
  for (uint32_t i = 0; i < limits::kParkedMax; ++i) {
    if (i % kWindow == 0) {  // a window is smaller than the table
      sessions_.erase(sessions_.find(7));
      stamp_ = open(7, i + 2);
      sequence = 0;
    }
    build_get({"a"}, ++sequence);
    ASSERT_EQ(post(), Action::kHold) << i;
  }
  sessions_.erase(sessions_.find(7));
  stamp_ = open(7, limits::kParkedMax + 2);
  build_get({"a"}, 1);
  EXPECT_EQ(post(), Action::kReply);
  EXPECT_EQ(result(last_), Result::kBusy);
  EXPECT_EQ(last_.detail, static_cast<uint8_t>(BusyReason::kFetching));
  back_.arrive();
  uint32_t out = 0;
  for (uint32_t i = 0; i < 2 * limits::kParkedMax / limits::kBurstMax; ++i) out += static_cast<uint32_t>(turn().size());
  EXPECT_EQ(out, limits::kParkedMax) << "everyone is answered";
  EXPECT_EQ(front_->parked(), 0u);
  back_.refuses = BusyReason::kNotReady;
  build_get({"a"}, 2);
  EXPECT_EQ(post(), Action::kReply);
  EXPECT_EQ(result(last_), Result::kBusy) << "also of a key that is here";
  EXPECT_EQ(last_.detail, static_cast<uint8_t>(BusyReason::kNotReady));
}

TEST_F(Park, AbandonedGivesEverythingBack) {
  back_.sync = true;
  back_.here.insert({0, 1, "b"});
  build_put("b", "1", 1);
  ASSERT_EQ(post(), Action::kHold) << "waits for the disk";
  build_get({"a"}, 2);
  ASSERT_EQ(post(), Action::kHold) << "waits for its key";
  std::set<void*> given;
  front_->abandon([&](void* handle) { EXPECT_TRUE(given.insert(handle).second); });
  EXPECT_EQ(given, (std::set<void*>{&buffers_[0], &buffers_[1]}));
  EXPECT_EQ(front_->held() + front_->parked(), 0u);
}

class ParkPrepare : public FrontPairOf<MissBack> {
 protected:
  void arrive_all() {
    for (Node& node : nodes) node.back.arrive(100);
  }
};

TEST_F(ParkPrepare, OverTwoNodesCommitsWhenBothHaveTheirKeys) {
  start_two_nodes();
  prepare_both();
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(nodes[0].front->parked() + nodes[1].front->parked(), 2u);
  EXPECT_TRUE(nodes[0].back.records.empty() && nodes[1].back.records.empty()) << "nothing is prepared";
  send_all();  // copies
  EXPECT_EQ(nodes[0].front->counters().parked_copies + nodes[1].front->counters().parked_copies, 2u);
  arrive_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kCommitted);
  EXPECT_EQ(read(key(0)), "A");
  EXPECT_EQ(read(key(1)), "B");
  EXPECT_EQ(kept_copies(), 0u);
  EXPECT_EQ(nodes[0].back.aside + nodes[1].back.aside, 0);
  EXPECT_EQ(nodes[0].front->counters().prepares, 2u);
}

TEST_F(ParkPrepare, AbandonedGivesTheCopiesOfWaitingClientsBack) {
  start_two_nodes();
  nodes[0].back.here.insert({0, 1, key(0)});
  prepare_both();  // the coordinator waits for the vote of the other, and that for its key
  ASSERT_EQ(nodes[1].front->parked(), 1u);
  uint32_t given = 0;
  for (Node& node : nodes) {
    if (node.front != nullptr) node.front->abandon([&](void*) { ++given; });
  }
  EXPECT_EQ(given, 2u);
}

TEST_F(ParkPrepare, APromiseMeanwhileIsKept) {
  start_two_nodes();
  for (const uint32_t n : {0u, 1u}) nodes[n].back.here.insert({0, 1, key(n)});
  nodes[1].back.here.clear();
  prepare_both();  // node 0 is prepared, node 1 waits for its key
  EXPECT_EQ(nodes[1].front->parked(), 1u);
  run(limits::kAskDelayNanoseconds * 2);  // the coordinator asks; node 1 promises never to prepare it
  run(limits::kAskDelayNanoseconds * 2);
  const auto& records = nodes[0].back.records;
  EXPECT_EQ(std::count(records.begin(), records.end(), commit::Record::kAbort), 1);
  arrive_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_NE(answers[0].result(), Result::kCommitted);
  EXPECT_EQ(read(key(0)), "");
  EXPECT_EQ(read(key(1)), "") << "an abort that was told stays one";
  EXPECT_EQ(nodes[0].back.aside + nodes[1].back.aside, 0);
}

}  // namespace
}  // namespace txnic::test
