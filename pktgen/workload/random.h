// SPDX-License-Identifier: BSD-3-Clause
// Random numbers: SplitMix64 (Steele, Lea and Flood, 2014). Eight bytes of state, so that every flow has a stream of
// its own: what a flow asks for depends on the seed alone, never on the order in which replies arrive.
#pragma once

#include <cstdint>
#include <span>

namespace txnic::pktgen {

class Random {
 public:
  Random() = default;
  explicit Random(uint64_t seed) : state_(seed) {}
  // The stream number `stream` of a seed.
  Random(uint64_t seed, uint64_t stream) : state_(seed) {
    state_ = next() ^ (stream * 0xd1342543de82ef95ull);
    state_ = next();
  }

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, limit); limit is not zero. The bias of the multiplication is below limit / 2^64.
  uint64_t below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64);
  }
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_ = 0;
};

// The index of one of the shares, which are percent and sum to 100.
inline uint8_t draw_kind(Random& random, std::span<const uint32_t> percents) {
  uint64_t percent = random.below(100);
  uint8_t kind = 0;
  while (percent >= percents[kind]) percent -= percents[kind++];
  return kind;
}

}  // namespace txnic::pktgen
