// SPDX-License-Identifier: BSD-3-Clause
// For the checkers' own tests: histories of a serial execution under concurrent clients, and ways to spoil them.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "tests/sim/check/history.h"

namespace txnic::check {

using Random = std::mt19937_64;

// Below `bound`, which is not 0. (Not std::uniform_int_distribution: its numbers differ between libraries.)
inline uint64_t below(Random& random, uint64_t bound) { return random() % bound; }

struct GenerateOptions {
  uint32_t transactions = 200;
  uint32_t processes = 6;
  uint32_t keys = 4;
  uint32_t key_life = 0;  // after so many appends a key is replaced by a new one, as in Jepsen; 0: never
  uint32_t micro_ops_max = 4;
  uint32_t fail_percent = 5;
  uint32_t info_percent = 5;
};

// Strictly serializable by construction: each transaction takes effect as a whole at one moment between its invocation
// and its answer; a failed one never, an unknown one perhaps.
History generate(Random& random, const GenerateOptions& options);

// Each spoils a history so that it is certainly no longer strictly serializable, or returns nothing if the history has
// no place for it.
std::optional<History> swap_reads(const History& history, Random& random);
std::optional<History> drop_append(const History& history, Random& random);
std::optional<History> reorder_real_time(const History& history, Random& random);
std::optional<History> fail_observed(const History& history, Random& random);
std::optional<History> duplicate_element(const History& history, Random& random);

}  // namespace txnic::check
