// SPDX-License-Identifier: BSD-3-Clause
// What the steps share.
#include "txn/commit/machine.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace txnic::commit {
namespace {

uint32_t awaited_entries(const MachineConfig& config) { return std::bit_ceil(config.transactions * 2); }

State state_after(Record record) {
  switch (record) {
    case Record::kPrepare:
      return State::kPrepared;
    case Record::kCommit:
      return State::kCommitted;
    default:
      return State::kAborted;
  }
}

}  // namespace

size_t Machine::memory_bytes(const MachineConfig& config) {
  return align64(TransactionTable::memory_bytes(config.transactions)) + align64(LockTable::memory_bytes(config.locks)) +
         align64(awaited_entries(config) * sizeof(Awaited));
}

void Machine::init(const MachineConfig& config, MutableBytes memory, Node* node) {
  assert(memory.size() >= memory_bytes(config));
  config_ = config;
  node_ = node;
  const size_t table = align64(TransactionTable::memory_bytes(config.transactions));
  const size_t locks = align64(LockTable::memory_bytes(config.locks));
  table_.init(config.transactions, memory.first(table));
  locks_.init(config.locks, memory.subspan(table, locks));
  awaited_ = reinterpret_cast<Awaited*>(memory.data() + table + locks);
  awaited_mask_ = awaited_entries(config) - 1;
  awaited_head_ = awaited_tail_ = timer_cursor_ = 0;
  next_timer_ns_ = 0;
  counters_ = {};
}

void Machine::on_message(const wire::CommitMessage& m, TimeNs now) {
  switch (m.type) {
    case wire::Type::kVote:
      on_vote(m, now);
      return;
    case wire::Type::kDecision:
      on_decision(m, now);
      return;
    case wire::Type::kAcknowledge:
      on_acknowledge(m);
      return;
    case wire::Type::kAsk:
      on_ask(m, now);
      return;
    case wire::Type::kInquire:
      on_inquire(m, now);
      return;
    default:
      return;
  }
}

// The transaction that a message is about; a new one is bound to the message's list. Null: no room, the message is as
// good as lost.
Transaction* Machine::find_or_insert(const wire::CommitMessage& m, TimeNs now) {
  Transaction* t = table_.find(m.id, m.shard);
  if (t != nullptr) return t;
  t = table_.insert(m.id, m.shard);
  if (t == nullptr) {
    ++counters_.full;
    return nullptr;
  }
  t->bind(m.participants);
  t->since = now;
  t->due = now + config_.vote_keep_ns;
  return t;
}

// False: the log is full, and nothing has changed.
bool Machine::log(Record record, Transaction& t) {
  assert(awaited_tail_ - awaited_head_ <= awaited_mask_);
  Lsn lsn = 0;
  if (!node_->append(record, t, &lsn)) return false;
  t.state = state_after(record);
  t.durable = false;
  t.attempts = 0;
  awaited_[awaited_tail_++ & awaited_mask_] = {lsn, table_.slot_of(&t), t.generation, t.state};
  return true;
}

// Of a prepared transaction, or as the promise never to prepare one. False: the log is full.
bool Machine::abort(Transaction& t, Result result, uint8_t detail) {
  assert(!t.decided() && result != Result::kCommitted);
  if (t.result == Result::kCommitted) {  // the first reason stays
    t.result = result;
    t.detail = detail;
  }
  const bool was_prepared = t.state == State::kPrepared;
  if (!log(Record::kAbort, t)) return false;
  if (!was_prepared) {
    ++counters_.promises;
    return true;
  }
  ++counters_.aborted;
  locks_.release(t.held_locks());
  t.lock_count = 0;
  node_->give_back(t);
  return true;
}

// Of a prepared transaction: logged, carried out, unlocked. False: the log is full.
bool Machine::finish_commit(Transaction& t) {
  assert(t.state == State::kPrepared);
  const Result before = t.result;
  t.result = Result::kCommitted;
  if (!log(Record::kCommit, t)) {
    t.result = before;
    return false;
  }
  ++counters_.committed;
  node_->apply(t);
  locks_.release(t.held_locks());
  t.lock_count = 0;
  return true;
}

