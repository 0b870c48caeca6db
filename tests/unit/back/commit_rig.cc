// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/back/commit_rig.h"

#include <stdexcept>

#include "txn/hash.h"

namespace txnic::test {
namespace {

uint64_t hash_of(uint64_t key) { return table_hash(hash_key8(key), kRigTable); }

// A key belongs to one shard: tests name them from 0 in each.
uint64_t key_in(ShardId shard, uint64_t key) { return uint64_t{shard} << 32 | key; }

}  // namespace

Participants CommitRig::participants() {
  Participants all;
  all.count = kRigShards;
  for (ShardId shard = 0; shard < kRigShards; ++shard) all.shards[shard] = in_cluster(shard);
  return all;
}

void CommitRig::die() {
  workers_.clear();  // the logs before the keeper that gives them segments
  keeper_.reset();
  shards_.clear();
  messages_.clear();
}

bool CommitRig::start(uint32_t workers, TimeNs now) {
  now_ = now;
  if (!log::next_incarnation(*disk_, &incarnation_, &error)) return false;
  const storage::Table table{kRigTable, capacity};
  shard_memory_.resize(kRigShards);
  for (uint32_t s = 0; s < kRigShards; ++s) {
    shards_.push_back(std::make_unique<storage::Shard>());
    if (!shards_[s]->init(bytes_of(shard_memory_[s], 256 << 10), {&table, 1}, 0, first_version(incarnation_)))
      return false;
  }
  for (uint32_t w = 0; w < workers; ++w) workers_.push_back(std::make_unique<Worker>());
  // Every other shard of the cluster is another node's.
  map_ = ShardMap{};
  map_.self = 1;
  map_.node_count = 2;
  map_.shard_count = 0;
  map_.nodes[1].workers = static_cast<uint16_t>(workers);
  for (uint32_t i = 0; i < 2 * kRigShards; ++i) map_.add_shard(i % 2);
  if (!recover(now)) {
    die();
    return false;
  }
  for (auto& worker : workers_) {
    if (worker->sessions.find(kRigSession) == nullptr && !open_session(*worker)) return false;
  }
  return true;
}

bool CommitRig::recover(TimeNs now) {
  std::vector<storage::Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  back::RecoveredState state(shards, kRigWindow);
  log::RecoveryOptions options;
  options.shard_count = kRigShards;
  options.memory_bytes = 1 << 20;
  log::RecoveryReport report = log::recover(*disk_, options, &state);
  error = report.error + state.why_stopped();
  if (!report.ok) return false;
  log::KeeperConfig keeper;
  keeper.shard_count = kRigShards;
  keeper.worker_count = worker_count();
  keeper.segment_bytes = 64 << 10;
  keeper.part_buffer_bytes = 16 << 10;
  keeper.random = [n = uint64_t{incarnation_}]() mutable { return n = n * 6364136223846793005ull + 1442695ull; };
  keeper_ = std::make_unique<log::Keeper>(*disk_, keeper);
  if (!keeper_->start(report, &error)) return false;
  for (uint32_t w = 0; w < worker_count(); ++w) {
    Worker& worker = *workers_[w];
    build(worker, w, state.room_to_restore(w, worker_count()));
    error = state.fill(w, worker_count(), now, &worker.sessions);
    if (error.empty()) error = state.restore(w, worker_count(), now, worker.back.get(), &worker.machine);
    if (!error.empty()) return false;
    worker.machine.for_each([&](const commit::Transaction& t) {
      ++(t.state == commit::State::kPrepared ? restored_prepared : restored_decided);
    });
  }
  return true;
}

void CommitRig::build(Worker& worker, uint32_t index, const back::RecoveredState::Room& kept) {
  worker.rig = this;
  std::vector<storage::Shard*> shards;
  for (uint32_t s = index; s < kRigShards; s += worker_count()) shards.push_back(shards_[s].get());
  const SessionLimits limits{
      .sessions = 4, .window = kRigWindow, .shards = std::max(static_cast<uint32_t>(shards.size()), 1u)};
  worker.sessions.init(limits, bytes_of(worker.session_memory, SessionTable::memory_bytes(limits)));
  log::WorkerLogConfig log;
  log.worker = index;
  log.group_bytes = 16 << 10;
  log.durability = durability;
  log.async_delay_ns = 10;
  worker.log = std::make_unique<log::WorkerLog>(log, keeper_.get(), incarnation_);
  const back::HostBackConfig back{index, worker_count(), durability, first_version(incarnation_)};
  const storage::Table table{kRigTable, capacity};
  worker.back = std::make_unique<back::HostBack>(back, std::span(&table, 1), shards, worker.log.get(), keeper_.get(),
                                                 &worker.sessions);
  commit::MachineConfig machine;
  machine.incarnation = incarnation_;
  machine.transactions = transactions_max + kept.transactions;
  machine.locks = locks_max + kept.locks;
  machine.ask_delay_ns = 40;
  machine.ask_delay_max_ns = 200;
  machine.vote_keep_ns = 2000;
  machine.timer_pause_ns = 0;
  worker.machine.init(machine, bytes_of(worker.machine_memory, commit::Machine::memory_bytes(machine)), &worker);
  worker.back->set_machine(&worker.machine, &map_);
}

bool CommitRig::open_session(Worker& worker) {
  worker.sessions.insert(kRigSession)->stamp = 1;
  return worker.back->log_session_open(kRigSession, {}, 1, 1);
}

void CommitRig::step(TimeNs now, uint32_t losses) {
  now_ = now;
  for (auto& worker : workers_) {
    worker->back->poll(now);
    worker->machine.on_durable(worker->back->durable(), now);
    for (uint32_t i = 0; i < 4; ++i) worker->machine.on_timer(now);
  }
  keeper_->step(now);
  for (size_t count = messages_.size(); count != 0 && random_() % 4 != 0; --count) {
    std::swap(messages_[random_() % messages_.size()], messages_.front());
    const std::vector<std::byte> bytes = std::move(messages_.front());
    messages_.pop_front();
    wire::CommitMessage m;
    if (wire::parse_commit_message(bytes.data(), static_cast<uint32_t>(bytes.size()), &m) != wire::ParseError::kNone) {
      throw std::logic_error("the machine sent a message that does not parse");
    }
    if (random_() % 100 >= losses) workers_[map_.worker_of(m.shard)]->machine.on_message(m, now);
  }
}

// ---- what a front does

// The pointers lead into `writes`.
std::vector<offload::Write> CommitRig::evaluate(Worker& worker, ShardId shard, std::span<RigWrite> writes) {
  std::vector<offload::Write> result;
  for (RigWrite& write : writes) {
    const auto* const key = reinterpret_cast<const std::byte*>(&write.key);
    const uint64_t hash = hash_of(write.key);
    const offload::Found found = worker.back->find(worker.local(shard), kRigTable, key, 8, hash);
    if (write.is_delete && !found.present()) continue;
    if (write.is_add && found.present()) write.value += load<uint64_t>(found.value);
    result.push_back({key, reinterpret_cast<const std::byte*>(&write.value), hash, found.handle, kRigTable,
                      static_cast<uint16_t>(write.is_delete ? 0 : 8), 8, write.is_delete});
  }
  return result;
}

void CommitRig::prepare(Sequence sequence, Sequence watermark, ShardId shard, std::span<const RigWrite> writes,
                        bool says_no) {
  Worker& worker = worker_of(shard);
  const TransactionId id{kRigSession, sequence};
  Session* const session = worker.sessions.find(kRigSession);
  session->watermark = std::max(session->watermark, watermark);
  if (sequence < session->watermark) return;
  const Outcome& outcome = worker.sessions.entry(session, worker.local(shard), sequence);
  if (outcome.key != 0 && outcome.sequence() != sequence &&
      worker.machine.knows({kRigSession, outcome.sequence()}, in_cluster(shard))) {
    return;  // BUSY
  }
  commit::Client client;
  client.from = {1, 1};
  const commit::PrepareAnswer seen = worker.machine.seen(id, in_cluster(shard), participants(), client, now_);
  if (seen == commit::PrepareAnswer::kFinished && shard == 0) told_(sequence, outcome.result());
  if (seen != commit::PrepareAnswer::kNew) return;
  commit::PrepareRequest request;
  request.id = id;
  request.shard = in_cluster(shard);
  request.participants = participants();
  request.client = client;
  std::vector<RigWrite> own(writes.begin(), writes.end());
  for (RigWrite& write : own) write.key = key_in(shard, write.key);
  const std::vector<offload::Write> evaluated = evaluate(worker, shard, own);
  std::vector<std::byte> redo(limits::kPreparedBytesMax);
  redo.resize(worker.back->encode_redo(evaluated, redo));
  std::vector<commit::Lock> locks;
  for (const RigWrite& write : own) locks.push_back({hash_of(write.key), true});
  for (const commit::Lock& lock : locks) {
    if (worker.machine.locks().is_locked(lock.key)) request.verdict = Result::kLocked;
  }
  if (says_no) request.verdict = Result::kCheckFailed;
  const bool aside = request.verdict == Result::kCommitted && worker.back->set_aside(worker.local(shard), redo);
  if (!aside && request.verdict == Result::kCommitted) return;  // BUSY
  request.locks = locks;
  request.redo = redo;
  if (aside) request.version = worker.back->take_version(worker.local(shard));
  const uint64_t before = worker.machine.counters().prepared;
  worker.machine.prepare(request, now_);
  if (aside && worker.machine.counters().prepared == before) worker.back->give_back(worker.local(shard), redo);
}

Lsn CommitRig::write_one(ShardId shard, const RigWrite& write) {
  Worker& worker = worker_of(shard);
  RigWrite own = write;
  own.key = key_in(shard, write.key);
  if (worker.machine.locks().is_locked(hash_of(own.key))) return 0;
  const std::vector<offload::Write> writes = evaluate(worker, shard, {&own, 1});
  if (writes.empty()) return worker.back->dependency_on_all();
  const offload::CommitRequest request{0, 0, 0, true, worker.local(shard), writes};
  if (worker.back->can_commit(request) != BusyReason::kNone) return 0;
  worker.back->commit(request);
  return worker.back->dependency_on_all();
}

bool CommitRig::Worker::append(commit::Record record, const commit::Transaction& t, Lsn* lsn) {
  const Session* const session = sessions.find(t.id.session);
  const offload::TransactionRecord entry{record, &t, local_of(t), session != nullptr,
                                         session == nullptr ? 0 : session->watermark};
  return back->log_transaction(entry, lsn);
}

void CommitRig::Worker::send(const wire::CommitMessage& m) {
  std::vector<std::byte> bytes(limits::kMessageBytesMax);
  bytes.resize(wire::build_commit_message(m, bytes));
  rig->messages_.push_back(std::move(bytes));
}

void CommitRig::Worker::answer(const commit::Transaction& t) {
  // A commit is told before its record is appended, while it is still prepared.
  rig->told_(t.id.sequence, t.state == commit::State::kCommitted ? Result::kCommitted : t.result);
}

void CommitRig::Worker::apply(const commit::Transaction& t) { back->apply(local_of(t), t.version(), t.redo()); }
void CommitRig::Worker::give_back(const commit::Transaction& t) { back->give_back(local_of(t), t.redo()); }

bool CommitRig::Worker::remember(const commit::Transaction& t) {
  Session* const session = sessions.find(t.id.session);
  if (session == nullptr) return false;
  const Result result = t.state == commit::State::kCommitted ? Result::kCommitted : t.result;
  // The client has sent it, so its watermark is higher than what stood in the entry, though we may not have heard so.
  session->watermark = std::max(session->watermark, t.id.sequence < kRigWindow ? 1 : t.id.sequence - kRigWindow + 1);
  Outcome& entry = sessions.entry(session, local_of(t), t.id.sequence);
  if (entry.key == 0 || entry.sequence() <= t.id.sequence) entry = log::outcome_of(t.id, result, t.detail, t.version());
  return true;
}

commit::Past CommitRig::Worker::past(const TransactionId& id, ShardId shard) const {
  const Session* const session = sessions.find(id.session);
  if (session == nullptr) return commit::Past::kNoSession;
  const Outcome& entry = sessions.entry(session, rig->map_.local_shard(shard), id.sequence);
  if (entry.key != 0 && entry.sequence() == id.sequence) {
    return entry.result() == Result::kCommitted ? commit::Past::kCommitted : commit::Past::kAborted;
  }
  return id.sequence < session->watermark ? commit::Past::kForgotten : commit::Past::kNothing;
}

// ---- looking

CommitRig::Rows CommitRig::rows(ShardId shard) const {
  Rows rows;
  uint64_t cursor = 0;
  shards_[shard]->scan(&cursor, ~0u, [&](const storage::Record& record) {
    rows[load<uint32_t>(record.key())] = {load<uint64_t>(record.value()), record.version};
  });
  return rows;
}

std::map<Sequence, std::pair<uint64_t, Version>> CommitRig::window(ShardId shard) const {
  std::map<Sequence, std::pair<uint64_t, Version>> window;
  const Worker& worker = worker_of(shard);
  const Session* const session = worker.sessions.find(kRigSession);
  for (uint32_t i = 0; session != nullptr && i < kRigWindow; ++i) {
    const Outcome& entry = worker.sessions.entry(session, worker.local(shard), i);
    if (entry.key != 0) window[entry.sequence()] = {entry.key, entry.version};
  }
  return window;
}

uint64_t CommitRig::refused_appends() const {
  uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->log->statistics().full;
  return sum;
}

uint32_t CommitRig::kept() const {
  uint32_t sum = 0;
  for (const auto& worker : workers_) sum += worker->machine.size();
  return sum;
}

uint32_t CommitRig::locks() const {
  uint32_t sum = 0;
  for (const auto& worker : workers_) sum += worker->machine.locks().size();
  return sum;
}

uint32_t CommitRig::prepared() const {
  uint32_t sum = 0;
  for (const auto& worker : workers_) {
    worker->machine.for_each([&](const commit::Transaction& t) { sum += t.state == commit::State::kPrepared; });
  }
  return sum;
}

bool CommitRig::holds_locks_of_prepared() const {
  bool all = true;
  for (const auto& worker : workers_) {
    worker->machine.for_each([&](const commit::Transaction& t) {
      if (t.state != commit::State::kPrepared) return;
      all = all && t.lock_count != 0;
      for (const commit::Lock& lock : t.held_locks()) all = all && worker->machine.locks().is_locked(lock.key);
    });
  }
  return all;
}

bool CommitRig::quiet() const {
  bool quiet = messages_.empty() && !keeper_->checkpoint_running();
  for (const auto& worker : workers_) quiet = quiet && worker->back->quiet();
  return quiet;
}

bool CommitRig::has_room_for_exactly(ShardId shard, uint64_t count) const {
  const auto has_room = [&](uint64_t wanted) {
    std::vector<storage::Need> needs;
    for (uint64_t i = 0; i < wanted; ++i) needs.push_back({0, 32, true, hash_of(1'000'000 + i), nullptr});
    return shards_[shard]->room(needs);
  };
  return has_room(count) && !has_room(count + 1);
}

}  // namespace txnic::test
