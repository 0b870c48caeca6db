// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/tbb_parallel_for.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <memory>

namespace txnic::log {

ParallelFor tbb_parallel_for(unsigned threads) {
  if (threads == 0) threads = static_cast<unsigned>(tbb::info::default_concurrency()) + 1;
  struct Executor {
    explicit Executor(unsigned count)
        : limit(tbb::global_control::max_allowed_parallelism, count), arena(static_cast<int>(count)) {}
    tbb::global_control limit;  // allows more threads than CPUs
    tbb::task_arena arena;
  };
  auto executor = std::make_shared<Executor>(threads);
  return [executor](size_t count, const std::function<void(size_t)>& body) {
    executor->arena.execute([&] {
      tbb::parallel_for(
          size_t{0}, count, [&](size_t index) { body(index); }, tbb::simple_partitioner{});
    });
  };
}

}  // namespace txnic::log
