// SPDX-License-Identifier: BSD-3-Clause
// Work spread over threads with Intel TBB: the recovery executor of production.
#pragma once

#include "host/log/recovery.h"

namespace txnic::log {

// `threads` 0: one for each CPU, and one more, because tasks that read the disk wait for it.
ParallelFor tbb_parallel_for(unsigned threads = 0);

}  // namespace txnic::log
