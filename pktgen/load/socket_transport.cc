// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/socket_transport.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace txnic::pktgen {

namespace {

constexpr int kBufferBytes = 4 << 20;  // asked of the kernel; it may give less

sockaddr_in socket_address(uint32_t address, uint32_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(static_cast<uint16_t>(port));
  return result;
}

}  // namespace

SocketTransport::Burst::Burst()
    : bytes(size_t{limits::kBurstMax} * limits::kMessageBytesMax),
      messages(limits::kBurstMax),
      parts(limits::kBurstMax),
      addresses(limits::kBurstMax) {
  for (uint32_t i = 0; i < limits::kBurstMax; ++i) {
    parts[i] = {bytes.data() + size_t{i} * limits::kMessageBytesMax, limits::kMessageBytesMax};
    messages[i] = {};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
}

std::unique_ptr<SocketTransport> SocketTransport::make(Endpoint node, Endpoint local, std::string* error) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    *error = std::string("cannot make a UDP socket: ") + strerror(errno);
    return nullptr;
  }
  auto transport = std::unique_ptr<SocketTransport>(new SocketTransport(fd, node));
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  const sockaddr_in address = socket_address(local.address, local.port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    *error = std::string("cannot use the local address given by --address and --port: ") + strerror(errno);
    return nullptr;
  }
  return transport;
}

SocketTransport::~SocketTransport() { close(fd_); }

void SocketTransport::send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) {
  if (queued_ == limits::kBurstMax) flush();
  std::memcpy(out_.parts[queued_].iov_base, message, length);
  out_.parts[queued_].iov_len = length;
  out_.addresses[queued_] = socket_address(nodes_[node].address, nodes_[node].port + worker);
  out_.messages[queued_].msg_hdr.msg_name = &out_.addresses[queued_];
  out_.messages[queued_].msg_hdr.msg_namelen = sizeof(sockaddr_in);
  ++queued_;
}

bool SocketTransport::reach(uint32_t node, Endpoint base) {
  if (node >= kNodesMax) return false;
  nodes_[node] = base;
  return true;
}

void SocketTransport::flush() {
  uint32_t done = 0;
  for (uint32_t tries = 0; done < queued_ && tries < limits::kBurstMax; ++tries) {
    const int sent = sendmmsg(fd_, &out_.messages[done], queued_ - done, 0);
    // An ICMP error from before (nobody listens there yet) is reported once and means nothing for this message.
    if (sent < 0 && (errno == EINTR || errno == ECONNREFUSED)) continue;
    if (sent <= 0) break;
    done += static_cast<uint32_t>(sent);
  }
  statistics_.sent += done;
  statistics_.send_dropped += queued_ - done;
  queued_ = 0;
}

uint32_t SocketTransport::receive(std::span<Received> out) {
  const auto room = static_cast<uint32_t>(std::min<size_t>(out.size(), limits::kBurstMax));
  const int count = recvmmsg(fd_, in_.messages.data(), room, 0, nullptr);
  if (count <= 0) return 0;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    out[at] = {static_cast<std::byte*>(in_.parts[at].iov_base), in_.messages[at].msg_len};
  }
  statistics_.received += static_cast<uint32_t>(count);
  return static_cast<uint32_t>(count);
}

void SocketTransport::wait(TimeNs limit_ns) {
  pollfd entry{fd_, POLLIN, 0};
  const timespec limit{static_cast<time_t>(limit_ns / 1'000'000'000), static_cast<long>(limit_ns % 1'000'000'000)};
  ppoll(&entry, 1, &limit, nullptr);
}

}  // namespace txnic::pktgen
