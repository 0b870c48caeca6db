// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/back/node_rig.h"

#include "host/log/tbb_parallel_for.h"

namespace txnic::test {

NodeRig::NodeRig(const RigConfig& config, TestDisk* disk, Reply reply)
    : config_(config), disk_(disk), reply_(std::move(reply)) {}

NodeRig::~NodeRig() { die(); }

void NodeRig::die() {
  workers_.clear();
  keeper_.reset();
  shards_.clear();
  shard_memory_.clear();
  held_.clear();
}

bool NodeRig::start(uint32_t workers, TimeNs now) {
  const bool durable = config_.durability != Durability::kNone;
  if (durable && !log::next_incarnation(*disk_, &incarnation_, &error)) return false;
  if (!durable) ++incarnation_;
  shard_memory_.resize(config_.shards);
  for (uint32_t s = 0; s < config_.shards; ++s) {
    shards_.push_back(std::make_unique<storage::Shard>());
    if (!shards_[s]->init(shard_memory_[s].make(config_.shard_bytes), {&table_, 1}, 0, first_version(incarnation_))) {
      error = "shard memory";
      return false;
    }
  }
  workers_ = std::vector<Worker>(workers);
  for (uint32_t s = 0; s < config_.shards; ++s) workers_[s % workers].shards.push_back(shards_[s].get());
  for (Worker& worker : workers_) {
    const SessionLimits limits{
        .sessions = config_.sessions, .window = config_.window, .shards = static_cast<uint32_t>(worker.shards.size())};
    worker.sessions.init(limits, worker.session_memory.make(SessionTable::memory_bytes(limits)));
  }
  if (durable && !recover(workers, now)) {
    workers_.clear();
    return false;
  }
  build(workers);
  return true;
}

bool NodeRig::recover(uint32_t workers, TimeNs now) {
  std::vector<storage::Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  back::RecoveredState state(shards, config_.window);
  log::RecoveryOptions options;
  options.shard_count = config_.shards;
  options.memory_bytes = 1 << 20;
  options.parallel_for = [](size_t count, const std::function<void(size_t)>& body) {
    for (size_t i = 0; i < count; ++i) body(i);
  };
  report_ = log::recover(*disk_, options, &state);
  error = report_.error + state.why_stopped();
  if (!report_.ok) return false;
  log::KeeperConfig keeper;
  keeper.shard_count = config_.shards;
  keeper.worker_count = workers;
  keeper.segment_bytes = config_.segment_bytes;
  keeper.part_buffer_bytes = 64 << 10;
  keeper.random = [n = config_.seed + incarnation_]() mutable { return n = n * 6364136223846793005ull + 1442695ull; };
  keeper_ = std::make_unique<log::Keeper>(*disk_, keeper);
  if (!keeper_->start(report_, &error)) {
    keeper_.reset();
    return false;
  }
  for (uint32_t w = 0; w < workers; ++w) {
    error = state.fill(w, workers, now, &workers_[w].sessions);
    if (!error.empty()) return false;
  }
  return true;
}

void NodeRig::build(uint32_t workers) {
  for (uint32_t w = 0; w < workers; ++w) {
    Worker& worker = workers_[w];
    if (keeper_ != nullptr) {
      log::WorkerLogConfig log;
      log.worker = w;
      log.durability = config_.durability;
      log.group_bytes = 64 << 10;
      worker.log = std::make_unique<log::WorkerLog>(log, keeper_.get(), incarnation_);
    }
    const back::HostBackConfig back{w, workers, config_.durability, first_version(incarnation_)};
    worker.back = std::make_unique<back::HostBack>(back, std::span(&table_, 1), worker.shards, worker.log.get(),
                                                   keeper_.get(), &worker.sessions);
    offload::FrontConfig front;
    front.worker = w;
    front.worker_count = workers;
    front.shard_count = config_.shards;
    front.incarnation = incarnation_;
    front.durability = config_.durability;
    front.cookie_secret = {config_.seed * 31 + incarnation_, 7};
    worker.front = std::make_unique<Front>(front, worker.back.get(), &worker.sessions);
  }
}

void NodeRig::deliver(uint32_t worker, Endpoint from, std::vector<std::byte> message) {
  if (!running()) return;
  auto entry = std::make_unique<Message>();
  entry->from = from;
  entry->length = static_cast<uint32_t>(message.size());
  entry->bytes = std::move(message);
  entry->bytes.resize(std::max<size_t>(entry->bytes.size(), limits::kMessageBytesMax));
  workers_[worker % worker_count()].inbox.push_back(std::move(entry));
}

void NodeRig::settle(offload::Action action, uint32_t to_worker, uint32_t reply_length, Message* raw) {
  std::unique_ptr<Message> message(raw);
  switch (action) {
    case offload::Action::kDrop:
      return;
    case offload::Action::kReply:
      message->bytes.resize(reply_length);
      reply_(message->from, std::move(message->bytes));
      return;
    case offload::Action::kHold:
      held_[raw] = std::move(message);
      return;
    case offload::Action::kPass:
      message->is_passed = true;
      [[fallthrough]];
    case offload::Action::kForward:
      workers_[to_worker].inbox.push_back(std::move(message));
      return;
  }
}

void NodeRig::run_worker(uint32_t w, TimeNs now) {
  Worker& worker = workers_[w];
  std::array<offload::Request, limits::kBurstMax> burst;
  std::array<Message*, limits::kBurstMax> messages;
  uint32_t count = 0;
  for (; count < burst.size() && !worker.inbox.empty(); ++count) {
    messages[count] = worker.inbox.front().release();
    worker.inbox.pop_front();
    Message& message = *messages[count];
    burst[count] = {.message = message.bytes.data(),
                    .handle = &message,
                    .from = message.from,
                    .length = message.length,
                    .room = limits::kMessageBytesMax,
                    .is_passed = message.is_passed};
  }
  worker.front->step({burst.data(), count}, now);
  for (uint32_t i = 0; i < count; ++i) {
    settle(burst[i].action, burst[i].to_worker, burst[i].reply_length, messages[i]);
  }
  worker.back->poll(now);
  std::array<offload::Released, limits::kBurstMax> released;
  const uint32_t ready = worker.front->release(released);
  for (uint32_t i = 0; i < ready; ++i) {
    auto held = held_.extract(static_cast<Message*>(released[i].handle));
    settle(released[i].action, released[i].to_worker, released[i].reply_length, held.mapped().release());
  }
  worker.front->idle(now);
}

void NodeRig::step(TimeNs now) {
  for (uint32_t w = 0; w < worker_count(); ++w) run_worker(w, now);
  if (keeper_ != nullptr) keeper_->step(now);
}

bool NodeRig::log_failed() const {
  for (const Worker& worker : workers_) {
    if (worker.log != nullptr && worker.log->state() == log::LogState::kFailed) return true;
  }
  return keeper_ != nullptr && keeper_->failed();
}

offload::FrontCounters NodeRig::counters() const {
  offload::FrontCounters sum;
  for (const Worker& worker : workers_) {
    sum.duplicates += worker.front->counters().duplicates;
    sum.held += worker.front->counters().held;
    sum.reopens += worker.front->counters().reopens;
  }
  return sum;
}

}  // namespace txnic::test
