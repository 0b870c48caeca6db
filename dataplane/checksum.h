// SPDX-License-Identifier: BSD-3-Clause
// The Internet checksum (RFC 1071) on raw words: the byte order cancels out, so sums and results are as they stand in
// the frame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "txn/types.h"

namespace txnic::dataplane {

// When the dataplane checks and computes UDP checksums. IPv4 header checksums are always written.
enum class ChecksumPolicy : uint8_t {
  kAuto,  // by hardware where the port offers it. Else by behaviour: a sender that leaves the UDP checksum out (0, as
          // on shared memory) gets answers without one, everybody else gets software checksums
  kOff,   // received checksums are not looked at, answers carry none
  kSoftware,  // always computed and checked in software; an unfinished checksum is a wrong one
};

// Adds `length` bytes to a running sum.
inline uint64_t checksum_add(uint64_t sum, const void* data, size_t length) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (; length >= 4; length -= 4, at += 4) sum += load<uint32_t>(at);
  if (length >= 2) {
    sum += load<uint16_t>(at);
    at += 2;
    length -= 2;
  }
  if (length != 0) sum += *at;  // little-endian: the last odd byte is the low one
  return sum;
}

inline uint16_t checksum_fold(uint64_t sum) {
  sum = (sum & 0xffffffffu) + (sum >> 32);
  sum = (sum & 0xffffffffu) + (sum >> 32);
  sum = (sum & 0xffffu) + (sum >> 16);
  sum = (sum & 0xffffu) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// The value for a checksum field.
inline uint16_t checksum_finish(uint64_t sum) { return static_cast<uint16_t>(~checksum_fold(sum)); }

// True if a region that includes its checksum field is right.
inline bool checksum_is_right(uint64_t sum) { return checksum_fold(sum) == 0xffff; }

inline uint16_t byte_swap(uint16_t v) { return __builtin_bswap16(v); }
inline uint32_t byte_swap(uint32_t v) { return __builtin_bswap32(v); }

}  // namespace txnic::dataplane
