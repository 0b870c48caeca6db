// SPDX-License-Identifier: BSD-3-Clause
// Kernel UDP: one non-blocking socket, whole bursts a system call. No DPDK needed.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

#include "pktgen/load/transport.h"
#include "txn/limits.h"

namespace txnic::pktgen {

class SocketTransport final : public Transport {
 public:
  // Null with *error set. `local`: port 0 lets the kernel choose, address 0 takes the route's.
  static std::unique_ptr<SocketTransport> make(Endpoint node, Endpoint local, std::string* error);
  ~SocketTransport() override;
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;

  void send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) override;
  bool reach(uint32_t node, Endpoint base) override;
  void flush() override;
  uint32_t receive(std::span<Received> out) override;
  void wait(TimeNs limit_ns) override;
  TransportStatistics statistics() const override { return statistics_; }

 private:
  // A burst's messages with the headers that the kernel wants.
  struct Burst {
    Burst();
    std::vector<std::byte> bytes;
    std::vector<mmsghdr> messages;
    std::vector<iovec> parts;
    std::vector<sockaddr_in> addresses;
  };
  SocketTransport(int fd, Endpoint node) : fd_(fd), nodes_{node} {}

  const int fd_;
  std::array<Endpoint, kNodesMax> nodes_;
  Burst out_, in_;
  uint32_t queued_ = 0;
  TransportStatistics statistics_;
};

}  // namespace txnic::pktgen
