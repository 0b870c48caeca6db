// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/frame.h"

namespace txnic::dataplane {
namespace {

using namespace frame_at;

constexpr uint32_t kArpFrameBytes = 42;

ParsedFrame drop(Reason why) { return {FrameKind::kDrop, why, 0, 0, false}; }

ParsedFrame parse_udp(const uint8_t* frame, uint32_t ip_payload, const FrameFilter& filter, Check udp,
                      bool unfinished_is_good) {
  if (ip_payload < kUdpHeaderBytes) return drop(reason::kUdpLength);
  const uint16_t raw_length = load<uint16_t>(frame + kUdpLength);
  const uint32_t udp_length = byte_swap(raw_length);
  if (udp_length != ip_payload) return drop(reason::kUdpLength);
  const uint32_t port_index =
      static_cast<uint32_t>(byte_swap(load<uint16_t>(frame + kUdpDestination))) - filter.base_port;
  if (port_index >= filter.port_count) return drop(reason::kOtherPort);
  const uint16_t checksum = load<uint16_t>(frame + kUdpChecksum);
  bool unfinished = false;
  if (checksum != 0 && udp != Check::kGood) {
    const uint64_t pseudo = pseudo_header_sum(frame, raw_length);
    if (udp == Check::kBad || !checksum_is_right(checksum_add(pseudo, frame + kUdp, udp_length))) {
      unfinished = unfinished_is_good && checksum == checksum_fold(pseudo);
      if (!unfinished) return drop(reason::kUdpChecksum);
    }
  }
  return {FrameKind::kMessage, 0, static_cast<uint16_t>(port_index),
          static_cast<uint16_t>(udp_length - kUdpHeaderBytes), unfinished};
}

ParsedFrame parse_ipv4(const uint8_t* frame, uint32_t length, const FrameFilter& filter, Check ip, Check udp,
                       bool unfinished_is_good) {
  if (length < kIp + kIpHeaderBytes) return drop(reason::kTruncated);
  const uint32_t version = frame[kIp] >> 4;
  const uint32_t header_words = frame[kIp] & 15u;
  if (version != 4 || header_words < 5) return drop(reason::kIpVersion);
  if (header_words > 5) return drop(reason::kIpOptions);
  const uint32_t ip_length = byte_swap(load<uint16_t>(frame + kIpTotalLength));
  if (ip_length < kIpHeaderBytes) return drop(reason::kIpLength);
  if (ip_length + kIp > length) return drop(reason::kTruncated);
  if (ip == Check::kBad || (ip == Check::kVerify && !checksum_is_right(ip_header_sum(frame)))) {
    return drop(reason::kIpChecksum);
  }
  if ((load<uint16_t>(frame + kIpFragment) & 0xff3fu) != 0) return drop(reason::kIpFragment);
  if (load<uint32_t>(frame + kIpDestination) != filter.address_raw) return drop(reason::kOtherAddress);
  if (load<uint32_t>(frame + kIpSource) == filter.address_raw) return drop(reason::kOwnSource);
  const uint32_t ip_payload = ip_length - kIpHeaderBytes;
  if (frame[kIpProtocol] == kProtocolIcmp) {
    return {FrameKind::kIcmp, 0, 0, static_cast<uint16_t>(ip_payload), false};
  }
  if (frame[kIpProtocol] != kProtocolUdp) return drop(reason::kNotUdp);
  return parse_udp(frame, ip_payload, filter, udp, unfinished_is_good);
}

}  // namespace

ParsedFrame parse_frame_slowly(const uint8_t* frame, uint32_t length, const FrameFilter& filter, Check ip, Check udp,
                               bool unfinished_is_good) {
  if (length < kIp) return drop(reason::kTruncated);
  switch (byte_swap(load<uint16_t>(frame + kEthertype))) {
    case 0x0800: return parse_ipv4(frame, length, filter, ip, udp, unfinished_is_good);
    case 0x0806:
      if (length < kArpFrameBytes) return drop(reason::kTruncated);
      return {FrameKind::kArp, 0, 0, 0, false};
    case 0x8100:
    case 0x88a8:
    case 0x9100: return drop(reason::kVlan);
    case 0x86dd: return drop(reason::kIpv6);
    default: return drop(reason::kOtherEthertype);
  }
}

}  // namespace txnic::dataplane
