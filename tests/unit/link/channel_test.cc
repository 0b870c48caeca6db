// SPDX-License-Identifier: BSD-3-Clause
// Credits, what is sent again and when, and ends without room.
#include "tests/unit/link/link_rig.h"

namespace txnic::test {
namespace {

using namespace txnic::link;

// Positions of the pieces of records in the frames that a front has sent, in order.
std::vector<Lsn> positions(const std::vector<Frame>& frames) {
  std::vector<Lsn> found;
  for (const Frame& frame : frames) {
    FrameHeader header;
    EXPECT_EQ(read_frame(frame, &header), FrameCheck::kGood);
    EntryReader reader(frame, header);
    for (Entry entry; reader.next(&entry);) {
      if (entry.type == EntryType::kAppend) found.push_back(load<PositionBody>(entry.body.data()).position);
    }
  }
  return found;
}

TEST(LinkChannel, WhatIsNotTakenGoesAgainBeforeAnythingNew) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  ASSERT_TRUE(rig.append(80) && rig.run([&] { return rig.front().taken() == 80; }));
  rig.to_back.faults.loss = 1;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rig.append(800));
    rig.round();
  }
  rig.to_back.faults.loss = 0;
  rig.to_back.keep = true;
  ASSERT_TRUE(rig.append(48));
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  const std::vector<Lsn> sent = positions(rig.to_back.history);
  // The new record goes at once, with a gap before it; the answer makes the front begin with what is not taken.
  ASSERT_GE(sent.size(), 3u);
  EXPECT_EQ(sent[0], 80u + 3 * 800);
  EXPECT_EQ(sent[1], 80u);
  for (size_t i = 2; i < sent.size(); ++i) EXPECT_GT(sent[i], sent[i - 1]);
  EXPECT_EQ(rig.model.records, rig.appended);
  EXPECT_EQ(rig.front().front_counters().rewinds, 1u);
}

TEST(LinkChannel, AtMostTheWindowIsOnItsWay) {
  LinkRig rig;
  rig.back_config.window = 4;
  rig.start();
  ASSERT_TRUE(rig.serve());
  const uint64_t before = rig.to_back.sent;
  while (rig.append(1000)) {
  }
  for (int i = 0; i < 100; ++i) rig.front().poll(rig.now);  // the other end sleeps
  EXPECT_LE(rig.to_back.sent - before, 4u);
  EXPECT_GT(rig.front().counters().no_credit, 0u);
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  EXPECT_EQ(rig.model.records, rig.appended);
}

TEST(LinkChannel, CreditsThatWereLostComeBack) {
  LinkRig rig;
  rig.back_config.window = 4;
  rig.start();
  ASSERT_TRUE(rig.serve());
  rig.to_back.faults.loss = 1;
  while (rig.append(1000)) {
  }
  for (int i = 0; i < 100; ++i) rig.round();
  rig.to_back.faults.loss = 0;
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  EXPECT_EQ(rig.model.records, rig.appended);
}

TEST(LinkChannel, ALostDurableIsAskedFor) {
  LinkRig rig;
  rig.durable = 0;
  rig.start();
  ASSERT_TRUE(rig.serve());
  ASSERT_TRUE(rig.append(80));
  ASSERT_TRUE(rig.run([&] { return rig.front().taken() == 80; }));
  EXPECT_EQ(rig.front().durable(), 0u);
  rig.to_front.faults.loss = 1;
  rig.durable = 80;
  rig.round();
  rig.to_front.faults.loss = 0;
  const TimeNs lost_at = rig.now;
  ASSERT_TRUE(rig.run([&] { return rig.front().durable() == 80; }));
  EXPECT_LT(rig.now - lost_at, 20'000'000u) << "it came with the next lease only";
  EXPECT_EQ(rig.model.records.size(), 1u);
}

TEST(LinkChannel, AFullLogPutsOffAndTheRingFills) {
  LinkRig rig;
  rig.front_config.append_bytes = 8192;
  rig.start();
  ASSERT_TRUE(rig.serve());
  rig.model.is_full = true;
  while (rig.append(400)) rig.round();
  for (int i = 0; i < 5000; ++i) rig.round();
  EXPECT_EQ(rig.front().taken(), 0u);
  EXPECT_EQ(rig.front().end(), 8000u);
  EXPECT_GT(rig.back.back_counters().put_off, 1u);
  EXPECT_LT(rig.front().front_counters().rewinds, 10u) << "a full log is no reason to send all the time";
  EXPECT_EQ(rig.front().front_counters().append_full, 1u);
  rig.model.is_full = false;
  ASSERT_TRUE(rig.run([&] { return rig.front().quiet(); }));
  EXPECT_EQ(rig.model.records, rig.appended);
}

TEST(LinkChannel, NoMoreQuestionsThanTheLimit) {
  LinkRig rig;
  rig.front_config.fetches = 8;
  rig.start();
  ASSERT_TRUE(rig.serve());
  uint64_t key = 3;
  for (Lsn i = 1; i <= 8; ++i) EXPECT_EQ(rig.front().ask(0, 1, reinterpret_cast<std::byte*>(&key), 8), i);
  EXPECT_EQ(rig.front().ask(0, 1, reinterpret_cast<std::byte*>(&key), 8), 0u);
  ASSERT_TRUE(rig.run([&] { return rig.front().fetched() == 8; }));
  EXPECT_EQ(rig.front().ask(0, 1, reinterpret_cast<std::byte*>(&key), 8), 9u);
}

TEST(LinkChannel, APortWithoutRoomLosesNothing) {
  LinkRig rig(3);
  rig.start();
  ASSERT_TRUE(rig.serve());
  std::mt19937_64 random(3);
  ASSERT_TRUE(rig.run([&] {
    rig.to_back.has_room = random() % 3 == 0;
    rig.to_front.has_room = random() % 3 == 0;
    if (rig.appended.size() < 200) rig.append(320);
    return rig.appended.size() == 200 && rig.front().quiet();
  }));
  EXPECT_EQ(rig.model.records, rig.appended);
  EXPECT_GT(rig.front().counters().no_room, 0u);
}

TEST(LinkChannel, ManyEntriesAFrame) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  const uint64_t frames = rig.to_back.sent;
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(rig.append(104));
    rig.front().ask(0, 1, reinterpret_cast<std::byte*>(&i), 8);
  }
  rig.front().poll(rig.now);
  const uint64_t bytes = 100 * 104 + 100 * 24;
  EXPECT_LE(rig.to_back.sent - frames, bytes / 1400 + 2);
}

TEST(LinkChannel, AFullStoreIsTold) {
  LinkRig rig;
  rig.start();
  ASSERT_TRUE(rig.serve());
  EXPECT_FALSE(rig.front().store_is_full());
  rig.store_is_full = true;
  ASSERT_TRUE(rig.run([&] { return rig.front().store_is_full(); }, 100));
  rig.store_is_full = false;
  ASSERT_TRUE(rig.run([&] { return !rig.front().store_is_full(); }, 100));
}

}  // namespace
}  // namespace txnic::test
