// SPDX-License-Identifier: BSD-3-Clause
// How messages reach the node: the contract. Implementations beside it: port_transport (a DPDK port), socket_transport
// (kernel UDP), reflection (a shim in front of one of them).
//
// One thread uses a transport. Nothing blocks except wait(). A message that cannot be sent now is dropped and counted:
// the protocol machine sends it again. New requests wait while can_send() is false.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "txn/types.h"

namespace txnic::pktgen {

// Nodes of a cluster that the generator can load, and one more: the one that it asks for the map.
inline constexpr uint32_t kNodesMax = 9;

struct Received {
  std::byte* message;
  uint32_t length;
};

struct TransportStatistics {
  uint64_t sent = 0, received = 0;
  uint64_t send_dropped = 0;  // the ring or the socket's buffer was full
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Copies a message for a worker (UDP port base + worker) of a node. It leaves with the next flush at the latest.
  virtual void send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) = 0;
  // The base address of a node; 0 is the one that the transport was made for. Numbers come in order. False: no room.
  virtual bool reach(uint32_t node, Endpoint) { return node == 0; }
  virtual void flush() = 0;
  // False: the way out is full just now.
  virtual bool can_send() { return true; }
  // What has arrived. The messages are valid until the next call.
  virtual uint32_t receive(std::span<Received> out) = 0;
  // Idle: returns when something may have arrived, at the latest after `limit_ns`.
  virtual void wait(TimeNs limit_ns) = 0;
  virtual TransportStatistics statistics() const = 0;
};

}  // namespace txnic::pktgen
