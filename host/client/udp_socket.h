// SPDX-License-Identifier: BSD-3-Clause
// A kernel UDP socket towards one node, without blocking calls besides wait().
#pragma once

#include "host/client/expected.h"
#include "txn/types.h"

namespace txnic {

// "10.99.0.1:7700"
Expected<Endpoint> parse_endpoint(const std::string& text);
std::string endpoint_text(const Endpoint& endpoint);

class UdpSocket {
 public:
  UdpSocket() = default;
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  Status open();
  // A message that the kernel does not take now is dropped, like one that the network loses.
  void send(const Endpoint& to, const std::byte* message, uint32_t length);
  // The next message from one of the addresses, or 0 if none waits. `buffer` has room for kMessageBytesMax + 1 bytes,
  // so that what is too long is seen as such.
  uint32_t receive(std::span<const uint32_t> addresses, std::byte* buffer);
  // Until something arrives or `wait_ns` have passed.
  void wait(TimeNs wait_ns);

  // The newest error of the network, for error texts ("nobody listens there"); 0: none.
  int last_error() const { return last_error_; }

 private:
  void note_error(int error);

  int fd_ = -1;
  int last_error_ = 0;
};

}  // namespace txnic
