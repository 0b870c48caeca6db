// SPDX-License-Identifier: BSD-3-Clause
// Transactions over several shards of two nodes that the test plays by hand.
#include "tests/unit/client/cluster_harness.h"

namespace txnic::client::test {
namespace {

struct Split : ::testing::Test {
  void SetUp() override { h.open_both(&map); }
  void TearDown() override { h.expect_sums(); }
  const ShardMap map = two_nodes();
  ClusterHarness h;
};

TEST_F(Split, EachParticipantGetsItsOwnOperationsUnderItsNodesStamp) {
  Slot* slot = h.machine.acquire();
  wire::ExecuteBuilder builder(slot->buffer());
  builder.get(1, bytes_of(key_of(3)));
  builder.put(2, bytes_of(key_of(0)), bytes_of("new"));
  builder.put_if(1, bytes_of(key_of(3, 1)), bytes_of("x"), 77);
  builder.add(1, bytes_of(key_of(1)), -4);
  ASSERT_TRUE(h.machine.submit_split(slot, builder, 0, h.now));
  const auto sent = h.take(wire::Type::kPrepare);
  ASSERT_EQ(sent.size(), 3u);
  const ShardId shards[] = {3, 0, 1};
  const uint32_t operations[] = {2, 1, 1};
  for (uint32_t i = 0; i < 3; ++i) {
    const wire::Header& header = sent[i].header;
    Participants participants;
    std::array<wire::Operation, limits::kOperationsMax> parsed;
    ASSERT_EQ(wire::parse_prepare(sent[i].bytes.data(), header, &participants, parsed.data()), wire::ParseError::kNone);
    EXPECT_EQ(header.sequence, slot->sequence);
    EXPECT_EQ(header.shard, shards[i]);
    EXPECT_EQ(header.map_epoch, 5u);
    EXPECT_EQ(header.operation_count, operations[i]);
    EXPECT_EQ(participants.count, 3u);
    EXPECT_EQ(participants.shards[0], 3);
    EXPECT_EQ(participants.shards[1], 0);
    EXPECT_EQ(participants.shards[2], 1);
    EXPECT_EQ(sent[i].node, map.places[shards[i]].node);
    EXPECT_EQ(sent[i].worker, map.worker_of(shards[i]));
    EXPECT_EQ(header.stamp, make_stamp(shards[i] == 3 ? 200 : 100, 1));
    for (uint32_t k = 0; k < header.operation_count; ++k) EXPECT_EQ(shard_of(parsed[k].key_hash, 4), shards[i]);
    if (i == 0) {
      EXPECT_EQ(parsed[0].code, static_cast<uint8_t>(wire::Code::kGet));
      EXPECT_EQ(parsed[1].expected_version, 77u);
    }
  }
}

TEST_F(Split, OneShardStaysAnExecute) {
  Slot* slot = h.add({2, 2});
  ASSERT_EQ(h.sent.size(), 1u);
  EXPECT_EQ(h.last().type, static_cast<uint8_t>(wire::Type::kExecute));
  EXPECT_EQ(h.sent[0].node, 1u);
  EXPECT_EQ(h.deliver(executed(kSession, slot->sequence, slot->stamp, Result::kCommitted)).slot, slot);
}

TEST_F(Split, ValuesComeInTheCallersOrder) {
  Slot* slot = h.machine.acquire();
  wire::ExecuteBuilder builder(slot->buffer());
  builder.get(1, bytes_of(key_of(2)));             // 0: shard 2, its operation 0
  builder.get(1, bytes_of(key_of(0)));             // 1: shard 0, operation 0
  builder.put(1, bytes_of(key_of(2)), {});         // 2: shard 2, operation 1, no value
  builder.add(1, bytes_of(key_of(0)), 1);          // 3: shard 0, operation 1
  builder.get(1, bytes_of(key_of(2, 1)));          // 4: shard 2, operation 2
  ASSERT_TRUE(h.machine.submit_split(slot, builder, 0, h.now));
  Participants list;
  list.count = 2;
  list.map_epoch = 5;
  list.shards = {2, 0};
  const Version versions[] = {0, 31};
  Message m(limits::kMessageBytesMax);
  wire::begin_prepared(m.data(), {kSession, slot->sequence}, 1, list, versions);
  m.resize(wire::prepared_fixed_bytes(2));
  const auto value = [&m](uint8_t participant, uint8_t operation, const std::string& data) {
    const size_t at = m.size();
    m.resize(at + sizeof(wire::ValueHeader) + data.size());
    store(m.data() + at, wire::ValueHeader{7, static_cast<uint16_t>(data.size()), operation, 1, participant, {}});
    std::memcpy(m.data() + at + sizeof(wire::ValueHeader), data.data(), data.size());
  };
  value(0, 0, "zero");
  value(0, 2, "four");
  value(1, 0, "one");
  value(1, 1, "three");
  wire::finish_prepared(m.data(), static_cast<uint32_t>(m.size()), 4);
  const Event event = h.deliver(m);
  ASSERT_EQ(event.kind, EventKind::kSettled);
  EXPECT_EQ(event.result, Result::kCommitted);
  EXPECT_EQ(event.commit_version, 31u);
  Values values;
  h.machine.read_values(event, &values);
  ASSERT_EQ(values.count, 4u);
  const uint8_t operations[] = {0, 1, 3, 4};
  const char* data[] = {"zero", "one", "three", "four"};
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values.values[i].operation, operations[i]);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(values.values[i].data), values.values[i].length), data[i]);
  }
  ASSERT_EQ(values.participants, 2u);
  EXPECT_EQ(values.shards[1], 0);
  EXPECT_EQ(values.versions[0], 0u);
  EXPECT_EQ(values.versions[1], 31u);
}

