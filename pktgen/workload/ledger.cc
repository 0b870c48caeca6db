// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/ledger.h"

#include <numeric>

namespace txnic::pktgen {

int64_t SumLedger::least() const {
  int64_t sum = expected();
  for (const int64_t delta : unknown_) sum += delta < 0 ? delta : 0;
  return sum;
}

int64_t SumLedger::most() const {
  int64_t sum = expected();
  for (const int64_t delta : unknown_) sum += delta > 0 ? delta : 0;
  return sum;
}

bool SumLedger::explains(int64_t actual) const {
  const int64_t low = least(), high = most();
  if (actual < low || actual > high) return false;
  if (unknown_.empty() || unknown_.size() > kUnknownExactMax) return true;
  // Which sums can be reached? Counted in units of the amounts' greatest common divisor from the least sum up: taking a
  // negative amount away from the least sum is the same as adding its absolute value.
  int64_t unit = 0;
  for (const int64_t delta : unknown_) unit = std::gcd(unit, delta);
  if ((actual - low) % unit != 0) return false;
  const auto target = static_cast<size_t>((actual - low) / unit);
  constexpr size_t kReachableMax = size_t{1} << 26;
  const auto range = static_cast<size_t>((high - low) / unit);
  if (range > kReachableMax) return true;
  std::vector<bool> reachable(range + 1, false);
  reachable[0] = true;
  size_t reached = 0;
  for (const int64_t delta : unknown_) {
    const auto step = static_cast<size_t>((delta < 0 ? -delta : delta) / unit);
    for (size_t at = reached + 1; at-- > 0;) {
      if (reachable[at]) reachable[at + step] = true;
    }
    reached += step;
    if (reachable[target]) return true;
  }
  return reachable[target];
}

void SumLedger::merge(const SumLedger& other) {
  committed_ += other.committed_;
  unknown_.insert(unknown_.end(), other.unknown_.begin(), other.unknown_.end());
}

}  // namespace txnic::pktgen
