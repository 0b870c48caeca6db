// SPDX-License-Identifier: BSD-3-Clause
// The loop's clock: one counter read and one multiplication. Monotonic nanoseconds, anchored at CLOCK_MONOTONIC when
// calibrated, good for differences inside one process.
#pragma once

#include <cstdint>

#include "txn/types.h"

namespace txnic::dataplane {

inline uint64_t read_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "no tick counter known for this processor"
#endif
}

class Clock {
 public:
  // After the EAL has started: it knows the counter's rate.
  static Clock calibrated();

  TimeNs now() const { return base_ns_ + to_ns(read_ticks() - base_ticks_); }
  TimeNs to_ns(uint64_t ticks) const {
    return static_cast<TimeNs>(static_cast<Wide>(ticks) * ns_per_tick_32_ >> 32);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  uint64_t base_ticks_ = 0;
  TimeNs base_ns_ = 0;
  uint64_t ns_per_tick_32_ = uint64_t{1} << 32;  // nanoseconds a tick, times 2^32
};

}  // namespace txnic::dataplane
