// SPDX-License-Identifier: BSD-3-Clause
// Reports a worker that has not polled for limits::kWorkerStallMilliseconds, with its stage; and samples the stages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/counters.h"
#include "txn/types.h"

namespace txnic::dataplane {

class Watchdog {
 public:
  explicit Watchdog(std::vector<const Progress*> workers) : workers_(std::move(workers)), silent_(workers_.size()) {}
  // Tells once when a worker falls silent, and once when it is back.
  void tick(TimeNs now, std::vector<std::string>* notes);
  uint64_t stalls() const { return stalls_; }
  // How often a tick found a worker that runs in each stage: where time goes, at no cost to the workers.
  const std::array<uint64_t, kStages>& samples() const { return samples_; }

 private:
  std::vector<const Progress*> workers_;
  std::vector<uint8_t> silent_;
  std::array<uint64_t, kStages> samples_{};
  uint64_t stalls_ = 0;
};

}  // namespace txnic::dataplane
