// SPDX-License-Identifier: BSD-3-Clause
// Ethernet, IPv4 and UDP headers: parsing a received frame and building the answer's headers in its place. Works on
// bytes only, so that tests need no port.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "dataplane/checksum.h"
#include "dataplane/counters.h"
#include "txn/types.h"

namespace txnic::dataplane {

using Mac = std::array<uint8_t, 6>;

// Where things stand in an untagged Ethernet frame with an option-free IPv4 header.
namespace frame_at {
inline constexpr uint32_t kDestinationMac = 0, kSourceMac = 6, kEthertype = 12;
inline constexpr uint32_t kIp = 14, kIpTotalLength = 16, kIpId = 18, kIpFragment = 20, kIpTtl = 22, kIpProtocol = 23,
                          kIpChecksum = 24, kIpSource = 26, kIpDestination = 30;
inline constexpr uint32_t kUdp = 34, kUdpSource = 34, kUdpDestination = 36, kUdpLength = 38, kUdpChecksum = 40;
inline constexpr uint32_t kPayload = 42;
}  // namespace frame_at
inline constexpr uint32_t kIpHeaderBytes = 20;
inline constexpr uint32_t kUdpHeaderBytes = 8;
inline constexpr uint32_t kHeadersBytes = frame_at::kPayload;
inline constexpr uint8_t kProtocolIcmp = 1;
inline constexpr uint8_t kProtocolUdp = 17;
inline constexpr uint8_t kReplyTtl = 64;

// What we answer for.
struct FrameFilter {
  uint32_t address_raw = 0;  // IPv4 address as it stands in a frame
  uint16_t base_port = 0;    // host order
  uint16_t port_count = 0;   // base_port … base_port + port_count - 1
};

// What is known about a checksum before the parser looks.
enum class Check : uint8_t { kVerify, kGood, kBad };

enum class FrameKind : uint8_t {
  kMessage,  // UDP for us
  kArp,      // neighbour.h decides
  kIcmp,     // ICMP for our address, IPv4 header in order
  kDrop,
};

struct ParsedFrame {
  FrameKind kind;
  Reason why;               // kDrop
  uint16_t port_index;      // kMessage: destination port - base_port
  uint16_t payload_length;  // kMessage: UDP payload; kIcmp: bytes behind the IPv4 header
  bool checksum_unfinished; // kMessage: see below
};

// The whole classification. `unfinished_is_good`: accept a UDP checksum that is only the pseudo header's sum, as a
// local kernel leaves it to hardware when it sends over veth to a packet socket.
ParsedFrame parse_frame_slowly(const uint8_t* frame, uint32_t length, const FrameFilter& filter, Check ip, Check udp,
                               bool unfinished_is_good);

inline uint64_t ip_header_sum(const uint8_t* frame) {
  const uint8_t* ip = frame + frame_at::kIp;
  return uint64_t{load<uint32_t>(ip)} + load<uint32_t>(ip + 4) + load<uint32_t>(ip + 8) + load<uint32_t>(ip + 12) +
         load<uint32_t>(ip + 16);
}

// Sum of the UDP pseudo header; `udp_length` in frame order.
inline uint64_t pseudo_header_sum(const uint8_t* frame, uint16_t udp_length) {
  return uint64_t{load<uint32_t>(frame + frame_at::kIpSource)} + load<uint32_t>(frame + frame_at::kIpDestination) +
         (uint32_t{kProtocolUdp} << 8) + udp_length;
}

// The good case is decided here with a handful of comparisons; everything else goes the slow way.
inline ParsedFrame parse_frame(const uint8_t* frame, uint32_t length, const FrameFilter& filter, Check ip, Check udp,
                               bool unfinished_is_good) {
  using namespace frame_at;
  if (length >= kHeadersBytes) [[likely]] {
    const uint32_t ip_length = byte_swap(load<uint16_t>(frame + kIpTotalLength));
    const uint32_t udp_length = byte_swap(load<uint16_t>(frame + kUdpLength));
    const uint32_t port_index =
        static_cast<uint32_t>(byte_swap(load<uint16_t>(frame + kUdpDestination))) - filter.base_port;
    const uint32_t kind_and_version = load<uint32_t>(frame + kEthertype) & 0x00ffffffu;  // without type of service
    const bool fits = kind_and_version == 0x00450008u && frame[kIpProtocol] == kProtocolUdp &&
                      (load<uint16_t>(frame + kIpFragment) & 0xff3fu) == 0 &&
                      load<uint32_t>(frame + kIpDestination) == filter.address_raw &&
                      load<uint32_t>(frame + kIpSource) != filter.address_raw && port_index < filter.port_count &&
                      udp_length >= kUdpHeaderBytes && ip_length == udp_length + kIpHeaderBytes &&
                      ip_length + kIp <= length;
    const bool ip_good = ip == Check::kGood || (ip == Check::kVerify && checksum_is_right(ip_header_sum(frame)));
    const bool udp_good =
        udp == Check::kGood || (udp == Check::kVerify && load<uint16_t>(frame + kUdpChecksum) == 0);
    if (fits && ip_good && udp_good) [[likely]] {
      return {FrameKind::kMessage, 0, static_cast<uint16_t>(port_index),
              static_cast<uint16_t>(udp_length - kUdpHeaderBytes), false};
    }
  }
  return parse_frame_slowly(frame, length, filter, ip, udp, unfinished_is_good);
}

// ---- answers --------------------------------------------------------------------------------------
enum class UdpChecksum : uint8_t {
  kNone,      // 0: not computed
  kSoftware,
  kHardware,  // the pseudo header's sum; the port adds the rest
};

// Fills in the IPv4 header's checksum.
inline void write_ip_checksum(uint8_t* frame) {
  store<uint16_t>(frame + frame_at::kIpChecksum, 0);
  store(frame + frame_at::kIpChecksum, checksum_finish(ip_header_sum(frame)));
}

inline void write_udp_checksum(uint8_t* frame, UdpChecksum how) {
  using namespace frame_at;
  uint16_t value = 0;
  if (how != UdpChecksum::kNone) [[unlikely]] {
    const uint16_t raw_length = load<uint16_t>(frame + kUdpLength);
    const uint64_t pseudo = pseudo_header_sum(frame, raw_length);
    store<uint16_t>(frame + kUdpChecksum, 0);
    if (how == UdpChecksum::kHardware) {
      value = checksum_fold(pseudo);
    } else {
      value = checksum_finish(checksum_add(pseudo, frame + kUdp, byte_swap(raw_length)));
      if (value == 0) value = 0xffff;  // 0 would mean "none"
    }
  }
  store(frame + kUdpChecksum, value);
}

// Turns the headers of a received kMessage frame round for an answer of `payload_length` bytes behind them.
inline void build_reply(uint8_t* frame, const Mac& own, uint32_t payload_length, UdpChecksum how) {
  using namespace frame_at;
  // MAC addresses: back to the sender, from us.
  store(frame + kDestinationMac, load<uint32_t>(frame + kSourceMac));
  store(frame + kDestinationMac + 4, load<uint16_t>(frame + kSourceMac + 4));
  store(frame + kSourceMac, load<uint32_t>(own.data()));
  store(frame + kSourceMac + 4, load<uint16_t>(own.data() + 4));

  const uint32_t udp_length = payload_length + kUdpHeaderBytes;
  const uint16_t ip_length_raw = byte_swap(static_cast<uint16_t>(udp_length + kIpHeaderBytes));
  const uint32_t source = load<uint32_t>(frame + kIpSource);
  const uint32_t destination = load<uint32_t>(frame + kIpDestination);
  // 0x45 00 | length | 00 00 40 00 | 64 17 | checksum: the constant part of the sum is known.
  constexpr uint64_t kConstantSum = 0x0045u + 0x0040u + (kReplyTtl | uint32_t{kProtocolUdp} << 8);
  const uint16_t checksum = checksum_finish(kConstantSum + ip_length_raw + source + destination);
  store<uint32_t>(frame + kIp, 0x0045u | uint32_t{ip_length_raw} << 16);
  store<uint32_t>(frame + kIpId, 0x00400000u);  // not a fragment, do not fragment
  store<uint32_t>(frame + kIpTtl, kReplyTtl | uint32_t{kProtocolUdp} << 8 | uint32_t{checksum} << 16);
  store(frame + kIpSource, destination);
  store(frame + kIpDestination, source);

  const uint32_t ports = load<uint32_t>(frame + kUdpSource);
  store(frame + kUdpSource, ports << 16 | ports >> 16);
  store(frame + kUdpLength, byte_swap(static_cast<uint16_t>(udp_length)));
  write_udp_checksum(frame, how);
}

// The headers of a message of our own, `payload_length` bytes behind them.
inline void build_message_headers(uint8_t* frame, const Mac& own, const Mac& next_hop, Endpoint from, Endpoint to,
                                  uint32_t payload_length, UdpChecksum how) {
  using namespace frame_at;
  std::memcpy(frame + kDestinationMac, next_hop.data(), next_hop.size());
  std::memcpy(frame + kSourceMac, own.data(), own.size());
  store<uint16_t>(frame + kEthertype, 0x0008);
  const uint32_t udp_length = payload_length + kUdpHeaderBytes;
  store<uint16_t>(frame + kIp, 0x0045);
  store(frame + kIpTotalLength, byte_swap(static_cast<uint16_t>(udp_length + kIpHeaderBytes)));
  store<uint32_t>(frame + kIpId, 0x00400000u);  // not a fragment, do not fragment
  frame[kIpTtl] = kReplyTtl;
  frame[kIpProtocol] = kProtocolUdp;
  store(frame + kIpSource, byte_swap(from.address));
  store(frame + kIpDestination, byte_swap(to.address));
  write_ip_checksum(frame);
  store(frame + kUdpSource, byte_swap(from.port));
  store(frame + kUdpDestination, byte_swap(to.port));
  store(frame + kUdpLength, byte_swap(static_cast<uint16_t>(udp_length)));
  write_udp_checksum(frame, how);
}

inline Endpoint sender_of(const uint8_t* frame) {
  return {byte_swap(load<uint32_t>(frame + frame_at::kIpSource)),
          byte_swap(load<uint16_t>(frame + frame_at::kUdpSource))};
}

}  // namespace txnic::dataplane
