// SPDX-License-Identifier: BSD-3-Clause
// One worker's way out: packets gather per port and leave in bursts. What a full transmit ring does not take waits
// here, in order, and the worker holds back answers that can wait (congested()); a group of a log that becomes durable
// answers more packets at once than a ring holds. A worker without a transmit queue on a port hands its packets to one
// that has. Packets are dropped, and counted, when too many wait or the ring has taken none for too long.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/counters.h"
#include "dataplane/delay_line.h"
#include "dataplane/exchange.h"
#include "dataplane/poll_gate.h"
#include "dataplane/port.h"
#include "txn/limits.h"

namespace txnic::dataplane {

inline constexpr uint32_t kTransmitBacklogMax = 1024;  // packets waiting for one port's ring

// Which worker serves queue `queue` of the `port_index`th port. With fewer queues than workers, several ports spread
// over the workers.
inline uint32_t queue_owner(uint32_t port_index, uint32_t queue, uint32_t queues, uint32_t workers) {
  return queues < workers ? (queue + port_index) % workers : queue % workers;
}

class Transmitter {
 public:
  Transmitter(uint32_t worker, std::span<const Port> ports, Exchange* exchange, PollGate* gate,
              WorkerCounters* counters, TimeNs patience_ns);

  // Everything that goes out of this port passes an emulated link first. Before anything is sent.
  void emulate_link(uint16_t port, const offload::HardwareProfile& profile);
  // Time that the sending core owes to emulated links since the last call.
  TimeNs take_owed_ns() {
    const TimeNs owed = owed_ns_;
    owed_ns_ = 0;
    return owed;
  }
  // Packets on emulated links.
  uint32_t delayed() const { return delay_ == nullptr ? 0 : delay_->size(); }

  // Takes the packet. `port` is a port id.
  void send(uint16_t port, rte_mbuf* packet) {
    if (port == delayed_port_) [[unlikely]] return delay(packet);
    put(port, packet);
  }
  // Once a step of the worker's loop.
  void flush_all(TimeNs now) {
    if (delay_ != nullptr) [[unlikely]] arrive(now);
    for (const uint16_t port : port_ids_) {
      Lane& lane = lanes_[port];
      if (lane.begin == lane.end) continue;
      flush(port);
      if (lane.begin != lane.end) [[unlikely]] watch(port, now);
    }
  }
  void drop_all();
  // Some ring has not taken all that it was offered: what can wait should. A port that nobody reads holds the others
  // back once, for the patience, and then not again until its ring has taken everything.
  bool congested() const { return waiting_ports_ != 0; }
  bool computes_udp(uint16_t port) const { return lanes_[port].computes_udp; }
  const Mac& mac(uint16_t port) const { return lanes_[port].mac; }

 private:
  struct Lane {
    // packets[begin, end) wait; the last `fresh` of them have not been offered to the ring yet.
    uint16_t begin = 0;
    uint16_t end = 0;
    uint16_t fresh = 0;
    uint16_t queue = 0;
    bool has_queue = false;
    bool computes_udp = false;
    uint8_t detour = 0;  // without a queue: the worker that sends for us
    bool is_waiting = false;  // counted in waiting_ports_
    bool is_deaf = false;     // has been out of patience since its ring last took everything
    Mac mac{};
    TimeNs waiting_since_ns = 0;  // 0: nothing waits
    TimeNs stuck_since_ns = 0;    // 0: the ring has taken something since the last look
    std::array<rte_mbuf*, kTransmitBacklogMax> packets;
  };

  void put(uint16_t port, rte_mbuf* packet) {
    Lane& lane = lanes_[port];
    if (lane.end == kTransmitBacklogMax && !make_room(port)) [[unlikely]] return drop(port, packet);
    lane.packets[lane.end++] = packet;
    if (++lane.fresh == limits::kBurstMax) flush(port);
  }
  void delay(rte_mbuf* packet);
  void arrive(TimeNs now);
  void flush(uint16_t port);
  bool make_room(uint16_t port);
  void watch(uint16_t port, TimeNs now);
  void drop(uint16_t port, rte_mbuf* packet);
  void drop_waiting(uint16_t port);
  void set_waiting(Lane& lane, bool waiting);
  uint32_t transmit(uint16_t port, Lane& lane);
  uint32_t hand_over(Lane& lane);

  uint32_t worker_;
  Exchange* exchange_;
  PollGate* gate_;
  WorkerCounters* counters_;
  const TimeNs patience_ns_;  // with a ring that takes nothing
  uint32_t waiting_ports_ = 0;
  // An emulated link.
  static constexpr uint16_t kNoPort = 0xffff;
  uint16_t delayed_port_ = kNoPort;
  uint32_t message_cost_ns_ = 0;
  TimeNs owed_ns_ = 0;
  std::unique_ptr<DelayLine> delay_;

  std::vector<uint16_t> port_ids_;
  std::vector<Lane> lanes_;  // by port id
};

}  // namespace txnic::dataplane
