// SPDX-License-Identifier: BSD-3-Clause
// Many seeds: one process a seed, as many at once as there are cores, so that an assertion or a sanitizer ends one run
// and not the rest. Results come in the order of the seeds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace txnic::sim {

struct SeedResult {
  Options options;
  std::string violation;  // empty: none; a death of the process is one
  Statistics statistics;
};

// Runs one seed in this process. `history_file`: empty, or where its history goes.
SeedResult run_seed(const Options& options, const std::string& history_file);

class Runner {
 public:
  struct Plan {
    Options options;
    std::string history_file;
  };
  // The next run, or false: no more. Called as processes become free.
  using Next = std::function<bool(Plan*)>;
  // A result; false: start no more.
  using Take = std::function<bool(const SeedResult&)>;
  // Called about every second.
  using Tick = std::function<void()>;

  explicit Runner(uint32_t processes) : processes_(processes) {}
  // False if SIGINT or SIGTERM came; then the children have been ended.
  bool run(const Next& next, const Take& take, const Tick& tick);

 private:
  const uint32_t processes_;
};

uint32_t cores();

}  // namespace txnic::sim
