// SPDX-License-Identifier: BSD-3-Clause
// The decision arrives at a participant: carried out at once, acknowledged when that is durable (DESIGN 4.4, trap 7).
#include "txn/commit/machine.h"

namespace txnic::commit {

// The coordinator was started again and has nothing to recover from: the others are asked (timers.cc).
void Machine::on_unknown(const wire::CommitMessage& m) {
  Transaction* const t = table_.find(m.id, m.shard);
  const bool is_in_doubt = t != nullptr && t->state == State::kPrepared && !t->coordinates();
  if (is_in_doubt && m.from_coordinator() && t->participants == m.participants) t->orphaned = true;
}

// Nobody knew, as often as we have asked: an abort that is counted. Another participant may have heard a commit that it
// cannot tell us any more.
void Machine::give_up(Transaction& t) {
  if (abort(t, Result::kConflict, 0)) ++counters_.orphaned;
}

void Machine::on_decision(const wire::CommitMessage& m, TimeNs now) {
  if (m.result == Result::kUnknownOutcome) {
    on_unknown(m);
    return;
  }
  const bool commit = m.result == Result::kCommitted;
  Transaction* const t = table_.find(m.id, m.shard);
  if (t == nullptr) {
    if (!commit && node_->past(m.id, m.shard) == Past::kNothing) {
      promise(nullptr, m, now);
      return;
    }
    // Over here. A commit that is not prepared any more has been carried out: nobody decides it without our durable
    // yes.
    // An abort of what we committed comes from a coordinator that lost its session's window after everybody had
    // acknowledged: it changes nothing, and may be forgotten again.
    reply(m, wire::Type::kAcknowledge, Result::kCommitted, wire::Vote::kYes);
    return;
  }
  if (t->participants != m.participants) {
    // With that list the id was never prepared here, and never will be.
    ++counters_.differed;
    if (commit) {
      ++counters_.contradictions;
    } else if (t->durable) {
      reply(m, wire::Type::kAcknowledge, Result::kCommitted, wire::Vote::kYes);
    }
    return;
  }
  if (t->coordinates()) return;  // it decides by itself
  carry_out(*t, m);
}

void Machine::carry_out(Transaction& t, const wire::CommitMessage& m) {
  const bool commit = m.result == Result::kCommitted;
  switch (t.state) {
    case State::kUnknown:  // refused: the abort is also the promise that outlives a restart
      if (commit) {
        ++counters_.contradictions;
      } else {
        abort(t, m.result, m.detail);
      }
      return;
    case State::kPrepared:
      if (!commit) {
        abort(t, m.result, m.detail);
        return;
      }
      finish_commit(t);  // the log may be full: the decision will be sent again
      return;
    default:
      if ((t.state == State::kCommitted) != commit) {
        counters_.contradictions += t.contradicted ? 0 : 1;
        t.contradicted = true;
      } else if (t.durable) {
        send(t, wire::Type::kAcknowledge, 0);
        t.forced = false;  // it was right
      }
  }
}

}  // namespace txnic::commit
