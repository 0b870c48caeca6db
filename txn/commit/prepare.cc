// SPDX-License-Identifier: BSD-3-Clause
// PREPARE: lock, log, and vote when that is durable; or refuse, and remember it (COMMIT 1, 5, 7).
#include <algorithm>
#include <cassert>

#include "txn/commit/machine.h"

namespace txnic::commit {

PrepareAnswer Machine::seen(const TransactionId& id, ShardId shard, const Participants& participants,
                            const Client& client, TimeNs) {
  Transaction* const t = table_.find(id, shard);
  if (t == nullptr) {
    switch (node_->past(id, shard)) {
      case Past::kNothing:
      case Past::kNoSession:
        return PrepareAnswer::kNew;
      case Past::kForgotten:
        return PrepareAnswer::kForgotten;
      default:
        return PrepareAnswer::kFinished;
    }
  }
  if (t->participants != participants) {
    ++counters_.differed;
    return PrepareAnswer::kDiffers;
  }
  if (t->state == State::kUnknown && !t->refused) return PrepareAnswer::kNew;  // only votes came so far
  if (!t->coordinates()) {
    if (t->state == State::kPrepared && t->durable) send_vote(*t);
    return PrepareAnswer::kTaken;
  }
  wait_for(*t, client);
  if (!t->decided()) {
    try_decide(*t);  // the log may have been full
  } else if (t->state == State::kCommitted || t->durable) {
    tell(*t);
  }
  return PrepareAnswer::kTaken;
}

PrepareAnswer Machine::prepare(const PrepareRequest& request, TimeNs now) {
  assert(request.redo.size() <= limits::kPreparedBytesMax && request.locks.size() <= limits::kOperationsMax);
  Transaction* t = table_.find(request.id, request.shard);
  if (t == nullptr) t = table_.insert(request.id, request.shard);
  if (t == nullptr) {
    ++counters_.full;
    return PrepareAnswer::kFull;
  }
  assert(t->state == State::kUnknown && !t->refused);
  if (t->participants.count == 0) t->bind(request.participants);  // else votes have come
  t->since = now;
  wait(*t, now);
  if (request.verdict != Result::kCommitted) return refuse(*t, request, request.verdict, request.detail);
  if (!keep_values(*t, t->place, request.version, request.values, request.value_count)) {
    return refuse(*t, request, Result::kTooLarge, 0);
  }
  const LockTable::Taken taken = locks_.acquire(request.locks);
  if (taken == LockTable::Taken::kConflict) return refuse(*t, request, Result::kLocked, 0);
  if (taken == LockTable::Taken::kFull) {
    drop(*t);  // votes that had come are as good as lost
    ++counters_.full;
    return PrepareAnswer::kFull;
  }
  t->keep_locks(request.locks);
  t->keep_redo(request.redo);
  if (!log(Record::kPrepare, *t)) {
    locks_.release(t->held_locks());
    drop(*t);
    return PrepareAnswer::kLogFull;
  }
  if (t->coordinates()) t->client = request.client;
  ++counters_.prepared;
  wait(*t, now);
  if (t->coordinates()) try_decide(*t);  // a no may have come before us
  return PrepareAnswer::kTaken;
}

// Nothing is logged; while the node lives it is remembered, so that no later copy is taken. A coordinator decides. A
// participant's reason that may not survive a crash makes it a durable promise first.
PrepareAnswer Machine::refuse(Transaction& t, const PrepareRequest& request, Result result, uint8_t detail) {
  if (request.depends_on_log && !t.coordinates()) {
    if (!abort(t, result, detail)) {
      drop(t);
      return PrepareAnswer::kLogFull;
    }
    ++counters_.refused;
    return PrepareAnswer::kRefused;
  }
  ++counters_.refused;
  t.refused = true;
  t.result = result;
  t.detail = detail;
  if (t.coordinates()) {
    t.client = request.client;
    try_decide(t);
  } else {
    send_vote(t);
  }
  return PrepareAnswer::kRefused;
}

}  // namespace txnic::commit
