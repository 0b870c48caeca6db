// SPDX-License-Identifier: BSD-3-Clause
// Transactions of several shards. The slot keeps the caller's operations in his order; whenever they are sent, each
// participant's are copied out into its PREPARE. What comes back is put into the caller's order again.
#include "txn/client/machine.h"

namespace txnic::client {
namespace {

// Calls each(index, shard, operation's bytes) for the operations of our own message.
template <class Each>
void for_each_operation(const std::byte* message, uint32_t operation_count, uint32_t shard_count, Each&& each) {
  const std::byte* at = message + wire::kHeaderBytes;
  for (uint32_t i = 0; i < operation_count; ++i) {
    const auto op = load<wire::OperationHeader>(at);
    const uint32_t before_key = sizeof op + (wire::carries_version(op) ? 8u : 0u);
    const uint32_t length = before_key + op.key_length + op.value_length;
    each(i, shard_of(hash_key(at + before_key, op.key_length), shard_count), Bytes(at, length));
    at += length;
  }
}

uint32_t place_of(const FanOut& fan, uint32_t participants, ShardId shard) {
  uint32_t place = 0;
  while (place < participants && fan.shards[place] != shard) ++place;
  return place;
}

}  // namespace

bool SessionMachine::submit_split(Slot* slot, wire::ExecuteBuilder& builder, TimeNs deadline_ns, TimeNs now) {
  assert(slot->state == kAcquired && builder.operation_count() != 0);
  FanOut& fan = fan_of(slot);
  uint32_t participants = 0;
  if (!split(slot, builder.operation_count(), &fan, &participants)) return false;
  if (participants == 1) {
    submit(slot, builder, fan.shards[0], deadline_ns, now);
    return true;
  }
  slot->length = builder.finish(session_, slot->sequence, 0, 0, fan.shards[0]);
  slot->participants = static_cast<uint8_t>(participants);
  slot->node = fan.nodes[0];
  prepare_slot(slot, builder.operation_count(), fan.shards[0], deadline_ns);
  ++statistics_.split;
  queue(slot, now);
  if (slot->list == kDoomedList || !can_send(slot)) return true;
  unlink(slot);
  transmit(slot, now);
  return true;
}

// Who takes part, by the map of now. False: too many, or the operations of one do not fit.
bool SessionMachine::split(const Slot* slot, uint32_t operation_count, FanOut* fan, uint32_t* participants) const {
  *fan = FanOut{};
  fan->map_epoch = map_ == nullptr ? 0 : map_->epoch;
  fan->shard_count = static_cast<uint16_t>(shard_count());
  uint32_t count = 0, largest = 0;
  std::array<uint32_t, limits::kParticipantsMax> bytes{};
  bool fits = true;
  for_each_operation(slot->message, operation_count, fan->shard_count, [&](uint32_t, ShardId shard, Bytes operation) {
    const uint32_t place = place_of(*fan, count, shard);
    if (place == limits::kParticipantsMax) {
      fits = false;
      return;
    }
    if (place == count) {
      fan->shards[count] = shard;
      fan->nodes[count++] = static_cast<uint8_t>(route(shard).node);
    }
    bytes[place] += static_cast<uint32_t>(operation.size());
    if (bytes[place] > largest) largest = bytes[place];
  });
  *participants = count;
  if (count == 1) return true;
  // The answer has a version for each participant, and so less room than any PREPARE.
  return fits && wire::prepare_fixed_bytes(count) + largest <= limits::kMessageBytesMax;
}

// All participants' nodes are open before the first PREPARE (COMMIT 8). Later those that are get it.
bool SessionMachine::can_send_fan(const Slot* slot) const {
  const FanOut& fan = fan_of(slot);
  uint32_t open = 0, wanted = 0;
  for (uint32_t i = 0; i < slot->participants; ++i) {
    if ((fan.lost >> i & 1) != 0) continue;
    ++wanted;
    open += nodes_[fan.nodes[i]].state == MachineState::kOpen;
  }
  return slot->sends == 0 ? open == wanted : open != 0;
}

void SessionMachine::transmit_fan(Slot* slot, TimeNs now) {
  FanOut& fan = fan_of(slot);
  Participants list;
  list.count = slot->participants;
  list.map_epoch = fan.map_epoch;
  list.shards = fan.shards;
  const uint32_t operation_count = wire::read_header(slot->message).operation_count;
  const TransactionId id{session_, slot->sequence};
  const auto lag = static_cast<uint32_t>(slot->sequence - watermark_);
  std::byte message[limits::kMessageBytesMax];
  for (uint32_t i = 0; i < slot->participants; ++i) {
    const Route to = route(fan.shards[i]);
    Node& node = nodes_[to.node];
    if ((fan.lost >> i & 1) != 0 || node.state != MachineState::kOpen) continue;
    wire::ExecuteBuilder builder(message, list);
    for_each_operation(slot->message, operation_count, fan.shard_count,
                       [&](uint32_t, ShardId shard, Bytes operation) {
                         if (shard == fan.shards[i]) builder.append_copy(operation);
                       });
    const uint32_t length = builder.finish_prepare(id, node.stamp, lag, fan.shards[i], fan.map_epoch);
    fan.current = static_cast<uint16_t>(fan.current | 1u << i);
    node.worker_sent[to.worker] = now;
    ++statistics_.sent_messages;
    ++statistics_.prepares;
    statistics_.retransmissions += slot->sends != 0;
    emit_(context_, message, length, to.node, to.worker);
  }
}

// Our own message and an answer that was checked when it came.
void SessionMachine::read_values(const Event& event, Values* out) const {
  out->count = 0;
  out->participants = 0;
  if (event.message == nullptr) return;
  const Slot* const slot = event.slot;
  if (slot->participants == 0) {
    out->participants = 1;
    out->shards[0] = slot->shard;
    if (wire::parse_values(event.message, event.header, &out->versions[0], out->values.data()) ==
        wire::ParseError::kNone) {
      out->count = event.header.operation_count;
    }
    return;
  }
  std::array<wire::Value, limits::kOperationsMax> values;
  if (wire::parse_prepared(event.message, event.header, &out->participants, out->versions.data(), values.data()) !=
      wire::ParseError::kNone) {
    return;
  }
  const FanOut& fan = fan_of(slot);
  out->shards = fan.shards;
  // The value of each of the caller's operations, if it has one.
  std::array<uint8_t, limits::kParticipantsMax> passed{};  // operations of each participant so far
  std::array<uint32_t, limits::kParticipantsMax> next{};   // its next value
  for (uint32_t i = 0; i < event.header.operation_count; ++i) {
    for (uint32_t p = values[i].participant + 1u; p < out->participants; ++p) next[p] = i + 1;
  }
  const uint32_t operation_count = wire::read_header(slot->message).operation_count;
  for_each_operation(slot->message, operation_count, fan.shard_count, [&](uint32_t index, ShardId shard, Bytes) {
    const uint32_t place = place_of(fan, slot->participants, shard);
    const uint32_t at = next[place];
    const uint8_t own = passed[place]++;
    if (at >= event.header.operation_count || values[at].participant != place || values[at].operation != own) return;
    ++next[place];
    wire::Value& value = out->values[out->count++];
    value = values[at];
    value.operation = static_cast<uint8_t>(index);
    value.participant = 0;
  });
}

}  // namespace txnic::client
