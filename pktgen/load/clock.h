// SPDX-License-Identifier: BSD-3-Clause
// The generator's clock: monotonic nanoseconds, read once a burst. The kernel's own (vDSO), so that runs without DPDK
// have it too.
#pragma once

#include <ctime>

#include "txn/types.h"

namespace txnic::pktgen {

inline constexpr TimeNs kSecondNs = 1'000'000'000;
inline constexpr TimeNs kMillisecondNs = 1'000'000;

inline TimeNs clock_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<TimeNs>(t.tv_sec) * kSecondNs + static_cast<TimeNs>(t.tv_nsec);
}

}  // namespace txnic::pktgen
