// SPDX-License-Identifier: BSD-3-Clause
// The checks can fail: each mutant breaks exactly one rule, and the simulator must find it within a few seeds. A rule
// whose mutant survives is not covered.
#pragma once

#include <span>

#include "tests/sim/options.h"

namespace txnic::sim {

struct Mutant {
  const char* name;
  const char* rule;    // of DESIGN 4.4 or COMMIT.md: names of rules(), with ", " between them
  const char* broken;  // what it does
  void (*apply)(Switches* switches);
  uint32_t seeds_max;    // it must be found within so many seeds
  bool is_slow = false;  // takes hundreds of seeds: not hunted by the test suite
};

// A trap or rule that has to be covered.
struct Rule {
  const char* name;
  const char* says;
  const char* why_none = nullptr;  // no mutant breaks it, because
};

std::span<const Mutant> mutants();
// All of DESIGN 4.4 and COMMIT.md, in their order.
std::span<const Rule> rules();
bool breaks(const Mutant& mutant, const Rule& rule);
// Null: there is none of that name.
const Mutant* find_mutant(const std::string& name);
// The run in which a mutant is hunted.
Options hunt(const Mutant& mutant, Options options);

}  // namespace txnic::sim
