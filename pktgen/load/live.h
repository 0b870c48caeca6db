// SPDX-License-Identifier: BSD-3-Clause
// What the generator's thread shows while it runs, and what it can be told. One writer for each field, any reader.
#pragma once

#include <atomic>
#include <cstdint>

#include "txn/types.h"

namespace txnic::pktgen {

struct Live {
  // Written by the generator.
  std::atomic<const char*> phase{""};
  std::atomic<uint64_t> executed{0}, good{0}, aborted{0}, unknown{0}, refused{0};
  std::atomic<uint64_t> retransmissions{0}, reopens{0};
  std::atomic<uint64_t> units_total{0}, units_done{0};  // of a bounded phase
  std::atomic<uint64_t> p50_ns{0}, p99_ns{0};           // of the last whole second
  std::atomic<TimeNs> silent_ns{0};                     // since the node's last answer, while one is awaited
  std::atomic<bool> is_warm{false};

  // Written by a signal handler: 1: end the run; more: end at once.
  std::atomic<int> stop_requests{0};
};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace txnic::pktgen
