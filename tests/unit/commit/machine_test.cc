// SPDX-License-Identifier: BSD-3-Clause
// The steps of the commit machine one by one: a coordinator (shard 0), a participant (shard 1), and the messages
// between them in this test's hand.
#include <gtest/gtest.h>

#include "tests/unit/commit/toy_node.h"

namespace txnic::test {
namespace {

using wire::Type;
using wire::Vote;

class CommitMachine : public ::testing::Test {
 protected:
  struct Sent {
    ShardId to;
    std::vector<std::byte> bytes;
    wire::CommitMessage parsed;
  };

  ToyNode::Hooks hooks() {
    return {[this](ShardId to, std::vector<std::byte> bytes) {
              Sent sent{to, std::move(bytes), {}};
              EXPECT_EQ(wire::parse_commit_message(sent.bytes.data(), static_cast<uint32_t>(sent.bytes.size()),
                                                   &sent.parsed),
                        wire::ParseError::kNone);
              sent_.push_back(std::move(sent));
            },
            [this](const TransactionId& id, Result result, const std::map<Key, uint64_t>& read) {
              told_.emplace_back(id.sequence, result);
              read_ = read;
            },
            [](const LogRecord&) {}};
  }

  // A transaction that adds one to key 1 at shard 0 and to key 11 at shard 1.
  Work work(ShardId shard, Sequence sequence = 1) {
    Work work;
    work.id = {100, sequence};
    work.participants.count = 2;
    work.participants.shards = {0, 1};
    work.shard = shard;
    work.adds = {shard * 10u + 1};
    work.stamp = node(shard).incarnation;
    return work;
  }
  ToyNode& node(ShardId shard) { return shard == 0 ? coordinator_ : participant_; }
  void prepare(ShardId shard, Sequence sequence = 1) { node(shard).on_work(work(shard, sequence), now_); }
  void sync(ShardId shard) { node(shard).sync(SIZE_MAX, now_); }

  // Takes the newest message of a type out of the network; it must be there.
  Sent take(Type type) {
    for (size_t i = sent_.size(); i-- > 0;) {
      if (sent_[i].parsed.type != type) continue;
      Sent sent = sent_[i];
      sent_.erase(sent_.begin() + static_cast<ptrdiff_t>(i));
      return sent;
    }
    ADD_FAILURE() << "no message of type " << static_cast<int>(type);
    std::abort();
  }
  bool has(Type type) const {
    for (const Sent& sent : sent_) {
      if (sent.parsed.type == type) return true;
    }
    return false;
  }
  void deliver(const Sent& sent) { node(sent.to).on_bytes(sent.bytes, now_); }
  void deliver_all() {
    for (int i = 0; i < 100 && !sent_.empty(); ++i) {
      const Sent sent = sent_.front();
      sent_.erase(sent_.begin());
      deliver(sent);
    }
  }
  void timers(ShardId shard) {
    now_ += 10'000;
    for (int i = 0; i < 8; ++i) node(shard).on_timer(now_);
  }
  void settle() {
    for (int i = 0; i < 6; ++i) {
      for (ShardId shard = 0; shard < 2; ++shard) {
        timers(shard);
        sync(shard);
      }
      deliver_all();
    }
  }

