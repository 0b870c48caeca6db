// SPDX-License-Identifier: BSD-3-Clause
// The log's keeper does everything that may block: it makes segments ahead of the workers, writes the manifest,
// completes checkpoints and then recycles what they replace. Workers meet it only through lock-free slots.
//
// It runs in a thread of its own (run), or is stepped by whoever owns it (step), which is how tests and the
// simulator drive it. start() comes first and blocks: it makes the new incarnation durable.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/log/checkpoint.h"
#include "host/log/manifest.h"
#include "host/log/recovery.h"
#include "host/log/slot.h"

namespace txnic::log {

class WorkerLog;

struct KeeperConfig {
  uint32_t shard_count = 1;
  uint32_t worker_count = 1;
  uint64_t segment_bytes = limits::kLogSegmentBytesDefault;  // a multiple of the block
  uint32_t segments_ahead = 1;            // prepared for each worker beyond the one it writes; at most 4
  uint64_t checkpoint_log_bytes = 0;      // begins a checkpoint by itself after so much log; 0: never
  uint32_t part_buffer_bytes = 1u << 20;  // each of a part's two buffers
  TimeNs retry_ns = 200'000'000;          // after a full disk
  bool keeps_front_incarnation = false;   // has one ready for a front that comes (placement NIC)
  std::function<uint64_t()> random;       // seeds of segments; empty: the system's random source
};

struct KeeperStatistics {
  uint64_t segments_created = 0;
  uint64_t segments_recycled = 0;
  uint64_t segments_removed = 0;
  uint64_t checkpoints = 0;  // that became valid
  uint64_t checkpoints_failed = 0;
  uint64_t checkpoint_bytes = 0;  // of the newest valid one
  uint64_t checkpoint_records = 0;
  uint64_t log_bytes = 0;  // to be replayed if the node stopped now, about
  bool disk_full = false;  // a segment or checkpoint could not be made; retried by itself
  std::string last_error;  // newest trouble, also if it has passed
};

class Keeper {
 public:
  Keeper(Disk& disk, KeeperConfig config);
  ~Keeper();  // stops the thread
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Takes over from recovery: fixes the ends of older logs, makes the next incarnation durable, provides the first
  // segments. Blocks. False: `error` names the cause and the next step.
  bool start(const RecoveryReport& recovered, std::string* error);
  uint32_t incarnation() const { return manifest_.logs.back().incarnation; }
  // Any thread: an incarnation for a front, newer than all before and durable (COMMIT 14, 21), each given once. 0: none
  // is ready, ask again.
  uint32_t take_front_incarnation() { return front_incarnation_.exchange(0, std::memory_order_acq_rel); }

  // Either a thread until stop(), or step() by the owner. True if it did something.
  void run();
  void stop();
  bool step(TimeNs now);

  // The disk failed in a way that must not be retried: the node must stop. Logs turn kFailed too.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  KeeperStatistics statistics() const;  // any thread
  const KeeperConfig& config() const { return config_; }

  // ---- checkpoints. Any thread: asks for one; false if one is asked for or running.
  bool begin_checkpoint();
  bool checkpoint_running() const {
    return checkpoint_requested_.load(std::memory_order_acquire) || checkpoint_running_.load(std::memory_order_acquire);
  }
  // Worker's loop, cheap: its part of a checkpoint waits to be started.
  bool part_offered(uint32_t worker) const { return parts_[worker].state() == CheckpointWriter::State::kOffered; }
  // Worker's loop: from here on it writes its part (the log's end now is where redo begins), until done(). Null if
  // the offer has been withdrawn.
  CheckpointWriter* start_part(uint32_t worker, const WorkerLog& log);
  // The part that this worker is writing, or null.
  CheckpointWriter* part(uint32_t worker) {
    return parts_[worker].state() == CheckpointWriter::State::kWriting ? &parts_[worker] : nullptr;
  }

  // For WorkerLog.
  WorkerSlot& slot(uint32_t worker) { return slots_[worker]; }

 private:
  bool sync_tails(const RecoveryReport& recovered, std::string* error);
  void take_over(const RecoveryReport& recovered);
  bool collect_stale_files(std::string* error);
  bool drain_retired();
  bool prepare_segments(TimeNs now);
  bool prepare_front_incarnation(TimeNs now);
  Errno prepare_segment(uint32_t worker);
  Errno make_segment_file(const std::string& name, Bytes head_block, bool recycle);
  void release_segment(const std::string& name, uint64_t bytes);
  LogEntry& own_log(uint32_t worker);
  void trouble(Errno error, const std::string& doing, TimeNs now);
  void note_error(const std::string& text);

  // keeper_checkpoint.cc
  bool checkpoint_step(TimeNs now);
  void checkpoint_due();
  bool offer_parts(TimeNs now);
  bool settle_parts(TimeNs now);
  void make_valid(TimeNs now);
  void remove_replaced(const Manifest& before);
  void abandon(const std::string& reason, TimeNs now);
  uint64_t written_bytes() const;

  Disk& disk_;
  const KeeperConfig config_;
  Manifest manifest_;
  std::unique_ptr<WorkerSlot[]> slots_;
  std::unique_ptr<CheckpointWriter[]> parts_;
  std::vector<std::string> free_segments_;  // files of segment_bytes whose content no longer counts
  TimeNs retry_at_ns_ = 0;

  std::atomic<uint32_t> front_incarnation_{0};

  std::atomic<bool> failed_{false};
  std::atomic<bool> checkpoint_requested_{false};
  std::atomic<bool> checkpoint_running_{false};
  bool abandoning_ = false;
  uint64_t generation_ = 0;  // of the checkpoint that is being written
  TimeNs checkpoint_retry_at_ns_ = 0;
  uint64_t log_bytes_before_ = 0;  // of older incarnations, still to be replayed
  uint64_t written_at_checkpoint_ = 0;
  uint64_t written_at_offer_ = 0;

  mutable std::mutex statistics_mutex_;  // never taken by a worker
  KeeperStatistics statistics_;

  std::thread thread_;
  std::atomic<bool> stopping_{false};
};

}  // namespace txnic::log
