// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/watchdog.h"

#include "txn/limits.h"

namespace txnic::dataplane {

void Watchdog::tick(TimeNs now, std::vector<std::string>* notes) {
  constexpr TimeNs kLimitNs = limits::kWorkerStallMilliseconds * 1'000'000;
  for (size_t w = 0; w < workers_.size(); ++w) {
    const Stage stage = workers_[w]->stage.load(std::memory_order_relaxed);
    const TimeNs last = workers_[w]->last_poll_ns.load(std::memory_order_relaxed);
    const bool runs = stage != Stage::kNotStarted && stage != Stage::kStopped;
    if (runs) ++samples_[static_cast<size_t>(stage)];
    const bool silent = runs && now > last && now - last > kLimitNs;
    if (silent == (silent_[w] != 0)) continue;
    silent_[w] = silent ? 1 : 0;
    if (silent) {
      ++stalls_;
      notes->push_back("worker " + std::to_string(w) + " has not polled for " +
                       std::to_string((now - last) / 1'000'000) + " ms; it is in stage \"" + stage_name(stage) +
                       "\". Is its CPU taken by others? Else attach a debugger to it");
    } else {
      notes->push_back("worker " + std::to_string(w) + " polls again");
    }
  }
}

}  // namespace txnic::dataplane
