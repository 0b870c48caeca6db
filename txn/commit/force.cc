// SPDX-License-Identifier: BSD-3-Clause
// The operator's last resort for a transaction that is in doubt because the others stay away for good (COMMIT 24). It
// may contradict what they know, or what a client was told: it is logged as forced, and a decision that arrives later
// and says something else changes nothing and is counted as a contradiction.
#include "txn/commit/machine.h"

namespace txnic::commit {

Forced Machine::force(const TransactionId& id, ShardId shard, bool commit, TimeNs now) {
  Transaction* const t = table_.find(id, shard);
  if (t == nullptr || t->state != State::kPrepared || !t->durable) return Forced::kNotInDoubt;
  t->forced = true;
  bool logged = false;
  if (commit) {
    logged = finish_commit(*t);
  } else {
    logged = abort(*t, Result::kConflict, 0);
    if (logged && t->coordinates()) ++counters_.decided_abort;
  }
  if (!logged) {
    t->forced = false;
    return Forced::kLogFull;
  }
  if (commit && t->coordinates()) {
    ++counters_.decided_commit;
    tell(*t);
  }
  ++counters_.forced;
  wait(*t, now);
  return Forced::kDone;
}

}  // namespace txnic::commit
