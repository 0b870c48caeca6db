// SPDX-License-Identifier: BSD-3-Clause
// While it lives, drivers log only what is critical: for calls whose failure is expected, or told once by our own note.
#pragma once

#include <cstdint>

#include <rte_log.h>

namespace txnic::dataplane {

class QuietDrivers {
 public:
  QuietDrivers() : level_(rte_log_get_global_level()) { rte_log_set_global_level(RTE_LOG_CRIT); }
  ~QuietDrivers() { rte_log_set_global_level(level_); }
  QuietDrivers(const QuietDrivers&) = delete;
  QuietDrivers& operator=(const QuietDrivers&) = delete;

 private:
  uint32_t level_;
};

}  // namespace txnic::dataplane
