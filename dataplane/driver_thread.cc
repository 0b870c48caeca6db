// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/driver_thread.h"

#include <condition_variable>
#include <mutex>

#include <rte_alarm.h>
#include <rte_interrupts.h>

namespace txnic::dataplane {
namespace {

struct Call {
  const std::function<void()>* body;
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
};

void run_call(void* argument) {
  Call& call = *static_cast<Call*>(argument);
  (*call.body)();
  // Notified under the lock: the waiting thread destroys the call as soon as it has the lock.
  const std::lock_guard lock(call.mutex);
  call.done = true;
  call.finished.notify_one();
}

}  // namespace

void run_in_interrupt_thread(const std::function<void()>& body) {
  Call call{.body = &body};
  if (rte_thread_is_intr() != 0 || rte_eal_alarm_set(1, run_call, &call) != 0) {
    body();
    return;
  }
  std::unique_lock lock(call.mutex);
  call.finished.wait(lock, [&call] { return call.done; });
}

}  // namespace txnic::dataplane
