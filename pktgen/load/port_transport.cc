// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/port_transport.h"

#include <time.h>

#include <algorithm>

namespace txnic::pktgen {

namespace {

constexpr TimeNs kNapNs = 50'000;

}  // namespace

PortTransport::PortTransport(std::vector<Link> links) : links_(std::move(links)) {}

uint32_t PortTransport::receive(std::span<Received> out) {
  dataplane::Received received[limits::kBurstMax];
  // One link a call, the others in their turn: what a call answers lies in that link's packets.
  dataplane::Transport& port = *links_[next_link_].port;
  next_link_ = next_link_ + 1 == links_.size() ? 0 : next_link_ + 1;
  // What has come by another queue is moved to the home queue's ring.
  if (port.queue_count() > 1) [[unlikely]] {
    port.queue(next_other_).receive(received);
    next_other_ = next_other_ + 1 == port.queue_count() ? 1 : next_other_ + 1;
  }
  const uint32_t count = port.queue(0).receive({received, std::min<size_t>(out.size(), limits::kBurstMax)});
  // The message lies in the packet's own memory, which is ours until the next call; reflection.h rewrites it there.
  for (uint32_t i = 0; i < count; ++i) out[i] = {const_cast<std::byte*>(received[i].message), received[i].length};
  return count;
}

bool PortTransport::reach(uint32_t node, Endpoint base) {
  if (node == 0) return true;  // the peer of the first link's options
  if (node >= kNodesMax) return false;
  for (uint32_t i = 0; i < links_.size(); ++i) {
    if (links_[i].node != base) continue;
    ways_[node] = {i, 0};
    return true;
  }
  const uint32_t peer = links_[0].port->add_peer(base);
  if (peer == limits::kNodesMax) return false;
  ways_[node] = {0, peer};
  return true;
}

void PortTransport::wait(TimeNs limit_ns) {
  const timespec nap{0, static_cast<long>(std::min(limit_ns, kNapNs))};
  nanosleep(&nap, nullptr);
}

TransportStatistics PortTransport::statistics() const {
  TransportStatistics sum;
  for (const Link& link : links_) {
    for (uint32_t q = 0; q < link.port->queue_count(); ++q) {
      const dataplane::TransportCounters& counters = link.port->queue(q).counters();
      sum.sent += counters.tx_packets.read();
      sum.received += counters.rx_messages.read();
      sum.send_dropped += counters.tx_dropped.read();
    }
  }
  return sum;
}

}  // namespace txnic::pktgen
