// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/poll_gate.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <vector>

namespace txnic::dataplane {
namespace {

std::mutex g_gates_mutex;
std::vector<PollGate*>& gates() {
  static auto* list = new std::vector<PollGate*>;  // outlives every static object
  return *list;
}

void nap_microseconds(long microseconds) {
  const timespec time{0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

}  // namespace

PollGate::PollGate() : asymmetric_(membarrier_works()) {
  const std::lock_guard lock(g_gates_mutex);
  gates().push_back(this);
}

PollGate::~PollGate() {
  const std::lock_guard lock(g_gates_mutex);
  std::erase(gates(), this);
}

bool PollGate::membarrier_works() {
  static const bool works =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  return works;
}

void PollGate::order_all_threads() {
  if (membarrier_works()) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void PollGate::open(uint16_t port) { closed_.fetch_and(~(uint64_t{1} << port), std::memory_order_seq_cst); }

bool PollGate::close(uint16_t port, uint32_t timeout_ms) {
  closed_.fetch_or(uint64_t{1} << port, std::memory_order_seq_cst);
  return wait_until_outside(timeout_ms);
}

bool PollGate::wait_until_outside(uint32_t timeout_ms) const {
  order_all_threads();
  const uint64_t turn = turn_.load(std::memory_order_acquire);
  if (turn % 2 == 0) return true;
  // A driver call takes microseconds, unless the poller was preempted in the middle of it.
  for (uint32_t waited_us = 0; waited_us < timeout_ms * 1000; waited_us += 50) {
    if (turn_.load(std::memory_order_acquire) != turn) return true;
    nap_microseconds(50);
  }
  return false;
}

bool PollGate::wait_until_outside_all(uint32_t timeout_ms) {
  const std::lock_guard lock(g_gates_mutex);
  bool all = true;
  for (const PollGate* gate : gates()) all = gate->wait_until_outside(timeout_ms) && all;
  return all;
}

}  // namespace txnic::dataplane
