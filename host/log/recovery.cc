// SPDX-License-Identifier: BSD-3-Clause
// The checkpoint's parts first, then the logs, one incarnation after the other: inside one incarnation a shard's
// records are all in one log, and the logs are independent. A few logs are read at a time, window by window: while
// the shards replay one window, the next one is read.
#include "host/log/recovery.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "host/log/format.h"
#include "host/log/replay.h"
#include "host/log/stream.h"

namespace txnic::log {
namespace {

constexpr size_t kStreamsAtOnceMax = 4;
constexpr size_t kWindowBytesMax = 16u << 20;

// Takes everything and keeps nothing.
class NullSink final : public RecoverySink {
 public:
  bool on_put(ShardId, TableId, Bytes, Bytes, Version) override { return true; }
  bool on_delete(ShardId, TableId, Bytes, Version) override { return true; }
  bool on_outcome(ShardId, SessionId, uint64_t, Version, Sequence) override { return true; }
  bool on_shard_version(ShardId, Version) override { return true; }
  bool on_session_open(ShardId, SessionId, Endpoint, Stamp, Sequence, Sequence) override { return true; }
  bool on_session_close(ShardId, SessionId) override { return true; }
  bool on_transaction(ShardId, const TransactionEntry&) override { return true; }
};

class Recovery {
 public:
  Recovery(Disk& disk, const RecoveryOptions& options, RecoverySink* sink)
      : disk_(disk), options_(options), sink_(options.check_only || sink == nullptr ? &null_sink_ : sink) {
    parallel_ = options.parallel_for;
    if (!parallel_) {
      parallel_ = [](size_t count, const std::function<void(size_t)>& body) {
        for (size_t i = 0; i < count; ++i) body(i);
      };
    }
  }

  RecoveryReport run() {
    report_.ok = begin() && run_phases();
    return std::move(report_);
  }

 private:
  // Streams whose records may be replayed side by side.
  using Phase = std::vector<std::unique_ptr<Stream>>;

  bool fail(const std::string& error) {
    report_.error = error;
    return false;
  }

  bool begin();
  bool open(Phase* phase, std::unique_ptr<Stream> stream, const FileSizes& sizes);
  bool run_phases();
  bool run_streams(std::span<const std::unique_ptr<Stream>> streams);
  bool replay_and_read(std::span<const std::unique_ptr<Stream>> streams);
  bool verify(std::span<const std::unique_ptr<Stream>> streams);
  bool take_results(const Stream& stream, size_t log_index);
  void replay(Stream& stream, uint32_t local_shard);

