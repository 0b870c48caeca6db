// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/neighbour.h"

#include <cstring>

namespace txnic::dataplane {
namespace {

// ARP for IPv4 over Ethernet (RFC 826).
constexpr uint32_t kArp = 14, kArpOperation = 20, kArpSenderMac = 22, kArpSenderAddress = 28, kArpTargetMac = 32,
                   kArpTargetAddress = 38;
constexpr uint8_t kArpStart[6] = {0, 1, 8, 0, 6, 4};  // Ethernet, IPv4, address lengths
constexpr uint16_t kArpRequest = 0x0100, kArpReply = 0x0200;  // as they stand in the frame

constexpr uint32_t kIcmp = frame_at::kUdp, kIcmpChecksum = kIcmp + 2;
constexpr uint32_t kIcmpHeaderBytes = 8;
constexpr uint8_t kIcmpEchoRequest = 8, kIcmpEchoReply = 0;

bool is_ipv4_arp(const uint8_t* frame) { return std::memcmp(frame + kArp, kArpStart, sizeof kArpStart) == 0; }

// A sender that claims a group address is lying; nobody is answered at a broadcast address.
bool is_unicast(const uint8_t* mac) { return (mac[0] & 1) == 0; }

}  // namespace

bool answer_arp(uint8_t* frame, uint32_t address_raw, const Mac& own) {
  if (!is_ipv4_arp(frame) || load<uint16_t>(frame + kArpOperation) != kArpRequest ||
      load<uint32_t>(frame + kArpTargetAddress) != address_raw || !is_unicast(frame + kArpSenderMac)) {
    return false;
  }
  const uint32_t asker = load<uint32_t>(frame + kArpSenderAddress);
  std::memcpy(frame + frame_at::kDestinationMac, frame + kArpSenderMac, 6);
  std::memcpy(frame + frame_at::kSourceMac, own.data(), 6);
  store(frame + kArpOperation, kArpReply);
  std::memcpy(frame + kArpTargetMac, frame + kArpSenderMac, 6);
  store(frame + kArpTargetAddress, asker);
  std::memcpy(frame + kArpSenderMac, own.data(), 6);
  store(frame + kArpSenderAddress, address_raw);
  return true;
}

bool answer_icmp(uint8_t* frame, uint32_t icmp_length, const Mac& own) {
  using namespace frame_at;
  if (icmp_length < kIcmpHeaderBytes || frame[kIcmp] != kIcmpEchoRequest || frame[kIcmp + 1] != 0 ||
      !checksum_is_right(checksum_add(0, frame + kIcmp, icmp_length)) || !is_unicast(frame + kSourceMac)) {
    return false;
  }
  std::memcpy(frame + kDestinationMac, frame + kSourceMac, 6);
  std::memcpy(frame + kSourceMac, own.data(), 6);
  const uint32_t source = load<uint32_t>(frame + kIpSource);
  store(frame + kIpSource, load<uint32_t>(frame + kIpDestination));
  store(frame + kIpDestination, source);
  frame[kIpTtl] = kReplyTtl;
  write_ip_checksum(frame);
  frame[kIcmp] = kIcmpEchoReply;
  store<uint16_t>(frame + kIcmpChecksum, 0);
  store(frame + kIcmpChecksum, checksum_finish(checksum_add(0, frame + kIcmp, icmp_length)));
  return true;
}

void build_arp_request(uint8_t* frame, const Mac& own, uint32_t own_address_raw, uint32_t wanted_address_raw) {
  std::memset(frame + frame_at::kDestinationMac, 0xff, 6);
  std::memcpy(frame + frame_at::kSourceMac, own.data(), 6);
  store<uint16_t>(frame + frame_at::kEthertype, 0x0608);
  std::memcpy(frame + kArp, kArpStart, sizeof kArpStart);
  store(frame + kArpOperation, kArpRequest);
  std::memcpy(frame + kArpSenderMac, own.data(), 6);
  store(frame + kArpSenderAddress, own_address_raw);
  std::memset(frame + kArpTargetMac, 0, 6);
  store(frame + kArpTargetAddress, wanted_address_raw);
}

bool read_arp(const uint8_t* frame, uint32_t length, uint32_t address_raw, Mac* mac) {
  uint32_t sender = 0;
  Mac sender_mac{};
  if (length < kArpFrameBytes || load<uint16_t>(frame + frame_at::kEthertype) != 0x0608 ||
      !read_arp_sender(frame, &sender, &sender_mac) || sender != address_raw) {
    return false;
  }
  *mac = sender_mac;
  return true;
}

bool read_arp_sender(const uint8_t* frame, uint32_t* address_raw, Mac* mac) {
  const uint16_t operation = load<uint16_t>(frame + kArpOperation);
  if (!is_ipv4_arp(frame) || !is_unicast(frame + kArpSenderMac)) return false;
  if (operation != kArpRequest && operation != kArpReply) return false;
  *address_raw = load<uint32_t>(frame + kArpSenderAddress);
  std::memcpy(mac->data(), frame + kArpSenderMac, 6);
  return true;
}

}  // namespace txnic::dataplane
