// SPDX-License-Identifier: BSD-3-Clause
// Frames for tests, built byte by byte and independently of the code under test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace txnic::dataplane::test {

using Frame = std::vector<uint8_t>;

struct UdpFrame {
  std::array<uint8_t, 6> destination_mac = {2, 0, 0, 0, 0, 1};
  std::array<uint8_t, 6> source_mac = {2, 0, 0, 0, 0, 2};
  uint32_t source = 0x0a630002;       // 10.99.0.2
  uint32_t destination = 0x0a630001;  // 10.99.0.1
  uint16_t source_port = 20000;
  uint16_t destination_port = 7700;
  uint8_t protocol = 17;
  uint8_t ttl = 64;
  std::string payload = "hello";
  bool with_udp_checksum = false;
};

inline void cut(Frame* f, size_t length) { f->erase(f->begin() + static_cast<std::ptrdiff_t>(length), f->end()); }
inline void put16(Frame* f, size_t at, uint32_t value) {
  (*f)[at] = static_cast<uint8_t>(value >> 8);
  (*f)[at + 1] = static_cast<uint8_t>(value);
}
inline void put32(Frame* f, size_t at, uint32_t value) {
  put16(f, at, value >> 16);
  put16(f, at + 2, value & 0xffff);
}
inline uint32_t get16(const Frame& f, size_t at) { return static_cast<uint32_t>(f[at] << 8 | f[at + 1]); }

// RFC 1071, as in the text book: big-endian words, one at a time.
inline uint32_t reference_sum(const Frame& f, size_t from, size_t length, uint32_t sum) {
  for (size_t i = 0; i < length; ++i) {
    sum += static_cast<uint32_t>(f[from + i]) << (i % 2 == 0 ? 8 : 0);
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return sum;
}
inline void fix_ip_checksum(Frame* f) {
  const size_t header_bytes = ((*f)[14] & 15u) * 4u;
  put16(f, 24, 0);
  put16(f, 24, ~reference_sum(*f, 14, header_bytes, 0) & 0xffff);
}
inline uint32_t reference_udp_checksum(const Frame& frame) {
  Frame f = frame;
  put16(&f, 40, 0);
  const uint32_t length = get16(f, 38);
  uint32_t sum = reference_sum(f, 26, 8, 17);
  sum = reference_sum(f, 38, 2, sum);
  sum = reference_sum(f, 34, length, sum);
  const uint32_t value = ~sum & 0xffff;
  return value == 0 ? 0xffff : value;
}

inline Frame make(const UdpFrame& u) {
  Frame f(42 + u.payload.size());
  for (size_t i = 0; i < 6; ++i) {
    f[i] = u.destination_mac[i];
    f[6 + i] = u.source_mac[i];
  }
  put16(&f, 12, 0x0800);
  f[14] = 0x45;
  put16(&f, 16, static_cast<uint32_t>(28 + u.payload.size()));
  put16(&f, 18, 0x1234);
  put16(&f, 20, 0x4000);
  f[22] = u.ttl;
  f[23] = u.protocol;
  put32(&f, 26, u.source);
  put32(&f, 30, u.destination);
  put16(&f, 34, u.source_port);
  put16(&f, 36, u.destination_port);
  put16(&f, 38, static_cast<uint32_t>(8 + u.payload.size()));
  for (size_t i = 0; i < u.payload.size(); ++i) f[42 + i] = static_cast<uint8_t>(u.payload[i]);
  fix_ip_checksum(&f);
  if (u.with_udp_checksum) put16(&f, 40, reference_udp_checksum(f));
  return f;
}

inline Frame make_arp(uint32_t operation, uint32_t sender, uint32_t target) {
  Frame f(42);
  const UdpFrame u;
  for (size_t i = 0; i < 6; ++i) {
    f[i] = 0xff;
    f[6 + i] = f[22 + i] = u.source_mac[i];
  }
  put16(&f, 12, 0x0806);
  put16(&f, 14, 1);
  put16(&f, 16, 0x0800);
  f[18] = 6;
  f[19] = 4;
  put16(&f, 20, operation);
  put32(&f, 28, sender);
  put32(&f, 38, target);
  return f;
}

inline Frame make_icmp(uint8_t type, const std::string& data) {
  UdpFrame u;
  u.protocol = 1;
  u.payload = data;
  Frame f = make(u);
  f[34] = type;
  f[35] = 0;
  put16(&f, 36, 0);
  put16(&f, 38, 0x4242);
  put16(&f, 40, 7);
  put16(&f, 36, ~reference_sum(f, 34, f.size() - 34, 0) & 0xffff);
  return f;
}

}  // namespace txnic::dataplane::test
