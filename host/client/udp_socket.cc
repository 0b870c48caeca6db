// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/udp_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "txn/limits.h"

namespace txnic {
namespace {

constexpr int kBufferBytes = 4 << 20;
constexpr uint32_t kErrorsPerCallMax = 16;

Error bad_endpoint(const std::string& text) {
  return {ErrorKind::kInvalid, Result::kBadRequest, 0,
          "\"" + text + "\" is not an address; write IPV4:PORT, for example 10.99.0.1:7700"};
}

sockaddr_in to_sockaddr(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.address);
  address.sin_port = htons(endpoint.port);
  return address;
}

bool is_no_error(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS; }

}  // namespace

Expected<Endpoint> parse_endpoint(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return bad_endpoint(text);
  in_addr address{};
  if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &address) != 1) return bad_endpoint(text);
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end || port == 0) return bad_endpoint(text);
  return Endpoint{ntohl(address.s_addr), port};
}

std::string endpoint_text(const Endpoint& endpoint) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += std::to_string(endpoint.address >> shift & 0xff);
    text += shift == 0 ? ':' : '.';
  }
  return text + std::to_string(endpoint.port);
}

UdpSocket::~UdpSocket() {
  if (fd_ >= 0) ::close(fd_);
}

Status UdpSocket::open() {
  fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) {
    return Error{ErrorKind::kSystem, Result::kBusy, 0,
                 std::string("cannot make a UDP socket: ") + std::strerror(errno) +
                     "; is the limit of open files (ulimit -n) reached?"};
  }
  // All of these are wishes: without them it works, only with more loss or poorer error texts.
  const int one = 1;
  const int discover = IP_PMTUDISC_DO;
  (void)::setsockopt(fd_, IPPROTO_IP, IP_RECVERR, &one, sizeof one);
  (void)::setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
  (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
  (void)::setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  return {};
}

void UdpSocket::note_error(int error) {
  if (!is_no_error(error)) last_error_ = error;
}

void UdpSocket::send(const Endpoint& to, const std::byte* message, uint32_t length) {
  const sockaddr_in address = to_sockaddr(to);
  // A pending ICMP error is reported by the next call, which then has not sent anything: once more.
  for (int i = 0; i < 2; ++i) {
    if (::sendto(fd_, message, length, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0) return;
    note_error(errno);
  }
}

uint32_t UdpSocket::receive(std::span<const uint32_t> addresses, std::byte* buffer) {
  uint32_t errors = 0;
  while (errors < kErrorsPerCallMax) {
    sockaddr_in from{};
    socklen_t from_length = sizeof from;
    const ssize_t got = ::recvfrom(fd_, buffer, limits::kMessageBytesMax + 1, 0, reinterpret_cast<sockaddr*>(&from),
                                   &from_length);
    if (got > 0) {
      if (std::find(addresses.begin(), addresses.end(), ntohl(from.sin_addr.s_addr)) != addresses.end()) {
        last_error_ = 0;
        return static_cast<uint32_t>(got);
      }
      ++errors;  // a stranger, or an empty datagram: bounded like an error
      continue;
    }
    if (got < 0 && is_no_error(errno)) return 0;
    if (got < 0) note_error(errno);
    // The error queue keeps the ICMP message; drop it.
    std::byte control[512];
    msghdr message{};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    (void)::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    ++errors;
  }
  return 0;
}

void UdpSocket::wait(TimeNs wait_ns) {
  pollfd waiter{fd_, POLLIN, 0};
  const timespec limit{static_cast<time_t>(wait_ns / 1'000'000'000), static_cast<long>(wait_ns % 1'000'000'000)};
  (void)::ppoll(&waiter, 1, &limit, nullptr);
}

}  // namespace txnic
