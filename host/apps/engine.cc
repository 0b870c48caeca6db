// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/engine.h"

#include <unistd.h>

#include <cmath>

#include "host/apps/link_identity.h"
#include "host/apps/options.h"
#include "host/apps/random.h"
#include "host/log/all_cpus.h"
#include "host/log/disk.h"
#include "host/log/tbb_parallel_for.h"

namespace txnic::apps {
namespace {

std::string mib(uint64_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; }

}  // namespace

Engine::Engine(const control::NodeConfig& config, uint32_t workers, Fronts fronts)
    : config_(config), fronts_(fronts), map_(control::shard_map(config, workers)), workers_(workers) {
  for (const control::TableConfig& table : config_.tables)
    tables_.push_back({table.id, shard_capacity(table.capacity)});
  for (uint32_t shard = 0; shard < config_.shards; ++shard) {
    shards_.push_back(std::make_unique<storage::Shard>());
    workers_[shard % workers].shards.push_back(shards_.back().get());
  }
}

Engine::~Engine() {
  if (keeper_ != nullptr) keeper_->stop();
  for (Worker& worker : workers_) worker.log.reset();  // before the keeper that gives it segments
}

// Keys fall on shards by a hash: six standard deviations above the mean are room for every real distribution.
uint64_t Engine::shard_capacity(uint64_t table_capacity) const {
  if (config_.shards == 1) return table_capacity;
  const double mean = static_cast<double>(table_capacity) / config_.shards;
  return std::min(table_capacity, static_cast<uint64_t>(mean + 6 * std::sqrt(mean)) + 64);
}

uint64_t Engine::bytes_per_shard() const {
  if (config_.memory_bytes != 0) return config_.memory_bytes / config_.shards & ~uint64_t{63};
  uint64_t bytes = 0;
  for (size_t i = 0; i < tables_.size(); ++i) {
    const control::TableConfig& table = config_.tables[i];
    bytes += storage::shard_memory_bytes(
        tables_[i].capacity, static_cast<uint32_t>(sizeof(storage::Record)) + table.key_bytes + table.value_bytes);
  }
  return std::max(bytes, storage::Shard::kMinimumBytes);
}

SessionLimits Engine::session_limits(uint32_t worker) const {
  return {.sessions = config_.sessions.count,
          .window = config_.sessions.window,
          .shards = static_cast<uint32_t>(workers_[worker].shards.size()),
          .idle_expiry_ns = config_.sessions.idle_expiry_seconds * 1'000'000'000ull};
}

uint64_t Engine::region_bytes() const {
  uint64_t bytes = bytes_per_shard() * config_.shards;
  if (!has_fronts()) return bytes + worker_count() * back::LinkServer::memory_bytes();
  for (uint32_t w = 0; w < worker_count(); ++w) bytes += SessionTable::memory_bytes(session_limits(w));
  return bytes + worker_count() * Front::commit_memory_bytes({});
}

StartError Engine::allocate() {
  std::string error;
  const uint64_t bytes = bytes_per_shard();
  for (uint32_t shard = 0; shard < config_.shards; ++shard) {
    dataplane::Region region = dataplane::Region::allocate(bytes, -1, &error);
    if (region.data() == nullptr) return {"store of shard " + std::to_string(shard) + ": " + error, kExitPreflight};
    shard_memory_.push_back(std::move(region));
    uint64_t expected = 0;
    for (const storage::Table& table : tables_) expected += table.capacity;
    const Version first = first_version(incarnation_);
    // A bucket array for all that may come, unless the memory was set smaller: then it grows as far as it can.
    if (!shards_[shard]->init(shard_memory_[shard].bytes(), tables_, expected, first) &&
        !shards_[shard]->init(shard_memory_[shard].bytes(), tables_, 0, first)) {
      return {"memory_mib: " + mib(config_.memory_bytes) + " is too small (or above 64 GiB) for each of " +
                  std::to_string(config_.shards) + " shards: need at least " +
                  mib(storage::Shard::kMinimumBytes * config_.shards),
              kExitUsage};
    }
  }
  for (uint32_t w = 0; w < worker_count(); ++w) {
    const SessionLimits limits = session_limits(w);
    Worker& worker = workers_[w];
    if (!has_fronts()) {
      worker.mirror = std::make_unique<back::Mirror>(back::MirrorConfig{w, worker_count(), limits});
      worker.link_memory = dataplane::Region::allocate(back::LinkServer::memory_bytes(), -1, &error);
      if (worker.link_memory.data() == nullptr) return {"host link: " + error, kExitPreflight};
      continue;
    }
    worker.session_memory = dataplane::Region::allocate(SessionTable::memory_bytes(limits), -1, &error);
    if (worker.session_memory.data() == nullptr) return {"session windows: " + error, kExitPreflight};
    worker.sessions.init(limits, worker.session_memory.bytes());
  }
  return {};
}

StartError Engine::open_disk(const Say& say) {
  std::string error;
  if (!log::open_disk(config_.log.directory, config_.log.io_uring, &disk_, &error)) return {error, kExitLog};
  const log::Errno locked = disk_->lock();
  if (locked == EWOULDBLOCK) {
    return {config_.log.directory +
                ": another node uses this log directory; stop it, or give this one its own with "
                "--log-directory",
            kExitLog};
  }
  if (locked != 0) return {config_.log.directory + ": cannot lock: " + log::errno_text(locked), kExitLog};
  if (!log::next_incarnation(*disk_, &incarnation_, &error)) return {error, kExitLog};
  if (incarnation_ > log::kIncarnationMax) {
    return {config_.log.directory +
                ": this log has been started 65535 times, and versions have no room for more; "
                "load the data into a new log directory",
            kExitLog};
  }
  say("log: " + config_.log.directory + ", " + disk_->describe() + ", durability " +
      control::durability_name(config_.log.durability));
  return {};
}

StartError Engine::recover(TimeNs now, const Say& say) {
  std::vector<storage::Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  recovered_ = std::make_unique<back::RecoveredState>(std::move(shards), config_.sessions.window);
  back::RecoveredState& state = *recovered_;
  log::RecoveryOptions options;
  options.shard_count = config_.shards;
  const log::AllCpus cpus;  // this is a pinned lcore; nothing polls yet
  options.parallel_for = log::tbb_parallel_for();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.progress = [terminal](const log::RecoveryProgress& p) {
    if (!terminal) return;
    const double percent =
        p.bytes_total == 0 ? 100 : 100.0 * static_cast<double>(p.bytes_read) / static_cast<double>(p.bytes_total);
    std::fprintf(stderr, "\rrecovery: %.0f %% of %s, %llu records", percent, mib(p.bytes_total).c_str(),
                 static_cast<unsigned long long>(p.records));
    if (p.bytes_read >= p.bytes_total) std::fputc('\n', stderr);
  };
  timespec begin{}, end{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const log::RecoveryReport report = log::recover(*disk_, options, &state);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (const std::string why = state.why_stopped(); !why.empty()) return {"recovery: " + why, kExitLog};
  if (!report.ok) return {"recovery: " + report.error, kExitLog};
  const double seconds =
      static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e9;
  char line[256];
  std::snprintf(line, sizeof line,
                "recovery: %llu records, %s in %.3f s (%.2f million records/s, %.0f MB/s), %llu sessions%s",
                static_cast<unsigned long long>(report.records), mib(report.bytes).c_str(), seconds,
                static_cast<double>(report.records) / 1e6 / std::max(seconds, 1e-6),
                static_cast<double>(report.bytes) / 1e6 / std::max(seconds, 1e-6),
                static_cast<unsigned long long>(state.sessions()), report.clean_stop ? ", clean stop" : "");
  if (report.bytes != 0) say(line);
  if (report.torn_tail_bytes != 0) {
    say("recovery: cut off " + std::to_string(report.torn_tail_bytes) + " bytes at " + report.torn_tail +
        ": the end of a group that was never acknowledged");
  }
  log::KeeperConfig keeper;
  keeper.shard_count = config_.shards;
  keeper.worker_count = worker_count();
  keeper.segment_bytes = config_.log.segment_bytes;
  keeper.checkpoint_log_bytes = config_.log.checkpoint_log_bytes;
  keeper.keeps_front_incarnation = !has_fronts();
  keeper_ = std::make_unique<log::Keeper>(*disk_, keeper);
  std::string error;
  if (!keeper_->start(report, &error)) return {error, kExitLog};
  incarnation_ = keeper_->incarnation();
  return take_recovered(state, now);
}

StartError Engine::take_recovered(const back::RecoveredState& state, TimeNs now) {
  if (!has_fronts()) return {};  // the front's, which make_link_worker() will tell
  for (uint32_t w = 0; w < worker_count(); ++w) {
    const std::string error = state.fill(w, worker_count(), now, &workers_[w].sessions);
    if (!error.empty()) return {"recovery: " + error, kExitUsage};
  }
  return {};
}

// What is prepared or decided and not over: locked again, and asked about from the first step on.
StartError Engine::restore_transactions(TimeNs now, const Say& say) {
  if (recovered_ == nullptr || !has_fronts()) return {};
  for (uint32_t w = 0; w < worker_count(); ++w) {
    Worker& worker = workers_[w];
    const std::string error =
        recovered_->restore(w, worker_count(), now, worker.back.get(), &worker.front->machine());
    if (!error.empty()) return {"recovery: " + error, kExitLog};
  }
  if (const uint64_t count = recovered_->transactions(); count != 0) {
    say("recovery: " + std::to_string(count) + " transactions over several shards are not over; the other " +
        "participants are asked");
  }
  recovered_.reset();
  return {};
}

// Before the workers run. What is decided here is said loudly: it cannot be taken back.
StartError Engine::resolve(std::span<const Resolution> resolutions, TimeNs now, const Say& say) {
  for (const Resolution& wanted : resolutions) {
    const std::string what = "transaction " + std::to_string(wanted.id.session) + ":" +
                             std::to_string(wanted.id.sequence) + " at shard " + std::to_string(wanted.shard);
    if (!map_.is_mine(wanted.shard)) return {"--resolve: " + what + ": that shard is not of this node", kExitUsage};
    if (!has_fronts()) return {"--resolve: not with placement NIC; start once with --placement host", kExitUsage};
    commit::Machine& machine = workers_[map_.worker_of(wanted.shard)].front->machine();
    switch (machine.force(wanted.id, wanted.shard, wanted.commit, now)) {
      case commit::Forced::kDone:
        say("WARNING: " + what + " is FORCED to " + (wanted.commit ? "COMMIT" : "ABORT") +
            " by the operator; a different decision of its coordinator will be counted as a contradiction");
        break;
      case commit::Forced::kNotInDoubt:
        return {"--resolve: " + what + " is not in doubt here; start without --resolve, or see --check-log",
                kExitUsage};
      case commit::Forced::kLogFull: return {"--resolve: the log has no room; see the disk", kExitLog};
    }
  }
  return {};
}

std::string Engine::alarm() {
  if (!has_fronts()) return {};
  uint64_t contradictions = 0;
  for (const Worker& worker : workers_) contradictions += worker.front->machine().counters().contradictions;
  if (contradictions == contradictions_told_) return {};
  const std::string count = std::to_string(contradictions - contradictions_told_);
  contradictions_told_ = contradictions;
  return "WARNING: CONTRADICTION: " + count + " decisions that arrived say something else than this node's log; " +
         "nothing was changed. A transaction that was forced with --resolve is committed at one node and aborted at " +
         "another: mend the data by hand";
}

StartError Engine::add_static_sessions() {
  if (!has_fronts()) return {};  // each front adds them itself
  for (const control::StaticSessionConfig& session : config_.sessions.static_sessions) {
    for (Worker& worker : workers_) {
      Session* entry = worker.sessions.find(session.id);
      if (entry == nullptr) entry = worker.sessions.insert(session.id);
      if (entry == nullptr) return {"sessions.count has no room for the static sessions: raise it", kExitUsage};
      entry->is_static = true;
      entry->is_static_replay = session.execute;
    }
  }
  return {};
}

StartError Engine::build_workers() {
  const CookieSecret secret{random_word(), random_word()};
  for (uint32_t w = 0; w < worker_count(); ++w) {
    Worker& worker = workers_[w];
    if (keeper_ != nullptr) {
      log::WorkerLogConfig log;
      log.worker = w;
      log.durability = config_.log.durability;
      log.group_bytes = config_.log.group_bytes;
      log.async_delay_ns = config_.log.async_delay_ns;
      worker.log = std::make_unique<log::WorkerLog>(log, keeper_.get(), incarnation_);
    }
    const back::HostBackConfig back{w, worker_count(), config_.log.durability, first_version(incarnation_)};
    worker.back = std::make_unique<back::HostBack>(back, tables_, worker.shards, worker.log.get(), keeper_.get(),
                                                   has_fronts() ? &worker.sessions : &worker.mirror->sessions());
    if (!has_fronts()) {
      worker.back->set_mirror(worker.mirror.get());
      continue;
    }
    StartError error = build_front(w, secret);
    if (!error.text.empty()) return error;
  }
  return {};
}

StartError Engine::build_front(uint32_t w, CookieSecret secret) {
  Worker& worker = workers_[w];
  offload::FrontConfig front;
  front.worker = w;
  front.map = map_;
  front.incarnation = incarnation_;
  front.durability = config_.log.durability;
  front.cookie_secret = secret;
  if (recovered_ != nullptr) {
    const back::RecoveredState::Room kept = recovered_->room_to_restore(w, worker_count());
    front.commit.transactions += kept.transactions;
    front.commit.locks += kept.locks;
  }
  std::string error;
  worker.commit_memory = dataplane::Region::allocate(Front::commit_memory_bytes(front), -1, &error);
  if (worker.commit_memory.data() == nullptr) return {"transactions over several shards: " + error, kExitPreflight};
  worker.front = std::make_unique<Front>(front, worker.back.get(), &worker.sessions, worker.commit_memory.bytes());
  worker.back->set_machine(&worker.front->machine(), &map_);
  return {};
}

LinkWorker* Engine::make_link_worker(uint32_t w, link::FramePort* port, uint32_t frame_bytes, std::string* error) {
  Worker& worker = workers_[w];
  back::LinkServerConfig config;
  config.link.worker = static_cast<uint16_t>(w);
  config.link.shards = session_limits(w).shards;
  config.link.configuration_hash = link_configuration_hash(config_, worker_count());
  config.link.build = link_build();
  config.link.frame_bytes = frame_bytes;
  config.shard_count = config_.shards;
  auto server = std::make_unique<back::LinkServer>(config, worker.back.get(), worker.mirror.get(),
                                                   worker.link_memory.bytes(), port);
  if (recovered_ != nullptr &&
      !recovered_->tell(w, worker_count(), [&](Bytes record) { return server->keep(record); })) {
    *error = "what the log has kept of sessions and transactions over several shards has no room in the mirror: " +
             std::string("raise sessions.count, or start once with --placement host");
    return nullptr;
  }
  worker.link = std::make_unique<LinkWorker>(worker.back.get(), std::move(server),
                                             [this] { return take_front_incarnation(); });
  if (++link_workers_ == worker_count()) recovered_.reset();
  return worker.link.get();
}

// Each above all before, also without a log: versions must rise over the life of the store (the version of an absent
// key is the newest of its bucket).
uint32_t Engine::take_front_incarnation() {
  if (keeper_ != nullptr) return keeper_->take_front_incarnation();
  const uint32_t next = front_incarnation_.load(std::memory_order_relaxed) + 1;
  if ((next & 0xffff) == 0 || next == 0xffffffff) return 0;  // versions have no room for one more: start the node again
  front_incarnation_.store(next, std::memory_order_relaxed);
  return next;
}

StartError Engine::start(TimeNs now, const Say& say) {
  const bool durable = config_.log.durability != Durability::kNone;
  if (durable) {
    StartError error = open_disk(say);
    if (!error.text.empty()) return error;
  } else {
    incarnation_ = random_incarnation();
    // Half of the numbers are left for the fronts to come.
    if (!has_fronts() && (incarnation_ & 0x8000) != 0) incarnation_ = (incarnation_ ^ 0x8000) | 1;
    front_incarnation_ = incarnation_;
  }
  StartError error = allocate();
  if (!error.text.empty()) return error;
  if (durable) {
    error = recover(now, say);
    if (!error.text.empty()) return error;
  }
  error = add_static_sessions();
  if (!error.text.empty()) return error;
  error = build_workers();
  if (!error.text.empty()) return error;
  error = restore_transactions(now, say);
  if (!error.text.empty()) return error;
  if (keeper_ != nullptr) keeper_->run();
  return {};
}

std::string Engine::failure() const {
  if (keeper_ == nullptr) return {};
  for (const Worker& worker : workers_) {
    if (worker.log->state() == log::LogState::kFailed) {
      const log::Errno error = worker.log->last_error();
      return std::string("writing the log failed: ") +
             (error != 0 ? log::errno_text(error) : keeper_->statistics().last_error.c_str()) +
             "; what is not acknowledged may be lost, what is acknowledged is on disk. Check the disk, then start "
             "again";
    }
  }
  return keeper_->failed() ? "the log's keeper failed: " + keeper_->statistics().last_error : "";
}

bool Engine::close_log() {
  if (keeper_ == nullptr) return true;
  for (Worker& worker : workers_) worker.log->begin_close();
  // The workers have stopped: this thread owns the logs now. Bounded: a disk that takes longer is left to recovery.
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t deadline = now.tv_sec + 10;
  for (;;) {
    bool closed = true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (Worker& worker : workers_) {
      worker.log->poll(static_cast<TimeNs>(now.tv_sec) * 1'000'000'000 + static_cast<TimeNs>(now.tv_nsec));
      if (worker.log->state() == log::LogState::kFailed) return false;
      closed = closed && worker.log->closed();
    }
    if (closed) break;
    if (now.tv_sec > deadline) return false;
    usleep(50);
  }
  keeper_->stop();
  return true;
}

EngineStatistics Engine::statistics(TimeNs now) const {
  EngineStatistics sum;
  for (const Worker& worker : workers_) {
    if (worker.log != nullptr) add(worker.log->statistics(), &sum.log);
    if (worker.link != nullptr) {
      if (!sum.link_server) sum.link_server.emplace();
      add_counters(worker.link->server().counters(), &sum.link_server->server);
      add_counters(worker.link->server().link().back_counters(), &sum.link_server->link);
      add_counters(worker.link->server().link().counters(), &sum.link_server->frames);
      sum.link_server->deaths += worker.link->deaths();
    }
    if (!has_fronts()) continue;
    add(worker.front->counters(), &sum.front);
    add(worker.front->machine().counters(), &sum.commit);
    add_held(*worker.front, now, &sum);
    sum.sessions = std::max<uint64_t>(sum.sessions, worker.sessions.size());
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    uint64_t records = 0;
    for (const auto& shard : shards_) records += shard->table_records(static_cast<uint32_t>(t));
    sum.table_records.emplace_back(config_.tables[t].name, records);
  }
  for (const auto& shard : shards_) add(shard->statistics(), &sum.store);
  sum.has_log = keeper_ != nullptr;
  if (sum.has_log) sum.keeper = keeper_->statistics();
  return sum;
}

}  // namespace txnic::apps
