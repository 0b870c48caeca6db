// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/transmit.h"

#include <algorithm>
#include <cassert>

#include <rte_ethdev.h>

namespace txnic::dataplane {

Transmitter::Transmitter(uint32_t worker, std::span<const Port> ports, Exchange* exchange, PollGate* gate,
                         WorkerCounters* counters, TimeNs patience_ns)
    : worker_(worker),
      exchange_(exchange),
      gate_(gate),
      counters_(counters),
      patience_ns_(patience_ns),
      lanes_(kPortsMax) {
  const uint32_t workers = exchange->workers();
  for (uint32_t i = 0; i < ports.size(); ++i) {
    const Port& port = ports[i];
    assert(port.id < kPortsMax);
    Lane& lane = lanes_[port.id];
    lane.mac = port.mac;
    lane.computes_udp = port.computes_udp;
    lane.detour = static_cast<uint8_t>(queue_owner(i, worker % port.tx_queues, port.tx_queues, workers));
    for (uint16_t q = 0; q < port.tx_queues && !lane.has_queue; ++q) {
      if (queue_owner(i, q, port.tx_queues, workers) != worker) continue;
      lane.has_queue = true;
      lane.queue = q;
    }
    port_ids_.push_back(port.id);
  }
}

void Transmitter::emulate_link(uint16_t port, const offload::HardwareProfile& profile) {
  assert(delayed_port_ == kNoPort && "one link a worker");
  delayed_port_ = port;
  message_cost_ns_ = profile.link_message_cost_ns;
  delay_ = std::make_unique<DelayLine>(profile);
}

void Transmitter::delay(rte_mbuf* packet) {
  owed_ns_ += message_cost_ns_;
  if (!delay_->push(packet, packet->pkt_len)) drop(delayed_port_, packet);
}

void Transmitter::arrive(TimeNs now) {
  delay_->send_off(now);
  while (rte_mbuf* const packet = delay_->pop(now)) put(delayed_port_, packet);
}

void Transmitter::flush(uint16_t port) {
  Lane& lane = lanes_[port];
  lane.fresh = 0;
  const uint32_t done = lane.has_queue ? transmit(port, lane) : hand_over(lane);
  if (done != 0) lane.stuck_since_ns = 0;
  lane.begin = static_cast<uint16_t>(lane.begin + done);
  const bool empty = lane.begin == lane.end;
  if (empty) {
    lane.begin = lane.end = 0;
    lane.waiting_since_ns = 0;
    if (done != 0) lane.is_deaf = false;
  }
  set_waiting(lane, !empty && !lane.is_deaf);
}

// Moves what waits to the front of its array. False: the array is full of it.
bool Transmitter::make_room(uint16_t port) {
  Lane& lane = lanes_[port];
  if (lane.begin == 0) flush(port);
  if (lane.begin != 0) {
    std::copy(lane.packets.begin() + lane.begin, lane.packets.begin() + lane.end, lane.packets.begin());
    lane.end = static_cast<uint16_t>(lane.end - lane.begin);
    lane.begin = 0;
  }
  return lane.end < kTransmitBacklogMax;
}

void Transmitter::watch(uint16_t port, TimeNs now) {
  Lane& lane = lanes_[port];
  now = std::max<TimeNs>(now, 1);
  if (lane.waiting_since_ns == 0) lane.waiting_since_ns = now;
  if (lane.stuck_since_ns == 0) lane.stuck_since_ns = now;
  if (now - lane.waiting_since_ns > patience_ns_) {
    lane.is_deaf = true;
    set_waiting(lane, false);
  }
  if (now - lane.stuck_since_ns > patience_ns_) drop_waiting(port);
}

void Transmitter::drop(uint16_t port, rte_mbuf* packet) {
  counters_->ports[port].tx_dropped.add();
  rte_pktmbuf_free(packet);
}

void Transmitter::drop_waiting(uint16_t port) {
  Lane& lane = lanes_[port];
  const uint32_t count = lane.end - lane.begin;
  counters_->ports[port].tx_dropped.add(count);
  rte_pktmbuf_free_bulk(lane.packets.data() + lane.begin, count);
  lane.begin = lane.end = lane.fresh = 0;
  lane.waiting_since_ns = lane.stuck_since_ns = 0;
  set_waiting(lane, false);
}

void Transmitter::drop_all() {
  for (rte_mbuf* packet; delay_ != nullptr && (packet = delay_->pop_any()) != nullptr;) drop(delayed_port_, packet);
  for (const uint16_t port : port_ids_) drop_waiting(port);
}

void Transmitter::set_waiting(Lane& lane, bool waiting) {
  if (lane.is_waiting == waiting) return;
  lane.is_waiting = waiting;
  if (waiting) {
    ++waiting_ports_;
  } else {
    --waiting_ports_;
  }
}

uint32_t Transmitter::transmit(uint16_t port, Lane& lane) {
  if (!gate_->enter(port)) {  // the port is being restarted: nobody would read these
    drop_waiting(port);
    return 0;
  }
  rte_mbuf** const packets = lane.packets.data() + lane.begin;
  auto count = static_cast<uint16_t>(lane.end - lane.begin);
  if (lane.computes_udp) [[unlikely]] count = rte_eth_tx_prepare(port, lane.queue, packets, count);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) bytes += packets[i]->pkt_len;  // before: a packet sent may be gone
  const uint16_t sent = rte_eth_tx_burst(port, lane.queue, packets, count);
  gate_->leave();
  for (uint32_t i = sent; i < count; ++i) bytes -= packets[i]->pkt_len;
  PortCounters& counters = counters_->ports[port];
  counters.tx_packets.add(sent);
  counters.tx_bytes.add(bytes);
  return sent;
}

uint32_t Transmitter::hand_over(Lane& lane) {
  rte_mbuf** const packets = lane.packets.data() + lane.begin;
  const uint32_t count = lane.end - lane.begin;
  for (uint32_t i = 0; i < count; ++i) *note_of(packets[i]) = {0, NoteKind::kTransmit, {}};
  return rte_ring_sp_enqueue_burst(exchange_->ring(worker_, lane.detour), reinterpret_cast<void* const*>(packets),
                                   count, nullptr);
}

}  // namespace txnic::dataplane
