// SPDX-License-Identifier: BSD-3-Clause
// Opening, opening again, keep-alive and closing (COMMIT 8).
#include "tests/unit/client/harness.h"

namespace txnic::client::test {
namespace {

TEST(MachineSession, OpensByChallengeAndCookie) {
  Harness h;
  h.machine.open(h.now);
  ASSERT_EQ(h.sent.size(), 1u);
  EXPECT_EQ(h.last().sequence, 1u);
  EXPECT_EQ(h.last().stamp, 0u);
  EXPECT_EQ(h.machine.acquire(), nullptr);

  EXPECT_EQ(h.deliver(challenge(kSession, 1, 0xaa)).kind, EventKind::kNone);
  ASSERT_EQ(h.sent.size(), 2u);
  EXPECT_EQ(h.last().sequence, 1u);
  EXPECT_EQ(h.sent[1].bytes[wire::kHeaderBytes], std::byte{0xaa});
  h.deliver(challenge(kSession, 1, 0xaa));  // a duplicate is not answered
  EXPECT_EQ(h.sent.size(), 2u);

  Opening opening;
  opening.window = 8;
  const Event event = h.deliver(opened(kSession, 1, opening));
  EXPECT_EQ(event.kind, EventKind::kOpened);
  EXPECT_EQ(h.machine.state(), MachineState::kOpen);
  EXPECT_EQ(h.machine.window(), 8u);
  EXPECT_EQ(h.machine.shard_count(), 4u);
  EXPECT_EQ(h.machine.worker_count(), 2u);
  EXPECT_EQ(h.machine.base_port(), wire::kBasePortDefault);
  h.deliver(opened(kSession, 1, opening));
  EXPECT_EQ(h.machine.statistics().stale, 1u);
  h.expect_sums();
}

TEST(MachineSession, RetriesUnderOneAttemptNumberWithBackoff) {
  Harness h;
  h.machine.open(h.now);
  std::vector<TimeNs> times;
  for (int i = 0; i < 400; ++i) {
    const size_t before = h.sent.size();
    h.poll_at(h.now + 10 * kMs);
    if (h.sent.size() != before) times.push_back(h.now);
  }
  ASSERT_GE(times.size(), 6u);
  EXPECT_LT(times[1] - times[0], times[3] - times[2]);
  for (const Sent& s : h.sent) EXPECT_EQ(s.header.sequence, 1u);
  EXPECT_EQ(h.machine.statistics().opens, 1u);
}

TEST(MachineSession, ACookieThatIsNotAcceptedIsAskedForAnew) {
  Harness h;
  h.machine.open(h.now);
  h.deliver(challenge(kSession, 1, 0xaa));
  for (int i = 0; i < 400; ++i) h.poll_at(h.now + 10 * kMs);
  EXPECT_EQ(h.sent.back().bytes[wire::kHeaderBytes], std::byte{0});
  h.deliver(challenge(kSession, 1, 0xbb));  // the node was restarted: another secret
  EXPECT_EQ(h.sent.back().bytes[wire::kHeaderBytes], std::byte{0xbb});
}

TEST(MachineSession, IgnoresAnswersToOtherAttempts) {
  Harness h;
  h.machine.open(h.now);
  EXPECT_EQ(h.deliver(opened(kSession, 2, {})).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(challenge(kSession, 2, 1)).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(opened(kSession + 1, 1, {})).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.statistics().stale, 2u);
  EXPECT_EQ(h.machine.statistics().unmatched, 1u);
  EXPECT_EQ(h.machine.state(), MachineState::kOpening);
  h.expect_sums();
}

TEST(MachineSession, OpenedWithImpossibleFactsIsMalformed) {
  Harness h;
  h.machine.open(h.now);
  for (const Opening& bad : {Opening{make_stamp(1, 1), 0, 1, 8}, Opening{make_stamp(1, 1), 1, 0, 8},
                             Opening{make_stamp(1, 1), 1, 65, 8}, Opening{make_stamp(1, 1), 1025, 1, 8},
                             Opening{make_stamp(1, 1), 1, 1, 0}, Opening{0, 1, 1, 8}}) {
    EXPECT_EQ(h.deliver(opened(kSession, 1, bad)).kind, EventKind::kNone);
  }
  EXPECT_EQ(h.machine.statistics().malformed, 6u);
}

TEST(MachineSession, BusyOpeningGoesOnOthersEndIt) {
  Harness h;
  h.machine.open(h.now);
  Event event = h.deliver(h.refused_opening(1, Result::kBusy, static_cast<uint8_t>(BusyReason::kSessions)));
  EXPECT_EQ(event.kind, EventKind::kRefused);
  EXPECT_EQ(event.result, Result::kBusy);
  EXPECT_EQ(h.machine.state(), MachineState::kOpening);
  h.sent.clear();
  h.poll_at(h.now + 1000 * kMs);
  EXPECT_EQ(h.count(wire::Type::kOpen), 1u);

  event = h.deliver(reply_message(wire::Type::kExecuted, kSession, 1, 0, Result::kBadVersion, 0, 0));
  EXPECT_EQ(event.kind, EventKind::kRefused);
  EXPECT_EQ(h.machine.state(), MachineState::kClosed);
  h.expect_sums();
}

// A copy of OPEN got through to some workers only; the next one would find half a session for ever.
TEST(MachineSession, ANewSessionThatIsUnknownSomewhereStartsOver) {
  Harness h;
  h.machine.open(h.now);
  const Message unknown = h.refused_opening(1, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kUnknown));
  EXPECT_EQ(h.deliver(unknown).kind, EventKind::kNone);
  h.poll_at(h.now + 1000 * kMs);
  EXPECT_EQ(h.last().sequence, 2u);
  EXPECT_EQ(h.last().stamp, 0u);
  EXPECT_EQ(h.deliver(opened(kSession, 2, {})).kind, EventKind::kOpened);
}

// The heart of COMMIT 8: the window survived, so everything is sent again under the new stamp.
TEST(MachineSession, RestartWithWindowSendsAgainUnderTheNewStamp) {
  Harness h;
  h.open();
  const Stamp old_stamp = h.machine.stamp();
  Slot* first = h.put("a");
  Slot* second = h.get("b");
  h.sent.clear();
  EXPECT_EQ(h.refuse_stamp(first, BadSessionReason::kOldStamp, 50).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.state(), MachineState::kReopening);
  EXPECT_EQ(h.last().sequence, 2u);
  EXPECT_EQ(h.last().stamp, old_stamp);  // "only if you still know the outcomes"
  h.refuse_stamp(second, BadSessionReason::kOldStamp, 50);  // one opening is enough
  EXPECT_EQ(h.sent.size(), 1u);
  h.sent.clear();
  Opening again;
  again.stamp = make_stamp(50, 1);  // an incarnation is compared for equality, not order
  again.survived = true;
  EXPECT_EQ(h.deliver(opened(kSession, 2, again)).detail, 1);
  EXPECT_TRUE(h.poll().empty());
  ASSERT_EQ(h.count(wire::Type::kExecute), 2u);
  for (const Sent& s : h.sent) EXPECT_EQ(s.header.stamp, again.stamp);

  // An abort that answers the old copy is no outcome; one for the newest copy is.
  EXPECT_EQ(h.deliver(executed(kSession, first->sequence, old_stamp, Result::kConflict)).kind, EventKind::kNone);
  const Event settled = h.answer(first, Result::kConflict);
  EXPECT_EQ(settled.kind, EventKind::kSettled);
  EXPECT_EQ(settled.result, Result::kConflict);
  // COMMITTED is certain under any stamp.
  EXPECT_EQ(h.deliver(executed(kSession, second->sequence, old_stamp, Result::kCommitted)).kind, EventKind::kSettled);
  EXPECT_EQ(h.machine.statistics().stale, 2u);
  h.expect_sums();
}

// The node lost the window: it says so, and opens nothing; the machine then starts anew, with stamp 0.
TEST(MachineSession, RestartWithoutWindowMakesWritesUnknownAndSendsReadsAgain) {
  Harness h;
  h.open();
  Slot* write = h.put("a");
  Slot* read = h.get("b");
  Slot* late = h.machine.acquire();
  wire::ExecuteBuilder builder(late->buffer());
  builder.put(1, bytes_of("c"), bytes_of("v"));
  h.refuse_stamp(write, BadSessionReason::kUnknown, 101);
  h.machine.submit(late, builder, 0, 0, h.now);  // never sent before the new opening
  h.sent.clear();
  h.deliver(h.refused_opening(2, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kUnknown)));
  ASSERT_EQ(h.count(wire::Type::kOpen), 1u);
  EXPECT_EQ(h.last().sequence, 3u);
  EXPECT_EQ(h.last().stamp, 0u);
  const std::vector<Event> events = h.poll();  // told at once, not only when the node is back
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].slot, write);
  EXPECT_EQ(events[0].result, Result::kUnknownOutcome);
  h.machine.release(write);
  h.sent.clear();
  Opening again;
  again.stamp = make_stamp(101, 1);
  const Event reopened = h.deliver(opened(kSession, 3, again));
  EXPECT_EQ(reopened.kind, EventKind::kOpened);
  EXPECT_EQ(reopened.detail, 0);
  EXPECT_TRUE(h.poll().empty());
  ASSERT_EQ(h.count(wire::Type::kExecute), 2u);
  EXPECT_EQ(h.sent[0].header.sequence, read->sequence);
  EXPECT_EQ(h.sent[1].header.sequence, late->sequence);
  EXPECT_EQ(h.machine.statistics().windows_lost, 1u);
  // The unknown id is never sent again.
  h.sent.clear();
  for (int i = 0; i < 100; ++i) h.poll_at(h.now + 20 * kMs);
  for (const Sent& s : h.sent) EXPECT_NE(s.header.sequence, 1u);
  h.expect_sums();
}