  Disk& disk_;
  const RecoveryOptions& options_;
  ParallelFor parallel_;
  NullSink null_sink_;
  RecoverySink* sink_;
  RecoveryReport report_;
  std::vector<Phase> phases_;
  uint64_t bytes_total_ = 0;
  size_t logs_done_ = 0;
  std::atomic<uint64_t> rows_{0}, outcomes_{0};
  std::atomic<bool> replay_failed_{false};
  std::mutex error_mutex_;
};

bool Recovery::begin() {
  Manifest& manifest = report_.manifest;
  switch (read_manifest(disk_, &manifest, &report_.error)) {
    case ManifestState::kBad:
      return false;
    case ManifestState::kNone:
      manifest.shard_count = options_.shard_count;
      report_.clean_stop = true;
      return true;
    case ManifestState::kRead:
      break;
  }
  if (options_.shard_count != 0 && manifest.shard_count != options_.shard_count) {
    return fail("the log was written with " + std::to_string(manifest.shard_count) + " shards, not " +
                std::to_string(options_.shard_count) + ": the shard count is fixed for the life of a log directory; " +
                "configure shards: " + std::to_string(manifest.shard_count) + " or an empty directory");
  }
  report_.last_incarnation = manifest.incarnation;
  std::vector<FileInfo> files;
  if (const Errno code = disk_.list(&files); code != 0) {
    return fail(std::string("the log directory cannot be listed (") + errno_text(code) + "): check its permissions");
  }
  FileSizes sizes;
  for (const FileInfo& file : files) sizes.emplace(file.name, file.bytes);

  phases_.emplace_back();
  for (const PartEntry& part : manifest.parts) {
    if (!open(&phases_.back(), std::make_unique<Stream>(disk_, manifest, part), sizes)) return false;
  }
  uint32_t incarnation = 0;
  for (const LogEntry& log : manifest.logs) {
    if (log.incarnation != incarnation) phases_.emplace_back();
    incarnation = log.incarnation;
    if (!open(&phases_.back(), std::make_unique<Stream>(disk_, manifest, log), sizes)) return false;
  }
  return true;
}

bool Recovery::open(Phase* phase, std::unique_ptr<Stream> stream, const FileSizes& sizes) {
  if (!stream->open(sizes)) return fail(stream->error());
  bytes_total_ += stream->total_bytes();
  phase->push_back(std::move(stream));
  return true;
}

bool Recovery::run_phases() {
  for (const Phase& phase : phases_) {
    for (size_t first = 0; first < phase.size(); first += kStreamsAtOnceMax) {
      const size_t count = std::min(kStreamsAtOnceMax, phase.size() - first);
      if (!run_streams({&phase[first], count})) return false;
    }
  }
  report_.rows = rows_;
  report_.outcomes = outcomes_;
  bool clean = true;
  for (const LogSummary& log : report_.logs) {
    if (log.incarnation == report_.logs.back().incarnation) clean &= log.clean;
  }
  report_.clean_stop = clean;
  return true;
}

bool Recovery::run_streams(std::span<const std::unique_ptr<Stream>> streams) {
  const size_t window = std::max<size_t>(options_.memory_bytes / (2 * streams.size()) / kBlockBytes * kBlockBytes,
                                         limits::kLogGroupBytesMax);
  for (const auto& stream : streams) stream->allocate(std::min(window, kWindowBytesMax));
  for (bool more = true; more;) {
    if (!replay_and_read(streams)) return false;
    if (!verify(streams)) return false;
    if (options_.progress) options_.progress({report_.bytes, bytes_total_, report_.records});
    more = false;
    for (const auto& stream : streams) more |= !stream->finished() || stream->slice_count() > 0;
  }
  for (const auto& stream : streams) {
    if (!stream->check_tail(parallel_)) return fail(stream->error());
    if (!take_results(*stream, logs_done_)) return false;
    if (!stream->is_part()) ++logs_done_;
    stream->release();
  }
  return true;
}

// Replays the windows that were verified last, and reads the next ones.
bool Recovery::replay_and_read(std::span<const std::unique_ptr<Stream>> streams) {
  struct Task {
    Stream* stream;
    bool is_read;
    uint32_t index;
  };
  std::vector<Task> tasks;
  for (const auto& stream : streams) {
    for (size_t i = 0; i < stream->read_pieces(); ++i) tasks.push_back({stream.get(), true, static_cast<uint32_t>(i)});
  }
  for (const auto& stream : streams) {
    if (stream->slice_count() == 0) continue;
    for (uint32_t i = 0; i < stream->local_shards(); ++i) tasks.push_back({stream.get(), false, i});
  }
  parallel_(tasks.size(), [&](size_t index) {
    const Task& task = tasks[index];
    if (task.is_read) {
      task.stream->read(task.index);
    } else {
      replay(*task.stream, task.index);
    }
  });
  return !replay_failed_.load();
}

// Walks the windows that were read last, verifies them, and decides where to go on.
bool Recovery::verify(std::span<const std::unique_ptr<Stream>> streams) {
  std::vector<std::pair<Stream*, size_t>> tasks;
  for (const auto& stream : streams) {
    stream->clear_window();
    if (stream->finished()) continue;
    if (!stream->walk()) return fail(stream->error());
    for (size_t i = 0; i < stream->slice_count(); ++i) tasks.emplace_back(stream.get(), i);
  }
  parallel_(tasks.size(), [&](size_t index) { tasks[index].first->verify(tasks[index].second); });
  for (const auto& stream : streams) {
    if (stream->finished()) continue;
    if (!stream->settle()) return fail(stream->error());
    for (size_t i = 0; i < stream->slice_count(); ++i) {
      const Slice& slice = stream->slice(i);
      report_.records += slice.records;
      for (uint32_t type = 0; type < kRecordTypeCount; ++type) {
        report_.records_by_type[type] += slice.records_by_type[type];
      }
    }
    report_.bytes += stream->take_window_bytes();
  }
  return true;
}

void Recovery::replay(Stream& stream, uint32_t local_shard) {
  const ShardId shard = stream.global_shard(local_shard);
  ReplayCounts counts;
  for (size_t i = 0; i < stream.slice_count() && !replay_failed_.load(std::memory_order_relaxed); ++i) {
    const ReplayResult result = replay_slice(stream.slice(i), local_shard, shard, sink_, &counts);
    if (result == ReplayResult::kDone) continue;
    const std::lock_guard lock(error_mutex_);
    if (!replay_failed_.exchange(true)) {
      report_.error = result == ReplayResult::kNoMemory
                          ? "shard " + std::to_string(shard) +
                                " does not fit the store's memory: raise memory_mib or the tables' capacities"
                          : stream.place() +
                                ": a record is whole, but its content makes no sense: start the program "
                                "version that wrote it, and report this";
    }
  }
  rows_.fetch_add(counts.rows, std::memory_order_relaxed);
  outcomes_.fetch_add(counts.outcomes, std::memory_order_relaxed);
}

bool Recovery::take_results(const Stream& stream, size_t log_index) {
  if (stream.is_part()) {
    report_.checkpoint_bytes += stream.group_bytes();
    return true;
  }
  report_.log_bytes += stream.group_bytes();
  LogEntry& entry = report_.manifest.logs[log_index];
  entry.end = stream.position();
  report_.logs.push_back({stream.incarnation(), stream.worker(), stream.workers(), stream.groups(), stream.records(),
                          stream.group_bytes(), stream.position(), stream.clean()});
  if (!stream.torn_tail().empty()) {
    if (!report_.torn_tail.empty()) report_.torn_tail += ", ";
    report_.torn_tail += stream.torn_tail();
    report_.torn_tail_bytes += stream.torn_tail_bytes();
  }
  return true;
}

}  // namespace

bool next_incarnation(Disk& disk, uint32_t* incarnation, std::string* error) {
  Manifest manifest;
  if (read_manifest(disk, &manifest, error) == ManifestState::kBad) return false;
  if (manifest.incarnation >= kIncarnationMax) {
    *error = "this log directory has seen " + std::to_string(manifest.incarnation) +
             " starts, and versions have no room for another one: load the data into a new directory";
    return false;
  }
  *incarnation = manifest.incarnation + 1;
  return true;
}

RecoveryReport recover(Disk& disk, const RecoveryOptions& options, RecoverySink* sink) {
  return Recovery(disk, options, sink).run();
}

}  // namespace txnic::log
