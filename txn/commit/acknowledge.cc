// SPDX-License-Identifier: BSD-3-Clause
// The coordinator may forget a decision when every participant has it durably.
#include "txn/commit/machine.h"

namespace txnic::commit {

// A participant's outcome is durable. What the operator has decided is no answer to the coordinator, who would take it
// for its own decision and forget: we ask for that, so that both are compared.
void Machine::acknowledge(Transaction& t) {
  if (t.forced) {
    send(t, wire::Type::kInquire, 0);
    return;
  }
  send(t, wire::Type::kAcknowledge, 0);
  retire(t);
}

void Machine::on_acknowledge(const wire::CommitMessage& m) {
  Transaction* const t = table_.find(m.id, m.shard);
  if (t == nullptr || t->participants != m.participants || !t->decided()) return;
  t->acknowledged |= 1u << m.sender;
  try_end(*t);
}

void Machine::try_end(Transaction& t) {
  if (!t.durable || (t.acknowledged | 1) != t.participants.all()) return;
  if (!t.ended) {
    Lsn lsn = 0;
    if (!node_->append(Record::kEnd, t, &lsn)) return;  // the timer tries again
    t.ended = true;
    ++counters_.ended;
  }
  retire(t);
}

// Durable and over: from here on the window knows the outcome. Without a session there is no window, and the outcome
// stays here as a promise until it is below the watermark (COMMIT 9).
bool Machine::retire(Transaction& t) {
  if (t.forced && !t.coordinates()) return false;  // the real decision may still come, and must be compared
  if (!node_->remember(t) && node_->past(t.id, t.shard) != Past::kForgotten) return false;
  drop(t);
  return true;
}

}  // namespace txnic::commit
