// SPDX-License-Identifier: BSD-3-Clause
// Our munmap() stands in front of the C library's for the whole process. Called from the EAL's interrupt thread it
// first waits until no poller is inside a driver: see poll_gate.h. From any other thread it is the plain system call.
//
// Why by symbol: the driver's disconnect runs from a socket callback that belongs to the driver, offers no hook, and
// is over before the application hears of it. By then it has cleared its "connected" flag, so a poller that leaves
// now does not come in again: waiting for the pollers at this very point is what the driver itself leaves out.
#include "dataplane/unmap_guard.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include <rte_interrupts.h>

#include "dataplane/poll_gate.h"

namespace txnic::dataplane {
namespace {

// A poller preempted inside a driver call needs its CPU back first; longer than this and it will not come.
constexpr uint32_t kLeaveTimeoutMilliseconds = 10'000;
std::atomic<bool> g_armed{false};
std::atomic<uint64_t> g_waits{0};

}  // namespace

void arm_unmap_guard() { g_armed.store(true); }
uint64_t unmap_guard_waits() { return g_waits.load(); }

}  // namespace txnic::dataplane

extern "C" int munmap(void* address, size_t length) noexcept {
  using namespace txnic::dataplane;
  if (g_armed.load(std::memory_order_relaxed) && rte_thread_is_intr() != 0) {
    g_waits.fetch_add(1);
    PollGate::wait_until_outside_all(kLeaveTimeoutMilliseconds);
  }
  return static_cast<int>(syscall(SYS_munmap, address, length));
}
