// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/sums.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "tests/sim/check/words.h"

namespace txnic::check {
namespace {

// Can `wanted` be made of one choice or none of each unknown change? `is_bounds_only`: too many sums, judged by the
// lowest, the highest and the common divisor.
bool can_explain(int64_t wanted, const std::vector<UnknownChange>& unknown, bool& is_bounds_only) {
  int64_t lowest = 0;
  int64_t highest = 0;
  int64_t divisor = 0;
  std::vector<int64_t> sums = {0};
  is_bounds_only = false;
  for (const UnknownChange& change : unknown) {
    int64_t low = 0;
    int64_t high = 0;
    std::vector<int64_t> next = sums;
    for (const int64_t choice : change.choices) {
      low = std::min(low, choice);
      high = std::max(high, choice);
      divisor = std::gcd(divisor, choice);
      if (is_bounds_only) continue;
      for (const int64_t sum : sums) next.push_back(sum + choice);
    }
    lowest += low;
    highest += high;
    if (is_bounds_only) continue;
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    is_bounds_only = next.size() > kSumsMax;
    sums = std::move(next);
  }
  if (!is_bounds_only) return std::binary_search(sums.begin(), sums.end(), wanted);
  return wanted >= lowest && wanted <= highest && (divisor == 0 ? wanted == 0 : wanted % divisor == 0);
}

Verdict check_as(const SumRun& run, const char* anomaly) {
  Verdict verdict;
  const int64_t sum = std::accumulate(run.acknowledged.begin(), run.acknowledged.end(), int64_t{0});
  const int64_t rest = run.final - run.initial - sum;
  bool is_bounds_only = false;
  if (can_explain(rest, run.unknown, is_bounds_only)) return verdict;
  verdict.add(anomaly, {}, [&] {
    return words::line(run.name + ": began with " + std::to_string(run.initial) + ", " +
                       std::to_string(run.acknowledged.size()) + " acknowledged changes add up to " +
                       std::to_string(sum) + ", it ended with " + std::to_string(run.final)) +
           words::line(std::string("the difference of ") + std::to_string(rest) + " is no sum of some of the " +
                       std::to_string(run.unknown.size()) + " changes of unknown outcome");
  });
  return verdict;
}

}  // namespace

Verdict check_sum(const SumRun& run) { return check_as(run, "sum"); }

Verdict check_conservation(const SumRun& run) { return check_as(run, "conservation"); }

Verdict check_counter(const CounterRun& run) {
  assert(run.delta != 0);
  const uint64_t changes = run.returned.size() + run.unknown;
  const SumRun sum{run.name, run.initial, std::vector<int64_t>(run.returned.size(), run.delta),
                   std::vector<UnknownChange>(run.unknown, {{run.delta}}), run.final};
  Verdict verdict = check_sum(sum);
  std::vector<int64_t> sorted(run.returned);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const int64_t value = sorted[i];
    const int64_t offset = value - run.initial;
    const auto said = [&](const std::string& what) {
      return words::line(run.name + ": an acknowledged addition of " + std::to_string(run.delta) + " returned " +
                         std::to_string(value) + ", " + what);
    };
    if (i > 0 && value == sorted[i - 1]) {
      verdict.add("repeated-value", {}, [&] { return said("and so did another one"); });
    }
    if (offset % run.delta != 0) {
      verdict.add("value-off-grid", {}, [&] { return said("which no number of additions makes"); });
    } else if (offset / run.delta < 1 || static_cast<uint64_t>(offset / run.delta) > changes) {
      verdict.add("value-out-of-range", {}, [&] {
        return said(std::string("but there were ") + std::to_string(changes) + " additions from " +
                    std::to_string(run.initial));
      });
    }
  }
  return verdict;
}

}  // namespace txnic::check
