// SPDX-License-Identifier: BSD-3-Clause
// The redo log by itself: group commit of 152-byte records (two 8-byte keys with 40-byte values) with 4,096 of them
// outstanding, on each device, beside the disk's own fdatasync; then recovery of a log of that kind.
//   log_bench [--directory DIR] [--seconds S] [--records N] [--workers W] [--shards S]
#include <getopt.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "host/log/keeper.h"
#include "host/log/recovery.h"
#include "host/log/tbb_parallel_for.h"
#include "host/log/worker_log.h"
#include "txn/hash.h"

namespace {

using namespace txnic;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kOutstanding = 4096;
constexpr uint32_t kRecordBytes = 152;
constexpr uint32_t kValueBytes = 40;
constexpr uint64_t kKeys = 1'000'000;

struct Options {
  std::string directory = "/var/tmp";
  double seconds = 3;
  uint64_t records = 4'000'000;
  uint32_t workers = 2;
  uint32_t shards = 8;
};

TimeNs now_ns() {
  return static_cast<TimeNs>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

// CPU time of this process so far, kernel time included.
double cpu_seconds() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double percentile_us(std::vector<uint32_t>* samples_ns, double fraction) {
  if (samples_ns->empty()) return 0;
  const auto at = static_cast<size_t>(static_cast<double>(samples_ns->size() - 1) * fraction);
  std::nth_element(samples_ns->begin(), samples_ns->begin() + static_cast<std::ptrdiff_t>(at), samples_ns->end());
  return (*samples_ns)[at] / 1000.0;
}

void write_record(std::byte* at, uint16_t shard, uint64_t number) {
  log::RecordHeader header{};
  header.length = kRecordBytes;
  header.type = static_cast<uint8_t>(log::RecordType::kCommit);
  header.write_count = 2;
  header.shard = shard;
  header.version = first_version(1) + number;
  header.session = 1 + number % 64;
  header.sequence = number;
  header.watermark = number > 200 ? number - 200 : 1;
  store(at, header);
  at += sizeof header;
  for (uint64_t i = 0; i < 2; ++i) {
    store(at, log::WriteHeader{8, 0, 1, kValueBytes, 0});
    store(at + 8, mix64(number * 2 + i) % kKeys);
    std::memset(at + 16, static_cast<int>(number), kValueBytes);
    at += log::write_bytes(8, kValueBytes);
  }
}

// What one worker did.
struct Result {
  uint64_t records = 0;
  std::vector<uint32_t> latency_ns;
  log::WorkerLogStatistics statistics;
};

// A worker's loop: keeps `kOutstanding` records undurable until `records_max` or the time is over.
Result run_worker(log::WorkerLog& log, const Options& options, uint32_t worker, uint64_t records_max, double seconds) {
  Result result;
  struct Sent {
    Lsn lsn;
    TimeNs at;
  };
  std::vector<Sent> ring(kOutstanding);
  uint64_t sent = 0, done = 0;
  const TimeNs begin = now_ns(), end = begin + static_cast<TimeNs>(seconds * 1e9);
  const uint32_t local_shards = (options.shards - worker + options.workers - 1) / options.workers;
  for (TimeNs now = begin; log.state() != log::LogState::kFailed; now = now_ns()) {
    if ((now >= end || sent >= records_max) && done == sent) break;
    if (now < end) {
      for (int i = 0; i < 64 && sent - done < kOutstanding && sent < records_max; ++i) {
        std::byte* at = log.reserve(kRecordBytes);
        if (at == nullptr) break;
        write_record(at, static_cast<uint16_t>(sent % local_shards * options.workers + worker), sent);
        ring[sent++ % kOutstanding] = {log.append(kRecordBytes), now};
      }
    }
    log.poll(now);
    while (done < sent && ring[done % kOutstanding].lsn <= log.durable()) {
      if (done % 16 == 0) result.latency_ns.push_back(static_cast<uint32_t>(now - ring[done % kOutstanding].at));
      ++done;
    }
  }
  result.records = done;
  result.statistics = log.statistics();
  return result;
}

struct Node {
  std::unique_ptr<log::Disk> disk;
  std::unique_ptr<log::Keeper> keeper;
  std::vector<std::unique_ptr<log::WorkerLog>> logs;
};

bool open_node(const std::string& folder, bool io_uring, const Options& options, uint32_t workers, Node* node) {
  std::string error;
  if (!log::open_disk(folder, io_uring, &node->disk, &error)) return std::fprintf(stderr, "%s\n", error.c_str()), false;
  const log::RecoveryReport report = log::recover(*node->disk, {.shard_count = options.shards}, nullptr);
  log::KeeperConfig config;
  config.shard_count = options.shards;
  config.worker_count = workers;
  config.segments_ahead = 2;
  node->keeper = std::make_unique<log::Keeper>(*node->disk, config);
  if (!report.ok || !node->keeper->start(report, &error)) {
    return std::fprintf(stderr, "%s%s\n", report.error.c_str(), error.c_str()), false;
  }
  node->keeper->run();
  for (uint32_t worker = 0; worker < workers; ++worker) {
    log::WorkerLogConfig log;
    log.worker = worker;
    node->logs.push_back(std::make_unique<log::WorkerLog>(log, node->keeper.get(), node->keeper->incarnation()));
  }
  // Not measured: the first segments being made.
  const TimeNs deadline = now_ns() + 20'000'000'000;
  while (node->keeper->statistics().segments_created < workers * (1 + config.segments_ahead) && now_ns() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void remove_contents(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove(entry.path());
}

int bench_commit(const std::string& folder, bool io_uring, Options options) {
  options.workers = 1;
  Node node;
  if (!open_node(folder, io_uring, options, 1, &node)) return 1;
  const TimeNs begin = now_ns();
  Result result = run_worker(*node.logs[0], options, 0, UINT64_MAX, options.seconds);
  const double took = static_cast<double>(now_ns() - begin) / 1e9;
  const auto records = static_cast<double>(result.records);
  const auto groups = static_cast<double>(std::max<uint64_t>(result.statistics.groups, 1));
  std::printf(
      "%-10s %7.2f M records/s %7.0f MB/s  groups/s %6.0f  records/group %6.0f  group in flight %6.0f us (longest "
      "%6.0f)"
      "  record p50 %6.0f p99 %6.0f us  refused %llu\n",
      io_uring ? "io_uring" : "thread", records / took / 1e6, records * kRecordBytes / took / 1e6, groups / took,
      records / groups, static_cast<double>(result.statistics.in_flight_ns) / groups / 1000,
      static_cast<double>(result.statistics.longest_write_ns) / 1000, percentile_us(&result.latency_ns, 0.5),
      percentile_us(&result.latency_ns, 0.99), static_cast<unsigned long long>(result.statistics.full));
  return result.records > 0 ? 0 : 1;
}

// The disk by itself: one block written and synced at a time.
int bench_fdatasync(const std::string& folder) {
  std::unique_ptr<log::Disk> disk;
  std::string error;
  if (!log::open_disk(folder, false, &disk, &error)) return 1;
  const std::vector<std::byte> head(4096);
  std::unique_ptr<log::LogFile> file;
  if (disk->create("bench", 16 << 20, head) != 0 || disk->open("bench", &file) != 0) return 1;
  log::AlignedBuffer block(4096);
  std::vector<uint32_t> samples;
  for (uint64_t i = 0; i < 1000; ++i) {
    const TimeNs begin = now_ns();
    if (file->begin_write(4096 * (1 + i % 4000), block.data(), 4096) != 0) return 1;
    while (file->poll() == log::WriteState::kInFlight) std::this_thread::yield();
    samples.push_back(static_cast<uint32_t>(now_ns() - begin));
  }
  std::printf("fdatasync of 4 KiB: p50 %.0f us p99 %.0f us\n", percentile_us(&samples, 0.5),
              percentile_us(&samples, 0.99));
  return 0;
}

// As a store does it: one cache line or two of a large table touched for each write.
class TableSink final : public log::RecoverySink {
 public:
  explicit TableSink(uint32_t shards) : tables_(shards) {
    for (auto& table : tables_) table.resize(kSlots);
  }
  bool on_put(ShardId shard, TableId, Bytes key, Bytes value, Version version) override {
    Slot& to = slot(shard, key);
    to.version = version;
    std::memcpy(to.value, value.data(), std::min<size_t>(value.size(), sizeof to.value));
    return true;
  }
  bool on_delete(ShardId, TableId, Bytes, Version) override { return true; }
  bool on_outcome(ShardId, SessionId, uint64_t, Version, Sequence) override { return true; }
  bool on_shard_version(ShardId, Version) override { return true; }
  bool on_session_open(ShardId, SessionId, Endpoint, Stamp, Sequence, Sequence) override { return true; }
  bool on_session_close(ShardId, SessionId) override { return true; }
  bool on_transaction(ShardId, const log::TransactionEntry&) override { return true; }
  void prefetch(ShardId shard, TableId, Bytes key) override { __builtin_prefetch(&slot(shard, key)); }

 private:
  static constexpr size_t kSlots = 1u << 18;
  struct alignas(64) Slot {
    Version version;
    std::byte value[kValueBytes];
  };
  Slot& slot(ShardId shard, Bytes key) {
    return tables_[shard][hash_key(key.data(), static_cast<uint32_t>(key.size())) % kSlots];
  }
  std::vector<std::vector<Slot>> tables_;
};

int bench_recovery(const std::string& folder, const Options& options) {
  {
    Node node;
    if (!open_node(folder, true, options, options.workers, &node)) return 1;
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < options.workers; ++worker) {
      threads.emplace_back([&, worker] {
        (void)run_worker(*node.logs[worker], options, worker, options.records / options.workers, 120);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::unique_ptr<log::Disk> disk;
  std::string error;
  if (!log::open_disk(folder, true, &disk, &error)) return 1;
  std::vector<log::FileInfo> files;
  if (disk->list(&files) != 0) return 1;

  // Sequential reading by itself, past the page cache as recovery reads.
  log::AlignedBuffer buffer(4 << 20);
  uint64_t bytes = 0;
  TimeNs begin = now_ns();
  for (const log::FileInfo& file : files) {
    for (uint64_t at = 0; at + buffer.size() <= file.bytes; at += buffer.size()) {
      size_t got = 0;
      if (disk->read(file.name, at, MutableBytes(buffer.data(), buffer.size()), &got) != 0) return 1;
      bytes += got;
    }
  }
  std::printf("sequential read: %.0f MB/s\n",
              static_cast<double>(bytes) / (static_cast<double>(now_ns() - begin) / 1e3));

  TableSink sink(options.shards);
  for (const bool keep : {false, true}) {
    log::RecoveryOptions recovery{.shard_count = options.shards, .parallel_for = log::tbb_parallel_for()};
    recovery.check_only = !keep;
    begin = now_ns();
    const double cpu_before = cpu_seconds();
    const log::RecoveryReport report = log::recover(*disk, recovery, keep ? &sink : nullptr);
    const double took = static_cast<double>(now_ns() - begin) / 1e9;
    if (!report.ok) return std::fprintf(stderr, "%s\n", report.error.c_str()), 1;
    std::printf("recovery (%s): %llu records, %.2f s: %.2f M records/s, %.0f MB/s of log, %.0f ns CPU a record\n",
                keep ? "into tables" : "check only", static_cast<unsigned long long>(report.records), took,
                static_cast<double>(report.records) / took / 1e6, static_cast<double>(report.log_bytes) / took / 1e6,
                (cpu_seconds() - cpu_before) * 1e9 / static_cast<double>(std::max<uint64_t>(report.records, 1)));
  }
  return 0;
}

Options parse_options(int argc, char** argv) {
  Options options;
  const option names[] = {{"directory", required_argument, nullptr, 'd'}, {"seconds", required_argument, nullptr, 's'},
                          {"records", required_argument, nullptr, 'r'},   {"workers", required_argument, nullptr, 'w'},
                          {"shards", required_argument, nullptr, 'n'},    {nullptr, 0, nullptr, 0}};
  for (int key = 0; (key = ::getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (key) {
      case 'd':
        options.directory = optarg;
        break;
      case 's':
        options.seconds = std::strtod(optarg, nullptr);
        break;
      case 'r':
        options.records = std::strtoull(optarg, nullptr, 10);
        break;
      case 'w':
        options.workers = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'n':
        options.shards = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      default:
        std::exit(2);
    }
  }
  options.workers = std::clamp(options.workers, 1u, limits::kWorkersMax);
  options.shards = std::clamp(options.shards, options.workers, limits::kShardsMax);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  std::string folder = options.directory + "/txnic-log-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "%s: no folder can be made there; name another with --directory\n", options.directory.c_str());
    return 1;
  }
  int code = bench_fdatasync(folder);
  for (const bool io_uring : {true, false}) {
    if (code == 0) code = bench_commit(folder, io_uring, options);
    remove_contents(folder);
  }
  if (code == 0) code = bench_recovery(folder, options);
  std::filesystem::remove_all(folder);
  return code;
}
