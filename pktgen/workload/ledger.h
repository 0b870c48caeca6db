// SPDX-License-Identifier: BSD-3-Clause
// The generator's own books: what the acknowledged transactions must have done to the data. Transactions whose outcome
// is unknown are kept apart: each was applied as a whole or not at all, and the check asks whether some choice explains
// what is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "txn/types.h"

namespace txnic::pktgen {

// Sums of signed amounts.
class SumLedger {
 public:
  // More unknown amounts than this are only checked as an interval.
  static constexpr size_t kUnknownExactMax = 2048;

  void committed(int64_t delta) { committed_ += delta; }
  void unknown(int64_t delta) {
    if (delta != 0) unknown_.push_back(delta);
  }
  void set_initial(int64_t sum) { initial_ = sum; }
  int64_t initial() const { return initial_; }
  int64_t committed_sum() const { return committed_; }
  const std::vector<int64_t>& unknown_amounts() const { return unknown_; }

  // The sum if no unknown transaction was applied.
  int64_t expected() const { return initial_ + committed_; }
  int64_t least() const;
  int64_t most() const;
  // True if `actual` = expected() + the sum of some of the unknown amounts.
  bool explains(int64_t actual) const;
  // Takes over another ledger of the same data (several generators at once).
  void merge(const SumLedger& other);

 private:
  int64_t initial_ = 0;
  int64_t committed_ = 0;
  std::vector<int64_t> unknown_;
};

// One counter: how often it was incremented, for certain and perhaps.
struct CounterEntry {
  uint64_t key = 0;
  int64_t initial = 0;
  uint64_t acknowledged = 0;
  uint64_t unknown = 0;

  bool explains(int64_t actual) const {
    const int64_t least = initial + static_cast<int64_t>(acknowledged);
    return actual >= least && actual <= least + static_cast<int64_t>(unknown);
  }
};

// What a ledger file holds (report/ledger_file.h reads and writes it).
struct LedgerRecord {
  std::string workload;  // smallbank, counter
  uint64_t accounts = 0;
  TableId table = 0, savings_table = 0, checking_table = 0;
  SumLedger sums;                      // smallbank
  std::vector<CounterEntry> counters;  // counter
};

}  // namespace txnic::pktgen
