// SPDX-License-Identifier: BSD-3-Clause
// After a restart, before anything is served: prepared transactions are locked again, decisions that not everybody has
// acknowledged and promises are kept (COMMIT 1, 13). The timer asks and tells at once.
#include <algorithm>

#include "txn/commit/machine.h"

namespace txnic::commit {

bool Machine::restore(const Restored& restored, TimeNs now) {
  const PrepareRequest& p = restored.prepared;
  const uint32_t place = p.participants.index_of(p.shard);
  if (place == Participants::kNotThere || restored.state == State::kUnknown ||
      p.locks.size() > limits::kOperationsMax || p.redo.size() > limits::kPreparedBytesMax ||
      table_.find(p.id, p.shard) != nullptr) {
    return false;
  }
  Transaction* const t = table_.insert(p.id, p.shard);
  if (t == nullptr) return false;
  t->bind(p.participants);
  t->state = restored.state;
  t->durable = true;
  t->since = now;
  t->result = restored.state == State::kAborted ? restored.result : Result::kCommitted;
  t->detail = restored.detail;
  t->forced = restored.forced;
  t->due = now;
  t->parts[place].version = p.version;  // of a commit, too: its END record tells the window
  if (restored.state != State::kPrepared) return true;
  t->recovered = true;
  if (locks_.acquire(p.locks) != LockTable::Taken::kYes ||
      !keep_values(*t, place, p.version, p.values, p.value_count)) {
    return false;
  }
  t->keep_locks(p.locks);
  t->keep_redo(p.redo);
  return true;
}

}  // namespace txnic::commit
