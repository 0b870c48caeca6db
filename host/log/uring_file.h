// SPDX-License-Identifier: BSD-3-Clause
// A file written through io_uring: a write, and a linked fdatasync. Each file has a small ring of its own, made by
// the keeper's thread and used by the worker.
#pragma once

#include <memory>

#include "host/log/file_disk.h"

namespace txnic::log {

// 0 if this process may use io_uring.
Errno probe_uring();
Errno open_uring_file(Descriptor file, uint64_t bytes, std::unique_ptr<LogFile>* opened);

}  // namespace txnic::log
