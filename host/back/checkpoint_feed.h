// SPDX-License-Identifier: BSD-3-Clause
// Feeds one worker's checkpoint part: shard versions, sessions with their windows, then every row, a bounded number
// per step of the worker's loop. Fuzzy: transactions go on meanwhile; redo from the part's start position makes it
// exact, because every change after the start is in the log behind it.
#pragma once

#include "host/log/checkpoint.h"
#include "host/log/worker_log.h"
#include "host/store/shard.h"
#include "txn/session.h"

namespace txnic::back {

class HostBack;

class CheckpointFeed {
 public:
  // Takes a new part to fill; null forgets the old one. One at a time.
  void begin(log::CheckpointWriter* part) { *this = CheckpointFeed{}, part_ = part; }
  bool active() const { return part_ != nullptr; }
  // One bounded step. Answers how many records it wrote.
  uint32_t step(const HostBack& back);
  // The longest step so far is measured by the loop; this is what bounds it.
  static constexpr uint32_t kBucketsPerStep = 16;
  static constexpr uint32_t kOutcomesPerStep = 128;

 private:
  enum class Phase : uint8_t { kShards, kSessions, kRows, kFinish };
  uint32_t write_shards(const HostBack& back);
  uint32_t write_sessions(const HostBack& back);
  uint32_t write_rows(const HostBack& back);
  bool write_session(const Session& session);
  void next_shard() { cursor_ = 0, ++shard_; }

  log::CheckpointWriter* part_ = nullptr;
  Phase phase_ = Phase::kShards;
  uint32_t shard_ = 0;    // local shard in work
  uint32_t session_ = 0;  // session slot in work
  uint32_t outcome_ = 0;  // window entry in work, over all local shards of the session
  bool session_written_ = false;
  uint64_t cursor_ = 0;  // bucket
};

}  // namespace txnic::back
