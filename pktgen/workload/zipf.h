// SPDX-License-Identifier: BSD-3-Clause
// Zipf-distributed ranks by the method of Gray et al. ("Quickly generating billion-record synthetic databases",
// SIGMOD 1994), as YCSB uses it, and a bijection that scatters the ranks over the records.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "pktgen/workload/key_space.h"

namespace txnic::pktgen {

// Ranks 0 … count-1; rank r has a probability proportional to 1 / (r + 1)^theta. theta in [0, 1); 0 is uniform.
class Zipf {
 public:
  Zipf() = default;
  Zipf(uint64_t count, double theta) : count_(count), theta_(theta) {
    if (theta <= 0) return;
    for (uint64_t i = 1; i <= count; ++i) zeta_ += 1.0 / std::pow(static_cast<double>(i), theta);
    const double zeta_two = 1.0 + std::pow(0.5, theta);
    alpha_ = 1.0 / (1.0 - theta);
    second_ = zeta_two;
    eta_ = (1.0 - std::pow(2.0 / static_cast<double>(count), 1.0 - theta)) / (1.0 - zeta_two / zeta_);
  }

  uint64_t rank(Random& random) const {
    if (theta_ <= 0 || count_ < 3) return random.below(count_);
    const double u = random.unit();
    const double uz = u * zeta_;
    if (uz < 1.0) return 0;
    if (uz < second_) return 1;
    const double x = static_cast<double>(count_) * std::pow(eta_ * u - eta_ + 1.0, alpha_);
    const auto rank = static_cast<uint64_t>(x);
    return rank < count_ ? rank : count_ - 1;
  }
  // The probability of a rank in theory.
  double probability(uint64_t rank) const {
    if (theta_ <= 0) return 1.0 / static_cast<double>(count_);
    return 1.0 / (std::pow(static_cast<double>(rank + 1), theta_) * zeta_);
  }
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 1;
  double theta_ = 0;
  double zeta_ = 0;
  double alpha_ = 0;
  double eta_ = 0;
  double second_ = 0;
};

// A bijection of [0, count): hot ranks lie scattered, and no two ranks share a record (YCSB's hash modulo the count
// lets them). Each step is a bijection of the next power of two; what falls outside walks on.
class Scramble {
 public:
  Scramble() = default;
  explicit Scramble(uint64_t count) : count_(count), bits_(static_cast<uint32_t>(std::bit_width(count - 1))) {
    mask_ = bits_ >= 64 ? ~0ull : (1ull << bits_) - 1;
    shift_ = bits_ / 2 + 1;
  }
  uint64_t operator()(uint64_t rank) const {
    do {
      rank = (rank * 0x9e3779b97f4a7c15ull + 0x7f4a7c15ull) & mask_;
      rank ^= rank >> shift_;
      rank = (rank * 0xbf58476d1ce4e5b9ull) & mask_;
      rank ^= rank >> shift_;
    } while (rank >= count_);
    return rank;
  }

 private:
  uint64_t count_ = 1;
  uint32_t bits_ = 0;
  uint64_t mask_ = 0;
  uint32_t shift_ = 1;
};

// A Zipf-distributed record of `shard`: draws until one lives there. Should that take too long, a uniform one.
inline uint64_t draw_zipf(const KeySpace& keys, const Zipf& zipf, const Scramble& scramble, Random& random,
                          ShardId shard) {
  const uint32_t tries_max = 32 * keys.shards();
  for (uint32_t tries = 0; tries < tries_max; ++tries) {
    const uint64_t record = scramble(zipf.rank(random));
    if (keys.shard(record) == shard) return record;
  }
  return keys.draw(random, shard, keys.records());
}

// `count` distinct records of one shard: the first Zipf-distributed over all, the others within its shard.
inline void draw_zipf_distinct(const KeySpace& keys, const Zipf& zipf, const Scramble& scramble, Random& random,
                               uint64_t* records, uint32_t count) {
  records[0] = scramble(zipf.rank(random));
  const ShardId shard = keys.shard(records[0]);
  for (uint32_t i = 1; i < count;) {
    const uint64_t record = draw_zipf(keys, zipf, scramble, random, shard);
    bool seen = false;
    for (uint32_t j = 0; j < i; ++j) seen |= records[j] == record;
    if (!seen) records[i++] = record;
  }
}

// Distinct records of any shards.
inline void draw_zipf_anywhere(const Zipf& zipf, const Scramble& scramble, Random& random, uint64_t* records,
                               uint32_t count) {
  for (uint32_t i = 0; i < count;) {
    records[i] = scramble(zipf.rank(random));
    bool seen = false;
    for (uint32_t j = 0; j < i; ++j) seen |= records[j] == records[i];
    if (!seen) ++i;
  }
}

}  // namespace txnic::pktgen
