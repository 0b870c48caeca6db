// SPDX-License-Identifier: BSD-3-Clause
// Feeds one worker's checkpoint part: shard versions, transactions over several shards, sessions with their windows,
// then every row, a bounded number per step of the worker's loop. Fuzzy: transactions go on meanwhile; redo from the
// part's start position makes it exact, because every change after the start is in the log behind it.
//
// Why that is right for a transaction over several shards, at one participant. Its records stand in the log in the
// order PREPARE, decision, END, some before the start and some behind. What is behind is replayed over what the part
// says, and in that order, so it ends where the log ends, whatever the part said. What stands before must come from the
// part, and the part can tell: until the machine forgets the transaction it stays in its slot, and is written here; and
// before the machine forgets, the outcome is remembered in the window. Therefore transactions first, windows after
// them: one that is gone when its slot is looked at is in the window by then. (The other way round, a window that is
// written, then a decision that becomes durable and is forgotten, then the machine without it: an outcome is lost.)
// - A commit is written without its writes: they were applied before its record was written here, so the rows, which
//   come later, have them; and a row that was deleted since, before the start, must not come back.
// - Aborts stand in windows too and are written: a told abort over several shards is final (PROTOCOL 18.2).
// - A part counts only when the log is durable up to its end: no state is told before the record that made it.
#pragma once

#include "host/log/checkpoint.h"
#include "host/log/worker_log.h"
#include "host/store/shard.h"
#include "txn/session.h"

namespace txnic::back {

class HostBack;
class Mirror;

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
  static constexpr uint32_t kSlotsPerStep = 64;  // of the machine
  static constexpr uint32_t kTransactionsPerStep = 8;

 private:
  enum class Phase : uint8_t { kShards, kTransactions, kSessions, kRows, kFinish };
  uint32_t write_shards(const HostBack& back);
  uint32_t write_transactions(const HostBack& back);
  uint32_t write_mirrored(const Mirror& mirror);
  uint32_t write_sessions(const HostBack& back);
  uint32_t write_rows(const HostBack& back);
  bool write_session(const Session& session);
  void next_shard() { cursor_ = 0, ++shard_; }

  log::CheckpointWriter* part_ = nullptr;
  Phase phase_ = Phase::kShards;
  uint32_t shard_ = 0;    // local shard in work
  uint32_t slot_ = 0;     // of the machine, in work
  uint32_t session_ = 0;  // session slot in work
  uint32_t outcome_ = 0;  // window entry in work, over all local shards of the session
  bool session_written_ = false;
  uint64_t cursor_ = 0;  // bucket
};

}  // namespace txnic::back
