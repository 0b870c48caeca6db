// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/keeper.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>

#include "host/log/all_cpus.h"
#include "host/log/format.h"
#include "host/log/worker_log.h"

namespace txnic::log {
namespace {

constexpr uint32_t kSegmentsAheadMax = 4;
constexpr std::chrono::milliseconds kIdlePause{2};

uint64_t system_random() {
  static thread_local std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

KeeperConfig complete_config(KeeperConfig config) {
  config.segments_ahead = std::clamp(config.segments_ahead, 1u, kSegmentsAheadMax);
  config.segment_bytes = std::max<uint64_t>(config.segment_bytes / kBlockBytes * kBlockBytes, 4ull * kBlockBytes);
  config.part_buffer_bytes =
      std::clamp(round_to_block(config.part_buffer_bytes), 4 * kBlockBytes, limits::kLogGroupBytesMax);
  if (!config.random) config.random = system_random;
  return config;
}

bool is_full(Errno error) { return error == ENOSPC || error == EDQUOT; }

bool names_segment(const Manifest& manifest, const FileName& file) {
  return std::any_of(manifest.logs.begin(), manifest.logs.end(), [&](const LogEntry& log) {
    return log.incarnation == file.incarnation && log.worker == file.worker && file.number >= log.start.segment &&
           file.number <= log.prepared;
  });
}

bool names_part(const Manifest& manifest, const FileName& file) {
  return file.number == manifest.generation &&
         std::any_of(manifest.parts.begin(), manifest.parts.end(),
                     [&](const PartEntry& part) { return part.worker == file.worker; });
}

}  // namespace

Keeper::Keeper(Disk& disk, KeeperConfig config)
    : disk_(disk),
      config_(complete_config(std::move(config))),
      slots_(std::make_unique<WorkerSlot[]>(config_.worker_count)),
      parts_(std::make_unique<CheckpointWriter[]>(config_.worker_count)) {
  assert(config_.worker_count >= 1 && config_.worker_count <= limits::kWorkersMax);
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) parts_[worker].init(config_.part_buffer_bytes);
}

Keeper::~Keeper() { stop(); }

// ---- start ------------------------------------------------------------------------------------------------------

bool Keeper::start(const RecoveryReport& recovered, std::string* error) {
  assert(recovered.ok);
  if (!sync_tails(recovered, error)) return false;
  take_over(recovered);
  if (const Errno code = write_manifest(disk_, manifest_); code != 0) {
    *error = "MANIFEST cannot be written (" + std::string(errno_text(code)) + "): make room and check the disk";
    return false;
  }
  if (!collect_stale_files(error)) return false;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    if (const Errno code = prepare_segment(worker); code != 0) {
      *error = "the first log segment of worker " + std::to_string(worker) + " cannot be made (" + errno_text(code) +
               "): the log needs " + std::to_string(config_.segment_bytes >> 10) + " KiB for each of " +
               std::to_string(config_.worker_count * (1 + config_.segments_ahead)) +
               " segments; make room, or configure smaller segments";
      return false;
    }
  }
  return true;
}

// Recovery relies on what it read; after a mere process crash that may still be in a cache only. Only the segment
// that a log ends in, and the one before a switch, can hold such a group: one was in flight.
bool Keeper::sync_tails(const RecoveryReport& recovered, std::string* error) {
  for (const LogEntry& log : recovered.manifest.logs) {
    if (log.incarnation != recovered.manifest.logs.back().incarnation || log.prepared == 0) continue;
    const std::string name = segment_name(log.incarnation, log.worker, log.end->segment);
    if (const Errno code = disk_.sync(name); code != 0) {
      *error = name + " cannot be made durable (" + errno_text(code) + "): check the disk before starting again";
      return false;
    }
  }
  return true;
}

