// SPDX-License-Identifier: BSD-3-Clause
// Requests: stamping, watermark, retransmission, deadlines, refusals, the window ring.
#include "tests/unit/client/harness.h"

namespace txnic::client::test {
namespace {

TEST(MachineRequest, CarriesSessionStampShardAndWatermark) {
  Harness h;
  h.open();
  Slot* first = h.put("a", 0, 3);
  EXPECT_EQ(h.sent[0].worker, 1u);
  EXPECT_EQ(h.last().stamp, h.machine.stamp());
  EXPECT_EQ(h.last().shard, 3);
  EXPECT_EQ(h.last().watermark_lag, 0u);
  Slot* second = h.put("b");
  h.put("c");
  EXPECT_EQ(h.last().watermark_lag, 2u);
  // Answers out of order: the watermark waits for the lowest.
  h.answer(second, Result::kCommitted);
  h.put("d");
  EXPECT_EQ(h.last().watermark_lag, 3u);
  EXPECT_EQ(h.machine.watermark(), 1u);
  h.answer(first, Result::kConflict);
  EXPECT_EQ(h.machine.watermark(), 3u);
  h.put("e");
  EXPECT_EQ(h.last().watermark_lag, 2u);
  // A retransmission carries the watermark of its own moment.
  h.sent.clear();
  h.poll_at(h.now + 20 * kMs);
  ASSERT_EQ(h.sent.size(), 3u);
  for (const Sent& s : h.sent) EXPECT_EQ(s.header.sequence - s.header.watermark_lag, 3u);
  h.expect_sums();
}

TEST(MachineRequest, RetransmitsWithDoublingUpToTheMaximum) {
  Harness h;
  h.open();
  h.put("a");
  std::vector<TimeNs> times{h.now};
  h.sent.clear();
  for (int i = 0; i < 3000; ++i) {
    h.poll_at(h.now + kMs);
    if (!h.sent.empty()) times.push_back(h.now);
    h.sent.clear();
  }
  ASSERT_GE(times.size(), 8u);
  const TimeNs expected[] = {20, 40, 80, 160, 320, 640, 640};
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(times[i + 1] - times[i], expected[i] * kMs) << i;
  EXPECT_EQ(h.machine.outstanding(), 1u);  // no deadline: for ever
}

TEST(MachineRequest, TheWindowIsARingOfTheSmallerSize) {
  MachineLimits limits;
  limits.window = 100;
  Harness h(limits);
  Opening opening;
  opening.window = 8;
  h.open(opening);
  std::vector<Slot*> slots;
  while (Slot* slot = h.put("k")) slots.push_back(slot);
  ASSERT_EQ(slots.size(), 8u);
  // A hole in the middle does not open the window; the lowest one does, as far as the run reaches.
  h.machine.release(h.answer(slots[1], Result::kCommitted).slot);
  EXPECT_EQ(h.put("k"), nullptr);
  h.machine.release(h.answer(slots[0], Result::kCommitted).slot);
  EXPECT_NE(h.put("k"), nullptr);
  EXPECT_NE(h.put("k"), nullptr);
  EXPECT_EQ(h.put("k"), nullptr);
  h.expect_sums();
}

TEST(MachineRequest, ASlotIsNotReusedBeforeItsRelease) {
  MachineLimits limits;
  limits.window = 64;
  Harness h(limits);
  h.open();
  Slot* kept = h.put("k");
  h.answer(kept, Result::kCommitted);
  for (int i = 0; i < 63; ++i) h.machine.release(h.answer(h.put("k"), Result::kCommitted).slot);
  EXPECT_EQ(h.machine.watermark(), 65u);
  EXPECT_EQ(h.machine.acquire(), nullptr);
  h.machine.release(kept);
  EXPECT_EQ(h.machine.acquire(), kept);
}

TEST(MachineRequest, SequencesRunThroughTheRingManyTimes) {
  for (const uint32_t window : {1u, 2u, 63u, 64u, 65u, 200u, 1024u}) {
    MachineLimits limits;
    limits.window = window;
    limits.slot_bytes = 128;
    Harness h(limits);
    h.open();
    std::vector<Slot*> flying;
    uint64_t state = window;
    for (int i = 0; i < 20'000; ++i) {
      h.sent.clear();
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      Slot* slot = (state >> 60) < 9 ? h.put("k") : nullptr;
      if (slot != nullptr) {
        flying.push_back(slot);
      } else if (!flying.empty()) {
        const size_t pick = (state >> 33) % flying.size();
        const Event event = h.answer(flying[pick], Result::kCommitted);
        ASSERT_EQ(event.kind, EventKind::kSettled);
        ASSERT_EQ(event.slot, flying[pick]);
        h.machine.release(event.slot);
        flying.erase(flying.begin() + static_cast<ptrdiff_t>(pick));
      }
      ASSERT_LE(h.machine.outstanding(), window);
    }
    h.expect_sums();
  }
}

TEST(MachineRequest, AbandonedSlotsDoNotHoldTheWatermark) {
  Harness h;
  h.open();
  Slot* unused = h.machine.acquire();
  Slot* used = h.put("a");
  h.answer(used, Result::kCommitted);
  EXPECT_EQ(h.machine.watermark(), 1u);
  h.machine.release(unused);
  EXPECT_EQ(h.machine.watermark(), 3u);
  h.expect_sums();
}

TEST(MachineRequest, DeadlinesAreMetInOrderWhateverTheyAre) {
  Harness h;
  h.open();
  const TimeNs start = h.now;
  Slot* late = h.put("a", start + 700 * kMs);
  Slot* soon = h.get("b", start + 5 * kMs);
  Slot* middle = h.put("c", start + 7 * kMs);
  Slot* sooner = h.put("d", start + 3 * kMs);
  Slot* never = h.put("e");
  std::vector<std::pair<const Slot*, TimeNs>> settled;
  for (TimeNs t = 1; t <= 800; ++t) {
    for (const Event& event : h.poll_at(start + t * kMs)) {
      EXPECT_TRUE(event.timed_out);
      EXPECT_EQ(event.result, event.slot == soon ? Result::kBusy : Result::kUnknownOutcome);
      settled.emplace_back(event.slot, t);
    }
  }
  const std::vector<std::pair<const Slot*, TimeNs>> expected{{sooner, 3}, {soon, 5}, {middle, 7}, {late, 700}};
  EXPECT_EQ(settled, expected);
  EXPECT_EQ(h.machine.statistics().timed_out, 1u);
  EXPECT_EQ(h.machine.statistics().unknown, 3u);
  EXPECT_EQ(h.answer(never, Result::kCommitted).kind, EventKind::kSettled);
  // An answer after the deadline is a duplicate.
  EXPECT_EQ(h.answer(late, Result::kCommitted).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.statistics().duplicates, 1u);
  h.expect_sums();
}

TEST(MachineRequest, DeadlinesHoldWhileTheSessionOpensAgain) {
  Harness h;
  h.open();
  const TimeNs start = h.now + 1000 * kMs;
  Slot* write = h.put("a", start + 100 * kMs);
  Slot* read = h.get("b", start + 200 * kMs);
  h.refuse_stamp(write, BadSessionReason::kOldStamp, 5);
  std::vector<const Slot*> settled;
  for (TimeNs t = 1; t <= 300; ++t) {
    for (const Event& event : h.poll_at(start + t * kMs)) settled.push_back(event.slot);
  }
  EXPECT_EQ(settled, (std::vector<const Slot*>{write, read}));
  EXPECT_EQ(h.count(wire::Type::kExecute), 2u);  // no copies into the void
  h.expect_sums();
}

// Also for requests that were just going to be sent again when the session was lost once more.
TEST(MachineRequest, DeadlinesHoldWhenTwoOpeningsFollowEachOther) {
  MachineLimits limits;
  limits.window = 1024;
  Harness h(limits);
  h.open();
  const TimeNs deadline = h.now + 5000 * kMs;
  for (int i = 0; i < 200; ++i) ASSERT_NE(h.get("k", deadline), nullptr);
  Slot* first = h.machine.acquire();
  h.machine.release(first);
  h.refuse_stamp(h.put("x", deadline), BadSessionReason::kOldStamp, 5);
  Opening again;
  again.stamp = make_stamp(5, 1);
  again.survived = true;
  h.deliver(opened(kSession, 2, again));
  const size_t before = h.sent.size();
  h.machine.poll(h.now);  // a part of them is sent
  ASSERT_EQ(h.sent.size(), before + limits::kBurstMax);
  h.deliver(executed(kSession, h.last().sequence, make_stamp(6, 0), Result::kBadSession, 2));  // too soon: an old copy
  EXPECT_EQ(h.machine.state(), MachineState::kOpen);
  h.now += 60 * kMs;
  h.deliver(executed(kSession, h.last().sequence, make_stamp(6, 0), Result::kBadSession, 2));
  ASSERT_EQ(h.machine.state(), MachineState::kReopening);
  EXPECT_EQ(h.poll_at(deadline).size(), 201u);
  EXPECT_EQ(h.machine.outstanding(), 0u);
  h.expect_sums();
}

TEST(MachineRequest, BusyIsSentAgainUntilTheDeadline) {
  Harness h;
  h.open();
  const TimeNs start = h.now;
  Slot* slot = h.put("a", start + 30 * kMs);
  EXPECT_EQ(h.answer(slot, Result::kBusy, static_cast<uint8_t>(BusyReason::kMemory)).kind, EventKind::kNone);
  EXPECT_EQ(slot->refusal, Result::kBusy);
  h.sent.clear();
  h.poll_at(start + kMs);
  ASSERT_EQ(h.sent.size(), 1u);
  EXPECT_EQ(h.last().sequence, slot->sequence);  // the same id
  h.answer(slot, Result::kLocked);
  h.poll_at(start + 2 * kMs);
  EXPECT_EQ(h.sent.size(), 1u);  // waits longer the second time
  h.poll_at(start + 3 * kMs);
  EXPECT_EQ(h.sent.size(), 2u);
  h.answer(slot, Result::kBusy, 1);
  const std::vector<Event> events = h.poll_at(start + 30 * kMs);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].result, Result::kUnknownOutcome);  // another copy may still be under way
  EXPECT_EQ(h.machine.statistics().busy_retries, 3u);
  h.expect_sums();
}

