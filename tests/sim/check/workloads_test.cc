// SPDX-License-Identifier: BSD-3-Clause
// Counters, balances, rings and pairs.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/sim/check/generate.h"
#include "tests/sim/check/invariants.h"
#include "tests/sim/check/sums.h"

namespace {

using namespace txnic::check;

TEST(Counter, ExactlyOnce) {
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2, 3}, 0, 3}).valid());
  EXPECT_TRUE(check_counter({"c", 10, 5, {15, 25, 20}, 0, 25}).valid());
  EXPECT_TRUE(check_counter({"c", 0, -2, {-2, -6}, 2, -8}).valid());
  EXPECT_TRUE(check_counter({"c", 0, 1, {}, 0, 0}).valid());
}

TEST(Counter, UnknownOnesHappenOnceOrNot) {
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2}, 2, 2}).valid());
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 3}, 2, 4}).valid());
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2}, 2, 5}).has("sum"));
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2}, 2, 1}).has("sum"));
}

TEST(Counter, Anomalies) {
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2, 3}, 0, 2}).has("sum"));              // one was lost
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2, 3}, 0, 4}).has("sum"));              // one happened twice
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 2, 2}, 0, 3}).has("repeated-value"));   // two saw the same
  EXPECT_TRUE(check_counter({"c", 0, 5, {5, 11}, 0, 10}).has("value-off-grid"));    // made up
  EXPECT_TRUE(check_counter({"c", 0, 1, {1, 7}, 0, 2}).has("value-out-of-range"));  // from the future
  EXPECT_TRUE(check_counter({"c", 0, 1, {0, 1}, 0, 2}).has("value-out-of-range"));  // before its own addition
  EXPECT_FALSE(check_counter({"c", 0, 1, {1, 2, 3}, 0, 2}).has("repeated-value"));
}

TEST(Conservation, TotalsMatch) {
  EXPECT_TRUE(check_conservation({"bank", 1000, {5, -20, 0, 100}, {}, 1085}).valid());
  EXPECT_TRUE(check_conservation({"bank", 1000, {5, -20, 0, 100}, {}, 1084}).has("conservation"));
}

TEST(Conservation, UnknownOnesMayOrMayNot) {
  const std::vector<UnknownChange> unknown = {{{7}}, {{-30}}, {{-12, -13}}};  // the last: a check with or without a fee
  for (const int64_t rest : {0, 7, -30, -12, -13, -23, -5, -6, -42, -43, -35, -36}) {
    EXPECT_TRUE(check_conservation({"bank", 100, {10}, unknown, 110 + rest}).valid()) << rest;
  }
  for (const int64_t rest : {1, -1, 14, -25, -60, 8, -37}) {  // -25 would need the last one twice
    EXPECT_TRUE(check_conservation({"bank", 100, {10}, unknown, 110 + rest}).has("conservation")) << rest;
  }
}

TEST(Conservation, ManyUnknownOnesAreJudgedByBounds) {
  std::vector<UnknownChange> unknown;
  Random random(1);
  int64_t highest = 0;
  for (int i = 0; i < 64; ++i) {
    const auto change = static_cast<int64_t>(2 * (1 + below(random, 1'000'000'000)));
    unknown.push_back({{change}});
    highest += change;
  }
  EXPECT_TRUE(check_sum({"s", 0, {}, unknown, highest}).valid());
  EXPECT_TRUE(check_sum({"s", 0, {}, unknown, highest + 2}).has("sum"));
  EXPECT_TRUE(check_sum({"s", 0, {}, unknown, highest - 1}).has("sum"));  // odd
  EXPECT_TRUE(check_sum({"s", 0, {}, unknown, -2}).has("sum"));
}

TEST(Sum, RandomRunsPassAndAnythingElseFails) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    SumRun run{"s", static_cast<int64_t>(below(random, 100)), {}, {}, 0};
    run.final = run.initial;
    for (uint64_t i = below(random, 50); i > 0; --i) {
      run.acknowledged.push_back(4 * static_cast<int64_t>(below(random, 100)) - 200);
      run.final += run.acknowledged.back();
    }
    for (uint64_t i = below(random, 12); i > 0; --i) {
      run.unknown.push_back({{4 * static_cast<int64_t>(below(random, 100)) - 200}});
      if (below(random, 2) == 0) run.final += run.unknown.back().choices[0];
    }
    ASSERT_TRUE(check_sum(run).valid()) << "seed " << seed;
    run.final += 1 + static_cast<int64_t>(below(random, 3));  // all changes are multiples of 4
    ASSERT_TRUE(check_sum(run).has("sum")) << "seed " << seed;
  }
}

TEST(Ring, WholeRings) {
  EXPECT_TRUE(check_ring({{"start", {1, 2, 3, 0}}, {"end", {2, 0, 3, 1}}, {"one", {0}}}).valid());
}

TEST(Ring, Anomalies) {
  EXPECT_TRUE(check_ring({{"two rings", {1, 0, 3, 2}}}).has("split-ring"));
  EXPECT_TRUE(check_ring({{"a tail", {1, 2, 3, 1}}}).has("split-ring"));
  EXPECT_TRUE(check_ring({{"out", {1, 4, 3, 0}}}).has("broken-link"));
  EXPECT_TRUE(check_ring({{"good", {1, 0}}, {"bad", {0, 1}}}).has("split-ring"));
}

// The cycle workload itself: serial swaps keep the ring; two that both read before either writes split it.
TEST(Ring, SwapsKeepItAndWriteSkewBreaksIt) {
  Random random(1);
  constexpr uint64_t kNodes = 12;
  std::vector<uint64_t> next(kNodes);
  for (uint64_t i = 0; i < kNodes; ++i) next[i] = (i + 1) % kNodes;
  std::vector<RingWalk> walks;
  const auto read = [&](uint64_t from) {
    std::vector<uint64_t> path = {from};
    for (int i = 0; i < 3; ++i) path.push_back(next[path.back()]);
    return path;
  };
  const auto write = [&](const std::vector<uint64_t>& path) {
    next[path[0]] = path[2];
    next[path[2]] = path[1];
    next[path[1]] = path[3];
  };
  for (int i = 0; i < 1000; ++i) {
    const auto path = read(below(random, kNodes));
    walks.push_back({std::string("T") + std::to_string(i), path});
    write(path);
    ASSERT_TRUE(check_ring({{std::string("after ") + std::to_string(i), next}}).valid()) << i;
  }
  EXPECT_TRUE(check_ring_walks(walks, kNodes).valid());
  const auto first = read(0);
  const auto second = read(first[1]);
  write(first);
  write(second);
  EXPECT_FALSE(check_ring({{"skewed", next}}).valid());
}

TEST(RingWalk, Anomalies) {
  EXPECT_TRUE(check_ring_walks({{"whole", {0, 1, 2, 0}}}, 3).valid());
  EXPECT_TRUE(check_ring_walks({{"early", {0, 1, 0, 1}}}, 3).has("short-walk"));
  EXPECT_TRUE(check_ring_walks({{"late", {0, 1, 2, 1}}}, 3).has("short-walk"));
  EXPECT_TRUE(check_ring_walks({{"out", {0, 3}}}, 3).has("broken-link"));
}

TEST(Pairs, WriteSkew) {
  EXPECT_TRUE(check_pairs({{"start", 50, 50}, {"end", -20, 20}}, 0).valid());
  EXPECT_TRUE(check_pairs({{"end", -20, 19}}, 0).has("write-skew"));
}

}  // namespace
