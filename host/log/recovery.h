// SPDX-License-Identifier: BSD-3-Clause
// Recovery: reads the manifest, the newest checkpoint and the logs behind it, in parallel, and hands their
// content to a sink, each shard's in commit order. Also `txnode --check-log`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/log/disk.h"
#include "host/log/manifest.h"
#include "txn/record/transaction_record.h"

namespace txnic::log {

// Takes what recovery reads. Calls for one shard come in order and never at once; calls for different shards
// come from several threads at once. Pointers are valid during the call. False: out of memory, recovery ends.
class RecoverySink {
 public:
  virtual ~RecoverySink() = default;
  virtual bool on_put(ShardId shard, TableId table, Bytes key, Bytes value, Version version) = 0;
  virtual bool on_delete(ShardId shard, TableId table, Bytes key, Version version) = 0;
  // An outcome of a session's window on this shard. outcome_key is Outcome::key.
  virtual bool on_outcome(ShardId shard, SessionId session, uint64_t outcome_key, Version version,
                          Sequence watermark) = 0;
  virtual bool on_shard_version(ShardId shard, Version newest) = 0;
  // Sessions: a log's session records go to the stream of each of its shards, in their place. `watermark`: of a
  // checkpoint's record; else 0.
  virtual bool on_session_open(ShardId shard, SessionId session, Endpoint from, Stamp stamp, Sequence attempt,
                               Sequence watermark) = 0;
  virtual bool on_session_close(ShardId shard, SessionId session) = 0;
  // A record about a transaction over several shards. Its writes (kPreparedCommit) and its outcome for the window (if
  // in_window) have come just before, by the calls above. See kept_transactions.h.
  virtual bool on_transaction(ShardId shard, const TransactionEntry& entry) = 0;
  // A hint: on_put or on_delete of this key comes in a moment.
  virtual void prefetch(ShardId /*shard*/, TableId /*table*/, Bytes /*key*/) {}
};

// How work is spread over threads (TBB in production, see tbb_parallel_for.h; in order in a simulator).
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)>& body)>;

struct RecoveryProgress {
  uint64_t bytes_read, bytes_total, records;
};

// One worker's log of one incarnation, as recovery found it.
struct LogSummary {
  uint32_t incarnation = 0, worker = 0, workers = 0;
  uint64_t groups = 0, records = 0, bytes = 0;
  LogPosition end;
  bool clean = false;  // ended by a clean stop
};

struct RecoveryReport {
  bool ok = false;
  std::string error;              // names file and offset, and what to do
  uint32_t last_incarnation = 0;  // the newest that the directory has seen; the next start takes this + 1
  uint64_t records = 0, rows = 0, outcomes = 0, bytes = 0;
  uint64_t checkpoint_bytes = 0, log_bytes = 0;
  uint64_t torn_tail_bytes = 0;                     // cut off: the end of a group that was never acknowledged
  std::string torn_tail;                            // "file offset N", if any
  bool clean_stop = false;                          // every log of the newest incarnation ended by a clean stop
  uint64_t records_by_type[kRecordTypeCount] = {};  // of checkpoint and logs, by RecordType
  std::vector<LogSummary> logs;
  Manifest manifest;  // with the end of every log: what Keeper::start() goes on from
};

struct RecoveryOptions {
  uint32_t shard_count = 0;  // must be the one that the log was written with
  ParallelFor parallel_for;
  std::function<void(const RecoveryProgress&)> progress;  // may be empty
  bool check_only = false;                                // verify and count; the sink is not called and may be null
  uint64_t memory_bytes = 128u << 20;                     // buffers; about
};

// The incarnation that the next start will have: known before recovery, because every shard begins with its first
// version. False: `error` says why the directory cannot be used.
bool next_incarnation(Disk& disk, uint32_t* incarnation, std::string* error);

RecoveryReport recover(Disk& disk, const RecoveryOptions& options, RecoverySink* sink);

}  // namespace txnic::log
