// SPDX-License-Identifier: BSD-3-Clause
// The shard map: asked for, and used (docs/PROTOCOL.md, section 19).
#include "txn/client/machine.h"
#include "txn/wire/map.h"

namespace txnic::client {

void SessionMachine::ask_map(TimeNs now) {
  if (wants_map_ || !is_active_) return;
  wants_map_ = true;
  // Not more often than this, also when the nodes answer the map that we have.
  if (map_due_ == kNever || map_due_ < now) map_due_ = now;
  wake_at(map_due_);
}

// One node after the other, of those that are open.
void SessionMachine::send_map(TimeNs now) {
  map_due_ = kNever;
  if (!wants_map_) return;
  map_due_ = now + limits_.open_retry_ns;
  for (uint32_t i = 0; i < node_count_; ++i) {
    const uint32_t number = map_asked_++ % node_count_;
    const Node& node = nodes_[number];
    if (node.state != MachineState::kOpen) continue;
    std::byte message[wire::kHeaderBytes];
    const uint32_t length = wire::build_map(message, session_, map_asked_, node.stamp);
    ++statistics_.sent_messages;
    ++statistics_.session_sent;
    emit_(context_, message, length, number, 0);
    return;
  }
}

void SessionMachine::on_mapped(Event* event) {
  const wire::Header& h = event->header;
  if (!wants_map_ || h.result != 0) {
    ++statistics_.stale;  // a refusal: its requests open the session there again, the next MAP goes to another node
    return;
  }
  if (h.length < wire::kHeaderBytes + sizeof(wire::MappedBody)) {
    ++statistics_.malformed;
    return;
  }
  ++statistics_.session_messages;
  wants_map_ = false;
  const auto body = load<wire::MappedBody>(event->message + wire::kHeaderBytes);
  if (map_ != nullptr && body.epoch == map_->epoch) return;
  event->kind = EventKind::kMapped;
}

bool SessionMachine::use_map(const ShardMap* map, uint32_t opened_at, TimeNs now) {
  const bool was_opened = attempts_ != 0;
  uint32_t count = was_opened ? node_count_ : 0;
  std::array<uint8_t, limits::kNodesMax> numbers{};
  for (uint32_t n = 0; n < map->node_count; ++n) {
    uint32_t number = count;
    if (map_ == nullptr) {
      if (was_opened && n == opened_at) number = 0;
    } else {
      for (uint32_t i = 0; i < node_count_; ++i) {
        if (nodes_[i].base == map->nodes[n].base) number = i;
      }
    }
    if (number == count && ++count > limits_.nodes) return false;
    numbers[n] = static_cast<uint8_t>(number);
  }
  for (uint32_t n = 0; n < map->node_count; ++n) {
    node_numbers_[n] = numbers[n];
    nodes_[numbers[n]].base = map->nodes[n].base;
    if (nodes_[numbers[n]].window == 0) nodes_[numbers[n]].workers = map->nodes[n].workers;
  }
  node_count_ = count;
  map_ = map;
  move_outstanding(now);
  return true;
}

// What is in flight goes to where the new map has its shards: windows move with them (COMMIT 12).
void SessionMachine::move_outstanding(TimeNs now) {
  for (Sequence s = watermark_; s != next_sequence_; ++s) {
    Slot& slot = slots_[s & mask_];
    if (slot.sequence != s || (slot.state != kQueued && slot.state != kInFlight && slot.state != kHeld)) continue;
    bool moves = false;
    const uint32_t number = route(slot.shard).node;
    if (number != slot.node) {
      slot.node = static_cast<uint8_t>(number);
      slot.stamp = 0;  // no answer of the former node settles it as an abort
      moves = true;
    }
    FanOut& fan = fan_of(&slot);
    for (uint32_t i = 0; i < slot.participants; ++i) {
      const auto to = static_cast<uint8_t>(route(fan.shards[i]).node);
      if (to == fan.nodes[i]) continue;
      fan.nodes[i] = to;
      fan.current = static_cast<uint16_t>(fan.current & ~(1u << i));
      moves = true;
    }
    if (!moves || slot.state == kHeld || slot.list == kDoomedList) continue;
    unlink(&slot);
    append(&slot, kResendList);
    wake_at(now);
  }
}

}  // namespace txnic::client
