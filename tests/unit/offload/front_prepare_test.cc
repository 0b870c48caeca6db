// SPDX-License-Identifier: BSD-3-Clause
// Transactions over several shards at the front: two shards of one worker, or two nodes with a front each. The
// machine's own rules are tested in tests/unit/commit; here: evaluation, locks, window, messages and answers.
#include "tests/unit/offload/front_pair.h"

namespace txnic::test {
namespace {

using commit::Record;

class Prepare : public FrontPair {};

// The two keys of these tests, one on each shard.
TEST_F(Prepare, TwoShardsOfOneWorkerCommit) {
  start_one_node();
  put(key(0), "a");
  put(key(1), "b");
  begin({0, 1});
  add_put(0, key(0), "A");
  add_get(1, key(1));
  add_put(1, key(1), "B");
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kCommitted);
  EXPECT_NE(answers[0].header.flags & wire::kReplyFlagDecided, 0);
  ASSERT_EQ(answers[0].values.size(), 1u);
  EXPECT_EQ(answers[0].values[0], "b") << "the value before the transaction's own write";
  EXPECT_EQ(read(key(0)), "A");
  EXPECT_EQ(read(key(1)), "B");
  EXPECT_NE(answers[0].versions[0], 0u);
  EXPECT_EQ(version(key(1)), answers[0].versions[1]);
  EXPECT_EQ(nodes[0].front->machine().size(), 0u) << "forgotten, and in the window";
  EXPECT_EQ(nodes[0].back.aside, 0);
  EXPECT_FALSE(nodes[0].front->machine().locks().any());
  EXPECT_EQ(nodes[0].front->held(), 0u);
}

TEST_F(Prepare, TwoNodesCommitAndADuplicateIsAnsweredFromTheWindow) {
  start_two_nodes();
  put(key(0), "a");
  begin({1, 0});
  add_put(0, key(0), "A");
  add_put(1, key(1), "B");
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kCommitted);
  EXPECT_EQ(answers[0].header.shard, 1) << "the first in the list coordinates";
  EXPECT_EQ(read(key(0)), "A");
  EXPECT_EQ(read(key(1)), "B");
  answers.clear();
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u) << "the coordinator alone answers";
  EXPECT_EQ(answers[0].result(), Result::kCommitted);
  EXPECT_EQ(answers[0].header.flags, wire::kReplyFlagDecided | wire::kReplyFlagDuplicate);
  EXPECT_EQ(nodes[0].back.records, (std::vector<Record>{Record::kPrepare, Record::kCommit}));
  EXPECT_EQ(nodes[1].back.records, (std::vector<Record>{Record::kPrepare, Record::kCommit, Record::kEnd}));
}

TEST_F(Prepare, NothingIsSaidBeforeItIsDurable) {
  start_two_nodes(true);
  prepare_both();
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(sent_between, 0u) << "a vote waits for its PREPARE record";
  nodes[1].back.sync_all();
  run();
  EXPECT_GT(sent_between, 0u);
  EXPECT_TRUE(answers.empty()) << "the coordinator's own PREPARE is not durable";
  nodes[0].back.sync_all();
  run();
  ASSERT_EQ(answers.size(), 1u) << "the decision is not on the way of the answer";
  EXPECT_EQ(answers[0].result(), Result::kCommitted);
  EXPECT_TRUE(nodes[1].front->machine().locks().any());
  nodes[0].back.sync_all();
  run();
  EXPECT_FALSE(nodes[1].front->machine().locks().any());
  nodes[1].back.sync_all();
  run();
  EXPECT_EQ(nodes[0].front->machine().size(), 0u);
}

// Traps 1 and 15: what a prepared transaction has locked is neither read nor written by others; what it has read may be
// read.
TEST_F(Prepare, LocksAreRespectedByTransactionsOfOneShard) {
  start_two_nodes(true);
  put(key(0), "a");
  put(key(1), "b");
  begin({0, 1});
  add_put(0, key(0), "A");
  add_get(1, key(1));
  send_all();
  run();
  EXPECT_EQ(one_shard(key(0), nullptr).result(), Result::kLocked);
  EXPECT_EQ(one_shard(key(0), "x").result(), Result::kLocked);
  EXPECT_EQ(one_shard(key(1), nullptr).result(), Result::kCommitted) << "a shared lock";
  EXPECT_EQ(one_shard(key(1), "x").result(), Result::kLocked);
  sync_all();
  EXPECT_EQ(one_shard(key(1), "x").result(), Result::kCommitted);
  EXPECT_EQ(read(key(0)), "A");
}

// The lock of an absent key keeps it absent (COMMIT 1).
TEST_F(Prepare, AnAbsentKeyThatWasReadStaysAbsent) {
  start_two_nodes(true);
  begin({0, 1});
  add_get(0, key(0));
  add_put(1, key(1), "B");
  send_all();
  run();
  EXPECT_EQ(one_shard(key(0), "x").result(), Result::kLocked);
  sync_all();
  EXPECT_EQ(one_shard(key(0), "x").result(), Result::kCommitted);
}

TEST_F(Prepare, ANoOfOneIsTheAbortOfAllAndIsRemembered) {
  start_two_nodes();
  begin({0, 1});
  add_put(0, key(0), "A");
  add_insert(1, key(1), "B");
  put(key(1), "b");
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kExists);
  EXPECT_NE(answers[0].header.flags & wire::kReplyFlagDecided, 0);
  EXPECT_EQ(read(key(0)), "");
  EXPECT_FALSE(nodes[0].front->machine().locks().any());
  EXPECT_EQ(nodes[0].back.aside, 0);
  nodes[1].back.rows.clear();  // the reason is gone; the abort stays (trap 14)
  answers.clear();
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kExists);
  EXPECT_EQ(read(key(0)), "");
}

