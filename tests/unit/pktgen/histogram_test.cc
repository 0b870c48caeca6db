// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/report/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pktgen/workload/random.h"

namespace txnic::pktgen {
namespace {

// The definition: the smallest recorded value that `percent` of all do not exceed.
uint64_t exact_percentile(const std::vector<uint64_t>& sorted, double percent) {
  const double exact = percent / 100 * static_cast<double>(sorted.size());
  const auto rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(exact)));
  return sorted[rank - 1];
}

TEST(Histogram, PercentilesAreWithinOnePercentOfASortedVector) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    Random random(seed);
    Histogram histogram;
    std::vector<uint64_t> values;
    for (int i = 0; i < 100'000; ++i) {
      // Spread over nine orders of magnitude.
      const auto value = static_cast<uint64_t>(std::pow(10.0, 9 * random.unit()));
      values.push_back(value);
      histogram.record(value);
    }
    std::sort(values.begin(), values.end());
    for (const double percent : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const auto exact = static_cast<double>(exact_percentile(values, percent));
      const auto got = static_cast<double>(histogram.percentile(percent));
      EXPECT_GE(got, exact) << percent;
      EXPECT_LE(got, exact * 1.01) << percent;
    }
    EXPECT_EQ(histogram.max(), values.back());
    EXPECT_EQ(histogram.count(), values.size());
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 0; value < 256; ++value) histogram.record(value);
  for (uint64_t value = 0; value < 256; ++value) {
    EXPECT_EQ(histogram.percentile(100 * static_cast<double>(value + 1) / 256), value);
  }
}

TEST(Histogram, EachPowerOfTwoAndItsNeighboursStayInOrder) {
  for (uint32_t bit = 1; bit < Histogram::kValueBitsMax; ++bit) {
    for (const uint64_t value : {(1ull << bit) - 1, 1ull << bit, (1ull << bit) + 1}) {
      Histogram histogram;
      histogram.record(value);
      histogram.record(~0ull);  // so that the maximum does not correct the cell
      const uint64_t got = histogram.percentile(50);
      EXPECT_GE(got, value);
      EXPECT_LE(static_cast<double>(got), static_cast<double>(value) * 1.008 + 1) << value;
    }
  }
}

TEST(Histogram, MergedIsTheSameAsRecordedTogether) {
  Random random(7);
  Histogram parts[3], whole;
  for (int i = 0; i < 30'000; ++i) {
    const uint64_t value = random.below(1'000'000);
    parts[i % 3].record(value);
    whole.record(value);
  }
  Histogram merged;
  for (const Histogram& part : parts) merged.merge(part);
  for (double percent = 0; percent <= 100; percent += 0.5) {
    EXPECT_EQ(merged.percentile(percent), whole.percentile(percent));
  }
  EXPECT_EQ(merged.count(), whole.count());
  EXPECT_DOUBLE_EQ(merged.mean(), whole.mean());
}

TEST(Histogram, SinceHoldsOnlyWhatCameLater) {
  Histogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.record(5);
  const Histogram earlier = histogram;
  for (int i = 0; i < 10; ++i) histogram.record(900);
  const Histogram later = histogram.since(earlier);
  EXPECT_EQ(later.count(), 10u);
  EXPECT_GE(later.percentile(1), 900u);
}

TEST(Histogram, EmptyAnswersZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.percentile(99.9), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
}

}  // namespace
}  // namespace txnic::pktgen
