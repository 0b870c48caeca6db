// SPDX-License-Identifier: BSD-3-Clause
// One worker's redo log: group commit into preallocated segments. The worker's loop appends records and polls;
// nothing here blocks. While one group is being written and synced, the next one gathers; when the write is done,
// everything in it is durable and the next group goes. See host/log/README.md for the format.
#pragma once

#include <memory>
#include <vector>

#include "host/log/disk.h"
#include "host/log/group_builder.h"
#include "host/log/manifest.h"
#include "host/log/slot.h"
#include "txn/limits.h"
#include "txn/record/record.h"

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
  // After so long without work, an empty group is written behind the last one: it proves that that one was synced,
  // so that damage to it is told from a torn tail. 0: never.
  TimeNs mark_delay_ns = 100'000'000;
};

struct WorkerLogStatistics {
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  uint64_t groups = 0;
  uint64_t written_bytes = 0;  // with padding
  uint64_t full = 0;           // appends refused
  uint64_t group_bytes_max = 0;
  TimeNs in_flight_ns = 0;  // time with a write in flight
  TimeNs longest_write_ns = 0;
};

class WorkerLog {
 public:
  // `keeper` provides segments and outlives this; it has been started.
  WorkerLog(const WorkerLogConfig& config, Keeper* keeper, uint32_t incarnation);
  // Waits for a write in flight, writes nothing more: for a clean stop see begin_close().
  ~WorkerLog();
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  // Room for one record of `bytes` (8-aligned, at most kLogRecordBytesMax), or null: the log is full now. The
  // pointer is valid until the next call; append(bytes) makes it part of the log. reserve() without append() is
  // allowed and changes nothing.
  std::byte* reserve(uint32_t bytes) {
    assert(bytes % 8 == 0 && bytes <= limits::kLogRecordBytesMax);
    if (gather_->used() + bytes > limit_) [[unlikely]]
      return refuse();
    return gather_->at();
  }
  // Answers the position behind the record: durable when durable() >= it.
  Lsn append(uint32_t bytes) {
    gather_->add(bytes);
    return end_ += bytes;
  }

  Lsn end() const { return end_; }
  Lsn durable() const { return durable_; }
  LogState state() const { return state_; }
  Errno last_error() const { return last_error_; }  // why it is kFailed; 0 if the keeper failed

  // One step: takes a completion, submits the next group. Cheap when there is nothing to do.
  void poll(TimeNs now) {
    if (!in_flight_ && gather_->empty() && now < wake_ns_) [[likely]]
      return;
    step(now);
  }
  // True when nothing is in flight and nothing is gathered.
  bool quiet() const { return !in_flight_ && gather_->empty(); }

  // A clean stop: no more appends from now on. poll() goes on until closed() (or the state is not kOpen).
  void begin_close() {
    closing_ = true;
    wake_ns_ = 0;
  }
  bool closed() const { return closed_; }

  // Called by poll() when a group is sealed: the versions that it makes durable are those of this moment.
  // `current` and `durable` have an entry per local shard; durable[i] follows current[i] group by group.
  void track_versions(std::span<const Version> current, std::span<Version> durable);

  // Where the next group will go; a checkpoint that begins now is replayed from there.
  LogPosition next_group() const { return next_; }

  const WorkerLogStatistics& statistics() const { return statistics_; }

 private:
  std::byte* refuse();
  void step(TimeNs now);
  void complete(TimeNs now);
  bool wants_group(TimeNs now);
  bool is_filling(TimeNs now);
  bool have_space(uint32_t length);
  void submit(TimeNs now);
  void append_clean();
  void fail(Errno error);

  // Hot: what reserve, append, poll, end and durable touch.
  GroupBuilder* gather_;
  uint32_t limit_;  // of gather_->used(); 0 while appends are refused
  bool in_flight_ = false;
  bool closing_ = false;
  bool closed_ = false;
  LogState state_ = LogState::kOpen;
  Lsn end_;
  Lsn durable_;
  TimeNs wake_ns_ = kNever;  // there is something to do at this time though nothing is gathered

  static constexpr TimeNs kNever = ~0ull;
  const WorkerLogConfig config_;
  const uint32_t group_limit_;
  WorkerSlot* slot_;
  GroupBuilder builders_[2];
  Segment segment_;
  LogPosition next_;
  Lsn in_flight_end_ = 0;
  uint32_t in_flight_records_ = 0;
  uint32_t in_flight_length_ = 0;
  TimeNs submitted_ns_ = 0;
  TimeNs gather_since_ns_ = 0;   // when something was first seen gathered that could go; 0: nothing yet
  uint32_t seen_used_ = 0;       // of the gathering buffer, at the last poll
  TimeNs typical_write_ns_ = 0;  // moving average of a group's flight
  bool clean_appended_ = false;
  Errno last_error_ = 0;
  std::span<const Version> current_versions_;
  std::span<Version> durable_versions_;
  std::vector<Version> sealed_versions_;
  WorkerLogStatistics statistics_;
};

}  // namespace txnic::log
