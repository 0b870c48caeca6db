// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/port_transport.h"

#include <time.h>

#include <algorithm>

namespace txnic::pktgen {

namespace {

constexpr TimeNs kNapNs = 50'000;

}  // namespace

uint32_t PortTransport::receive(std::span<Received> out) {
  dataplane::Received received[limits::kBurstMax];
  // What has come by another queue is moved to the home queue's ring.
  if (port_.queue_count() > 1) [[unlikely]] {
    port_.queue(next_other_).receive(received);
    next_other_ = next_other_ + 1 == port_.queue_count() ? 1 : next_other_ + 1;
  }
  const uint32_t count = home_.receive({received, std::min<size_t>(out.size(), limits::kBurstMax)});
  // The message lies in the packet's own memory, which is ours until the next call; reflection.h rewrites it there.
  for (uint32_t i = 0; i < count; ++i) out[i] = {const_cast<std::byte*>(received[i].message), received[i].length};
  return count;
}

bool PortTransport::reach(uint32_t node, Endpoint base) {
  if (node == 0) return true;  // the peer of the port's options
  const uint32_t peer = node < kNodesMax ? port_.add_peer(base) : limits::kNodesMax;
  if (peer == limits::kNodesMax) return false;
  peers_[node] = peer;
  return true;
}

void PortTransport::wait(TimeNs limit_ns) {
  const timespec nap{0, static_cast<long>(std::min(limit_ns, kNapNs))};
  nanosleep(&nap, nullptr);
}

TransportStatistics PortTransport::statistics() const {
  TransportStatistics sum;
  for (uint32_t q = 0; q < port_.queue_count(); ++q) {
    const dataplane::TransportCounters& counters = port_.queue(q).counters();
    sum.sent += counters.tx_packets.read();
    sum.received += counters.rx_messages.read();
    sum.send_dropped += counters.tx_dropped.read();
  }
  return sum;
}

}  // namespace txnic::pktgen
