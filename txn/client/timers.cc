// SPDX-License-Identifier: BSD-3-Clause
// poll(): what happens because time passes. O(1) a request: lists whose due times rise, never a search.
#include "txn/client/machine.h"

namespace txnic::client {

Event SessionMachine::poll_due(TimeNs now) {
  Event event;
  List& doomed = lists_[kDoomedList];
  if (doomed.head != kNil) {
    Slot* slot = &slots_[doomed.head];
    const bool uncertain = slot->sends != 0 && !slot->read_only;
    settle(slot, uncertain ? Result::kUnknownOutcome : Result::kBadSession, &event);
    return event;
  }
  if (now >= session_due_ && poll_session(now, &event)) return event;

  uint32_t budget = kSendsPerPoll;
  List& resend = lists_[kResendList];
  while (state_ == MachineState::kOpen && resend.head != kNil && budget != 0) {
    Slot* slot = &slots_[resend.head];
    if (slot->deadline_ns != 0 && now >= slot->deadline_ns) {
      give_up(slot, &event);
      return event;
    }
    unlink(slot);
    transmit(slot, now);
    --budget;
  }
  for (uint8_t list = kRetransmitLists; list <= kDeadlineList; ++list) {
    while (lists_[list].head != kNil && budget != 0) {
      Slot* slot = &slots_[lists_[list].head];
      if (now < slot->resend_at_ns) break;
      if (fire(slot, now, &event)) return event;
      --budget;
    }
  }
  keep_session(now);
  refresh_next_due(now);
  return event;
}

// The timer of a slot has run out. True if that settled it.
bool SessionMachine::fire(Slot* slot, TimeNs now, Event* event) {
  if (slot->deadline_ns != 0 && now >= slot->deadline_ns) {
    give_up(slot, event);
    return true;
  }
  const uint8_t list = slot->list;
  unlink(slot);
  if (state_ != MachineState::kOpen) {  // the node would only refuse it; OPENED sends it
    arm(slot, list, now);
    return false;
  }
  if (list < kBusyLists && slot->backoff < kLevels - 1) ++slot->backoff;
  transmit(slot, now);
  return false;
}

// OPEN and CLOSE again. True if there is an event to tell.
bool SessionMachine::poll_session(TimeNs now, Event* event) {
  if (awaits_opened()) {
    send_open(now);
    return false;
  }
  assert(state_ == MachineState::kClosing);
  if (session_tries_ < kCloseTriesMax) {
    send_close(now);
    return false;
  }
  state_ = MachineState::kClosed;  // the session expires at the node
  session_due_ = kNever;
  event->kind = EventKind::kClosed;
  return true;
}

// When the worker that has heard least of us heard from us.
TimeNs SessionMachine::oldest_contact() const {
  TimeNs oldest = kNever;
  for (uint32_t w = 0; w < workers_; ++w) {
    if (worker_sent_[w] < oldest) oldest = worker_sent_[w];
  }
  return oldest;
}

// Each worker forgets a session that it has not seen for the expiry time, also while others are busy with it.
TimeNs SessionMachine::keep_alive_due() const {
  if (state_ != MachineState::kOpen || keeps_alive_ || opened_.idle_expiry_seconds == 0) return kNever;
  return oldest_contact() + opened_.idle_expiry_seconds * 1'000'000'000ull / 3;
}

void SessionMachine::keep_session(TimeNs now) {
  if (state_ != MachineState::kOpen || opened_.idle_expiry_seconds == 0) return;
  // Nobody has called for so long that the session may be gone. A write that meets that would have an unknown outcome,
  // so the session is opened first.
  const bool may_be_gone = now >= oldest_contact() + opened_.idle_expiry_seconds * 2'000'000'000ull / 3;
  if (may_be_gone && outstanding_ == 0) {
    begin_opening(MachineState::kReopening, now);
  } else if (now >= keep_alive_due()) {
    keep_alive(now);
  }
}

void SessionMachine::refresh_next_due(TimeNs now) {
  TimeNs due = session_due_;
  const bool sends_wait = state_ == MachineState::kOpen && lists_[kResendList].head != kNil;
  if (sends_wait || lists_[kDoomedList].head != kNil) due = now;
  for (uint8_t list = kRetransmitLists; list <= kDeadlineList; ++list) {
    if (lists_[list].head == kNil) continue;
    const TimeNs head = slots_[lists_[list].head].resend_at_ns;
    if (head < due) due = head;
  }
  const TimeNs keep_alive = keep_alive_due();
  if (keep_alive < due) due = keep_alive;
  next_due_ = due;
}

}  // namespace txnic::client
