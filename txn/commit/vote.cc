// SPDX-License-Identifier: BSD-3-Clause
// The coordinator counts votes and decides. All of them yes and durable, its own too: the transaction is committed at
// that moment, and the client is told; the record of the decision is not on the way of that answer.
#include <cassert>

#include "txn/commit/machine.h"

namespace txnic::commit {

void Machine::on_vote(const wire::CommitMessage& m, TimeNs now) {
  Transaction* t = table_.find(m.id, m.shard);
  if (t == nullptr) {
    // A vote may come before the PREPARE; not for what is over, and "never" matters to nobody who has not prepared.
    if (m.vote == wire::Vote::kNever || !is_nothing(node_->past(m.id, m.shard))) return;
    t = find_or_insert(m, now);
    if (t == nullptr) return;
  }
  if (t->participants != m.participants) {
    ++counters_.differed;
    return;
  }
  const uint32_t bit = 1u << m.sender;
  if (t->decided()) {
    if (m.vote == wire::Vote::kYes && t->durable) send_decision(*t, m.sender);
    return;
  }
  switch (m.vote) {
    case wire::Vote::kYes:
      if ((t->yes & bit) != 0) return;
      if (keep_values(*t, m.sender, m.version, m.values, m.value_count)) {
        t->yes |= bit;
      } else {
        // The same votes and values will come after a restart too, so this is never undone by one.
        t->no |= bit;
        t->result = Result::kTooLarge;
      }
      break;
    case wire::Vote::kNo:
      // From before the restart; a commit may have been told since (COMMIT 4).
      if (t->state == State::kPrepared && t->recovered) return;
      t->no |= bit;
      break;
    case wire::Vote::kNever:
      if (t->state != State::kPrepared) return;
      t->no |= bit;
      break;
  }
  if (t->no != 0 && t->result == Result::kCommitted) {
    t->result = m.result;
    t->detail = m.detail;
  }
  try_decide(*t);
}

void Machine::try_decide(Transaction& t) {
  assert(t.coordinates());
  if (t.decided()) return;
  if (t.no != 0 || t.refused) {
    decide_abort(t);
  } else if (t.state == State::kPrepared && t.durable && (t.yes | 1) == t.participants.all()) {
    decide_commit(t);
  }
}

// The client is told when the record is durable (COMMIT 3). If the log is full the timer tries again.
void Machine::decide_abort(Transaction& t) {
  assert(t.result != Result::kCommitted);
  if (abort(t, t.result, t.detail)) ++counters_.decided_abort;
}

void Machine::decide_commit(Transaction& t) {
  if (!finish_commit(t)) return;  // the timer tries again
  ++counters_.decided_commit;
  tell(t);
}

}  // namespace txnic::commit