TEST_F(Split, WhatIsDecidedIsFinalUnderWhateverStamp) {
  Slot* first = h.add({0, 2});
  const Event event = h.deliver(h.decided(first, Result::kLocked, make_stamp(1, 1)));
  EXPECT_EQ(event.slot, first);
  EXPECT_EQ(event.result, Result::kLocked);
  Slot* second = h.add({0, 2});
  EXPECT_EQ(h.deliver(h.decided(second, Result::kCommitted)).slot, second);
  EXPECT_EQ(h.machine.statistics().aborted, 1u);
  EXPECT_EQ(h.machine.statistics().committed, 1u);
}

TEST_F(Split, CopiesGoToAllParticipants) {
  Slot* slot = h.add({0, 2});
  h.sent.clear();
  h.poll_at(h.now + 21 * kMs);
  auto copies = h.take(wire::Type::kPrepare);
  ASSERT_EQ(copies.size(), 2u);
  h.poll_at(h.now + 41 * kMs);
  EXPECT_EQ(h.take(wire::Type::kPrepare).size(), 2u);
  EXPECT_EQ(slot->sends, 3);
  EXPECT_EQ(h.machine.statistics().retransmissions, 4u);
}

TEST_F(Split, ARefusalOfACopyIsNoOutcome) {
  Slot* slot = h.add({0, 2});
  h.sent.clear();
  const auto busy = static_cast<uint8_t>(BusyReason::kLogFull);
  for (const ShardId shard : {ShardId{0}, ShardId{2}}) {  // without a deadline too
    const Stamp stamp = make_stamp(shard == 0 ? 100 : 200, 1);
    EXPECT_EQ(h.deliver(h.refusal(slot, shard, stamp, Result::kBusy, busy)).kind, EventKind::kNone);
  }
  EXPECT_EQ(slot->refusal, Result::kBusy);
  h.poll_at(h.now + 2 * kMs);
  EXPECT_EQ(h.take(wire::Type::kPrepare).size(), 2u);
  // Of an older stamp, of a shard that does not take part, without a reason.
  EXPECT_EQ(h.deliver(h.refusal(slot, 2, make_stamp(200, 0), Result::kBusy)).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.statistics().stale, 1u);
  EXPECT_EQ(h.deliver(h.refusal(slot, 3, make_stamp(200, 1), Result::kBusy)).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(h.refusal(slot, 2, make_stamp(200, 1), Result::kCommitted)).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.statistics().malformed, 2u);
}

TEST_F(Split, OnlyTheCoordinatorsLastingRefusalSettles) {
  Slot* slot = h.add({0, 2});
  EXPECT_EQ(h.deliver(h.refusal(slot, 2, make_stamp(200, 1), Result::kUnknownTable)).kind, EventKind::kNone);
  const Event event = h.deliver(h.refusal(slot, 0, make_stamp(100, 1), Result::kUnknownTable, 1));
  EXPECT_EQ(event.slot, slot);
  EXPECT_EQ(event.result, Result::kUnknownTable);
}

