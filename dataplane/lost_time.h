// SPDX-License-Identifier: BSD-3-Clause
// Makes a worker as slow as a profile says: behind work the worker spins for the time that a slower core would have
// needed more, before its answers leave. Polls that found nothing cost nothing extra.
#pragma once

#include "dataplane/clock.h"
#include "offload/emulation/link_model.h"

namespace txnic::dataplane {

class LostTime {
 public:
  explicit LostTime(uint32_t slowdown_milli = 1000) : slowdown_milli_(slowdown_milli) {}

  // The core has worked for so long; and owes this time besides.
  void worked(TimeNs busy_ns, TimeNs besides_ns = 0) {
    owed_ns_ += offload::slowdown_ns(busy_ns, slowdown_milli_) + besides_ns;
  }
  // Spins until the owed time is over. Answers the time after it; `*lost_ns`: how long it took.
  TimeNs lose(const Clock& clock, TimeNs* lost_ns) {
    const TimeNs began = clock.now();
    const TimeNs until = began + owed_ns_;
    TimeNs now = began;
    while (now < until) now = clock.now();
    *lost_ns = now - began;
    owed_ns_ = 0;
    return now;
  }

 private:
  uint32_t slowdown_milli_;
  TimeNs owed_ns_ = 0;
};

}  // namespace txnic::dataplane
