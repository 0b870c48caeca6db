// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/transmit.h"

#include <sched.h>

#include <cassert>

#include <rte_ethdev.h>
#include <rte_pause.h>

namespace txnic::dataplane {

Transmitter::Transmitter(uint32_t worker, std::span<const Port> ports, Exchange* exchange, PollGate* gate,
                         WorkerCounters* counters, bool may_yield)
    : worker_(worker), exchange_(exchange), gate_(gate), counters_(counters), may_yield_(may_yield) {
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

void Transmitter::flush(uint16_t port) {
  Lane& lane = lanes_[port];
  PortCounters& counters = counters_->ports[port];
  const uint32_t done = lane.has_queue ? transmit(port, lane) : hand_over(lane);
  if (done < lane.count) [[unlikely]] {
    counters.tx_dropped.add(lane.count - done);
    rte_pktmbuf_free_bulk(lane.packets.data() + done, lane.count - done);
  }
  lane.count = 0;
}

uint32_t Transmitter::transmit(uint16_t port, Lane& lane) {
  PortCounters& counters = counters_->ports[port];
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < lane.count; ++i) bytes += lane.packets[i]->pkt_len;
  uint16_t sent = 0;
  for (uint32_t attempt = 1; sent < lane.count && attempt <= kTransmitAttempts; ++attempt) {
    if (!gate_->enter(port)) break;
    const auto rest = static_cast<uint16_t>(lane.count - sent);
    if (lane.computes_udp) [[unlikely]] rte_eth_tx_prepare(port, lane.queue, lane.packets.data() + sent, rest);
    sent = static_cast<uint16_t>(sent + rte_eth_tx_burst(port, lane.queue, lane.packets.data() + sent, rest));
    gate_->leave();
    if (sent == lane.count) break;
    rte_pause();
    if (may_yield_ && attempt % kTransmitAttemptsYield == 0) sched_yield();
  }
  for (uint32_t i = sent; i < lane.count; ++i) bytes -= lane.packets[i]->pkt_len;
  counters.tx_packets.add(sent);
  counters.tx_bytes.add(bytes);
  return sent;
}

uint32_t Transmitter::hand_over(Lane& lane) {
  for (uint32_t i = 0; i < lane.count; ++i) *note_of(lane.packets[i]) = {0, NoteKind::kTransmit, {}};
  return rte_ring_sp_enqueue_burst(exchange_->ring(worker_, lane.detour),
                                   reinterpret_cast<void* const*>(lane.packets.data()), lane.count, nullptr);
}

}  // namespace txnic::dataplane