  TimeNs now_ = 1000;
  std::vector<Sent> sent_;
  std::vector<std::pair<Sequence, Result>> told_;
  std::map<Key, uint64_t> read_;
  ToyNode coordinator_{{0}, 4, hooks()};
  ToyNode participant_{{1}, 4, hooks()};
};

TEST_F(CommitMachine, CommitIsToldWhenAllVotesAreDurableAndBeforeTheDecisionIs) {
  prepare(0);
  prepare(1);
  EXPECT_FALSE(has(Type::kVote)) << "the PREPARE record is not durable";
  sync(1);
  deliver(take(Type::kVote));
  EXPECT_TRUE(told_.empty()) << "the coordinator's own PREPARE is not durable";
  sync(0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, Result::kCommitted);
  EXPECT_EQ(read_, (std::map<Key, uint64_t>{{1, 0}, {11, 0}}));
  EXPECT_EQ(coordinator_.store[1], 1u);
  EXPECT_FALSE(coordinator_.machine.locks().any());
  EXPECT_FALSE(has(Type::kDecision)) << "the decision is not durable";
  sync(0);
  deliver(take(Type::kDecision));
  EXPECT_EQ(participant_.store[11], 1u);
  EXPECT_FALSE(participant_.machine.locks().any());
  EXPECT_FALSE(has(Type::kAcknowledge)) << "the participant's record is not durable";
  sync(1);
  EXPECT_EQ(participant_.machine.size(), 0u);
  deliver(take(Type::kAcknowledge));
  EXPECT_EQ(coordinator_.machine.size(), 0u);
  EXPECT_EQ(coordinator_.machine.counters().ended, 1u);
}

TEST_F(CommitMachine, LocksAreExclusiveForWritesAndSharedForReads) {
  prepare(1);
  const commit::LockTable& locks = participant_.machine.locks();
  EXPECT_TRUE(locks.is_write_locked(11));
  EXPECT_FALSE(locks.is_locked(12));
  Work reader = work(1, 2);
  reader.adds.clear();
  reader.reads = {12};
  participant_.on_work(reader, now_);
  EXPECT_TRUE(locks.is_locked(12));
  EXPECT_FALSE(locks.is_write_locked(12));
  sent_.clear();
  Work writer = work(1, 3);
  writer.adds = {12};
  participant_.on_work(writer, now_);
  const Sent no = take(Type::kVote);
  EXPECT_EQ(no.parsed.vote, Vote::kNo);
  EXPECT_EQ(no.parsed.result, Result::kLocked);
  participant_.on_work(writer, now_);
  EXPECT_FALSE(has(Type::kVote)) << "a refusal is remembered, and no copy is evaluated again";
}

TEST_F(CommitMachine, AbortIsToldWhenItIsDurable) {
  prepare(0);
  sync(0);
  Work no = work(1);
  no.fails = true;
  participant_.on_work(no, now_);
  deliver(take(Type::kVote));
  EXPECT_FALSE(coordinator_.machine.locks().any());
  EXPECT_TRUE(told_.empty());
  sync(0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, Result::kCheckFailed);
  settle();
  EXPECT_EQ(coordinator_.machine.size(), 0u);
  EXPECT_EQ(participant_.machine.size(), 0u);
}

// COMMIT 6, trap 6: the answer "never" outlives a crash. Else: prepared later, committed and told, and after a crash of
// the coordinator the old answer undoes it.
TEST_F(CommitMachine, NeverIsSaidOnlyWhenItIsDurable) {
  prepare(0);
  sync(0);
  timers(0);
  deliver(take(Type::kAsk));
  EXPECT_FALSE(has(Type::kVote));
  participant_.crash(0, now_);  // the promise is lost, and nobody has heard of it
  prepare(1);
  sync(1);
  EXPECT_EQ(take(Type::kVote).parsed.vote, Vote::kYes);

  participant_.crash(0, now_);
  sent_.clear();
  timers(1);
  EXPECT_TRUE(has(Type::kInquire));
}

TEST_F(CommitMachine, APromiseIsKeptAgainstAPrepareThatComesLate) {
  prepare(0);
  sync(0);
  timers(0);
  deliver(take(Type::kAsk));
  sync(1);
  const Sent never = take(Type::kVote);
  EXPECT_EQ(never.parsed.vote, Vote::kNever);
  participant_.crash(0, now_);
  prepare(1);
  sync(1);
  EXPECT_FALSE(participant_.machine.locks().any());
  deliver(never);
  sync(0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].second, Result::kCommitted);
}

// COMMIT 4: a no from before the coordinator's restart must not undo a commit that was told.
TEST_F(CommitMachine, ARecoveredCoordinatorIgnoresPlainNoVotes) {
  Work no = work(1);
  no.fails = true;
  participant_.on_work(no, now_);
  const Sent old_no = take(Type::kVote);
  participant_.crash(0, now_);  // forgets that it refused
  prepare(0);
  prepare(1);
  sync(0);
  sync(1);
  deliver(take(Type::kVote));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, Result::kCommitted);
  coordinator_.crash(0, now_);  // the decision is lost, the PREPARE is not
  EXPECT_TRUE(coordinator_.machine.locks().any()) << "locked again before anything is served";
  deliver(old_no);
  sync(0);
  settle();
  EXPECT_EQ(coordinator_.store[1], 1u);
  EXPECT_EQ(participant_.store[11], 1u);
}

TEST_F(CommitMachine, ACoordinatorThatIsAskedAboutTheUnknownPromisesFirst) {
  prepare(1);
  sync(1);
  sent_.clear();
  timers(1);
  deliver(take(Type::kInquire));
  EXPECT_FALSE(has(Type::kDecision));
  sync(0);
  const Sent decision = take(Type::kDecision);
  EXPECT_NE(decision.parsed.result, Result::kCommitted);
  prepare(0);  // too late
  sync(0);
  EXPECT_FALSE(coordinator_.machine.locks().any());
  deliver(decision);
  EXPECT_FALSE(participant_.machine.locks().any());
}

