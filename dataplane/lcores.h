// SPDX-License-Identifier: BSD-3-Clause
// Workers are the EAL's worker lcores. With one lcore only, the single worker is a thread of its own on the main
// lcore's CPU, so that main stays free for housekeeping (it sleeps nearly all the time).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace txnic::dataplane {

uint32_t worker_lcore_count();
int worker_numa_node(uint32_t worker);  // -1: unknown
uint32_t worker_cpu(uint32_t worker);

// Runs `body` as worker `worker`; returns at once. The body's object lives until join_worker() has returned.
bool launch_worker(uint32_t worker, std::function<void()> body, std::string* error);
bool worker_is_running(uint32_t worker);
void join_worker(uint32_t worker);

}  // namespace txnic::dataplane