void Keeper::take_over(const RecoveryReport& recovered) {
  manifest_ = recovered.manifest;
  manifest_.shard_count = config_.shard_count;
  manifest_.incarnation += 1;
  generation_ = manifest_.generation;
  std::erase_if(manifest_.logs, [](const LogEntry& log) { return log.end->lsn == log.redo; });  // nothing to replay
  for (LogEntry& log : manifest_.logs) log.prepared = log.end->segment;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    LogEntry log;
    log.incarnation = manifest_.incarnation;
    log.worker = worker;
    log.workers = config_.worker_count;
    manifest_.logs.push_back(log);
  }
  log_bytes_before_ = recovered.log_bytes;
}

// Whatever the manifest does not name is left over from an interrupted step, or was cut off.
bool Keeper::collect_stale_files(std::string* error) {
  std::vector<FileInfo> files;
  if (const Errno code = disk_.list(&files); code != 0) {
    *error = "the log directory cannot be listed (" + std::string(errno_text(code)) + "): check its permissions";
    return false;
  }
  for (const FileInfo& file : files) {
    const std::optional<FileName> name = parse_file_name(file.name);
    if (name.has_value() && name->kind == FileKind::kSegment && !names_segment(manifest_, *name)) {
      release_segment(file.name, file.bytes);
    } else if ((name.has_value() && name->kind == FileKind::kPart && !names_part(manifest_, *name)) ||
               is_temporary_name(file.name)) {
      if (const Errno code = disk_.remove(file.name); code != 0) note_error(file.name + ": " + errno_text(code));
    }
  }
  return true;
}

// ---- thread -----------------------------------------------------------------------------------------------------

void Keeper::run() {
  assert(!thread_.joinable());
  stopping_.store(false);
  thread_ = std::thread([this] {
    const AllCpus cpus;
    (void)::pthread_setname_np(::pthread_self(), "log-keeper");
    while (!stopping_.load(std::memory_order_acquire)) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
      if (!step(static_cast<TimeNs>(now_ns))) std::this_thread::sleep_for(kIdlePause);
    }
  });
}

void Keeper::stop() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

bool Keeper::step(TimeNs now) {
  if (failed()) return false;
  bool worked = drain_retired();
  worked |= prepare_segments(now);
  worked |= prepare_front_incarnation(now);
  worked |= checkpoint_step(now);
  return worked;
}

KeeperStatistics Keeper::statistics() const {
  const std::lock_guard lock(statistics_mutex_);
  KeeperStatistics result = statistics_;
  result.log_bytes = log_bytes_before_ + written_bytes() - written_at_checkpoint_;
  return result;
}

uint64_t Keeper::written_bytes() const {
  uint64_t bytes = 0;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    bytes += slots_[worker].written_bytes.load(std::memory_order_relaxed);
  }
  return bytes;
}

void Keeper::note_error(const std::string& text) {
  const std::lock_guard lock(statistics_mutex_);
  statistics_.last_error = text;
}

// A full disk passes; everything else must not be retried as if nothing had happened.
void Keeper::trouble(Errno error, const std::string& doing, TimeNs now) {
  note_error(doing + ": " + errno_text(error));
  if (is_full(error)) {
    const std::lock_guard lock(statistics_mutex_);
    statistics_.disk_full = true;
    retry_at_ns_ = now + config_.retry_ns;
    return;
  }
  failed_.store(true, std::memory_order_release);
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    slots_[worker].keeper_failed.store(true, std::memory_order_release);
  }
}

// ---- segments ---------------------------------------------------------------------------------------------------

LogEntry& Keeper::own_log(uint32_t worker) {
  return manifest_.logs[manifest_.logs.size() - config_.worker_count + worker];
}

bool Keeper::drain_retired() {
  bool worked = false;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    Segment segment;
    while (slots_[worker].retired.pop(&segment)) {
      segment.file.reset();
      worked = true;
    }
  }
  return worked;
}

