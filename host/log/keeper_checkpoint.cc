// SPDX-License-Identifier: BSD-3-Clause
// The keeper's part in a checkpoint: it makes the part files, waits until every worker has written its part and
// every log is durable up to where the parts end, replaces the manifest, and lets go of what that replaces.
#include <algorithm>
#include <cerrno>
#include <map>

#include "host/log/format.h"
#include "host/log/keeper.h"
#include "host/log/worker_log.h"

namespace txnic::log {
namespace {
constexpr TimeNs kCheckpointRetryNs = 1'000'000'000;
}

bool Keeper::begin_checkpoint() {
  if (checkpoint_running_.load(std::memory_order_acquire)) return false;
  return !checkpoint_requested_.exchange(true, std::memory_order_acq_rel);
}

CheckpointWriter* Keeper::start_part(uint32_t worker, const WorkerLog& log) {
  CheckpointWriter& part = parts_[worker];
  return part.begin(log.next_group(), log.end()) ? &part : nullptr;
}

bool Keeper::checkpoint_step(TimeNs now) {
  if (checkpoint_running_.load(std::memory_order_relaxed)) return settle_parts(now);
  if (now < checkpoint_retry_at_ns_) return false;
  checkpoint_due();
  if (!checkpoint_requested_.load(std::memory_order_acquire)) return false;
  return offer_parts(now);
}

void Keeper::checkpoint_due() {
  if (config_.checkpoint_log_bytes == 0) return;
  const uint64_t bytes = log_bytes_before_ + written_bytes() - written_at_checkpoint_;
  if (bytes >= config_.checkpoint_log_bytes) checkpoint_requested_.store(true, std::memory_order_release);
}

bool Keeper::offer_parts(TimeNs now) {
  ++generation_;
  std::vector<std::unique_ptr<LogFile>> files(config_.worker_count);
  std::vector<uint64_t> seeds(config_.worker_count);
  Errno code = 0;
  for (uint32_t worker = 0; worker < config_.worker_count && code == 0; ++worker) {
    FileHead head{};
    head.kind = FileKind::kPart;
    head.incarnation = incarnation();
    head.worker = worker;
    head.workers = config_.worker_count;
    head.shard_count = manifest_.shard_count;
    head.number = generation_;
    head.seed = seeds[worker] = config_.random();
    AlignedBuffer block(kBlockBytes);
    write_file_head(head, block.data());
    const std::string name = part_name(generation_, worker);
    code = disk_.create(name, kBlockBytes, Bytes(block.data(), kBlockBytes));
    if (code == 0) code = disk_.open(name, &files[worker]);
  }
  if (code != 0) {
    files.clear();
    abandon(std::string("making a checkpoint part: ") + errno_text(code), now);
    if (code != ENOSPC && code != EDQUOT) trouble(code, "making a checkpoint part", now);
    return true;
  }
  checkpoint_running_.store(true, std::memory_order_release);
  checkpoint_requested_.store(false, std::memory_order_release);
  written_at_offer_ = written_bytes();
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    parts_[worker].offer(std::move(files[worker]), seeds[worker]);
  }
  return true;
}

bool Keeper::settle_parts(TimeNs now) {
  using State = CheckpointWriter::State;
  bool any_failed = false, any_busy = false, complete = true;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    CheckpointWriter& part = parts_[worker];
    State state = part.state();
    if (abandoning_ && state == State::kOffered) {
      // Withdrawn, unless the worker starts it at this moment: then it sees the flag.
      part.state_.compare_exchange_strong(state, State::kIdle, std::memory_order_acq_rel);
      state = part.state();
    }
    any_failed |= state == State::kFailed;
    any_busy |= state == State::kWriting || state == State::kOffered;
    complete &= state == State::kDurable && slots_[worker].durable.load(std::memory_order_acquire) >= part.log_end_;
  }
  if (abandoning_) {
    if (any_busy) return false;
    Errno error = ECANCELED;
    for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
      if (parts_[worker].error_ != 0 && error == ECANCELED) error = parts_[worker].error_;
    }
    abandon(std::string("writing a checkpoint part: ") + errno_text(error), now);
    return true;
  }
  if (any_failed) {
    abandoning_ = true;
    for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
      parts_[worker].abandoned_.store(true, std::memory_order_relaxed);
    }
    return true;
  }
  if (!complete || now < checkpoint_retry_at_ns_) return false;
  make_valid(now);
  return true;
}

// Gives the checkpoint up: nothing depends on it, the log goes on.
void Keeper::abandon(const std::string& reason, TimeNs now) {
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    parts_[worker].file_.reset();
    parts_[worker].state_.store(CheckpointWriter::State::kIdle, std::memory_order_release);
    (void)disk_.remove(part_name(generation_, worker));
  }
  abandoning_ = false;
  checkpoint_retry_at_ns_ = now + kCheckpointRetryNs;
  note_error(reason);
  {
    const std::lock_guard lock(statistics_mutex_);
    ++statistics_.checkpoints_failed;
  }
  checkpoint_running_.store(false, std::memory_order_release);
  checkpoint_requested_.store(false, std::memory_order_release);
}

void Keeper::make_valid(TimeNs now) {
  const Manifest before = manifest_;
  Manifest after = manifest_;
  after.generation = generation_;
  after.parts.clear();
  after.logs.erase(after.logs.begin(), after.logs.end() - config_.worker_count);
  uint64_t bytes = 0, records = 0;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    const CheckpointWriter& part = parts_[worker];
    after.parts.push_back({worker, config_.worker_count, incarnation(), part.next_});
    after.logs[worker].start = part.start_;
    after.logs[worker].redo = part.redo_;
    bytes += part.next_.offset;
    records += part.records_;
  }
  if (const Errno code = write_manifest(disk_, after); code != 0) {
    checkpoint_retry_at_ns_ = now + config_.retry_ns;
    return trouble(code, "writing MANIFEST", now);
  }
  manifest_ = std::move(after);
  {
    const std::lock_guard lock(statistics_mutex_);
    statistics_.checkpoints += 1;
    statistics_.checkpoint_bytes = bytes;
    statistics_.checkpoint_records = records;
    log_bytes_before_ = 0;
    written_at_checkpoint_ = written_at_offer_;
  }
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    parts_[worker].file_.reset();
    parts_[worker].state_.store(CheckpointWriter::State::kIdle, std::memory_order_release);
  }
  remove_replaced(before);
  checkpoint_running_.store(false, std::memory_order_release);
}

void Keeper::remove_replaced(const Manifest& before) {
  drain_retired();  // closes what workers have handed back: a segment is recycled only when nobody writes it
  std::vector<FileInfo> files;
  std::map<std::string, uint64_t> sizes;
  if (disk_.list(&files) == 0) {
    for (const FileInfo& file : files) sizes.emplace(file.name, file.bytes);
  }
  for (const PartEntry& part : before.parts) {
    const std::string name = part_name(before.generation, part.worker);
    if (const Errno code = disk_.remove(name); code != 0) note_error(name + ": " + errno_text(code));
  }
  for (const LogEntry& log : before.logs) {
    uint64_t beyond = log.prepared + 1;
    if (log.incarnation == incarnation()) beyond = own_log(log.worker).start.segment;
    for (uint64_t number = log.start.segment; number < beyond; ++number) {
      const std::string name = segment_name(log.incarnation, log.worker, number);
      release_segment(name, sizes.contains(name) ? sizes[name] : 0);
    }
  }
}

}  // namespace txnic::log
