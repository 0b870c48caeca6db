// SPDX-License-Identifier: BSD-3-Clause
// The only source of randomness of a run. Integers and comparisons of doubles only: the same on every compiler.
#pragma once

#include <cstdint>

namespace txnic::sim {

class Random {
 public:
  // The seed is scattered: with states that are a multiple of the step apart, neighbouring seeds would walk the same
  // numbers, a few steps behind each other.
  explicit Random(uint64_t seed) : state_(scatter(scatter(seed) + 0x1234567)) {}

  // SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t next() { return scatter(state_ += 0x9e3779b97f4a7c15ull); }
  uint64_t below(uint64_t limit) { return next() % limit; }  // limit > 0
  uint32_t below32(uint32_t limit) { return static_cast<uint32_t>(next() % limit); }
  uint64_t between(uint64_t least, uint64_t most) { return least + below(most - least + 1); }
  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

 private:
  static uint64_t scatter(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace txnic::sim
