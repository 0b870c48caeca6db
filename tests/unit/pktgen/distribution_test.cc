// SPDX-License-Identifier: BSD-3-Clause
// Draws against theory, with fixed seeds: a share's tolerance is five standard deviations.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "pktgen/load/arrivals.h"
#include "pktgen/workload/key_space.h"
#include "pktgen/workload/micro.h"
#include "pktgen/workload/zipf.h"

namespace txnic::pktgen {
namespace {

void expect_share(uint64_t hits, uint64_t draws, double probability, const std::string& what) {
  const auto n = static_cast<double>(draws);
  const double tolerance = 5 * std::sqrt(probability * (1 - probability) / n) + 1e-9;
  EXPECT_NEAR(static_cast<double>(hits) / n, probability, tolerance) << what;
}

TEST(Random, BelowIsUniformAndStreamsDiffer) {
  Random random(1, 0);
  constexpr uint64_t kDraws = 200'000;
  std::vector<uint64_t> hits(10, 0);
  for (uint64_t i = 0; i < kDraws; ++i) ++hits[random.below(10)];
  for (uint64_t value = 0; value < 10; ++value) expect_share(hits[value], kDraws, 0.1, std::to_string(value));
  std::set<uint64_t> first;
  for (uint64_t stream = 0; stream < 1000; ++stream) first.insert(Random(1, stream).next());
  EXPECT_EQ(first.size(), 1000u);
  EXPECT_EQ(Random(9, 3).next(), Random(9, 3).next());
}

// Gray's method is exact for the first two ranks and an approximation by integration behind them.
TEST(Zipf, HotRanksHaveTheirShare) {
  constexpr uint64_t kDraws = 500'000;
  for (const double theta : {0.6, 0.9, 0.99}) {
    const Zipf zipf(100'000, theta);
    Random random(11, static_cast<uint64_t>(theta * 100));
    std::vector<uint64_t> hits(100'000, 0);
    for (uint64_t i = 0; i < kDraws; ++i) ++hits[zipf.rank(random)];
    expect_share(hits[0], kDraws, zipf.probability(0), "rank 0");
    expect_share(hits[1], kDraws, zipf.probability(1), "rank 1");
    for (const uint64_t upto : {10u, 100u, 1000u, 10'000u}) {
      uint64_t got = 0;
      double theory = 0;
      for (uint64_t rank = 0; rank < upto; ++rank) {
        got += hits[rank];
        theory += zipf.probability(rank);
      }
      EXPECT_NEAR(static_cast<double>(got) / kDraws, theory, 0.02) << "theta " << theta << ", first " << upto;
    }
  }
}

TEST(Zipf, ProbabilitiesSumToOneAndZeroThetaIsUniform) {
  const Zipf zipf(1000, 0.99);
  double sum = 0;
  for (uint64_t rank = 0; rank < 1000; ++rank) sum += zipf.probability(rank);
  EXPECT_NEAR(sum, 1, 1e-9);
  const Zipf uniform(10, 0);
  Random random(3);
  uint64_t first = 0;
  for (int i = 0; i < 100'000; ++i) first += uniform.rank(random) == 0;
  expect_share(first, 100'000, 0.1, "uniform");
}

TEST(Zipf, TinyCountsStayInRange) {
  for (uint64_t count = 1; count <= 5; ++count) {
    const Zipf zipf(count, 0.99);
    Random random(count);
    for (int i = 0; i < 10'000; ++i) ASSERT_LT(zipf.rank(random), count);
  }
}

TEST(Scramble, IsABijectionThatScatters) {
  for (const uint64_t count : {1u, 2u, 3u, 100u, 1000u, 4096u, 65'537u}) {
    const Scramble scramble(count);
    std::vector<bool> seen(count, false);
    for (uint64_t rank = 0; rank < count; ++rank) {
      const uint64_t record = scramble(rank);
      ASSERT_LT(record, count);
      ASSERT_FALSE(seen[record]) << "count " << count << ", rank " << rank;
      seen[record] = true;
    }
  }
  // The hundred hottest of a million are not neighbours: every tenth of the records has some.
  const Scramble scramble(1'000'000);
  std::set<uint64_t> tenths;
  for (uint64_t rank = 0; rank < 100; ++rank) tenths.insert(scramble(rank) / 100'000);
  EXPECT_EQ(tenths.size(), 10u);
}

TEST(KeySpace, EveryRecordIsInItsShardOnce) {
  KeySpace keys;
  keys.init(10'000, 7);
  uint64_t total = 0;
  std::set<uint64_t> seen;
  for (uint32_t s = 0; s < 7; ++s) {
    const auto shard = static_cast<ShardId>(s);
    for (uint64_t i = 0; i < keys.count(shard); ++i) {
      EXPECT_EQ(keys.shard(keys.at(shard, i)), shard);
      seen.insert(keys.at(shard, i));
    }
    total += keys.count(shard);
    uint64_t below = 0;
    for (uint64_t i = 0; i < keys.count(shard); ++i) below += keys.at(shard, i) < 400;
    EXPECT_EQ(keys.count_below(shard, 400), below);
  }
  EXPECT_EQ(total, 10'000u);
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(KeySpace, DrawsStayInShardAndBelowTheLimit) {
  for (const uint32_t shards : {1u, 4u, 40u}) {  // drawing again, and from lists
    KeySpace keys;
    keys.init(20'000, shards);
    Random random(5);
    std::set<uint64_t> seen;
    for (int i = 0; i < 20'000; ++i) {
      const auto shard = static_cast<ShardId>(random.below(shards));
      const uint64_t record = keys.draw(random, shard, 8000);
      ASSERT_LT(record, 8000u);
      ASSERT_EQ(keys.shard(record), shard);
      seen.insert(record);
    }
    EXPECT_GT(seen.size(), 7000u) << shards;  // of 8000; 1 - e^-2.5 of them are expected
  }
}

TEST(DrawDistinct, IsDistinctAndOfOneShard) {
  KeySpace keys;
  keys.init(500, 4);
  Random random(6);
  for (int i = 0; i < 5000; ++i) {
    uint64_t records[8];
    draw_distinct(keys, random, records, 8);
    EXPECT_EQ(std::set<uint64_t>(records, records + 8).size(), 8u);
    for (const uint64_t record : records) EXPECT_EQ(keys.shard(record), keys.shard(records[0]));
  }
}

TEST(Arrivals, ArePoisson) {
  Arrivals arrivals(1e6, 1, 1'000'000);
  constexpr int kDraws = 200'000;
  TimeNs before = 1'000'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    ASSERT_GE(arrivals.next(), before);
    const auto gap = static_cast<double>(arrivals.next() - before);
    before = arrivals.next();
    sum += gap;
    squares += gap * gap;
    arrivals.advance();
  }
  const double mean = sum / kDraws;
  const double deviation = std::sqrt(squares / kDraws - mean * mean);
  EXPECT_NEAR(mean, 1000, 15);       // 1 / rate
  EXPECT_NEAR(deviation, mean, 30);  // exponential: both are equal
}

}  // namespace
}  // namespace txnic::pktgen
