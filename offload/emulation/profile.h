// SPDX-License-Identifier: BSD-3-Clause
// A hardware profile: what a SmartNIC's processor and the link to its host are like, next to this machine. On real
// hardware it is empty. On one machine it makes a virtual port and an x86 core behave like the link and the SoC's core;
// in the simulator it drives the virtual clock. Every figure that comes from a run with one is labelled emulated.
#pragma once

#include <cstdint>

#include "txn/types.h"

namespace txnic::offload {

struct HardwareProfile {
  // Time that a core of the SoC needs for what a host core does in 1, in thousandths: 1000 is the same. It is uniform,
  // which is an assumption: sweep it (DESIGN 7, rule 9).
  uint32_t soc_slowdown_milli = 1000;
  TimeNs link_latency_ns = 0;         // one way, beside what the virtual port takes by itself
  uint64_t link_bits_per_second = 0;  // each way; 0: no limit
  uint32_t link_message_cost_ns = 0;  // of the core that sends a frame over the link (descriptor, doorbell)

  bool shapes_link() const { return link_latency_ns != 0 || link_bits_per_second != 0 || link_message_cost_ns != 0; }
  bool is_empty() const { return soc_slowdown_milli <= 1000 && !shapes_link(); }
};

}  // namespace txnic::offload
