// SPDX-License-Identifier: BSD-3-Clause
// Answers. Nothing that a message says is believed before its length is checked, and each message ends in exactly
// one of the receive counters.
#include "txn/client/machine.h"

namespace txnic::client {
namespace {

// True if wire::parse_values() will accept the body.
bool values_fit(const std::byte* message, const wire::Header& h) {
  if (h.operation_count > limits::kOperationsMax) return false;
  if (h.length == wire::kHeaderBytes) return h.operation_count == 0;
  if (h.length < wire::kExecutedFixedBytes) return false;
  uint32_t at = wire::kExecutedFixedBytes;
  uint32_t operation_min = 0;
  for (uint32_t i = 0; i < h.operation_count; ++i) {
    if (h.length - at < sizeof(wire::ValueHeader)) return false;
    const auto v = load<wire::ValueHeader>(message + at);
    at += static_cast<uint32_t>(sizeof v);
    if (v.operation < operation_min || v.operation >= limits::kOperationsMax) return false;
    if (v.value_length > limits::kValueBytesMax || h.length - at < v.value_length) return false;
    operation_min = v.operation + 1u;
    at += v.value_length;
  }
  return at == h.length;
}

// Refusals that lie in the message itself, so that under one stamp every copy of it gets the same.
bool is_lasting(Result result) {
  return result == Result::kWrongShard || result == Result::kUnknownTable || result == Result::kCrossShard ||
         result == Result::kBadRequest;
}

}  // namespace

Event SessionMachine::on_message(TimeNs now, const std::byte* message, uint32_t length) {
  Event event;
  ++statistics_.received_messages;
  if (wire::parse_reply_header(message, length, &event.header) != wire::ParseError::kNone) [[unlikely]] {
    ++statistics_.malformed;
    return event;
  }
  if (event.header.session != session_) [[unlikely]] {
    ++statistics_.unmatched;
    return event;
  }
  event.message = message;
  switch (static_cast<wire::Type>(event.header.type)) {
    case wire::Type::kExecuted: on_executed(&event, now); break;
    case wire::Type::kPrepared: on_prepared(&event, now); break;
    case wire::Type::kChallenge: on_challenge(event, now); break;
    case wire::Type::kOpened: on_opened(&event, now); break;
    case wire::Type::kClosed: on_closed(&event); break;
    case wire::Type::kMapped: on_mapped(&event); break;
    default: ++statistics_.unmatched; break;  // an echo, or a type that parse_reply_header does not let through
  }
  return event;
}

void SessionMachine::on_executed(Event* event, TimeNs now) {
  const wire::Header& h = event->header;
  if (static_cast<Result>(h.result) == Result::kBadVersion) [[unlikely]] {
    Node* const node = node_count_ == 1 ? &nodes_[0] : node_by_attempt(h.sequence);
    if (node != nullptr && node->is_opening()) {  // the answer to OPEN of a node that cannot read it
      ++statistics_.session_messages;
      refuse_opening(*node, event, now);
      return;
    }
  }
  Slot* const slot = awaiting(h);
  if (slot == nullptr) return;
  if (slot->participants != 0) [[unlikely]] {
    ++statistics_.unmatched;
    return;
  }
  if (!values_fit(event->message, h)) [[unlikely]] {
    ++statistics_.malformed;
    return;
  }
  const auto result = static_cast<Result>(h.result);
  if (!is_recorded(result)) [[unlikely]] {
    on_refusal(event, slot, now);
    return;
  }
  // COMMITTED is certain whenever it was said. An abort that answers an older copy is not: after a restart the newer
  // copy may be executed (COMMIT 8).
  if (result != Result::kCommitted && h.stamp != slot->stamp) [[unlikely]] {
    ++statistics_.stale;
    return;
  }
  event->detail = h.detail;
  event->reply_flags = h.flags;
  if (h.length >= wire::kExecutedFixedBytes) event->commit_version = load<Version>(event->message + wire::kHeaderBytes);
  ++statistics_.answers;
  settle(slot, result, event);
}

// Not recorded, so no outcome (COMMIT 5).
void SessionMachine::on_refusal(Event* event, Slot* slot, TimeNs now) {
  const wire::Header& h = event->header;
  const auto result = static_cast<Result>(h.result);
  if (result == Result::kBadSession) {
    Node& node = nodes_[slot->node];
    on_bad_session(*event, node, slot->stamp == node.stamp, now);
    return;
  }
  const bool current = h.stamp == slot->stamp || result == Result::kBadVersion;
  if (!current || slot->list == kDoomedList || slot->list == kResendList) {
    ++statistics_.stale;  // another copy decides, or the request is about to be settled
    return;
  }
  slot->refusal = result;
  slot->refusal_detail = h.detail;
  event->detail = h.detail;
  const auto reason = static_cast<BusyReason>(h.detail);
  const bool retry = result == Result::kLocked || result == Result::kBusy;
  const bool always = result == Result::kBusy && (reason == BusyReason::kWindow || reason == BusyReason::kNotReady);
  // Of several copies another one may still be executed: with a lock, which goes soon, it is worth to find out.
  const bool is_doubtful = result == Result::kLocked && !slot->read_only && slot->sends > 1;
  if (retry && (always || is_doubtful || slot->deadline_ns > now)) {
    retry_later(slot, now);
    return;
  }
  ++statistics_.answers;
  if (result == Result::kWrongShard && limits_.nodes > 1) ask_map(now);
  // Another copy may have been executed, or be executed when it arrives; also where the shard was before it moved.
  const bool may_move = map_ != nullptr && result == Result::kWrongShard;
  const bool is_for_all = is_lasting(result) && !slot->restamped && !may_move;
  const bool uncertain = !slot->read_only && slot->sends > 1 && !is_for_all;
  settle(slot, uncertain || result == Result::kOldSequence ? Result::kUnknownOutcome : result, event);
}

// After a pause that grows.
void SessionMachine::retry_later(Slot* slot, TimeNs now) {
  ++statistics_.retryable;
  ++statistics_.busy_retries;
  const auto list = static_cast<uint8_t>(kBusyLists + slot->busy_backoff);
  if (slot->busy_backoff < kLevels - 1) ++slot->busy_backoff;
  if (slot->list >= kBusyLists && slot->list < kBusyLists + kLevels) return;  // waits already
  unlink(slot);
  arm(slot, list, now);
}

// The node does not accept our stamp: open again; OPENED says what becomes of the requests. BAD_SESSION names the
// node's incarnation, not the stamp that it refuses, so it may answer a copy from before the last opening. Opening
// because of those would make old copies of everything that is in flight, and so never end under load: they are left
// to die out. That is nearly certain where the node says that it knows the session, in the incarnation that we know.
// `is_current`: the newest copy went to that node under its newest stamp.
void SessionMachine::on_bad_session(const Event& event, Node& node, bool is_current, TimeNs now) {
  const bool is_old_copy = event.header.detail == static_cast<uint8_t>(BadSessionReason::kOldStamp) &&
                           stamp_incarnation(event.header.stamp) == stamp_incarnation(node.stamp);
  const TimeNs quiet_ns = limits_.open_retry_ns * (is_old_copy ? kStaleStampRetries : 1);
  if (node.state != MachineState::kOpen || !is_current || now < node.opened_at + quiet_ns) {
    ++statistics_.stale;
    return;
  }
  ++statistics_.retryable;
  begin_opening(node, MachineState::kReopening, now);
}

}  // namespace txnic::client