TEST_F(Split, ARestartThatKeepsTheWindowIsInvisible) {
  Slot* slot = h.add({0, 2});
  h.sent.clear();
  h.now += 1000 * kMs;
  h.deliver(h.refusal(slot, 2, make_stamp(201, 0), Result::kBadSession, 1));
  const auto opens = h.take(wire::Type::kOpen);
  ASSERT_EQ(opens.size(), 1u);
  EXPECT_EQ(opens[0].node, 1u);
  EXPECT_EQ(opens[0].header.stamp, make_stamp(200, 1));
  EXPECT_EQ(opens[0].header.sequence, 3u);
  // Meanwhile the other node goes on being asked, and serves others.
  h.poll_at(h.now + 21 * kMs);
  auto copies = h.take(wire::Type::kPrepare);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].header.shard, 0);
  EXPECT_NE(h.put("x", 0, 1), nullptr);
  EXPECT_EQ(h.take(wire::Type::kExecute).size(), 1u);
  EXPECT_EQ(h.open_node(1, 3, true, 7).kind, EventKind::kOpened);
  h.poll();
  copies = h.take(wire::Type::kPrepare);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].header.stamp, make_stamp(100, 1));
  EXPECT_EQ(copies[1].header.stamp, make_stamp(200, 7));
  EXPECT_EQ(h.deliver(h.decided(slot, Result::kCommitted)).slot, slot);
}

// The coordinator can still say; the participant would execute it a second time.
TEST_F(Split, AParticipantThatLostItsWindowNeverSeesTheIdAgain) {
  Slot* slot = h.add({0, 2});
  Slot* both = h.add({1, 0});
  h.lose_node(slot, 2, 1);
  EXPECT_TRUE(h.poll().empty());
  for (int i = 0; i < 5; ++i) {
    h.poll_at(h.now + 700 * kMs);
    for (const Sent& copy : h.take(wire::Type::kPrepare)) {
      if (copy.header.sequence == slot->sequence) {
        EXPECT_EQ(copy.header.shard, 0);
      }
    }
  }
  EXPECT_EQ(h.deliver(h.decided(slot, Result::kConflict)).slot, slot);
  EXPECT_EQ(h.deliver(h.decided(both, Result::kCommitted)).slot, both);
  h.sent.clear();
  EXPECT_NE(h.add({0, 2}), nullptr);  // a new one goes to both
  EXPECT_EQ(h.take(wire::Type::kPrepare).size(), 2u);
}

TEST_F(Split, ACoordinatorThatLostItsWindowMakesItUnknown) {
  Slot* slot = h.add({0, 2});
  Slot* other = h.add({2, 3});
  h.lose_node(slot, 0, 0);
  const auto events = h.poll();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].slot, slot);
  EXPECT_EQ(events[0].result, Result::kUnknownOutcome);
  EXPECT_FALSE(slot->resumable);
  h.machine.release(slot);
  h.sent.clear();
  h.poll_at(h.now + 2000 * kMs);
  for (const Sent& copy : h.take(wire::Type::kPrepare)) EXPECT_EQ(copy.header.sequence, other->sequence);
}

TEST_F(Split, ANodeThatRefusesTheSessionTakesOnlyItsOwnRequestsDown) {
  Slot* mine = h.put("x", 0, 0);
  Slot* slot = h.add({2, 3});
  h.now += 1000 * kMs;
  h.deliver(h.refusal(slot, 2, make_stamp(201, 0), Result::kBadSession, 1));
  const Event event = h.deliver(h.refused_opening(3, Result::kBadRequest, 0));
  EXPECT_EQ(event.kind, EventKind::kRefused);
  EXPECT_EQ(event.node, 1);
  const auto events = h.poll();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].slot, slot);
  EXPECT_EQ(h.machine.state(), MachineState::kOpen);
  EXPECT_EQ(h.answer(mine, Result::kCommitted).slot, mine);
  h.sent.clear();
  h.add({2, 3});  // tries again
  EXPECT_EQ(h.take(wire::Type::kOpen).size(), 1u);
}

TEST_F(Split, WhatHasTimedOutMayAskOnForItsOutcome) {
  Slot* slot = h.add({0, 2}, h.now + 100 * kMs);
  std::vector<Event> events = h.poll_at(h.now + 100 * kMs);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].result, Result::kUnknownOutcome);
  EXPECT_TRUE(events[0].timed_out);
  ASSERT_TRUE(slot->resumable);
  EXPECT_EQ(h.machine.watermark(), slot->sequence) << "the nodes would forget the outcome";
  Slot* later = h.add({0, 2});
  EXPECT_EQ(h.deliver(h.decided(later, Result::kCommitted)).slot, later);
  h.machine.release(later);
  h.sent.clear();
  ASSERT_TRUE(h.machine.resume(slot, h.now + 500 * kMs, h.now));
  h.poll();
  const auto copies = h.take(wire::Type::kPrepare);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].header.shard, 0);
  EXPECT_EQ(copies[0].header.watermark_lag, 0u);
  const Event event = h.deliver(h.decided(slot, Result::kCommitted));
  EXPECT_EQ(event.slot, slot);
  EXPECT_EQ(event.result, Result::kCommitted);
  EXPECT_EQ(h.machine.watermark(), later->sequence + 1);
  h.machine.release(slot);
}