// COMMITTED that comes between the loss of the window and poll() is still better than "unknown".
TEST(MachineSession, ALateCommittedBeatsUnknown) {
  Harness h;
  h.open();
  Slot* write = h.put("a");
  h.refuse_stamp(write, BadSessionReason::kUnknown, 101);
  h.deliver(h.refused_opening(2, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kUnknown)));
  const Event event = h.deliver(executed(kSession, write->sequence, make_stamp(100, 1), Result::kCommitted));
  EXPECT_EQ(event.kind, EventKind::kSettled);
  EXPECT_EQ(event.result, Result::kCommitted);
  EXPECT_TRUE(h.poll().empty());
  h.expect_sums();
}

TEST(MachineSession, BadSessionForAnOldCopyDoesNotOpenAgain) {
  Harness h;
  h.open();
  Slot* slot = h.put("a");
  h.refuse_stamp(slot, BadSessionReason::kOldStamp, 101);
  Opening again;
  again.stamp = make_stamp(101, 1);
  again.survived = true;
  const Message refusal = executed(kSession, slot->sequence, make_stamp(101, 0), Result::kBadSession,
                                   static_cast<uint8_t>(BadSessionReason::kOldStamp));
  h.deliver(opened(kSession, 2, again));
  h.deliver(refusal);  // before it was sent again
  h.poll();
  h.deliver(refusal);
  h.now += 100 * kMs;
  h.deliver(refusal);
  EXPECT_EQ(h.machine.state(), MachineState::kOpen);
  EXPECT_EQ(h.machine.statistics().reopens, 1u);
  // Another incarnation is another matter.
  h.refuse_stamp(slot, BadSessionReason::kOldStamp, 102);
  EXPECT_EQ(h.machine.state(), MachineState::kReopening);
  h.expect_sums();
}

