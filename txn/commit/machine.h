// SPDX-License-Identifier: BSD-3-Clause
// Two-phase commit at the shards of one worker, as participant and as coordinator. Pure: messages and the time are
// passed in, memory is given at init, and node.h is all that it asks for. Not thread-safe: one owner.
//
// What it promises, whatever is lost, doubled, delayed or reordered, and whoever crashes between any two steps:
// - all participants commit or none does;
// - a commit is answered when it is certain, an abort when it is durable, and neither ever turns into the other;
// - a transaction's locks go when it is decided, and never by a timer.
// Each step has its file, see README.md.
#pragma once

#include "txn/commit/node.h"
#include "txn/commit/transaction_table.h"

namespace txnic::commit {

struct MachineConfig {
  uint32_t incarnation = 1;
  uint32_t transactions = limits::kCommitTransactionsDefault;
  uint32_t locks = limits::kCommitLocksDefault;
  // Durability none: a restart forgets everything, so that a node without a record of a transaction cannot say that it
  // was not committed (COMMIT 18).
  bool forgets = false;
  TimeNs ask_delay_ns = limits::kAskDelayNanoseconds;
  TimeNs ask_delay_max_ns = limits::kAskDelayMaxNanoseconds;
  TimeNs vote_keep_ns = limits::kVoteKeepNanoseconds;
  TimeNs promise_keep_ns = limits::kPromiseKeepNanoseconds;
  TimeNs timer_pause_ns = limits::kCommitTimerPauseNanoseconds;
};

// A participant's part of a transaction, evaluated. What the spans point to is copied.
struct PrepareRequest {
  TransactionId id;
  ShardId shard = 0;
  Participants participants;
  Client client;
  Result verdict = Result::kCommitted;  // of the evaluation; anything else is a no
  uint8_t detail = 0;
  std::span<const Lock> locks;  // each key once, with the stronger mode
  Bytes redo;                   // at most kPreparedBytesMax
  Version version = 0;          // reserved; 0: nothing is written
  Bytes values;                 // as in a VOTE, at most what fits one
  uint8_t value_count = 0;
  bool depends_on_log = false;  // a no whose reason is not durable yet: it is said as a durable "never" (COMMIT 6)
};

// What became of a copy of a PREPARE. But for kTaken and kRefused the copy is not kept, and the client gets a refusal,
// which is no outcome.
enum class PrepareAnswer : uint8_t {
  kNew,        // seen(): not known here, evaluate it
  kTaken,      // what is to be said has been said, or will be; the client's copy is kept until answer() or let_go()
  kRefused,    // the same, but as a no: what was set aside for its writes is the caller's again
  kFinished,   // the window has the outcome; the coordinator's front answers from it
  kForgotten,  // below the watermark: OLD_SEQUENCE
  kDiffers,    // the id is bound to another list of participants: BAD_REQUEST (COMMIT 7)
  kFull,       // no room for a transaction or its locks: BUSY
  kLogFull,    // BUSY
};

// A transaction as recovery found it: the last record about it, and the PREPARE record's content if it was prepared.
struct Restored {
  State state = State::kUnknown;
  Result result = Result::kCommitted;  // kAborted: why
  uint8_t detail = 0;
  bool forced = false;      // by the operator
  PrepareRequest prepared;  // always: id, shard, participants, version; the rest with State::kPrepared
};

enum class Forced : uint8_t {
  kDone,
  kNotInDoubt,  // not known here, not prepared, or decided
  kLogFull,     // nothing has changed; try again
};

struct MachineCounters {
  uint64_t prepared = 0, refused = 0;                         // as participant
  uint64_t committed = 0, aborted = 0;                        // as participant
  uint64_t decided_commit = 0, decided_abort = 0, ended = 0;  // as coordinator
  uint64_t promises = 0;                                      // aborts of what was not prepared here
  uint64_t asked = 0, inquired = 0, decisions_repeated = 0;
  uint64_t full = 0;            // messages dropped for lack of a slot: sent again by their senders
  uint64_t differed = 0;        // named another list of participants than the id is bound to
  uint64_t forced = 0;          // by the operator
  uint64_t orphaned = 0;        // participant, durability none: aborted because nobody knew the outcome (any more)
  uint64_t contradictions = 0;  // transactions with a decision against a durable one: never overwritten, an alarm
};

class Machine {
 public:
  static size_t memory_bytes(const MachineConfig& config);
  // `memory`: memory_bytes(config), 64-aligned. It and `node` outlive the machine.
  void init(const MachineConfig& config, MutableBytes memory, Node* node);

