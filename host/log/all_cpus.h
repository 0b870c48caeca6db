// SPDX-License-Identifier: BSD-3-Clause
// Threads that are no lcore's. A thread inherits the CPUs of the one that starts it; started from a pinned lcore it
// would share that CPU with a loop that never sleeps, and a pool of threads would have one CPU in all.
#pragma once

#include <sched.h>

#include <cstring>

namespace txnic::log {

// While it lives, the calling thread, and threads that it starts, may run on every CPU that the process may use.
class AllCpus {
 public:
  AllCpus() {
    known_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0;
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);  // the kernel leaves out what a cpuset forbids
    (void)::sched_setaffinity(0, sizeof all, &all);
  }
  ~AllCpus() {
    if (known_) (void)::sched_setaffinity(0, sizeof before_, &before_);
  }
  AllCpus(const AllCpus&) = delete;
  AllCpus& operator=(const AllCpus&) = delete;

 private:
  cpu_set_t before_{};
  bool known_;
};

}  // namespace txnic::log
