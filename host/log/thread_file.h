// SPDX-License-Identifier: BSD-3-Clause
// A file written by a thread of its own (pwrite, fdatasync): where io_uring is refused or configured off.
#pragma once

#include <memory>

#include "host/log/file_disk.h"

namespace txnic::log {

Errno open_thread_file(Descriptor file, uint64_t bytes, std::unique_ptr<LogFile>* opened);

}  // namespace txnic::log
