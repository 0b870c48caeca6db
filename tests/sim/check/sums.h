// SPDX-License-Identifier: BSD-3-Clause
// Counters and balances: every acknowledged change happened exactly once, every unknown one once or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/check/verdict.h"

namespace txnic::check {

inline constexpr size_t kSumsMax =
    1 << 20;  // different sums that are kept apart; beyond it only the bounds are checked

// A change whose outcome nobody told: it added one of `choices` or nothing. (More than one choice: what it adds depends
// on what it found, such as SmallBank's overdraft fee.)
struct UnknownChange {
  std::vector<int64_t> choices;
};

// What a run knows of one counter, or of the sum of many accounts.
struct SumRun {
  std::string name;  // for messages: "counter 5", "SmallBank"
  int64_t initial = 0;
  std::vector<int64_t> acknowledged;
  std::vector<UnknownChange> unknown;
  int64_t final = 0;
};

// Anomaly "sum": no choice of the unknown changes explains the final value. Sums do not overflow in 64 bits.
Verdict check_sum(const SumRun& run);

// Exactly once, from the values that acknowledged additions of `delta` returned. Anomalies "repeated-value" (two of
// them returned the same: one was lost, or answered from a stale copy), "value-off-grid" and "value-out-of-range",
// beside check_sum()'s.
struct CounterRun {
  std::string name;
  int64_t initial = 0;
  int64_t delta = 1;              // not 0
  std::vector<int64_t> returned;  // after the addition, one for each acknowledged one
  uint64_t unknown = 0;
  int64_t final = 0;
};
Verdict check_counter(const CounterRun& run);

// SmallBank: the total of all balances. Anomaly "conservation", with check_sum()'s meaning; a transfer's change is 0.
Verdict check_conservation(const SumRun& run);

}  // namespace txnic::check
