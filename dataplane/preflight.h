// SPDX-License-Identifier: BSD-3-Clause
// What is wrong on this machine, and what to do, found before anything is configured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace txnic::dataplane {

enum class Severity : uint8_t { kNote, kWarning, kError };

struct Problem {
  Severity severity;
  std::string text;  // the cause, and the next step
};

struct Needs {
  uint32_t ports = 1;
  uint32_t workers = 0;         // 0: any number
  uint64_t region_bytes = 0;    // stores and sessions (Region::allocate)
  uint64_t packet_bytes = 0;    // packet pools, from the EAL's memory; 0: packet_pool_bytes() of a default setup
};

// After the EAL has started.
std::vector<Problem> preflight(const Needs& needs);
bool has_errors(const std::vector<Problem>& problems);
std::string format(const Problem& problem);  // "error: …"

}  // namespace txnic::dataplane