TEST(MachineRequest, BusyWithoutDeadlineSettles) {
  Harness h;
  h.open();
  Event event = h.answer(h.put("a"), Result::kBusy, static_cast<uint8_t>(BusyReason::kLogFull));
  EXPECT_EQ(event.kind, EventKind::kSettled);
  EXPECT_EQ(event.result, Result::kBusy);
  EXPECT_EQ(event.detail, static_cast<uint8_t>(BusyReason::kLogFull));
  // After a second copy a write is uncertain, a read is not, and neither is what no copy can change.
  Slot* write = h.put("a");
  Slot* read = h.get("a");
  Slot* table = h.put("a");
  h.poll_at(h.now + 20 * kMs);
  EXPECT_EQ(h.answer(write, Result::kBusy, 1).result, Result::kUnknownOutcome);
  EXPECT_EQ(h.answer(read, Result::kBusy, 1).result, Result::kBusy);
  EXPECT_EQ(h.answer(table, Result::kUnknownTable).result, Result::kUnknownTable);
  EXPECT_EQ(h.machine.statistics().refused, 3u);
  EXPECT_EQ(h.machine.statistics().unknown, 1u);
  h.expect_sums();
}

TEST(MachineRequest, BusyBecauseOfTheWindowOrRecoveryIsAlwaysSentAgain) {
  Harness h;
  h.open();
  Slot* slot = h.put("a");
  EXPECT_EQ(h.answer(slot, Result::kBusy, static_cast<uint8_t>(BusyReason::kWindow)).kind, EventKind::kNone);
  EXPECT_EQ(h.answer(slot, Result::kBusy, static_cast<uint8_t>(BusyReason::kNotReady)).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.outstanding(), 1u);
}

