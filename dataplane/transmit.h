// SPDX-License-Identifier: BSD-3-Clause
// One worker's way out: packets gather per port and leave in bursts. A full transmit ring is tried again a bounded
// number of times; what then remains is dropped and counted. A worker without a transmit queue on a port hands its
// packets to one that has.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/counters.h"
#include "dataplane/exchange.h"
#include "dataplane/poll_gate.h"
#include "dataplane/port.h"
#include "txn/limits.h"

namespace txnic::dataplane {

inline constexpr uint32_t kTransmitAttempts = 256;      // of one burst, then its rest is dropped
inline constexpr uint32_t kTransmitAttemptsYield = 32;  // every so many the CPU is offered to others (not with poll)

// Which worker serves queue `queue` of the `port_index`th port. With fewer queues than workers, several ports spread
// over the workers.
inline uint32_t queue_owner(uint32_t port_index, uint32_t queue, uint32_t queues, uint32_t workers) {
  return queues < workers ? (queue + port_index) % workers : queue % workers;
}

class Transmitter {
 public:
  Transmitter(uint32_t worker, std::span<const Port> ports, Exchange* exchange, PollGate* gate,
              WorkerCounters* counters, bool may_yield);

  // Takes the packet. `port` is a port id.
  void send(uint16_t port, rte_mbuf* packet) {
    Lane& lane = lanes_[port];
    lane.packets[lane.count++] = packet;
    if (lane.count == limits::kBurstMax) flush(port);
  }
  void flush_all() {
    for (const uint16_t port : port_ids_) {
      if (lanes_[port].count != 0) flush(port);
    }
  }
  bool computes_udp(uint16_t port) const { return lanes_[port].computes_udp; }
  const Mac& mac(uint16_t port) const { return lanes_[port].mac; }

 private:
  struct Lane {
    uint16_t count = 0;
    uint16_t queue = 0;
    bool has_queue = false;
    bool computes_udp = false;
    uint8_t detour = 0;  // without a queue: the worker that sends for us
    Mac mac{};
    std::array<rte_mbuf*, limits::kBurstMax> packets;
  };

  void flush(uint16_t port);
  uint32_t transmit(uint16_t port, Lane& lane);
  uint32_t hand_over(Lane& lane);

  uint32_t worker_;
  Exchange* exchange_;
  PollGate* gate_;
  WorkerCounters* counters_;
  bool may_yield_;
  std::vector<uint16_t> port_ids_;
  std::array<Lane, kPortsMax> lanes_;
};

}  // namespace txnic::dataplane