bool Keeper::prepare_segments(TimeNs now) {
  if (now < retry_at_ns_) return false;
  bool worked = false;
  for (uint32_t worker = 0; worker < config_.worker_count; ++worker) {
    if (slots_[worker].ready.size() >= config_.segments_ahead) continue;
    worked = true;
    if (const Errno code = prepare_segment(worker); code != 0) {
      trouble(code, "making a log segment", now);
      return true;
    }
    const std::lock_guard lock(statistics_mutex_);
    statistics_.disk_full = false;
  }
  return worked;
}

bool Keeper::prepare_front_incarnation(TimeNs now) {
  if (!config_.keeps_front_incarnation || now < retry_at_ns_ || manifest_.incarnation >= kIncarnationMax ||
      front_incarnation_.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  ++manifest_.incarnation;
  if (const Errno code = write_manifest(disk_, manifest_); code != 0) {
    trouble(code, "giving out an incarnation", now);
  } else {
    front_incarnation_.store(manifest_.incarnation, std::memory_order_release);
  }
  return true;
}

Errno Keeper::prepare_segment(uint32_t worker) {
  LogEntry& log = own_log(worker);
  const uint64_t number = log.prepared + 1;
  const std::string name = segment_name(log.incarnation, worker, number);
  const bool recycle = !free_segments_.empty();

  FileHead head{};
  head.kind = FileKind::kSegment;
  head.incarnation = log.incarnation;
  head.worker = worker;
  head.workers = log.workers;
  head.shard_count = manifest_.shard_count;
  head.number = number;
  head.file_bytes = config_.segment_bytes;
  head.seed = config_.random();
  head.recycled = recycle ? 1 : 0;
  AlignedBuffer block(kBlockBytes);
  write_file_head(head, block.data());
  if (const Errno code = make_segment_file(name, Bytes(block.data(), kBlockBytes), recycle); code != 0) return code;

  // A segment counts from here on: if it is missing at the next start, something has taken it away.
  log.prepared = number;
  if (const Errno code = write_manifest(disk_, manifest_); code != 0) {
    // Not kept for reuse under this name: the next try makes a file of the same name.
    log.prepared = number - 1;
    (void)disk_.remove(name);
    return code;
  }
  Segment segment;
  segment.number = number;
  segment.seed = head.seed;
  segment.bytes = config_.segment_bytes;
  if (const Errno code = disk_.open(name, &segment.file); code != 0) return code == ENOSPC ? EIO : code;
  const bool pushed = slots_[worker].ready.push(std::move(segment));
  assert(pushed);
  (void)pushed;
  return 0;
}

Errno Keeper::make_segment_file(const std::string& name, Bytes head_block, bool recycle) {
  Errno code = 0;
  if (recycle) {
    const std::string from = free_segments_.back();
    code = disk_.recycle(from, name, head_block);
    if (code == 0) free_segments_.pop_back();
  } else {
    code = disk_.create(name, config_.segment_bytes, head_block);
  }
  if (code != 0) return code;
  const std::lock_guard lock(statistics_mutex_);
  ++(recycle ? statistics_.segments_recycled : statistics_.segments_created);
  return 0;
}

// The manifest does not name this segment any more: keeps it for reuse, or removes it.
void Keeper::release_segment(const std::string& name, uint64_t bytes) {
  // As many as the log needs until the next checkpoint: making one writes it full of zeros, which costs the logs of
  // all workers half their rate for that time.
  const size_t keep = static_cast<size_t>(config_.worker_count) * (1 + config_.segments_ahead) +
                      config_.checkpoint_log_bytes / config_.segment_bytes;
  if (bytes == config_.segment_bytes && free_segments_.size() < keep) {
    free_segments_.push_back(name);
    return;
  }
  if (const Errno code = disk_.remove(name); code != 0) return note_error(name + ": " + errno_text(code));
  const std::lock_guard lock(statistics_mutex_);
  ++statistics_.segments_removed;
}

}  // namespace txnic::log
