// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcores.h"

#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <thread>

#include <rte_launch.h>
#include <rte_lcore.h>

namespace txnic::dataplane {
namespace {

struct Job {
  std::function<void()> body;
  std::thread thread;  // only when there is one lcore
  std::atomic<bool> running{false};
};
std::array<Job, RTE_MAX_LCORE> g_jobs;

bool is_single_lcore() { return rte_lcore_count() == 1; }

uint32_t lcore_of(uint32_t worker) {
  if (is_single_lcore()) return rte_get_main_lcore();
  uint32_t index = 0;
  unsigned lcore = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    if (index++ == worker) return lcore;
  }
  return LCORE_ID_ANY;
}

int run_job(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  job.body();
  job.running.store(false, std::memory_order_release);
  return 0;
}

}  // namespace

uint32_t worker_lcore_count() { return is_single_lcore() ? 1 : rte_lcore_count() - 1; }

int worker_numa_node(uint32_t worker) {
  const uint32_t lcore = lcore_of(worker);
  return lcore == LCORE_ID_ANY ? -1 : static_cast<int>(rte_lcore_to_socket_id(lcore));
}

uint32_t worker_cpu(uint32_t worker) {
  const int cpu = rte_lcore_to_cpu_id(static_cast<int>(lcore_of(worker)));
  return cpu < 0 ? 0 : static_cast<uint32_t>(cpu);
}

bool launch_worker(uint32_t worker, std::function<void()> body, std::string* error) {
  assert(worker < worker_lcore_count());
  Job& job = g_jobs[worker];
  assert(!job.running.load() && "one body at a time");
  job.body = std::move(body);
  job.running.store(true);
  if (is_single_lcore()) {
    // The thread inherits main's CPU set. Registered, it has an lcore id and with it a packet-pool cache.
    job.thread = std::thread([&job] {
      const bool registered = rte_thread_register() == 0;
      run_job(&job);
      if (registered) rte_thread_unregister();
    });
    return true;
  }
  const int result = rte_eal_remote_launch(run_job, &job, lcore_of(worker));
  if (result != 0) {
    job.running.store(false);
    *error = "cannot start worker " + std::to_string(worker) + " on lcore " + std::to_string(lcore_of(worker)) + ": " +
             std::strerror(-result);
    return false;
  }
  return true;
}

bool worker_is_running(uint32_t worker) { return g_jobs[worker].running.load(std::memory_order_acquire); }

void join_worker(uint32_t worker) {
  Job& job = g_jobs[worker];
  if (job.thread.joinable()) {
    job.thread.join();
  } else if (!is_single_lcore()) {
    rte_eal_wait_lcore(lcore_of(worker));
  }
}

}  // namespace txnic::dataplane
