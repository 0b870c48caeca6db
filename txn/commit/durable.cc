// SPDX-License-Identifier: BSD-3-Clause
// A record is on disk: what depends on it may be said now (COMMIT 3, 6).
#include "txn/commit/machine.h"

namespace txnic::commit {

void Machine::on_durable(Lsn durable, TimeNs now) {
  while (awaited_head_ != awaited_tail_) {
    const Awaited awaited = awaited_[awaited_head_ & awaited_mask_];
    if (awaited.lsn > durable) return;
    ++awaited_head_;
    Transaction& t = table_.at(awaited.slot);
    // Decided before its PREPARE was durable: the later record speaks for both.
    if (!t.in_use || t.generation != awaited.generation || t.state != awaited.state) continue;
    t.durable = true;
    wait(t, now);
    if (t.decided()) node_->remember(t);  // before the END record, so that a checkpoint in between has it
    switch (t.state) {
      case State::kPrepared: prepared_is_durable(t, now); break;
      case State::kCommitted: commit_is_durable(t, now); break;
      case State::kAborted: abort_is_durable(t, now); break;
      case State::kUnknown: break;
    }
  }
}

void Machine::prepared_is_durable(Transaction& t, TimeNs) {
  if (t.coordinates()) {
    try_decide(t);
  } else {
    send_vote(t);
  }
}

void Machine::commit_is_durable(Transaction& t, TimeNs) {
  if (!t.coordinates()) {
    acknowledge(t);
    return;
  }
  for (uint32_t i = 1; i < t.participants.count; ++i) {
    if ((t.acknowledged >> i & 1) == 0) send_decision(t, i);
  }
  try_end(t);
}

void Machine::abort_is_durable(Transaction& t, TimeNs) {
  if (!t.coordinates()) {
    // "Never" first: if the coordinator has not decided yet, it does now, and counts the acknowledgement.
    send_vote(t);
    acknowledge(t);
    return;
  }
  tell(t);
  for (uint32_t i = 1; i < t.participants.count; ++i) {
    if ((t.acknowledged >> i & 1) == 0) send_decision(t, i);
  }
  try_end(t);
}

}  // namespace txnic::commit
