// SPDX-License-Identifier: BSD-3-Clause
// One worker's part of a checkpoint, written while transactions run (fuzzy: redo from its start position makes it
// exact). The worker's loop feeds it in bounded steps and polls; the keeper makes it valid, together with the
// other workers' parts, by replacing the manifest, and then lets go of older segments.
//
// A part holds all that its worker's shards need to start again without the log before its start position: rows
// (kRow), window entries (kOutcome), shard versions (kShardState) and open sessions (kSessionOpen).
#pragma once

#include <atomic>
#include <memory>

#include "host/log/disk.h"
#include "host/log/group_builder.h"
#include "host/log/manifest.h"
#include "txn/record/record.h"

namespace txnic::log {

class Keeper;
class WorkerLog;

class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter() { file_.reset(); }

  // ---- the worker's side; a writer is in its hands from Keeper::start_part() until done()

  // Room for a record of `bytes` (8-aligned), or null: the buffers are being written, try at the next step; or it has
  // failed: look at done() before each step, and let go of the writer when it says so.
  std::byte* reserve(uint32_t bytes);
  void append(uint32_t bytes) { gather_->add(bytes); }
  // Everything has been appended. `log_end`: the worker log's end now: the checkpoint counts only when the log
  // is durable up to it (it may hold effects of records that are not yet).
  void finish(Lsn log_end);
  void poll();
  bool done() const {  // durable; or failed
    const State state = state_.load(std::memory_order_acquire);
    return state != State::kOffered && state != State::kWriting;
  }
  bool failed() const { return state_.load(std::memory_order_acquire) == State::kFailed; }

 private:
  friend class Keeper;
  // kIdle -> kOffered -> kIdle is the keeper's; kOffered -> kWriting -> kDurable or kFailed the worker's.
  enum class State : uint8_t { kIdle, kOffered, kWriting, kDurable, kFailed };

  // The keeper's side.
  void init(uint32_t buffer_bytes);
  void offer(std::unique_ptr<LogFile> file, uint64_t seed);
  State state() const { return state_.load(std::memory_order_acquire); }
  // The worker's, by way of the keeper: from now on it writes. False if the offer has been withdrawn.
  bool begin(const LogPosition& start, Lsn redo);

  bool submit();
  void fail(Errno error);

  std::atomic<State> state_{State::kIdle};
  std::atomic<bool> abandoned_{false};  // the keeper gives this checkpoint up
  std::unique_ptr<LogFile> file_;
  GroupBuilder builders_[2];
  GroupBuilder* gather_ = &builders_[0];
  uint32_t buffer_bytes_ = 0;
  bool in_flight_ = false;
  bool finished_ = false;
  Errno error_ = 0;
  uint64_t seed_ = 0;
  LogPosition next_;   // in the part
  LogPosition start_;  // in the log
  Lsn redo_ = 0;
  Lsn log_end_ = 0;
  uint64_t records_ = 0;
};

}  // namespace txnic::log