// Durability none (COMMIT 18): a coordinator that was started again does not know what it has told, so the participant
// asks on, and gives up in the end.
TEST_F(CommitMachine, ACoordinatorThatForgetsDoesNotSayAbort) {
  coordinator_.forgets = true;
  coordinator_.crash(0, now_);
  prepare(1);
  sync(1);
  deliver(take(Type::kVote));  // from before its restart, or sent again: it knows no more for that
  timers(1);
  deliver(take(Type::kInquire));
  sync(0);
  const Sent unknown = take(Type::kDecision);
  EXPECT_EQ(unknown.parsed.result, Result::kUnknownOutcome);
  EXPECT_EQ(coordinator_.machine.counters().promises, 0u);
  deliver(unknown);
  deliver(unknown);
  EXPECT_TRUE(participant_.machine.locks().any());
  for (int i = 0; i < 3; ++i) timers(1);
  EXPECT_TRUE(participant_.machine.locks().any()) << "it asks for some time first";
  for (uint32_t i = 0; i < 2 * limits::kAskAttemptsMax; ++i) timers(1);
  sync(1);
  EXPECT_FALSE(participant_.machine.locks().any());
  EXPECT_EQ(participant_.machine.counters().orphaned, 1u);
}

// And whatever outcome another one still knows is adopted: here a commit, which comes late.
TEST_F(CommitMachine, AnOrphanAdoptsWhatAnotherOneKnows) {
  coordinator_.forgets = true;
  coordinator_.crash(0, now_);
  prepare(1);
  sync(1);
  timers(1);
  deliver(take(Type::kInquire));
  sync(0);
  deliver(take(Type::kDecision));
  wire::CommitMessage commit;
  commit.type = Type::kDecision;
  commit.sender = 0;
  commit.shard = 1;
  commit.id = work(1).id;
  commit.participants = work(1).participants;
  std::vector<std::byte> bytes(limits::kMessageBytesMax);
  bytes.resize(wire::build_commit_message(commit, bytes));
  node(1).on_bytes(bytes, now_);
  sync(1);
  EXPECT_FALSE(participant_.machine.locks().any());
  EXPECT_EQ(participant_.machine.counters().orphaned, 0u);
  EXPECT_EQ(participant_.store.at(11), 1u);
}

TEST_F(CommitMachine, DuplicatesOfEverythingChangeNothing) {
  for (int copy = 0; copy < 3; ++copy) {
    prepare(0);
    prepare(1);
    sync(0);
    sync(1);
  }
  for (int i = 0; i < 12; ++i) {
    if (sent_.empty()) break;
    const Sent sent = sent_.front();
    sent_.erase(sent_.begin());
    for (int copy = 0; copy < 3; ++copy) deliver(sent);
    sync(0);
    sync(1);
  }
  settle();
  EXPECT_EQ(coordinator_.store[1], 1u);
  EXPECT_EQ(participant_.store[11], 1u);
  EXPECT_EQ(coordinator_.machine.counters().decided_commit, 1u);
  EXPECT_EQ(participant_.machine.counters().contradictions, 0u);
}

// COMMIT 7: two lists for one id can never both be committed, and nobody stays in doubt.
TEST_F(CommitMachine, AnIdIsBoundToItsParticipants) {
  prepare(0);
  sync(0);
  Work other = work(1);
  other.participants.count = 3;
  other.participants.shards = {0, 1, 2};
  participant_.on_work(other, now_);
  sync(1);
  deliver(take(Type::kVote));
  EXPECT_GT(coordinator_.machine.counters().differed, 0u);
  sent_.clear();
  timers(0);
  deliver(take(Type::kAsk));
  deliver(take(Type::kVote));
  sync(0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, Result::kBadRequest);
  sent_.clear();
  timers(1);
  while (has(Type::kInquire)) {
    const Sent inquire = take(Type::kInquire);
    if (inquire.to != 2) deliver(inquire);
  }
  deliver(take(Type::kDecision));
  EXPECT_FALSE(participant_.machine.locks().any());
}

TEST_F(CommitMachine, AFullLogIsTriedAgain) {
  prepare(0);
  prepare(1);
  sync(0);
  sync(1);
  coordinator_.log_limit = coordinator_.log_size();
  deliver(take(Type::kVote));
  EXPECT_TRUE(told_.empty()) << "no decision without a record";
  EXPECT_TRUE(coordinator_.machine.locks().any());
  coordinator_.log_limit = SIZE_MAX;
  settle();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, Result::kCommitted);
  EXPECT_EQ(participant_.store[11], 1u);
}

