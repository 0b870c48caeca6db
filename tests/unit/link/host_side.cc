// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/link/host_side.h"

namespace txnic::test {

void HostSide::die() {
  server_.reset();
  back_.reset();
  mirror_.reset();
  log_.reset();
  keeper_.reset();
  shards_.clear();
}

bool HostSide::start() {
  const bool logs = config_.durability != Durability::kNone;
  if (logs && !log::next_incarnation(*disk_, &incarnation, &error)) return false;
  if (!logs) ++incarnation;
  shard_memory_.resize(config_.shards);
  std::vector<storage::Shard*> shards;
  for (uint32_t s = 0; s < config_.shards; ++s) {
    shards_.push_back(std::make_unique<storage::Shard>());
    if (!shards_[s]->init(shard_memory_[s].make(config_.shard_bytes), config_.tables, 0, first_version(incarnation))) {
      error = "shard memory";
      return false;
    }
    shards.push_back(shards_[s].get());
  }
  back::RecoveredState state(shards, config_.sessions.window);
  if (logs) {
    log::RecoveryOptions options;
    options.shard_count = config_.shards;
    options.memory_bytes = 1 << 20;
    const log::RecoveryReport report = log::recover(*disk_, options, &state);
    error = report.error + state.why_stopped();
    if (!report.ok) return false;
    log::KeeperConfig keeper;
    keeper.shard_count = config_.shards;
    keeper.segment_bytes = 256 << 10;
    keeper.part_buffer_bytes = 64 << 10;
    keeper.keeps_front_incarnation = true;
    keeper.random = [n = uint64_t{incarnation}]() mutable { return n = n * 6364136223846793005ull + 1442695ull; };
    keeper_ = std::make_unique<log::Keeper>(*disk_, keeper);
    if (!keeper_->start(report, &error)) return false;
    log::WorkerLogConfig log;
    log.group_bytes = 64 << 10;
    log.durability = config_.durability;
    log.async_delay_ns = 200'000;
    log_ = std::make_unique<log::WorkerLog>(log, keeper_.get(), incarnation);
  }
  mirror_ = std::make_unique<back::Mirror>(
      back::MirrorConfig{.sessions = config_.sessions, .transactions = config_.transactions});
  back_ = std::make_unique<back::HostBack>(
      back::HostBackConfig{.durability = config_.durability, .first_version = first_version(incarnation)},
      config_.tables, shards, log_.get(), keeper_.get(), &mirror_->sessions());
  back_->set_mirror(mirror_.get());
  back::LinkServerConfig server;
  server.link = config_.link;
  server.link.shards = config_.shards;
  server.shard_count = config_.shards;
  server.reserve_bytes = config_.reserve_bytes;
  server_ = std::make_unique<back::LinkServer>(server, back_.get(), mirror_.get(),
                                               server_memory_.make(back::LinkServer::memory_bytes()), to_front_);
  if (!state.tell(0, 1, [this](Bytes record) { return server_->keep(record); })) {
    error = "what recovery has kept does not fit";
    return false;
  }
  server_->link().set_open(true);
  return true;
}

void HostSide::poll(TimeNs now) {
  back_->poll(now);
  server_->poll();
  if (keeper_ != nullptr) keeper_->step(now);
}

void HostSide::admit(TimeNs now) {
  link::BackEnd& end = server_->link();
  if (!end.wants_front() || (end.has_front() && !end.front_is_dead(now))) return;
  const uint32_t next = keeper_ == nullptr ? incarnation + 1 : keeper_->take_front_incarnation();
  if (next == 0) return;  // none is ready
  incarnation = next;
  server_->admit(++epoch, incarnation, now);
}

std::unique_ptr<back::RecoveredState> HostSide::told() {
  auto state =
      std::make_unique<back::RecoveredState>(std::vector<storage::Shard*>(config_.shards), config_.sessions.window);
  server_->tell([&](Bytes record) {
    if (!back::replay_kept(record, 0, 1, config_.shards, state.get())) error = "what the mirror tells makes no sense";
  });
  return state;
}

std::unique_ptr<back::RecoveredState> HostSide::recovered(const HostSideConfig& config, TestDisk* disk,
                                                          std::string* error) {
  // Its rows go nowhere.
  struct Sink final : log::RecoverySink {
    explicit Sink(log::RecoverySink* inner) : inner_(inner) {}
    bool on_put(ShardId, TableId, Bytes, Bytes, Version) override { return true; }
    bool on_delete(ShardId, TableId, Bytes, Version) override { return true; }
    bool on_outcome(ShardId shard, SessionId session, uint64_t key, Version version, Sequence watermark) override {
      return inner_->on_outcome(shard, session, key, version, watermark);
    }
    bool on_shard_version(ShardId shard, Version newest) override { return inner_->on_shard_version(shard, newest); }
    bool on_session_open(ShardId shard, SessionId session, Endpoint from, Stamp stamp, Sequence attempt,
                         Sequence watermark) override {
      return inner_->on_session_open(shard, session, from, stamp, attempt, watermark);
    }
    bool on_session_close(ShardId shard, SessionId session) override {
      return inner_->on_session_close(shard, session);
    }
    bool on_transaction(ShardId shard, const log::TransactionEntry& entry) override {
      return inner_->on_transaction(shard, entry);
    }
    log::RecoverySink* inner_;
  };
  auto state =
      std::make_unique<back::RecoveredState>(std::vector<storage::Shard*>(config.shards), config.sessions.window);
  Sink sink(state.get());
  log::RecoveryOptions options;
  options.shard_count = config.shards;
  options.memory_bytes = 1 << 20;
  const log::RecoveryReport report = log::recover(*disk, options, &sink);
  *error = report.error;
  return state;
}

}  // namespace txnic::test
