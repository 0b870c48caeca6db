// SPDX-License-Identifier: BSD-3-Clause
// See unmap_guard.cc.
#pragma once

#include <cstdint>

namespace txnic::dataplane {

// After the EAL has started, before the first poller runs.
void arm_unmap_guard();
// How often the interrupt thread unmapped memory under guard (a test proves with it that the guard is in place).
uint64_t unmap_guard_waits();

}  // namespace txnic::dataplane
