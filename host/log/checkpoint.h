// SPDX-License-Identifier: BSD-3-Clause
// One worker's part of a checkpoint, written while transactions run (fuzzy: redo from its start position makes it
// exact). The worker's loop feeds it in bounded steps and polls; the keeper makes it valid, together with the
// other workers' parts, by replacing the manifest, and then lets go of older segments.
#pragma once

#include <memory>

#include "host/log/disk.h"
#include "host/log/record.h"

namespace txnic::log {

class CheckpointWriter {
 public:
  virtual ~CheckpointWriter() = default;
  // Room for a record of `bytes` (8-aligned), or null: the buffers are being written, try at the next step.
  virtual std::byte* reserve(uint32_t bytes) = 0;
  virtual void append(uint32_t bytes) = 0;
  // Everything has been appended. `log_end`: the worker log's end now: the checkpoint counts only when the log
  // is durable up to it (it may hold effects of records that are not yet).
  virtual void finish(Lsn log_end) = 0;
  virtual void poll() = 0;
  virtual bool done() const = 0;    // durable; or failed
  virtual bool failed() const = 0;
};

}  // namespace txnic::log
