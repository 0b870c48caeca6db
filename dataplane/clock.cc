// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/clock.h"

#include <ctime>

#include <rte_cycles.h>

namespace txnic::dataplane {

Clock Clock::calibrated() {
  Clock clock;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock.base_ticks_ = read_ticks();
  clock.base_ns_ = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
  const uint64_t hz = rte_get_tsc_hz();
  clock.ns_per_tick_32_ = hz == 0 ? uint64_t{1} << 32
                                  : static_cast<uint64_t>((static_cast<Wide>(1'000'000'000u) << 32) / hz);
  return clock;
}

}  // namespace txnic::dataplane
