// SPDX-License-Identifier: BSD-3-Clause
// Reports a worker that has not polled for limits::kWorkerStallMilliseconds, with the stage it is in.
#pragma once

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

 private:
  std::vector<const Progress*> workers_;
  std::vector<uint8_t> silent_;
  uint64_t stalls_ = 0;
};

}  // namespace txnic::dataplane
