// SPDX-License-Identifier: BSD-3-Clause
// What txsim prints.
#pragma once

#include "tests/sim/runner.h"

namespace txnic::sim {

// A line on a terminal that is written over; elsewhere a line now and then.
class Progress {
 public:
  Progress();
  // `real_seconds`: since the start.
  void show(uint64_t done, uint64_t of, const Statistics& sum, double real_seconds);
  void clear() const;

 private:
  bool terminal_;
  double shown_at_ = 0;
};

void print_violation(const SeedResult& result, const std::string& rates);
void print_summary(uint64_t first, uint64_t seeds, uint64_t violations, const Statistics& sum, double real_seconds);

// Rule by rule: its mutants, each with the seeds that it took to notice it. `needed`: one for each of mutants(); 0: it
// survived.
inline constexpr uint64_t kNotHunted = ~uint64_t{0};
void print_rules(std::span<const uint64_t> needed);

}  // namespace txnic::sim
