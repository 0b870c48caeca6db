// SPDX-License-Identifier: BSD-3-Clause
// The live line: a thread that prints once a second what the generator is doing, and, not on a terminal, when the
// measured time begins. It shares no lock with the generator.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "pktgen/load/live.h"

namespace txnic::pktgen {

// What is printed about the second between two looks.
struct LiveLook {
  const char* phase = "";
  uint64_t executed = 0, good = 0, aborted = 0, unknown = 0, refused = 0, retransmissions = 0, reopens = 0;
  uint64_t units_total = 0, units_done = 0, p50_ns = 0, p99_ns = 0;
  TimeNs silent_ns = 0;
  bool is_warm = false;
};
LiveLook look_at(const Live& live);
std::string format_live(const LiveLook& before, const LiveLook& now, double seconds, uint64_t elapsed_seconds);

class ProgressPrinter {
 public:
  // `rewrite`: on a terminal each line replaces the last one.
  ProgressPrinter(const Live& live, bool rewrite);
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

 private:
  void run();

  const Live& live_;
  const bool rewrite_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace txnic::pktgen
