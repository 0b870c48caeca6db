// SPDX-License-Identifier: BSD-3-Clause
// Opening, opening again and closing the session at a node (COMMIT 8). What a lost window means: losing.cc.
//
// One opening has one attempt number, also when its messages are sent again: a node that sees the same attempt twice
// repeats its first answer. While something may be in flight, OPEN carries the stamp that we hold, and the node only
// resumes the session, never creates it: else an OPEN that is sent again, because its OPENED got lost, would find the
// window that its own first copy created in place of the one that was lost.
#include "txn/client/machine.h"

namespace txnic::client {

void SessionMachine::open(TimeNs now) {
  assert(!is_active_ && state() == MachineState::kClosed);
  is_active_ = true;
  for (Node& node : nodes()) {
    node.stamp = 0;  // nothing is in flight
    begin_opening(node, MachineState::kOpening, now);
  }
}

MachineState SessionMachine::state() const {
  if (node_count_ == 1) return nodes_[0].state;
  if (is_usable_) return MachineState::kOpen;
  MachineState state = MachineState::kClosed;
  for (const Node& node : nodes()) {
    if (node.state != MachineState::kClosed) state = node.state;
  }
  return state;
}

bool SessionMachine::is_open_everywhere() const {
  for (const Node& node : nodes()) {
    if (node.state != MachineState::kOpen) return false;
  }
  return true;
}

void SessionMachine::set_state(Node& node, MachineState state) {
  node.state = state;
  is_usable_ = false;
  for (const Node& other : nodes()) is_usable_ = is_usable_ || other.state == MachineState::kOpen;
  if (!is_active_) is_usable_ = false;
  update_limit();
}

void SessionMachine::begin_opening(Node& node, MachineState state, TimeNs now) {
  set_state(node, state);
  ++(state == MachineState::kOpening ? statistics_.opens : statistics_.reopens);
  node.attempt = ++attempts_;
  node.has_cookie = false;
  node.keeps_alive = false;
  node.tries = 0;
  send_open(node, now);
}

// The OPEN of the newest attempt once more, which every worker of the node sees. Requests go on meanwhile.
void SessionMachine::keep_alive(Node& node, TimeNs now) {
  node.keeps_alive = true;
  node.has_cookie = false;
  node.tries = 0;
  send_open(node, now);
}

void SessionMachine::send_open(Node& node, TimeNs now) {
  if (node.has_cookie && ++node.cookie_tries > kCookieTriesMax) node.has_cookie = false;  // it may be too old by now
  std::byte message[wire::kOpenBytes];
  const uint8_t* const cookie = node.has_cookie ? node.cookie : nullptr;
  const uint32_t length = wire::build_open(message, session_, node.attempt, cookie, node.stamp);
  delay_open(node, now);
  if (node.tries < 4) ++node.tries;
  ++statistics_.sent_messages;
  ++statistics_.session_sent;
  emit_(context_, message, length, number_of(node), 0);
}

void SessionMachine::delay_open(Node& node, TimeNs now) {
  node.due = now + (limits_.open_retry_ns << node.tries);
  wake_at(node.due);
}

void SessionMachine::close(TimeNs now) {
  if (!is_active_) return;
  is_active_ = false;
  wants_map_ = false;
  map_due_ = kNever;
  for (Node& node : nodes()) {
    const MachineState before = node.state;
    if (before == MachineState::kClosed) continue;
    set_state(node, MachineState::kClosing);
    node.keeps_alive = false;
    if (before == MachineState::kOpening) {  // if the node did open the session, it expires there
      node.tries = kCloseTriesMax;
      node.due = now;
    } else {
      node.tries = 0;
      send_close(node, now);
    }
    wake_at(node.due);
  }
  update_limit();
  doom_outstanding();
}

void SessionMachine::send_close(Node& node, TimeNs now) {
  std::byte message[wire::kHeaderBytes];
  const uint32_t length = wire::build_close(message, session_, node.attempt, node.stamp);
  node.due = now + (limits_.open_retry_ns << node.tries);
  ++node.tries;
  ++statistics_.sent_messages;
  ++statistics_.session_sent;
  emit_(context_, message, length, number_of(node), 0);
}

// Attempts differ between nodes, so they tell whose answer it is. With one node there is nothing to tell.
Node* SessionMachine::node_by_attempt(Sequence attempt) {
  for (Node& node : nodes()) {
    if (node.attempt == attempt) return &node;
  }
  return nullptr;
}

void SessionMachine::on_challenge(const Event& event, TimeNs now) {
  Node* const node = node_by_attempt(event.header.sequence);
  if (node == nullptr || !node->awaits_opened()) {
    ++statistics_.stale;
    return;
  }
  const std::byte* cookie = event.message + wire::kHeaderBytes;
  if (node->has_cookie && std::memcmp(node->cookie, cookie, wire::kCookieBytes) == 0) {
    ++statistics_.duplicates;  // the timer sends OPEN again, not this
    return;
  }
  ++statistics_.session_messages;
  std::memcpy(node->cookie, cookie, wire::kCookieBytes);
  node->has_cookie = true;
  node->cookie_tries = 0;
  send_open(*node, now);
}

void SessionMachine::on_opened(Event* event, TimeNs now) {
  Node* const found = node_by_attempt(event->header.sequence);
  if (found == nullptr || !found->awaits_opened()) {
    ++statistics_.stale;
    return;
  }
  Node& node = *found;
  if (static_cast<Result>(event->header.result) != Result::kCommitted) {
    ++statistics_.session_messages;
    refuse_opening(node, event, now);
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
  const uint32_t epoch = event->header.map_epoch;
  if (limits_.nodes > 1 && epoch != (map_ == nullptr ? 0 : map_->epoch)) ask_map(now);
  if (node.keeps_alive && stamp == node.stamp) {
    node.keeps_alive = false;
    node.due = kNever;
    for (TimeNs& sent : node.worker_sent) sent = now;
    wake_at(node.keep_alive_due());
    return;
  }
  if (node.stamp != 0 && body.window_survived == 0) lose_window(node);
  event->detail = node.stamp != 0;
  event->kind = EventKind::kOpened;
  event->node = static_cast<uint8_t>(number_of(node));
  accept_opening(node, stamp, body, now);
}

// What was submitted before is sent under the new stamp.
void SessionMachine::accept_opening(Node& node, Stamp stamp, const wire::OpenedBody& body, TimeNs now) {
  node.opened = body;
  node.workers = body.worker_count;
  node.stamp = stamp;
  node.window = body.window;
  node.keeps_alive = false;
  node.opened_at = now;
  node.due = kNever;
  const auto ring = static_cast<uint32_t>(mask_ + 1);
  window_ = limits_.window < ring ? limits_.window : ring;
  for (const Node& other : nodes()) {
    if (other.window != 0 && other.window < window_) window_ = other.window;
  }
  set_state(node, MachineState::kOpen);
  for (TimeNs& sent : node.worker_sent) sent = now;

  const uint32_t number = number_of(node);
  for (Sequence s = watermark_; s != next_sequence_; ++s) {
    Slot& slot = slots_[s & mask_];
    if (slot.sequence != s || (slot.state != kQueued && slot.state != kInFlight)) continue;
    if (slot.list == kDoomedList || !involves(slot, number)) continue;
    if (slot.participants != 0) {
      FanOut& fan = fan_of(&slot);
      for (uint32_t i = 0; i < slot.participants; ++i) {
        if (fan.nodes[i] == number) fan.current = static_cast<uint16_t>(fan.current & ~(1u << i));
      }
    }
    slot.backoff = 0;
    unlink(&slot);
    append(&slot, kResendList);
  }
  if (lists_[kDoomedList].head != kNil || lists_[kResendList].head != kNil) wake_at(0);
  wake_at(node.keep_alive_due());
}

// `event` holds the refusal's header.
void SessionMachine::refuse_opening(Node& node, Event* event, TimeNs now) {
  const auto result = static_cast<Result>(event->header.result);
  const uint8_t detail = event->header.detail;
  if (result == Result::kBadSession && detail == static_cast<uint8_t>(BadSessionReason::kUnknown)) {
    if (node.stamp != 0) {
      lose_window(node);
      begin_opening(node, MachineState::kReopening, now);
      return;
    }
    // Some worker does not know what an earlier copy of this attempt created at others: a new attempt starts over.
    node.attempt = ++attempts_;
    node.has_cookie = false;
    delay_open(node, now);
    return;
  }
  if (result == Result::kBusy) {  // session table full, or still recovering: go on trying
    node.has_cookie = false;
    delay_open(node, now);
    if (node.keeps_alive) return;
  }
  event->kind = EventKind::kRefused;
  event->result = result;
  event->detail = detail;
  event->node = static_cast<uint8_t>(number_of(node));
  if (result == Result::kBusy) return;
  node.keeps_alive = false;
  node.due = kNever;
  set_state(node, MachineState::kClosed);
  forsake(number_of(node), true);
  if (node_count_ == 1) is_active_ = false;
}

void SessionMachine::on_closed(Event* event) {
  Node* const node = node_count_ == 1 ? &nodes_[0] : node_by_attempt(event->header.sequence);
  if (node == nullptr || node->state != MachineState::kClosing) {
    ++statistics_.stale;
    return;
  }
  ++statistics_.session_messages;
  if (static_cast<Result>(event->header.result) == Result::kBusy) return;  // the timer sends CLOSE again
  node->due = kNever;
  set_state(*node, MachineState::kClosed);
  if (state() == MachineState::kClosed) event->kind = EventKind::kClosed;
}

}  // namespace txnic::client