TEST_F(Split, AHeldOutcomeLetsTheWindowGoWhenItIsReleased) {
  Slot* slot = h.add({0, 2}, h.now + 100 * kMs);
  ASSERT_EQ(h.poll_at(h.now + 100 * kMs).size(), 1u);
  h.machine.release(slot);
  EXPECT_EQ(h.machine.watermark(), 2u);
  slot = h.add({0, 2}, h.now + 100 * kMs);
  ASSERT_EQ(h.poll_at(h.now + 100 * kMs).size(), 1u);
  Slot* other = h.add({0, 2});
  h.lose_node(other, 0, 0);
  EXPECT_FALSE(h.machine.resume(slot, 0, h.now)) << "nobody knows any more";
  h.machine.release(slot);
  EXPECT_EQ(h.poll().size(), 1u);
}

TEST_F(Split, TooManyParticipantsOrBytesAreRefusedBeforeAnythingIsSent) {
  ShardMap wide = two_nodes(9);
  for (int i = 0; i < 60; ++i) wide.add_shard(1);
  ClusterHarness many;
  many.open_both(&wide);
  Slot* slot = many.machine.acquire();
  wire::ExecuteBuilder builder(slot->buffer());
  for (ShardId shard = 0; shard < 17; ++shard) ASSERT_TRUE(builder.get(1, bytes_of(key_of(shard, 0, 64))));
  EXPECT_FALSE(many.machine.submit_split(slot, builder, 0, many.now));
  many.machine.release(slot);
  slot = many.machine.acquire();
  wire::ExecuteBuilder sixteen(slot->buffer());
  for (ShardId shard = 0; shard < 16; ++shard) ASSERT_TRUE(sixteen.get(1, bytes_of(key_of(shard, 0, 64))));
  EXPECT_TRUE(many.machine.submit_split(slot, sixteen, 0, many.now));
  EXPECT_EQ(many.count(wire::Type::kPrepare), 16u);

  slot = h.machine.acquire();
  wire::ExecuteBuilder large(slot->buffer());
  const std::string filler(700, 'x');
  ASSERT_TRUE(large.put(1, bytes_of(key_of(0)), bytes_of(filler)));
  const std::string rest(limits::kMessageBytesMax - large.size() - 8 - key_of(0, 1).size() - 8 - key_of(2).size(), 'x');
  ASSERT_TRUE(large.put(1, bytes_of(key_of(0, 1)), bytes_of(rest)));
  ASSERT_TRUE(large.get(1, bytes_of(key_of(2))));
  EXPECT_FALSE(h.machine.submit_split(slot, large, 0, h.now)) << "no room for the list of participants";
  h.machine.release(slot);
  EXPECT_TRUE(h.sent.empty());
  EXPECT_EQ(h.machine.watermark(), 2u);
}

TEST_F(Split, AnswersThatDoNotFitAreDropped) {
  Slot* slot = h.add({0, 2});
  Message other_shard = h.decided(slot, Result::kCommitted);
  store(other_shard.data() + offsetof(wire::Header, shard), ShardId{2});
  EXPECT_EQ(h.deliver(other_shard).kind, EventKind::kNone);
  EXPECT_EQ(h.deliver(executed(kSession, slot->sequence, slot->stamp, Result::kCommitted)).kind, EventKind::kNone);
  Slot* single = h.put("x", 0, 1);
  EXPECT_EQ(h.deliver(h.decided(single, Result::kCommitted)).kind, EventKind::kNone);
  EXPECT_EQ(h.machine.statistics().malformed, 1u);
  EXPECT_EQ(h.machine.statistics().unmatched, 2u);
}

TEST_F(Split, CloseEndsItAtBothNodes) {
  Slot* slot = h.add({0, 2});
  h.sent.clear();
  h.machine.close(h.now);
  const auto closes = h.take(wire::Type::kClose);
  ASSERT_EQ(closes.size(), 2u);
  const auto events = h.poll();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].slot, slot);
  uint32_t closed = 0;
  for (const Sent& close : closes) {
    closed += h.deliver(reply_message(wire::Type::kClosed, kSession, close.header.sequence, close.header.stamp,
                                      Result::kCommitted, 0, 0)).kind == EventKind::kClosed;
  }
  EXPECT_EQ(closed, 1u);
  EXPECT_EQ(h.machine.state(), MachineState::kClosed);
}

}  // namespace
}  // namespace txnic::client::test
