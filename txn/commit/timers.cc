// SPDX-License-Identifier: BSD-3-Clause
// What is sent again when nothing is heard, and what is dropped. Nothing here ever releases a lock.
#include "txn/commit/machine.h"

namespace txnic::commit {

uint32_t Machine::on_timer(TimeNs now) {
  if (table_.size() == 0 || now < next_timer_ns_) return 0;
  next_timer_ns_ = now + config_.timer_pause_ns;
  uint32_t done = 0;
  for (uint32_t i = 0; i < limits::kCommitTimerStep; ++i) {
    Transaction& t = table_.at(timer_cursor_);
    timer_cursor_ = (timer_cursor_ + 1) % table_.capacity();
    if (!t.in_use || now < t.due) continue;
    on_due(t, now);
    ++done;
  }
  return done;
}

void Machine::on_due(Transaction& t, TimeNs now) {
  wait(t, now);
  if (t.coordinates() && !t.decided()) try_decide(t);  // the log may have been full
  if (t.state == State::kUnknown) {
    // Votes for what never came are dropped; a refusal only when no copy of its PREPARE can be taken any more.
    if (!t.refused || node_->past(t.id, t.shard) == Past::kForgotten) drop(t);
    return;
  }
  if (!t.durable) return;
  if (t.state == State::kPrepared && t.coordinates()) {
    for (uint32_t i = 1; i < t.participants.count; ++i) {
      if ((t.yes >> i & 1) != 0) continue;
      send(t, wire::Type::kAsk, i);
      ++counters_.asked;
    }
  } else if (t.state == State::kPrepared) {
    if (t.orphaned && t.attempts == limits::kAskAttemptsMax) {
      give_up(t);
      return;
    }
    // The others only when the coordinator has been silent: their promise would kill a healthy transaction.
    const uint32_t count = t.attempts > 2 ? t.participants.count : 1;
    for (uint32_t i = 0; i < count; ++i) {
      if (i != t.place) send(t, wire::Type::kInquire, i);
    }
    ++counters_.inquired;
  } else if (t.coordinates() && !t.ended) {
    for (uint32_t i = 1; i < t.participants.count; ++i) {
      if ((t.acknowledged >> i & 1) != 0) continue;
      send_decision(t, i);
      ++counters_.decisions_repeated;
    }
    try_end(t);
  } else if (t.forced && !t.coordinates()) {
    if (!t.contradicted) send(t, wire::Type::kInquire, 0);
  } else if (!retire(t) && now >= t.since + config_.promise_keep_ns) {
    // A session that is not open here, and whatever it sent before is refused by its stamp: nothing can break the
    // promise any more.
    drop(t);
  }
}

}  // namespace txnic::commit
