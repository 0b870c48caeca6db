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
  for (Node& node : nodes()) {
    if (now >= node.due && poll_session(node, now, &event)) return event;
  }
  if (now >= map_due_) send_map(now);

  uint32_t budget = kSendsPerPoll;
  List& resend = lists_[kResendList];
  while (resend.head != kNil && budget != 0) {
    Slot* slot = &slots_[resend.head];
    if (slot->deadline_ns != 0 && now >= slot->deadline_ns) {
      give_up(slot, &event);
      return event;
    }
    unlink(slot);
    if (can_send(slot)) {
      transmit(slot, now);
    } else {  // its node is being opened again, or another one that it needs
      open_where_needed(slot, now);
      arm(slot, kRetransmitLists, now);
    }
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
  for (Node& node : nodes()) keep_session(node, now);
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
  if (!can_send(slot)) {  // the node would only refuse it; OPENED sends it
    arm(slot, list, now);
    return false;
  }
  if (list < kBusyLists && slot->backoff < kLevels - 1) ++slot->backoff;
  transmit(slot, now);
  return false;
}

// OPEN and CLOSE again. True if there is an event to tell.
bool SessionMachine::poll_session(Node& node, TimeNs now, Event* event) {
  if (node.awaits_opened()) {
    send_open(node, now);
    return false;
  }
  assert(node.state == MachineState::kClosing);
  if (node.tries < kCloseTriesMax) {
    send_close(node, now);
    return false;
  }
  node.due = kNever;
  set_state(node, MachineState::kClosed);  // the session expires at the node
  if (state() != MachineState::kClosed) return false;
  event->kind = EventKind::kClosed;
  return true;
}

void SessionMachine::keep_session(Node& node, TimeNs now) {
  if (node.state != MachineState::kOpen || node.opened.idle_expiry_seconds == 0) return;
  // Nobody has called for so long that the session may be gone. A write that meets that would have an unknown outcome,
  // so the session is opened first.
  const bool may_be_gone = now >= node.oldest_contact() + node.opened.idle_expiry_seconds * 2'000'000'000ull / 3;
  if (may_be_gone && outstanding_ == 0) {
    begin_opening(node, MachineState::kReopening, now);
  } else if (now >= node.keep_alive_due()) {
    keep_alive(node, now);
  }
}

void SessionMachine::refresh_next_due(TimeNs now) {
  TimeNs due = map_due_;
  if (lists_[kResendList].head != kNil || lists_[kDoomedList].head != kNil) due = now;
  for (uint8_t list = kRetransmitLists; list <= kDeadlineList; ++list) {
    if (lists_[list].head == kNil) continue;
    const TimeNs head = slots_[lists_[list].head].resend_at_ns;
    if (head < due) due = head;
  }
  for (const Node& node : nodes()) {
    if (node.due < due) due = node.due;
    const TimeNs keep_alive = node.keep_alive_due();
    if (keep_alive < due) due = keep_alive;
  }
  next_due_ = due;
}

}  // namespace txnic::client