// A write that was sent under two stamps may have been executed under the first.
TEST(MachineSession, RefusalsAfterANewStampAreUncertain) {
  Harness h;
  h.open();
  Slot* slot = h.put("a");
  h.refuse_stamp(slot, BadSessionReason::kOldStamp, 101);
  Opening again;
  again.stamp = make_stamp(101, 1);
  again.survived = true;
  h.deliver(opened(kSession, 2, again));
  h.poll();
  EXPECT_EQ(h.answer(slot, Result::kUnknownTable).result, Result::kUnknownOutcome);
  h.expect_sums();
}

TEST(MachineSession, IsKeptAliveAtEveryWorkerWithoutANewStamp) {
  Harness h;
  Opening opening;
  opening.idle_expiry_seconds = 30;
  h.open(opening);
  EXPECT_LE(h.machine.next_poll(), h.now + 10'000 * kMs);
  uint32_t opens = 0;
  for (int i = 0; i < 100; ++i) {  // busy with worker 0 only
    const Event event = h.answer(h.get("k", 0, 0), Result::kCommitted);
    ASSERT_EQ(event.kind, EventKind::kSettled);
    h.machine.release(event.slot);
    h.sent.clear();
    EXPECT_TRUE(h.poll_at(h.now + 250 * kMs).empty());
    if (h.count(wire::Type::kOpen) == 0) continue;
    ++opens;
    EXPECT_EQ(h.last().sequence, 1u);
    EXPECT_EQ(h.last().stamp, opening.stamp);
    EXPECT_EQ(h.machine.state(), MachineState::kOpen);
    h.deliver(challenge(kSession, 1, 0xaa));
    opening.survived = true;
    EXPECT_EQ(h.deliver(opened(kSession, 1, opening)).kind, EventKind::kNone);
  }
  EXPECT_EQ(opens, 2u);
  // The node was restarted meanwhile: keep-alive finds out.
  h.poll_at(h.now + 10'000 * kMs);
  opening.stamp = make_stamp(7, 1);
  const Event event = h.deliver(opened(kSession, 1, opening));
  EXPECT_EQ(event.kind, EventKind::kOpened);
  EXPECT_EQ(h.machine.stamp(), opening.stamp);
  h.expect_sums();
}

// A caller that comes back after long finds the session opened first, so that no write meets an expired one.
TEST(MachineSession, ASessionThatMayBeGoneIsOpenedBeforeUse) {
  Harness h;
  Opening opening;
  opening.idle_expiry_seconds = 30;
  h.open(opening);
  h.poll_at(h.now + 25'000 * kMs);
  EXPECT_EQ(h.machine.state(), MachineState::kReopening);
  EXPECT_EQ(h.machine.acquire(), nullptr);
  EXPECT_EQ(h.last().sequence, 2u);
  EXPECT_EQ(h.last().stamp, opening.stamp);
  h.deliver(h.refused_opening(2, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kUnknown)));
  opening.stamp = make_stamp(100, 9);
  EXPECT_EQ(h.deliver(opened(kSession, 3, opening)).kind, EventKind::kOpened);
  EXPECT_EQ(h.answer(h.put("a"), Result::kCommitted).kind, EventKind::kSettled);
  EXPECT_EQ(h.machine.statistics().unknown, 0u);
  h.expect_sums();
}

TEST(MachineSession, CanBeOpenedAgainAfterItWasClosed) {
  Harness h;
  h.open();
  Slot* write = h.put("a");
  h.machine.close(h.now);
  h.deliver(reply_message(wire::Type::kClosed, kSession, 1, h.machine.stamp(), Result::kCommitted, 0, 0));
  ASSERT_EQ(h.machine.state(), MachineState::kClosed);
  h.machine.open(h.now);  // before poll() has told what was outstanding
  EXPECT_EQ(h.last().stamp, 0u);
  Opening opening;
  opening.stamp = make_stamp(100, 2);
  EXPECT_EQ(h.deliver(opened(kSession, 2, opening)).kind, EventKind::kOpened);
  h.sent.clear();
  const std::vector<Event> events = h.poll();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].slot, write);
  EXPECT_EQ(events[0].result, Result::kUnknownOutcome);
  EXPECT_EQ(h.put("b")->sequence, 2u);
  for (const Sent& s : h.sent) EXPECT_NE(s.header.sequence, 1u);
  h.expect_sums();
}

