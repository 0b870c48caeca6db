// SPDX-License-Identifier: BSD-3-Clause
// Opening, opening again and closing the session (COMMIT 8).
//
// One opening has one attempt number, also when its messages are sent again: a node that sees the same attempt twice
// repeats its first answer. While something may be in flight, OPEN carries the stamp that we hold, and the node only
// resumes the session, never creates it: else an OPEN that is sent again, because its OPENED got lost, would find the
// window that its own first copy created in place of the one that was lost.
#include "txn/client/machine.h"

namespace txnic::client {

void SessionMachine::open(TimeNs now) {
  assert(state_ == MachineState::kClosed);
  stamp_ = 0;  // nothing is in flight
  begin_opening(MachineState::kOpening, now);
}

void SessionMachine::begin_opening(MachineState state, TimeNs now) {
  state_ = state;
  ++(state == MachineState::kOpening ? statistics_.opens : statistics_.reopens);
  ++attempt_;
  has_cookie_ = false;
  keeps_alive_ = false;
  session_tries_ = 0;
  update_limit();
  // What waits to be sent goes back to a timer list, where its deadline is watched.
  List& resend = lists_[kResendList];
  while (resend.head != kNil) {
    Slot* slot = &slots_[resend.head];
    unlink(slot);
    arm(slot, kRetransmitLists, now);
  }
  send_open(now);
}

// The OPEN of the newest attempt once more, which every worker of the node sees. Requests go on meanwhile.
void SessionMachine::keep_alive(TimeNs now) {
  keeps_alive_ = true;
  has_cookie_ = false;
  session_tries_ = 0;
  send_open(now);
}

void SessionMachine::send_open(TimeNs now) {
  if (has_cookie_ && ++cookie_tries_ > kCookieTriesMax) has_cookie_ = false;  // it may be too old by now
  std::byte message[wire::kOpenBytes];
  const uint32_t length = wire::build_open(message, session_, attempt_, has_cookie_ ? cookie_ : nullptr, stamp_);
  delay_open(now);
  if (session_tries_ < 4) ++session_tries_;
  ++statistics_.sent_messages;
  ++statistics_.session_sent;
  emit_(context_, message, length, 0);
}

void SessionMachine::delay_open(TimeNs now) {
  session_due_ = now + (limits_.open_retry_ns << session_tries_);
  wake_at(session_due_);
}

void SessionMachine::close(TimeNs now) {
  switch (state_) {
    case MachineState::kClosed:
    case MachineState::kClosing: return;
    case MachineState::kOpening:
      // If the node did open the session, it expires there.
      session_tries_ = kCloseTriesMax;
      session_due_ = now;
      break;
    case MachineState::kOpen:
    case MachineState::kReopening: session_tries_ = 0; break;
  }
  state_ = MachineState::kClosing;
  keeps_alive_ = false;
  update_limit();
  doom_outstanding();
  if (session_tries_ == 0) send_close(now);
  wake_at(session_due_);
}

void SessionMachine::send_close(TimeNs now) {
  std::byte message[wire::kHeaderBytes];
  const uint32_t length = wire::build_close(message, session_, next_sequence_, stamp_);
  session_due_ = now + (limits_.open_retry_ns << session_tries_);
  ++session_tries_;
  ++statistics_.sent_messages;
  ++statistics_.session_sent;
  emit_(context_, message, length, 0);
}

void SessionMachine::on_challenge(const Event& event, TimeNs now) {
  if (!awaits_opened() || event.header.sequence != attempt_) {
    ++statistics_.stale;
    return;
  }
  const std::byte* cookie = event.message + wire::kHeaderBytes;
  if (has_cookie_ && std::memcmp(cookie_, cookie, wire::kCookieBytes) == 0) {
    ++statistics_.duplicates;  // the timer sends OPEN again, not this
    return;
  }
  ++statistics_.session_messages;
  std::memcpy(cookie_, cookie, wire::kCookieBytes);
  has_cookie_ = true;
  cookie_tries_ = 0;
  send_open(now);
}

void SessionMachine::on_opened(Event* event, TimeNs now) {
  if (!awaits_opened() || event->header.sequence != attempt_) {
    ++statistics_.stale;
    return;
  }
  if (static_cast<Result>(event->header.result) != Result::kCommitted) {
    ++statistics_.session_messages;
    refuse_opening(event, now);
    return;
  }
  const auto body = load<wire::OpenedBody>(event->message + wire::kHeaderBytes);
  const Stamp stamp = event->header.stamp;
  if (body.shard_count == 0 || body.shard_count > limits::kShardsMax || body.worker_count == 0 ||
      body.worker_count > limits::kWorkersMax || body.window == 0 || stamp == 0) {
    ++statistics_.malformed;
    return;
  }
  ++statistics_.session_messages;
  if (keeps_alive_ && stamp == stamp_) {
    keeps_alive_ = false;
    session_due_ = kNever;
    for (TimeNs& sent : worker_sent_) sent = now;
    wake_at(keep_alive_due());
    return;
  }
  if (stamp_ != 0 && body.window_survived == 0) lose_window();
  event->detail = stamp_ != 0;
  event->kind = EventKind::kOpened;
  accept_opening(stamp, body, now);
}

// The node does not know the outcomes any more, so nobody can say whether a request that writes and was sent has been
// executed: its id must never be sent again. Sequences go on.
void SessionMachine::lose_window() {
  ++statistics_.windows_lost;
  for (Sequence s = watermark_; s != next_sequence_; ++s) {
    Slot& slot = slots_[s & mask_];
    if (slot.sequence != s || slot.state != kInFlight || slot.read_only || slot.list == kDoomedList) continue;
    unlink(&slot);
    append(&slot, kDoomedList);
  }
  stamp_ = 0;
  wake_at(0);
}

// What was submitted before is sent under the new stamp.
void SessionMachine::accept_opening(Stamp stamp, const wire::OpenedBody& body, TimeNs now) {
  opened_ = body;
  workers_ = body.worker_count;
  stamp_ = stamp;
  state_ = MachineState::kOpen;
  keeps_alive_ = false;
  opened_at_ = now;
  session_due_ = kNever;
  const auto ring = static_cast<uint32_t>(mask_ + 1);
  window_ = limits_.window < ring ? limits_.window : ring;
  if (body.window < window_) window_ = body.window;
  update_limit();
  for (TimeNs& sent : worker_sent_) sent = now;

  for (Sequence s = watermark_; s != next_sequence_; ++s) {
    Slot& slot = slots_[s & mask_];
    if (slot.sequence != s || (slot.state != kQueued && slot.state != kInFlight)) continue;
    if (slot.list == kDoomedList) continue;
    slot.backoff = 0;
    unlink(&slot);
    append(&slot, kResendList);
  }
  if (lists_[kDoomedList].head != kNil || lists_[kResendList].head != kNil) wake_at(0);
  wake_at(keep_alive_due());
}

// `event` holds the refusal's header.
void SessionMachine::refuse_opening(Event* event, TimeNs now) {
  const auto result = static_cast<Result>(event->header.result);
  const uint8_t detail = event->header.detail;
  if (result == Result::kBadSession && detail == static_cast<uint8_t>(BadSessionReason::kUnknown)) {
    if (stamp_ != 0) {
      lose_window();
      begin_opening(MachineState::kReopening, now);
      return;
    }
    // Some worker does not know what an earlier copy of this attempt created at others: a new attempt starts over.
    ++attempt_;
    has_cookie_ = false;
    delay_open(now);
    return;
  }
  if (result == Result::kBusy) {  // session table full, or still recovering: go on trying
    has_cookie_ = false;
    delay_open(now);
    if (keeps_alive_) return;
  }
  event->kind = EventKind::kRefused;
  event->result = result;
  event->detail = detail;
  if (result == Result::kBusy) return;
  state_ = MachineState::kClosed;
  keeps_alive_ = false;
  session_due_ = kNever;
  update_limit();
  doom_outstanding();
}

void SessionMachine::on_closed(Event* event) {
  if (state_ != MachineState::kClosing) {
    ++statistics_.stale;
    return;
  }
  ++statistics_.session_messages;
  if (static_cast<Result>(event->header.result) == Result::kBusy) return;  // the timer sends CLOSE again
  state_ = MachineState::kClosed;
  session_due_ = kNever;
  event->kind = EventKind::kClosed;
}

}  // namespace txnic::client