// COMMIT 6: a reason that is not durable yet is said as a durable "never".
TEST_F(Prepare, ABusinessReasonWaitsForTheLogThatItDependsOn) {
  start_two_nodes(true);
  EXPECT_EQ(one_shard(key(1), "b").action, offload::Action::kHold);
  begin({0, 1});
  add_put(0, key(0), "A");
  add_insert(1, key(1), "B");
  send_all();
  run();
  nodes[0].back.sync_all();
  run();
  EXPECT_EQ(sent_between, 0u);
  nodes[1].back.sync_all();
  run();
  nodes[0].back.sync_all();
  run(100'000'000);  // the coordinator may have to ask
  sync_all();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers[0].result(), Result::kExists);
}

TEST_F(Prepare, ANewerCopyTakesThePlaceOfTheOneThatWaits) {
  start_two_nodes(true);
  prepare_both();
  send_all();
  run();
  EXPECT_EQ(dropped, 1u);
  sync_all();
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_EQ(nodes[0].front->counters().superseded, 1u);
  EXPECT_EQ(kept_copies(), 0u);
}

TEST_F(Prepare, WhatCannotBeTakenIsRefusedWithoutAnOutcome) {
  start_two_nodes();
  begin({0, 1});
  add_put(0, key(0), "A");
  add_put(1, key(1), "B");
  nodes[1].back.has_room = false;
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kBusy);
  EXPECT_EQ(answers[0].header.detail, static_cast<uint8_t>(BusyReason::kMemory));
  EXPECT_EQ(answers[0].header.flags & wire::kReplyFlagDecided, 0);
  answers.clear();
  nodes[1].back.has_room = true;
  send_all();
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kCommitted) << "the same id may be sent again (COMMIT 5)";
}

TEST_F(Prepare, AnotherListOrEpochOrShardIsRefused) {
  start_two_nodes(true);
  prepare_both();
  begin_again({0, 1, 2});
  add_put(0, key(0), "A");
  send_to(0);
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kWrongShard) << "there is no shard 2";
  answers.clear();
  begin_again({1, 0});
  add_put(0, key(0), "A");
  send_to(0);
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kBadRequest) << "the id is bound to another list (COMMIT 7)";
  answers.clear();
  map_epoch = 6;
  begin({0, 1});
  add_put(0, key(0), "A");
  send_to(0);
  run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result(), Result::kWrongShard);
  EXPECT_EQ(answers[0].header.map_epoch, 7u) << "tells the client which map is valid";
  map_epoch = 7;
  begin({0, 1});
  add_put(0, key(0), "A");
  send_to(0, 1);  // to the other node
  run();
  EXPECT_EQ(answers.back().result(), Result::kWrongShard);
}

// COMMIT 9: neither expiry nor close nor a new life may take the window of what is not over.
TEST_F(Prepare, ASessionWithSomethingInDoubtIsNeitherClosedNorBegunAnew) {
  start_two_nodes(true);
  begin({0, 1});
  add_put(0, key(0), "A");
  add_put(1, key(1), "B");
  send_to(0);
  run();
  EXPECT_EQ(close(0).result(), Result::kBusy);
  now += 400'000'000'000;
  run(2'000'000);
  EXPECT_NE(nodes[0].sessions.find(kSession), nullptr) << "not expired";
  EXPECT_EQ(nodes[1].sessions.find(kSession), nullptr) << "there nothing was in doubt";
  sync_all();
  run(100'000'000);
  sync_all();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.back().result(), Result::kConflict) << "the other node has promised never to prepare it";
  EXPECT_EQ(close(0).action, offload::Action::kHold);
  sync_all();
  EXPECT_EQ(last.header.type, static_cast<uint8_t>(wire::Type::kClosed));
}

// Clients, and strangers, cannot speak for a participant.
TEST_F(Prepare, MessagesBetweenParticipantsAreTakenFromNodesOnly) {
  start_two_nodes();
  wire::CommitMessage m;
  m.type = wire::Type::kDecision;
  m.shard = 0;
  m.sender = 1;
  m.id = {kSession, 1};
  m.participants = {2, 7, {0, 1}};
  std::vector<std::byte> bytes(limits::kMessageBytesMax);
  const uint32_t length = wire::build_commit_message(m, bytes);
  EXPECT_EQ(deliver(0, kClient, bytes, length), offload::Action::kDrop);
  EXPECT_EQ(deliver(0, nodes[0].at, bytes, length), offload::Action::kDrop) << "from our own address, over the network";
  EXPECT_EQ(deliver(0, nodes[1].at, bytes, length), offload::Action::kTaken);
  EXPECT_EQ(deliver(0, nodes[1].at, bytes, length - 1), offload::Action::kDrop);
  // Two in one datagram, the second one cut.
  bytes.resize(4096);
  const uint32_t second = (length + 7) & ~7u;
  std::memcpy(&bytes[second], bytes.data(), length);
  EXPECT_EQ(deliver(0, nodes[1].at, bytes, second + length), offload::Action::kTaken);
  EXPECT_EQ(deliver(0, nodes[1].at, bytes, second + length - 4), offload::Action::kDrop);
  EXPECT_EQ(nodes[0].front->counters().peer_messages, 4u);
}

}  // namespace
}  // namespace txnic::test
