// SPDX-License-Identifier: BSD-3-Clause
// The vocabulary types that every layer shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace txnic {

using TableId = uint16_t;
using ShardId = uint16_t;
using SessionId = uint64_t;   // chosen by the client, not zero
using Sequence = uint64_t;    // a request's number inside its session, from 1
using Lsn = uint64_t;         // a byte position in one worker's log; monotone, 0 = "nothing"
using TimeNs = uint64_t;      // passed in by the caller; never read by the core

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// A record's version: the node's incarnation in the high 16 bits, its shard's commit sequence number in the
// low 48 (DESIGN 4.1; COMMIT 14). It never repeats. 0 means "no version".
using Version = uint64_t;
inline constexpr uint32_t kVersionSequenceBits = 48;
inline constexpr Version first_version(uint32_t incarnation) {
  return static_cast<Version>(incarnation & 0xffff) << kVersionSequenceBits;
}

// What a session opening yields (COMMIT 8): incarnation in the high half, opening number in the low half.
using Stamp = uint64_t;
inline constexpr Stamp make_stamp(uint32_t incarnation, uint32_t opening) {
  return static_cast<Stamp>(incarnation) << 32 | opening;
}
inline constexpr uint32_t stamp_incarnation(Stamp stamp) { return static_cast<uint32_t>(stamp >> 32); }

// When a commit is answered (DESIGN 5).
enum class Durability : uint8_t {
  kNone = 0,   // no log
  kAsync = 1,  // answered at once, on disk within a bounded delay
  kSync = 2,   // answered when durable
};

// Where a message came from: an IPv4 address and UDP port, both in host byte order.
struct Endpoint {
  uint32_t address = 0;
  uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// The next multiple of a cache line of 64 bytes: pieces of memory that is given at start begin there.
inline constexpr size_t align64(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

// Unaligned loads and stores. The wire and the log are little-endian, as is every platform that we build
// for (x86-64, arm64); this assertion is where a big-endian port would start.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
template <class T>
inline T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
inline void store(void* to, T value) {
  static_assert(!std::is_pointer_v<T>, "an array would be stored as its address");
  std::memcpy(to, &value, sizeof value);
}

}  // namespace txnic
