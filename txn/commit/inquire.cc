// SPDX-License-Identifier: BSD-3-Clause
// A participant in doubt asks the coordinator, and after a while the other participants (COMMIT 2, 11, 18, 24).
#include "txn/commit/machine.h"

namespace txnic::commit {

void Machine::on_inquire(const wire::CommitMessage& m, TimeNs now) {
  if (m.participants.coordinator() == m.shard) {
    inquire_coordinator(m, now);
  } else {
    inquire_participant(m, now);
  }
}

void Machine::inquire_coordinator(const wire::CommitMessage& m, TimeNs now) {
  Transaction* const t = table_.find(m.id, m.shard);
  const Past past = node_->past(m.id, m.shard);
  const bool has_outcome = past == Past::kCommitted || past == Past::kAborted;
  if (config_.forgets && !has_outcome && (t == nullptr || t->state == State::kUnknown)) {
    // An earlier life may have told a commit. Nothing is promised either: if the PREPARE is still to come, we ask for
    // all votes then.
    reply(m, wire::Type::kDecision, Result::kUnknownOutcome, wire::Vote::kYes);
    return;
  }
  if (t == nullptr) {
    switch (past) {
      case Past::kNothing: promise(nullptr, m, now); return;
      case Past::kCommitted: reply(m, wire::Type::kDecision, Result::kCommitted, wire::Vote::kYes); return;
      // Forgotten, or its session is gone: a commit would have outlived this participant's doubt (COMMIT 11), and what
      // its client may still send is refused (ask.cc).
      default: reply(m, wire::Type::kDecision, Result::kConflict, wire::Vote::kYes); return;
    }
  }
  if (t->participants != m.participants) {
    // The id is bound to another list here: with this one it will never be committed.
    ++counters_.differed;
    if (t->durable) reply(m, wire::Type::kDecision, Result::kBadRequest, wire::Vote::kYes);
    return;
  }
  switch (t->state) {
    case State::kUnknown: promise(t, m, now); return;
    case State::kPrepared: return;  // undecided: we ask by ourselves
    default:
      if (t->durable) send_decision(*t, m.sender);
  }
}

// Any outcome is adopted by the one who asks; what we have not prepared we promise never to, and answer when asked
// again. In doubt ourselves, or having forgotten, we say nothing: that is not "never".
void Machine::inquire_participant(const wire::CommitMessage& m, TimeNs now) {
  Transaction* const t = table_.find(m.id, m.shard);
  const Past past = t == nullptr || t->state != State::kCommitted ? node_->past(m.id, m.shard) : Past::kCommitted;
  // It may have been committed here and its session closed since, so that nothing tells of it any more, and a late
  // question may even have led to a promise after that: a node without the session cannot say "never" (COMMIT 24).
  // With durability none an earlier life may have committed it.
  if (past == Past::kNoSession || (past == Past::kNothing && config_.forgets && t == nullptr)) return;
  if (t == nullptr) {
    switch (past) {
      case Past::kNothing: promise(nullptr, m, now); return;
      case Past::kCommitted: reply(m, wire::Type::kDecision, Result::kCommitted, wire::Vote::kYes); return;
      case Past::kAborted: reply(m, wire::Type::kDecision, Result::kConflict, wire::Vote::kYes); return;
      default: return;
    }
  }
  if (t->participants != m.participants) {
    ++counters_.differed;
    return;
  }
  switch (t->state) {
    case State::kUnknown: promise(t, m, now); return;
    case State::kPrepared: return;
    default:
      if (t->durable) send_decision(*t, m.sender);
  }
}

}  // namespace txnic::commit
