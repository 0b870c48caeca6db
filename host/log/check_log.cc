// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/check_log.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include "host/log/format.h"
#include "host/log/kept_transactions.h"
#include "host/log/recovery.h"
#include "host/log/tbb_parallel_for.h"

namespace txnic::log {
namespace {

// What is there at the end: the sessions that shard 0 knows (every worker has the same ones, as far as its log goes),
// and the transactions over several shards that a start would bring back.
class LeftSink final : public RecoverySink {
 public:
  bool on_put(ShardId, TableId, Bytes, Bytes, Version) override { return true; }
  bool on_delete(ShardId, TableId, Bytes, Version) override { return true; }
  bool on_outcome(ShardId, SessionId, uint64_t, Version, Sequence) override { return true; }
  bool on_shard_version(ShardId, Version) override { return true; }
  bool on_session_open(ShardId shard, SessionId session, Endpoint, Stamp, Sequence, Sequence) override {
    if (shard == 0) sessions.insert(session);
    of(shard).on_session_open(session, [](const KeptTransaction&) {});
    return true;
  }
  bool on_session_close(ShardId shard, SessionId session) override {
    if (shard == 0) sessions.erase(session);
    of(shard).on_session_close(session);
    return true;
  }
  bool on_transaction(ShardId shard, const TransactionEntry& entry) override {
    of(shard).on_transaction(entry);
    return true;
  }
  std::set<SessionId> sessions;
  std::map<ShardId, KeptTransactions> transactions;

 private:
  // Shards are replayed side by side; one shard's own are its thread's.
  KeptTransactions& of(ShardId shard) {
    const std::lock_guard lock(mutex_);
    return transactions[shard];
  }
  std::mutex mutex_;
};

__attribute__((format(printf, 2, 3))) void add_line(std::string* text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  (void)std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  *text += line;
  *text += '\n';
}

unsigned long long number(uint64_t value) { return value; }

void add_files(Disk& disk, std::string* text) {
  std::vector<FileInfo> files;
  if (disk.list(&files) != 0) return;
  uint64_t segments = 0, segment_bytes = 0, parts = 0, part_bytes = 0;
  for (const FileInfo& file : files) {
    const std::optional<FileName> name = parse_file_name(file.name);
    if (!name.has_value()) continue;
    const bool is_segment = name->kind == FileKind::kSegment;
    (is_segment ? segments : parts) += 1;
    (is_segment ? segment_bytes : part_bytes) += file.bytes;
  }
  add_line(text, "files: %llu segments (%.1f MiB), %llu checkpoint parts (%.1f MiB)", number(segments),
           static_cast<double>(segment_bytes) / (1 << 20), number(parts), static_cast<double>(part_bytes) / (1 << 20));
}

void add_logs(const RecoveryReport& report, std::string* text) {
  for (const LogSummary& log : report.logs) {
    add_line(
        text,
        "log of incarnation %u, worker %u of %u: %llu groups, %llu records, %llu bytes, ends in %s offset %llu, %s",
        log.incarnation, log.worker, log.workers, number(log.groups), number(log.records), number(log.bytes),
        segment_name(log.incarnation, log.worker, log.end.segment).c_str(), number(log.end.offset),
        log.clean ? "stopped cleanly" : "not stopped cleanly");
  }
}

void add_records(const RecoveryReport& report, size_t sessions, std::string* text) {
  static constexpr const char* kNames[kRecordTypeCount] = {
      "",         "commits",          "session openings", "session closings",
      "rows",     "outcomes",         "shard states",     "clean stops",
      "prepares", "prepared commits", "aborts",           "ends"};
  std::string line = "records: " + std::to_string(report.records);
  for (uint32_t type = 1; type < kRecordTypeCount; ++type) {
    if (report.records_by_type[type] == 0) continue;
    line += std::string(", ") + kNames[type] + " " + std::to_string(report.records_by_type[type]);
  }
  *text += line + '\n';
  add_line(text, "writes: %llu; outcomes of sessions: %llu; sessions open at the end: %llu", number(report.rows),
           number(report.outcomes), number(sessions));
}

// Of the prepared ones the first few by name: they hold locks until somebody tells them the outcome.
void add_transactions(const std::map<ShardId, KeptTransactions>& transactions, std::string* text) {
  constexpr uint64_t kNamedMax = 10;
  uint64_t prepared = 0, decided = 0, promises = 0;
  std::string named;
  for (const auto& [shard, kept] : transactions) {
    kept.for_each([&, shard = shard](const KeptTransaction& t) {
      if (t.is_over) {
        ++promises;
      } else if (t.type != RecordType::kPrepare) {
        ++decided;
      } else if (++prepared <= kNamedMax) {
        add_line(&named, "in doubt: session %llu sequence %llu, shard %u, participant %u of %u, %zu locks",
                 number(t.id.session), number(t.id.sequence), shard, t.place + 1, t.participants.count, t.locks.size());
      }
    });
  }
  if (prepared > kNamedMax) add_line(&named, "in doubt: %llu more", number(prepared - kNamedMax));
  add_line(text,
           "over several shards: prepared and undecided %llu; decisions not acknowledged by all %llu; promises %llu",
           number(prepared), number(decided), number(promises));
  *text += named;
}

}  // namespace

bool check_log(Disk& disk, std::string* text) {
  LeftSink left;
  RecoveryOptions options;
  options.parallel_for = tbb_parallel_for();
  const RecoveryReport report = recover(disk, options, &left);
  const Manifest& manifest = report.manifest;
  add_files(disk, text);
  if (report.ok && manifest.incarnation == 0) {
    *text += "no log has been written here yet\ngood\n";
    return true;
  }
  add_line(text, "shards: %u; newest incarnation: %u; checkpoint: %s", manifest.shard_count, manifest.incarnation,
           manifest.generation == 0 ? "none" : ("generation " + std::to_string(manifest.generation)).c_str());
  add_logs(report, text);
  add_records(report, left.sessions.size(), text);
  add_transactions(left.transactions, text);
  add_line(text, "checkpoint bytes: %llu; log bytes to replay: %llu", number(report.checkpoint_bytes),
           number(report.log_bytes));
  add_line(text, "torn tail: %s", report.torn_tail.empty() ? "none" : report.torn_tail.c_str());
  *text += report.ok ? "good: a node can start from this log\n" : "DAMAGED: " + report.error + '\n';
  return report.ok;
}

bool check_log(const std::string& directory, std::string* text) {
  struct stat facts {};
  if (::stat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
    *text += directory + " is not a directory: name the one in log.directory of the node's configuration\n";
    return false;
  }
  std::unique_ptr<Disk> disk;
  std::string error;
  if (!open_disk(directory, false, &disk, &error)) {
    *text += error + '\n';
    return false;
  }
  if (const Errno code = disk->lock(); code == EWOULDBLOCK) {
    *text += directory + " is in use by a node: stop it, or check a copy\n";
    return false;
  }
  *text += "log directory: " + directory + '\n';
  return check_log(*disk, text);
}

}  // namespace txnic::log