// False: the answer to the client would be too large.
bool Machine::keep_values(Transaction& t, uint32_t participant, Version version, Bytes values, uint8_t count) {
  const uint32_t fixed = wire::prepared_fixed_bytes(t.participants.count);
  if (fixed + t.values_used + values.size() > limits::kMessageBytesMax ||
      t.value_count() + count > limits::kOperationsMax) {
    return false;
  }
  t.parts[participant] = {version, t.keep(values.data(), values.size()), static_cast<uint16_t>(values.size()), count};
  t.values_used = static_cast<uint16_t>(t.values_used + values.size());
  return true;
}

// Growing pauses: an early question kills a healthy transaction (COMMIT 2), and a lost node is not shouted at.
void Machine::wait(Transaction& t, TimeNs now) {
  t.due = now + std::min(config_.ask_delay_ns << t.attempts, config_.ask_delay_max_ns);
  if (t.attempts < limits::kAskAttemptsMax) ++t.attempts;
}

// Forgets it, and whoever waited for it.
void Machine::drop(Transaction& t) {
  if (t.client.is_waiting()) node_->let_go(t.client);
  t.client = {};
  table_.erase(&t);
}

// Tells the waiting client the outcome, once.
void Machine::tell(Transaction& t) {
  assert(t.coordinates() && t.decided());
  if (!t.client.is_waiting()) return;
  node_->answer(t);
  t.client = {};
}

// A newer copy of the PREPARE takes the place of the one that waits.
void Machine::wait_for(Transaction& t, const Client& client) {
  if (t.client.is_waiting()) node_->let_go(t.client);
  t.client = client;
}

bool Machine::holds_session(SessionId session) const {
  for (uint32_t slot = 0; table_.size() != 0 && slot < table_.capacity(); ++slot) {
    const Transaction& t = table_.at(slot);
    if (!t.in_use || t.id.session != session || t.state == State::kUnknown) continue;
    if (!t.decided() || !t.durable || (t.coordinates() && !t.ended)) return true;
  }
  return false;
}

void Machine::send(const Transaction& t, wire::Type type, uint32_t to) {
  wire::CommitMessage m;
  m.type = type;
  m.sender = t.place;
  m.shard = t.participants.shards[to];
  m.incarnation = config_.incarnation;
  m.id = t.id;
  m.participants = t.participants;
  if (type == wire::Type::kDecision) {
    m.result = t.state == State::kCommitted ? Result::kCommitted : t.result;
    m.detail = t.detail;
  }
  node_->send(m);
}

// What our vote is by now, to the coordinator.
void Machine::send_vote(const Transaction& t) {
  wire::CommitMessage m;
  m.type = wire::Type::kVote;
  m.sender = t.place;
  m.shard = t.participants.coordinator();
  m.incarnation = config_.incarnation;
  m.id = t.id;
  m.participants = t.participants;
  if (t.state == State::kPrepared) {
    m.vote = wire::Vote::kYes;
    m.version = t.version();
    m.values = t.values_of(t.place);
    m.value_count = t.parts[t.place].value_count;
  } else {
    m.vote = t.state == State::kAborted ? wire::Vote::kNever : wire::Vote::kNo;
    m.result = t.result;
    m.detail = t.detail;
  }
  node_->send(m);
}

void Machine::send_decision(const Transaction& t, uint32_t to) {
  assert(t.decided() && t.durable);
  send(t, wire::Type::kDecision, to);
}

// Answers a message about a transaction that is not kept here: an acknowledgement or vote goes to the coordinator, a
// decision to the one who asked.
void Machine::reply(const wire::CommitMessage& m, wire::Type type, Result result, wire::Vote vote) {
  wire::CommitMessage out;
  out.type = type;
  out.vote = vote;
  out.result = result;
  out.sender = static_cast<uint8_t>(m.participants.index_of(m.shard));
  out.shard = m.participants.shards[type == wire::Type::kDecision ? m.sender : 0];
  out.incarnation = config_.incarnation;
  out.id = m.id;
  out.participants = m.participants;
  node_->send(out);
}

}  // namespace txnic::commit
