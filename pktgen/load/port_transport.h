// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port as the generator's transport: a thin layer over dataplane/transport.h. All messages use one flow (one UDP
// port of ours); with several queues, replies that come by another queue are sorted in by the dataplane.
#pragma once

#include <vector>

#include "dataplane/transport.h"
#include "pktgen/load/transport.h"

namespace txnic::pktgen {

// One port may lead to all nodes; or each of the first few has a port of its own (`links`, of nodes()).
class PortTransport final : public Transport {
 public:
  struct Link {
    dataplane::Transport* port;
    Endpoint node;  // that it leads to
  };
  // At least one; the first one's node is node 0, and nodes without a link of their own are behind it.
  explicit PortTransport(std::vector<Link> links);

  void send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) override {
    const Way way = ways_[node];
    links_[way.link].port->queue(0).send(message, length, 0, worker, way.peer);
  }
  bool reach(uint32_t node, Endpoint base) override;
  void flush() override {
    for (const Link& link : links_) link.port->queue(0).flush();
  }
  bool can_send() override {
    bool can = true;
    for (const Link& link : links_) can = can && link.port->queue(0).can_send();
    return can;
  }
  uint32_t receive(std::span<Received> out) override;
  void wait(TimeNs limit_ns) override;
  TransportStatistics statistics() const override;

 private:
  struct Way {
    uint32_t link = 0;
    uint32_t peer = 0;
  };
  const std::vector<Link> links_;
  uint32_t next_link_ = 0;
  uint32_t next_other_ = 1;
  std::array<Way, kNodesMax> ways_{};  // to each node
};

}  // namespace txnic::pktgen
