// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port as the generator's transport: a thin layer over dataplane/transport.h. All messages use one flow (one UDP
// port of ours); with several queues, replies that come by another queue are sorted in by the dataplane.
#pragma once

#include "dataplane/transport.h"
#include "pktgen/load/transport.h"

namespace txnic::pktgen {

class PortTransport final : public Transport {
 public:
  explicit PortTransport(dataplane::Transport& port) : port_(port), home_(port.queue(0)) {}

  void send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) override {
    home_.send(message, length, 0, worker, peers_[node]);
  }
  bool reach(uint32_t node, Endpoint base) override;
  void flush() override { home_.flush(); }
  bool can_send() override { return home_.can_send(); }
  uint32_t receive(std::span<Received> out) override;
  void wait(TimeNs limit_ns) override;
  TransportStatistics statistics() const override;

 private:
  dataplane::Transport& port_;
  dataplane::TransportQueue& home_;
  uint32_t next_other_ = 1;
  std::array<uint32_t, kNodesMax> peers_{};  // of each node
};

}  // namespace txnic::pktgen
