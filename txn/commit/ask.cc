// SPDX-License-Identifier: BSD-3-Clause
// The coordinator asks for our vote. If we have not prepared, we promise durably never to, and only then say so (COMMIT
// 2, 6; DESIGN 4.4, trap 6).
#include "txn/commit/machine.h"

namespace txnic::commit {

void Machine::on_ask(const wire::CommitMessage& m, TimeNs now) {
  Transaction* const t = table_.find(m.id, m.shard);
  if (t == nullptr) {
    switch (node_->past(m.id, m.shard)) {
      case Past::kNothing:
        promise(nullptr, m, now);
        return;
      // What its client has sent before is refused by its stamp, and a client that finds its window gone never sends
      // the id again: there is nothing to promise, and nothing that a record would have to outlive. (If it was
      // committed here and its session closed since, this question is late: the coordinator has decided.)
      case Past::kNoSession:
        reply(m, wire::Type::kVote, Result::kConflict, wire::Vote::kNever);
        return;
      case Past::kCommitted: return;  // it knows: nobody else decides that
      default: reply(m, wire::Type::kVote, Result::kConflict, wire::Vote::kNever); return;
    }
  }
  if (t->participants != m.participants) {
    ++counters_.differed;
    if (t->durable) reply(m, wire::Type::kVote, Result::kBadRequest, wire::Vote::kNever);
    return;
  }
  switch (t->state) {
    case State::kUnknown: promise(t, m, now); return;
    case State::kCommitted: return;
    default:
      if (t->durable) send_vote(*t);
  }
}

// Logs that we never prepare (as coordinator: never commit) what is not prepared here. It is said in abort_is_durable.
void Machine::promise(Transaction* t, const wire::CommitMessage& m, TimeNs now) {
  const bool is_new = t == nullptr;
  if (is_new) t = find_or_insert(m, now);
  if (t == nullptr) return;
  const Result reason = m.result == Result::kCommitted ? Result::kConflict : m.result;
  if (abort(*t, reason, m.detail)) {
    wait(*t, now);
  } else if (is_new) {
    drop(*t);  // asked again, tried again
  }
}

}  // namespace txnic::commit
