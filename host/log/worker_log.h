// SPDX-License-Identifier: BSD-3-Clause
// One worker's redo log: group commit into preallocated segments. The worker's loop appends records and polls;
// nothing here blocks. While one group is being written and synced, the next one gathers; when the write is done,
// everything in it is durable and the next group goes. See host/log/README.md for the format.
#pragma once

#include <memory>

#include "host/log/disk.h"
#include "host/log/record.h"
#include "txn/limits.h"

namespace txnic::log {

class Keeper;

enum class LogState : uint8_t {
  kOpen,
  kFull,    // no segment or buffer space: writes are answered BUSY until it passes by itself
  kFailed,  // a write or sync failed: the node must stop (DESIGN 4.4, trap 11)
};

struct WorkerLogConfig {
  uint32_t worker = 0;
  Durability durability = Durability::kSync;
  uint32_t group_bytes = limits::kLogGroupBytesMax;  // size of each of the two group buffers
  TimeNs async_delay_ns = limits::kAsyncDelayMicrosecondsDefault * 1000;
};

struct WorkerLogStatistics {
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  uint64_t groups = 0;
  uint64_t written_bytes = 0;   // with padding
  uint64_t full = 0;            // appends refused
  uint64_t group_bytes_max = 0;
  TimeNs in_flight_ns = 0;      // time with a write in flight
  TimeNs longest_write_ns = 0;
};

class WorkerLog {
 public:
  // `keeper` provides segments and outlives this.
  WorkerLog(const WorkerLogConfig& config, Keeper* keeper, uint32_t incarnation);
  ~WorkerLog();

  // Room for one record of `bytes` (8-aligned, at most kLogRecordBytesMax), or null: the log is full now. The
  // pointer is valid until the next call; append(bytes) makes it part of the log. reserve() without append() is
  // allowed and changes nothing.
  std::byte* reserve(uint32_t bytes);
  // Answers the position behind the record: durable when durable() >= it.
  Lsn append(uint32_t bytes);

  Lsn end() const { return end_; }
  Lsn durable() const { return durable_; }
  LogState state() const { return state_; }

  // One step: takes a completion, submits the next group. Cheap when there is nothing to do.
  void poll(TimeNs now);
  // True when nothing is in flight and nothing is gathered.
  bool quiet() const;
  // Called by poll() when a group is sealed: the versions that it makes durable are those of this moment.
  // `current` and `durable` have an entry per local shard; durable[i] follows current[i] group by group.
  void track_versions(std::span<const Version> current, std::span<Version> durable);

  const WorkerLogStatistics& statistics() const { return statistics_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  Lsn end_ = 0;
  Lsn durable_ = 0;
  LogState state_ = LogState::kOpen;
  WorkerLogStatistics statistics_;
};

}  // namespace txnic::log