TEST_F(CommitMachine, AFullTableTakesNothingAndLeaksNothing) {
  for (Sequence sequence = 1; sequence <= 6; ++sequence) {
    Work more = work(1, sequence);
    more.adds = {sequence + 100};
    participant_.on_work(more, now_);
  }
  EXPECT_EQ(participant_.machine.size(), 4u);
  EXPECT_EQ(participant_.machine.locks().size(), 4u);
  EXPECT_EQ(participant_.machine.counters().full, 2u);
  settle();
  EXPECT_EQ(participant_.machine.size(), 0u) << "the coordinator has aborted what it does not know";
  EXPECT_FALSE(participant_.machine.locks().any());
}

TEST_F(CommitMachine, TooManyValuesForOneAnswerIsAnAbort) {
  Work big = work(1);
  big.adds.clear();
  for (Key key = 100; key < 140; ++key) big.reads.push_back(key);
  participant_.on_work(big, now_);
  big = work(0);
  big.adds.clear();
  for (Key key = 200; key < 240; ++key) big.reads.push_back(key);
  coordinator_.on_work(big, now_);
  sync(0);
  sync(1);
  deliver(take(Type::kVote));
  sync(0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, Result::kTooLarge);
}

TEST_F(CommitMachine, LocksAreNeverReleasedByATimer) {
  prepare(1);
  sync(1);
  for (int i = 0; i < 1000; ++i) timers(1);
  EXPECT_TRUE(participant_.machine.locks().any());
  EXPECT_GT(participant_.machine.counters().inquired, 100u);
}

// COMMIT 24: the operator ends what waits for a coordinator that stays away. What the coordinator says later is
// compared, and a contradiction is counted, never carried out.
TEST_F(CommitMachine, TheOperatorDecidesAndAContradictionIsReported) {
  prepare(1);
  EXPECT_EQ(participant_.machine.force({100, 1}, 1, false, now_), commit::Forced::kNotInDoubt) << "not durable yet";
  sync(1);
  EXPECT_EQ(participant_.machine.force({100, 9}, 1, false, now_), commit::Forced::kNotInDoubt);
  EXPECT_EQ(participant_.machine.force({100, 1}, 1, false, now_), commit::Forced::kDone);
  EXPECT_FALSE(participant_.machine.locks().any());
  sync(1);
  now_ += 1'000'000;
  for (int i = 0; i < 100; ++i) participant_.machine.on_timer(now_);
  wire::CommitMessage m;
  m.type = Type::kDecision;
  m.shard = 1;
  m.id = {100, 1};
  m.participants = work(1).participants;
  participant_.machine.on_message(m, now_);
  EXPECT_EQ(participant_.machine.counters().contradictions, 1u);
  EXPECT_EQ(participant_.store[11], 0u) << "never overwritten";
  m.result = Result::kConflict;
  participant_.machine.on_message(m, now_);
  EXPECT_EQ(participant_.machine.counters().contradictions, 1u);
  for (int i = 0; i < 100; ++i) participant_.machine.on_timer(now_ += 1000);
  EXPECT_EQ(participant_.machine.size(), 0u);
}

// What the operator has decided is not said to the coordinator as an acknowledgement of its own decision: it is asked,
// and answers also when it has never heard of the transaction.
TEST_F(CommitMachine, AForcedCommitIsComparedWithTheCoordinatorsAbort) {
  for (const bool coordinator_knows : {false, true}) {
    SCOPED_TRACE(coordinator_knows);
    const Sequence sequence = coordinator_knows ? 2 : 1;
    Work part = work(1, sequence);
    participant_.on_work(part, now_);
    sync(1);
    sent_.clear();
    if (coordinator_knows) {  // it has decided to abort, and the decision is lost
      wire::CommitMessage no;
      no.type = Type::kVote;
      no.vote = wire::Vote::kNo;
      no.result = Result::kConflict;
      no.sender = 1;
      no.id = part.id;
      no.participants = part.participants;
      coordinator_.on_work(work(0, sequence), now_);
      coordinator_.machine.on_message(no, now_);
      sync(0);
      EXPECT_TRUE(has(Type::kDecision));
      sent_.clear();
    }
    ASSERT_EQ(participant_.machine.force(part.id, 1, true, now_), commit::Forced::kDone);
    sync(1);
    EXPECT_FALSE(has(Type::kAcknowledge));
    EXPECT_TRUE(has(Type::kInquire));
    sent_.clear();  // lost: asked again
    for (int i = 0; i < 100; ++i) timers(1);
    EXPECT_TRUE(has(Type::kInquire));
    settle();
    EXPECT_EQ(participant_.machine.counters().contradictions, coordinator_knows ? 2u : 1u);
    EXPECT_EQ(coordinator_.machine.counters().ended, 0u) << "nobody has acknowledged the abort";
    sent_.clear();
    settle();
    EXPECT_EQ(participant_.machine.counters().contradictions, coordinator_knows ? 2u : 1u) << "told once";
  }
}

}  // namespace
}  // namespace txnic::test
