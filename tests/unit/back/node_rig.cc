// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/back/node_rig.h"

#include <algorithm>

namespace txnic::test {

NodeRig::NodeRig(const RigConfig& config, TestDisk* disk, Reply reply, ToNode to_node)
    : config_(config), disk_(disk), reply_(std::move(reply)), to_node_(std::move(to_node)) {}

NodeRig::~NodeRig() { die(); }

void NodeRig::die() {
  workers_.clear();
  keeper_.reset();
  shards_.clear();
  held_.clear();
}

bool NodeRig::start(uint32_t workers, TimeNs now) {
  const bool durable = config_.durability != Durability::kNone;
  if (durable && !log::next_incarnation(*disk_, &incarnation_, &error)) return false;
  if (!durable) ++incarnation_;
  if (config_.switches.repeats_incarnations) incarnation_ = (incarnation_ + 1) / 2;
  shard_memory_.resize(config_.shards);
  for (uint32_t s = 0; s < config_.shards; ++s) {
    shards_.push_back(std::make_unique<storage::Shard>());
    if (!shards_[s]->init(shard_memory_[s].make(config_.shard_bytes), config_.tables, 0, shard_version())) {
      error = "shard memory";
      return false;
    }
  }
  workers_ = std::vector<Worker>(workers);
  for (uint32_t s = 0; s < config_.shards; ++s) workers_[s % workers].shards.push_back(shards_[s].get());
  if (session_memory_.size() < workers) session_memory_.resize(workers);
  for (uint32_t w = 0; w < workers; ++w) {
    Worker& worker = workers_[w];
    const SessionLimits limits{.sessions = config_.sessions,
                               .window = config_.window,
                               .shards = std::max(static_cast<uint32_t>(worker.shards.size()), 1u),
                               .idle_expiry_ns = config_.idle_expiry_ns};
    worker.sessions.init(limits, session_memory_[w].make_zeroed(SessionTable::memory_bytes(limits)));
  }
  if (durable && !recover(workers, now)) {
    workers_.clear();
    return false;
  }
  build(workers);
  for (uint32_t w = 0; recovered_ != nullptr && error.empty() && w < workers; ++w) {
    Worker& worker = workers_[w];
    error = recovered_->restore(w, workers, now, worker.back.get(), &worker.front->machine());
  }
  recovered_.reset();
  if (error.empty()) return true;
  die();
  return false;
}

bool NodeRig::recover(uint32_t workers, TimeNs now) {
  std::vector<storage::Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  recovered_ = std::make_unique<back::RecoveredState>(shards, config_.window);
  back::RecoveredState& state = *recovered_;
  log::RecoveryOptions options;
  options.shard_count = config_.shards;
  options.memory_bytes = 1 << 20;
  options.parallel_for = [](size_t count, const std::function<void(size_t)>& body) {
    for (size_t i = 0; i < count; ++i) body(i);
  };
  RigSink sink(config_.switches, &state, config_.shards);
  report_ = log::recover(*disk_, options, &sink);
  error = report_.error + state.why_stopped();
  if (report_.ok && config_.switches.torn_tail_is_damage && !report_.torn_tail.empty()) {
    error = "a record cannot be read: " + report_.torn_tail;
    return false;
  }
  if (!report_.ok) return false;
  log::KeeperConfig keeper;
  keeper.shard_count = config_.shards;
  keeper.worker_count = workers;
  keeper.segment_bytes = config_.segment_bytes;
  keeper.part_buffer_bytes = 64 << 10;
  keeper.checkpoint_log_bytes = config_.checkpoint_log_bytes;
  const uint64_t seed = config_.switches.segments_share_a_seed ? 0 : config_.seed + incarnation_;
  keeper.random = [same = config_.switches.segments_share_a_seed, n = seed]() mutable {
    return same ? 1 : n = n * 6364136223846793005ull + 1442695ull;
  };
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
  if (config_.map != nullptr) {
    map_ = *config_.map;
    map_.self = config_.place;
    map_.nodes[map_.self].workers = static_cast<uint16_t>(workers);
  } else {
    map_ = ShardMap::of_one_node(config_.shards, workers, {0, wire::kBasePortDefault});
  }
  for (uint32_t w = 0; w < workers; ++w) {
    Worker& worker = workers_[w];
    if (keeper_ != nullptr) {
      log::WorkerLogConfig log;
      log.worker = w;
      log.durability = config_.durability;
      log.group_bytes = 64 << 10;
      worker.log = std::make_unique<log::WorkerLog>(log, keeper_.get(), keeper_->incarnation());
    }
    const back::HostBackConfig back{w, workers, config_.durability, shard_version()};
    worker.back = std::make_unique<RigBack>(&config_.switches, back, std::span<const storage::Table>(config_.tables),
                                            worker.shards, worker.log.get(), keeper_.get(), &worker.sessions);
    offload::FrontConfig front;
    front.worker = w;
    front.map = map_;
    front.incarnation = incarnation_;
    front.durability = config_.durability;
    front.cookie_secret = {config_.seed * 31 + incarnation_, 7};
    front.commit.transactions = config_.transactions;
    front.commit.locks = config_.locks;
    if (recovered_ != nullptr) {
      const back::RecoveredState::Room kept = recovered_->room_to_restore(w, workers);
      front.commit.transactions += kept.transactions;
      front.commit.locks += kept.locks;
    }
    worker.outbox.rig = this;
    commit_memory_.resize(std::max<size_t>(commit_memory_.size(), workers));
    worker.front = std::make_unique<Front>(front, worker.back.get(), &worker.sessions,
                                           commit_memory_[w].make(Front::commit_memory_bytes(front)), &worker.outbox);
    worker.back->set_machine(config_.switches.checkpoint_without_transactions ? nullptr : &worker.front->machine(),
                             &map_);
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

void NodeRig::carry(ShardId shard, Bytes message) {
  std::vector<std::byte> bytes(message.begin(), message.end());
  if (!break_message(&bytes)) return;
  if (!map_.is_mine(shard)) {
    if (to_node_) to_node_(map_.places[shard].node, shard, std::move(bytes));
    return;
  }
  const uint32_t worker = map_.worker_of(shard);
  deliver(worker, {}, std::move(bytes));
  workers_[worker].inbox.back()->is_own = true;
}

void NodeRig::settle(offload::Action action, uint32_t to_worker, uint32_t reply_length, Message* raw) {
  std::unique_ptr<Message> message(raw);
  switch (action) {
    case offload::Action::kDrop:
    case offload::Action::kTaken:
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

void NodeRig::step_worker(uint32_t w, TimeNs now) {
  Worker& worker = workers_[w];
  std::array<offload::Request, limits::kBurstMax> burst;
  std::array<Message*, limits::kBurstMax> messages;
  uint32_t count = 0;
  for (; count < burst.size() && !worker.inbox.empty(); ++count) {
    messages[count] = worker.inbox.front().release();
    worker.inbox.pop_front();
    Message& message = *messages[count];
    if (!break_request(worker, &message)) {
      std::unique_ptr<Message>{messages[count--]};
      continue;
    }
    burst[count] = {.message = message.bytes.data(),
                    .handle = &message,
                    .from = message.from,
                    .length = message.length,
                    .room = limits::kMessageBytesMax,
                    .is_passed = message.is_passed,
                    .is_own = message.is_own};
  }
  step_front(worker, {burst.data(), count}, now);
  break_window(worker);
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
  if (config_.switches.no_read_locks) drop_read_locks(worker);
  if (config_.switches.unlocks_by_timer) give_up_in_doubt(worker, now);
}

void NodeRig::step(TimeNs now) {
  for (uint32_t w = 0; w < worker_count(); ++w) step_worker(w, now);
  if (keeper_ != nullptr) keeper_->step(now);
}

bool NodeRig::has_messages() const {
  for (const Worker& worker : workers_) {
    if (!worker.inbox.empty()) return true;
  }
  return false;
}

bool NodeRig::has_records() const {
  for (const Worker& worker : workers_) {
    if (worker.front->held() != 0 || !worker.back->quiet()) return true;
  }
  return false;
}

uint32_t NodeRig::transactions() const {
  uint32_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.front->machine().size();
  return sum;
}

uint32_t NodeRig::undecided() const {
  uint32_t count = 0;
  for (const Worker& worker : workers_) {
    worker.front->machine().for_each(
        [&](const commit::Transaction& t) { count += !t.decided() || !t.durable || (t.coordinates() && !t.ended); });
  }
  return count;
}

commit::MachineCounters NodeRig::commit_counters() const {
  commit::MachineCounters sum;
  for (const Worker& worker : workers_) {
    const commit::MachineCounters& one = worker.front->machine().counters();
    sum.prepared += one.prepared;
    sum.asked += one.asked;
    sum.inquired += one.inquired;
    sum.promises += one.promises;
    sum.orphaned += one.orphaned;
    sum.contradictions += one.contradictions;
  }
  return sum;
}

uint32_t NodeRig::locks() const {
  uint32_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.front->machine().locks().size();
  return sum;
}

// ---- looking --------------------------------------------------------------------------------------------------------

std::vector<NodeRig::Row> NodeRig::rows() const {
  std::vector<Row> rows;
  for (size_t s = 0; s < shards_.size(); ++s) {
    uint64_t cursor = 0;
    const auto take = [&](const storage::Record& record) {
      const std::byte* const key = record.key();
      const std::byte* const value = record.value();
      rows.push_back({static_cast<ShardId>(s),
                      record.table,
                      {key, key + record.key_length},
                      {value, value + record.value_length},
                      record.version});
    };
    while (shards_[s]->scan(&cursor, 64, take)) {
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.shard, a.table, a.key) < std::tie(b.shard, b.table, b.key);
  });
  return rows;
}

std::vector<NodeRig::Entry> NodeRig::windows() const {
  std::vector<Entry> entries;
  for (uint32_t w = 0; w < worker_count(); ++w) {
    const SessionTable& table = workers_[w].sessions;
    const SessionLimits& limits = table.configured();
    for (uint32_t slot = 0; slot < table.capacity(); ++slot) {
      const Session* const session = table.at(slot);
      if (session == nullptr) continue;
      for (uint32_t i = 0; i < limits.shards * limits.window; ++i) {
        const Outcome& outcome = table.entry(session, i / limits.window, i % limits.window);
        const uint64_t shard = i / limits.window * worker_count() + w;
        if (outcome.key != 0) entries.push_back({session->id, shard, outcome.key, outcome.version});
      }
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
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