  // ---- prepare.cc: a copy of a PREPARE. seen() first; with kNew evaluate and call prepare().
  PrepareAnswer seen(const TransactionId& id, ShardId shard, const Participants& participants, const Client& client,
                     TimeNs now);
  PrepareAnswer prepare(const PrepareRequest& request, TimeNs now);
  // ---- a message of another participant, for a shard of this worker
  void on_message(const wire::CommitMessage& m, TimeNs now);
  // The same of many, in stages, so that their cache misses overlap: call each for all, then on_message() for all.
  void prefetch_chain(const wire::CommitMessage& m) { table_.prefetch_chain(m.id, m.shard); }
  void prefetch_first(const wire::CommitMessage& m) { table_.prefetch_first(m.id, m.shard); }
  // A prepared transaction that this message may bring to its end, or null.
  const Transaction* may_end(const wire::CommitMessage& m) {
    if (m.type != wire::Type::kVote && m.type != wire::Type::kDecision) return nullptr;
    const Transaction* const t = table_.find(m.id, m.shard);
    return t != nullptr && t->state == State::kPrepared ? t : nullptr;
  }
  // ---- durable.cc: the log is durable up to here
  void on_durable(Lsn durable, TimeNs now);
  // ---- timers.cc: one bounded step. Answers how much was done.
  uint32_t on_timer(TimeNs now);
  // ---- force.cc: the operator decides what is prepared here and in doubt.
  Forced force(const TransactionId& id, ShardId shard, bool commit, TimeNs now);
  // ---- restore.cc: before anything is served. False: no room, or two prepared transactions lock the same key.
  bool restore(const Restored& restored, TimeNs now);

  // Locks that transactions of one shard must respect.
  const LockTable& locks() const { return locks_; }
  // The machine keeps this transaction: its window entry must stay (COMMIT 9).
  bool knows(const TransactionId& id, ShardId shard) { return table_.find(id, shard) != nullptr; }
  // Something of this session is prepared, or decided and not acknowledged by all: its windows must stay (COMMIT 9).
  bool holds_session(SessionId session) const;
  uint32_t size() const { return table_.size(); }
  const MachineCounters& counters() const { return counters_; }
  // For checkpoints, in bounded steps: what must survive a restart in slot `slot` < capacity(), or null. A transaction
  // stays in its slot as long as it is kept.
  uint32_t capacity() const { return table_.capacity(); }
  const Transaction* kept(uint32_t slot) const {
    const Transaction& t = table_.at(slot);
    return t.in_use && t.state != State::kUnknown ? &t : nullptr;
  }
  // The same at once, for the operator: calls each(transaction).
  template <class Each>
  void for_each(Each&& each) {
    for (uint32_t slot = 0; slot < capacity(); ++slot) {
      if (const Transaction* const t = kept(slot); t != nullptr) each(*t);
    }
  }

 private:
  struct Awaited {  // a record that is not durable yet
    Lsn lsn;
    uint32_t slot;
    uint32_t generation;
    State state;  // that it makes durable
  };

  // machine.cc
  Transaction* find_or_insert(const wire::CommitMessage& m, TimeNs now);
  bool log(Record record, Transaction& t);
  bool abort(Transaction& t, Result result, uint8_t detail);
  bool finish_commit(Transaction& t);
  bool keep_values(Transaction& t, uint32_t participant, Version version, Bytes values, uint8_t count);
  void wait(Transaction& t, TimeNs now);
  void drop(Transaction& t);
  void tell(Transaction& t);
  void wait_for(Transaction& t, const Client& client);
  void send(const Transaction& t, wire::Type type, uint32_t to);
  void send_vote(const Transaction& t);
  void send_decision(const Transaction& t, uint32_t to);
  void reply(const wire::CommitMessage& m, wire::Type type, Result result, wire::Vote vote);
  // prepare.cc
  PrepareAnswer refuse(Transaction& t, const PrepareRequest& request, Result result, uint8_t detail);
  // vote.cc
  void on_vote(const wire::CommitMessage& m, TimeNs now);
  void try_decide(Transaction& t);
  void decide_abort(Transaction& t);
  void decide_commit(Transaction& t);
  // decision.cc
  void on_unknown(const wire::CommitMessage& m);
  void give_up(Transaction& t);
  void on_decision(const wire::CommitMessage& m, TimeNs now);
  void carry_out(Transaction& t, const wire::CommitMessage& m);
  // acknowledge.cc
  void acknowledge(Transaction& t);
  void on_acknowledge(const wire::CommitMessage& m);
  void try_end(Transaction& t);
  bool retire(Transaction& t);
  // ask.cc
  void on_ask(const wire::CommitMessage& m, TimeNs now);
  void promise(Transaction* t, const wire::CommitMessage& m, TimeNs now);
  // inquire.cc
  void on_inquire(const wire::CommitMessage& m, TimeNs now);
  void inquire_coordinator(const wire::CommitMessage& m, TimeNs now);
  void inquire_participant(const wire::CommitMessage& m, TimeNs now);
  // durable.cc
  void prepared_is_durable(Transaction& t, TimeNs now);
  void commit_is_durable(Transaction& t, TimeNs now);
  void abort_is_durable(Transaction& t, TimeNs now);
  // timers.cc
  void on_due(Transaction& t, TimeNs now);

  MachineConfig config_;
  Node* node_ = nullptr;
  TransactionTable table_;
  LockTable locks_;
  MachineCounters counters_;
  // Records on their way to the disk, in log order. At most two of a transaction: its PREPARE and its end.
  Awaited* awaited_ = nullptr;
  uint32_t awaited_mask_ = 0, awaited_head_ = 0, awaited_tail_ = 0;
  uint32_t timer_cursor_ = 0;
  TimeNs next_timer_ns_ = 0;
};

}  // namespace txnic::commit
