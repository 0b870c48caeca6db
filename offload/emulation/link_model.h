// SPDX-License-Identifier: BSD-3-Clause
// One direction of an emulated link: when does a frame arrive that is given to it now? The wire is a queue with a rate;
// behind it every frame takes the same time. Times never go back, so frames arrive in the order in which they were
// given. Pure: the time is passed in.
#pragma once

#include <algorithm>

#include "offload/emulation/profile.h"

namespace txnic::offload {

class LinkModel {
 public:
  LinkModel() = default;
  explicit LinkModel(const HardwareProfile& profile)
      : latency_ns_(profile.link_latency_ns), bits_per_second_(profile.link_bits_per_second) {}

  // `frame_bytes`: with headers. Preamble, check sum and gap of a real wire are counted in.
  TimeNs arrival(TimeNs now, uint32_t frame_bytes) {
    free_at_ns_ = std::max(free_at_ns_, now) + serialization_ns(frame_bytes);
    return free_at_ns_ + latency_ns_;
  }

 private:
  static constexpr uint64_t kWireOverheadBytes = 24;
  // The rest of a division is carried over: at 200 Gbit/s a small frame takes under 5 ns.
  TimeNs serialization_ns(uint32_t frame_bytes) {
    if (bits_per_second_ == 0) return 0;
    rest_ += (frame_bytes + kWireOverheadBytes) * 8 * 1'000'000'000ull;
    const TimeNs ns = rest_ / bits_per_second_;
    rest_ %= bits_per_second_;
    return ns;
  }

  TimeNs latency_ns_ = 0;
  uint64_t bits_per_second_ = 0;
  uint64_t rest_ = 0;
  TimeNs free_at_ns_ = 0;
};

// The time that a core has to lose behind work of `busy_ns`, so that all of it takes `slowdown_milli` thousandths.
inline TimeNs slowdown_ns(TimeNs busy_ns, uint32_t slowdown_milli) {
  return slowdown_milli <= 1000 ? 0 : busy_ns * (slowdown_milli - 1000) / 1000;
}

}  // namespace txnic::offload
