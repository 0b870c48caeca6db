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
      case Past::kNothing: return PrepareAnswer::kNew;
      case Past::kForgotten: return PrepareAnswer::kForgotten;
      default: return PrepareAnswer::kFinished;
    }
  }
  if (t->participants != participants) {
    ++counters_.differed;
    return PrepareAnswer::kDiffers;
  }
  if (t->coordinates()) t->client = client;
  switch (t->state) {
    case State::kUnknown:
      if (!t->refused) return PrepareAnswer::kNew;  // only votes came so far
      if (t->coordinates()) try_decide(*t);
      break;
    case State::kPrepared:
      if (t->durable && !t->coordinates()) send_vote(*t);
      break;
    default:
      if (t->durable && t->coordinates()) node_->answer(*t);
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
  t->participants = request.participants;
  t->place = static_cast<uint8_t>(request.participants.index_of(request.shard));
  if (t->coordinates()) t->client = request.client;
  wait(*t, now);
  if (request.verdict != Result::kCommitted) {
    refuse(*t, request.verdict, request.detail);
    return PrepareAnswer::kTaken;
  }
  if (!keep_values(*t, t->place, request.version, request.values, request.value_count)) {
    refuse(*t, Result::kTooLarge, 0);
    return PrepareAnswer::kTaken;
  }
  const LockTable::Taken taken = locks_.acquire(request.locks);
  if (taken == LockTable::Taken::kConflict) {
    refuse(*t, Result::kLocked, 0);
    return PrepareAnswer::kTaken;
  }
  if (taken == LockTable::Taken::kFull) {
    table_.erase(t);  // votes that had come are as good as lost
    return PrepareAnswer::kFull;
  }
  std::copy(request.locks.begin(), request.locks.end(), t->locks.begin());
  t->lock_count = static_cast<uint8_t>(request.locks.size());
  if (!request.redo.empty()) std::memcpy(t->payload.data(), request.redo.data(), request.redo.size());
  t->payload_bytes = static_cast<uint16_t>(request.redo.size());
  if (!log(Record::kPrepare, *t)) {
    locks_.release(t->held_locks());
    table_.erase(t);
    return PrepareAnswer::kLogFull;
  }
  ++counters_.prepared;
  wait(*t, now);
  if (t->coordinates()) try_decide(*t);  // a no may have come before us
  return PrepareAnswer::kTaken;
}

// Nothing is logged; while the node lives it is remembered, so that no later copy is taken. A coordinator decides.
void Machine::refuse(Transaction& t, Result result, uint8_t detail) {
  ++counters_.refused;
  t.refused = true;
  t.result = result;
  t.detail = detail;
  if (t.coordinates()) {
    try_decide(t);
  } else {
    send_vote(t);
  }
}

}  // namespace txnic::commit
