// SPDX-License-Identifier: BSD-3-Clause
// How messages reach the node: the contract. Implementations beside it: port_transport (a DPDK port), socket_transport
// (kernel UDP), reflection (a shim in front of one of them).
//
// One thread uses a transport. Nothing blocks except wait(). A message that cannot be sent now is dropped and counted:
// the protocol machine sends it again. New requests wait while can_send() is false.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "txn/types.h"

namespace txnic::pktgen {

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
  // Copies a message for the node's worker (UDP port base + worker). It leaves with the next flush at the latest.
  virtual void send(const std::byte* message, uint32_t length, uint32_t worker) = 0;
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