TEST(MachineRequest, OldSequenceForAnUnsettledRequestIsUnknown) {
  Harness h;
  h.open();
  EXPECT_EQ(h.answer(h.put("a"), Result::kOldSequence).result, Result::kUnknownOutcome);
  h.expect_sums();
}

TEST(MachineRequest, TellsReadsFromWrites) {
  Harness h;
  h.open();
  Slot* slot = h.machine.acquire();
  wire::ExecuteBuilder reads(slot->buffer());
  reads.check(1, bytes_of("key"), 5, wire::kReadSet);
  reads.get(1, bytes_of("another key"));
  reads.check(1, bytes_of("k"), 5, wire::kExpectAbsent);
  h.machine.submit(slot, reads, 0, 0, h.now);
  EXPECT_TRUE(slot->read_only);
  slot = h.machine.acquire();
  wire::ExecuteBuilder writes(slot->buffer());
  writes.check(1, bytes_of("key"), 5, wire::kReadSet);
  writes.get(1, bytes_of("another key"));
  writes.add_with_floor(1, bytes_of("k"), 5, 0);
  h.machine.submit(slot, writes, 0, 0, h.now);
  EXPECT_FALSE(slot->read_only);
}

TEST(MachineRequest, HandsOutTheReply) {
  Harness h;
  h.open();
  Slot* slot = h.get("a");
  const Message reply = executed(kSession, slot->sequence, slot->stamp, Result::kCommitted, 0, 77,
                                 {{0, true, 55, "hello"}}, wire::kReplyFlagDuplicate);
  const Event event = h.deliver(reply);
  ASSERT_EQ(event.kind, EventKind::kSettled);
  EXPECT_EQ(event.commit_version, 77u);
  EXPECT_EQ(event.reply_flags, wire::kReplyFlagDuplicate);
  wire::Value values[limits::kOperationsMax];
  Version version = 0;
  ASSERT_EQ(wire::parse_values(event.message, event.header, &version, values), wire::ParseError::kNone);
  EXPECT_EQ(version, 77u);
  EXPECT_EQ(values[0].version, 55u);
  EXPECT_EQ(std::memcmp(values[0].data, "hello", 5), 0);
}

TEST(MachineRequest, WorkInOnePollIsBounded) {
  MachineLimits limits;
  limits.window = 1024;
  Harness h(limits);
  h.open();
  for (int i = 0; i < 1000; ++i) ASSERT_NE(h.put("k"), nullptr);
  h.sent.clear();
  h.now += 20 * kMs;
  h.machine.poll(h.now);
  EXPECT_EQ(h.sent.size(), limits::kBurstMax);
  h.poll();
  EXPECT_EQ(h.sent.size(), 1000u);
  EXPECT_GT(h.machine.next_poll(), h.now);
}

}  // namespace
}  // namespace txnic::client::test