TEST(MachineSession, CloseSettlesEverything) {
  Harness h;
  h.open();
  Slot* write = h.put("a");
  Slot* read = h.get("b");
  h.machine.close(h.now);
  EXPECT_EQ(h.count(wire::Type::kClose), 1u);
  const std::vector<Event> events = h.poll();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].slot, write);
  EXPECT_EQ(events[0].result, Result::kUnknownOutcome);
  EXPECT_EQ(events[1].slot, read);
  EXPECT_EQ(events[1].result, Result::kBadSession);
  const Message closed = reply_message(wire::Type::kClosed, kSession, 3, h.machine.stamp(), Result::kCommitted, 0, 0);
  EXPECT_EQ(h.deliver(closed).kind, EventKind::kClosed);
  EXPECT_EQ(h.machine.state(), MachineState::kClosed);
  h.expect_sums();
}

TEST(MachineSession, CloseWithoutAnswerEnds) {
  Harness h;
  h.open();
  h.machine.close(h.now);
  uint32_t closed = 0;
  for (int i = 0; i < 400; ++i) {
    for (const Event& event : h.poll_at(h.now + 10 * kMs)) closed += event.kind == EventKind::kClosed;
  }
  EXPECT_EQ(closed, 1u);
  EXPECT_EQ(h.machine.next_poll(), UINT64_MAX);
}

}  // namespace
}  // namespace txnic::client::test
