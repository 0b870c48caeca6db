// SPDX-License-Identifier: BSD-3-Clause
// First copies and further copies of requests. Stamp and watermark are those of the moment of sending.
#include "txn/client/machine.h"

namespace txnic::client {
namespace {

// True if no operation of this (well-formed, our own) message writes.
bool only_reads(const std::byte* message, uint32_t operation_count) {
  const std::byte* at = message + wire::kHeaderBytes;
  for (uint32_t i = 0; i < operation_count; ++i) {
    const auto op = load<wire::OperationHeader>(at);
    if (wire::code_writes(op.code)) return false;
    at += sizeof op + (wire::carries_version(op) ? 8u : 0u) + op.key_length + op.value_length;
  }
  return true;
}

}  // namespace

void SessionMachine::prepare_slot(Slot* slot, uint32_t operation_count, ShardId shard, TimeNs deadline_ns) {
  slot->read_only = only_reads(slot->message, operation_count);
  slot->shard = shard;
  slot->deadline_ns = deadline_ns;
  slot->backoff = 0;
  slot->busy_backoff = 0;
  slot->restamped = false;
  slot->resumable = false;
  slot->refusal = Result::kCommitted;
  slot->refusal_detail = 0;
  ++outstanding_;
  ++statistics_.submitted;
}

void SessionMachine::submit(Slot* slot, wire::ExecuteBuilder& builder, ShardId shard, TimeNs deadline_ns,
                            TimeNs now) {
  assert(slot->state == kAcquired && builder.operation_count() != 0);
  const auto lag = static_cast<uint32_t>(slot->sequence - watermark_);
  const Route to = route(shard);
  Node& node = nodes_[to.node];
  slot->length = builder.finish(session_, slot->sequence, node.stamp, lag, shard);
  slot->participants = 0;
  slot->node = static_cast<uint8_t>(to.node);
  prepare_slot(slot, builder.operation_count(), shard, deadline_ns);
  if (node.state == MachineState::kOpen) [[likely]] {
    slot->state = kInFlight;
    slot->stamp = node.stamp;
    slot->sends = 1;
    slot->first_sent_ns = now;
    arm(slot, kRetransmitLists, now);
    node.worker_sent[to.worker] = now;
    ++statistics_.sent_messages;
    emit_(context_, slot->message, slot->length, to.node, to.worker);
    return;
  }
  queue(slot, now);
}

// To be sent when it can be.
void SessionMachine::queue(Slot* slot, TimeNs now) {
  slot->state = kQueued;
  slot->stamp = 0;
  slot->sends = 0;
  slot->first_sent_ns = 0;
  if (!is_active_) {
    append(slot, kDoomedList);
    wake_at(0);
    return;
  }
  arm(slot, kRetransmitLists, now);
  open_where_needed(slot, now);
}

// A node is opened when something is to be sent to it, also again after it has refused.
void SessionMachine::open_where_needed(const Slot* slot, TimeNs now) {
  const auto open_one = [&](Node& node) {
    if (node.state == MachineState::kClosed && is_active_) begin_opening(node, MachineState::kOpening, now);
  };
  if (slot->participants == 0) open_one(nodes_[slot->node]);
  for (uint32_t i = 0; i < slot->participants; ++i) {
    const FanOut& fan = fan_of(slot);
    if ((fan.lost >> i & 1) == 0) open_one(nodes_[fan.nodes[i]]);
  }
}

bool SessionMachine::can_send(const Slot* slot) const {
  if (slot->participants != 0) [[unlikely]] return can_send_fan(slot);
  return nodes_[slot->node].state == MachineState::kOpen;
}

// Sends a slot that is in no list, under the newest stamp, and waits for its answer.
void SessionMachine::transmit(Slot* slot, TimeNs now) {
  assert(slot->list == kNoList && can_send(slot));
  const Route to = slot->participants == 0 ? route(slot->shard) : Route{fan_of(slot).nodes[0], 0};
  Node& node = nodes_[to.node];
  if (slot->sends == 0) {
    slot->first_sent_ns = now;
  } else if (slot->stamp != node.stamp) {
    slot->restamped = true;
  }
  slot->stamp = node.stamp;
  slot->state = kInFlight;
  arm(slot, static_cast<uint8_t>(kRetransmitLists + slot->backoff), now);
  if (slot->participants != 0) {
    transmit_fan(slot, now);
  } else {
    store(slot->message + offsetof(wire::Header, stamp), node.stamp);
    store(slot->message + offsetof(wire::Header, watermark_lag), static_cast<uint32_t>(slot->sequence - watermark_));
    node.worker_sent[to.worker] = now;
    ++statistics_.sent_messages;
    statistics_.retransmissions += slot->sends != 0;
    emit_(context_, slot->message, slot->length, to.node, to.worker);
  }
  if (slot->sends != UINT16_MAX) ++slot->sends;
}

// Puts a slot into the timer list where it waits for its next copy, or for its deadline if that comes first.
void SessionMachine::arm(Slot* slot, uint8_t list, TimeNs now) {
  const TimeNs due = now + wait_ns_[list];
  if (slot->deadline_ns != 0 && slot->deadline_ns < due) [[unlikely]] {
    slot->resend_at_ns = slot->deadline_ns;
    insert_by_deadline(slot);
  } else {
    slot->resend_at_ns = due;
    append(slot, list);
  }
  wake_at(slot->resend_at_ns);
}

// Callers mostly give equal time limits, so that deadlines come in order and the search ends at the tail.
void SessionMachine::insert_by_deadline(Slot* slot) {
  List& l = lists_[kDeadlineList];
  uint32_t before = l.tail;
  while (before != kNil && slots_[before].resend_at_ns > slot->resend_at_ns) before = slots_[before].previous;
  if (before == l.tail) {
    append(slot, kDeadlineList);
    return;
  }
  const uint32_t index = index_of(slot);
  const uint32_t after = before == kNil ? l.head : slots_[before].next;
  slot->list = kDeadlineList;
  slot->previous = before;
  slot->next = after;
  slots_[after].previous = index;
  if (before == kNil) {
    l.head = index;
  } else {
    slots_[before].next = index;
  }
}

}  // namespace txnic::client
