// SPDX-License-Identifier: BSD-3-Clause
// Open loop: Poisson arrivals. Intended times are drawn one after the other and never depend on what happened, so a
// transaction that had to wait is still timed from its intended send (no coordinated omission).
#pragma once

#include <cmath>

#include "pktgen/load/clock.h"
#include "pktgen/workload/random.h"

namespace txnic::pktgen {

class Arrivals {
 public:
  Arrivals() = default;
  Arrivals(double per_second, uint64_t seed, TimeNs start)
      : mean_ns_(1e9 / per_second), random_(seed, 0x6172726976616c73), start_(start) {
    advance();
  }
  TimeNs next() const { return next_; }
  void advance() {
    offset_ns_ += -std::log(1.0 - random_.unit()) * mean_ns_;
    next_ = start_ + static_cast<TimeNs>(offset_ns_);
  }

 private:
  double mean_ns_ = 0;
  Random random_;
  TimeNs start_ = 0;
  double offset_ns_ = 0;
  TimeNs next_ = ~TimeNs{0};
};

}  // namespace txnic::pktgen
