// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/log/log_node.h"

#include "host/log/tbb_parallel_for.h"

namespace txnic::test {

using log::RecordHeader;
using log::RecordType;

uint32_t write_record(std::byte* at, RecordType type, uint16_t shard, Version version, SessionId session,
                      uint64_t sequence, std::span<const std::pair<uint64_t, uint64_t>> writes, uint32_t value_bytes) {
  const uint32_t each = log::write_bytes(8, value_bytes);
  const auto length = static_cast<uint32_t>(sizeof(RecordHeader) + writes.size() * each);
  if (at == nullptr) return length;
  std::memset(at, 0, length);
  RecordHeader header{};
  header.length = length;
  header.type = static_cast<uint8_t>(type);
  header.write_count = static_cast<uint8_t>(writes.size());
  header.shard = shard;
  header.version = version;
  header.session = session;
  header.sequence = sequence;
  header.watermark = 1;
  store(at, header);
  std::byte* body = at + sizeof header;
  for (const auto& [key, number] : writes) {
    log::WriteHeader write{};
    write.key_length = 8;
    write.value_length = static_cast<uint16_t>(value_bytes);
    store(body, write);
    store(body + sizeof write, key);
    store(body + sizeof write + 8, number);
    body += each;
  }
  return length;
}

bool LogNode::start() {
  uint32_t incarnation = 0;
  if (!log::next_incarnation(disk_, &incarnation, &error)) return false;
  ModelSink sink(shards());
  log::RecoveryOptions options;
  options.shard_count = shards();
  options.memory_bytes = 1 << 20;
  report = log::recover(disk_, options, &sink);
  error = report.error;
  if (!report.ok) return false;
  judge(sink);
  log::KeeperConfig config;
  config.shard_count = shards();
  config.worker_count = config_.workers;
  config.segment_bytes = config_.segment_bytes;
  config.part_buffer_bytes = 16 << 10;
  config.checkpoint_log_bytes = config_.checkpoint_log_bytes;
  config.keeps_front_incarnation = config_.keeps_front_incarnation;
  config.random = [state = config_.random_seed * 0x9e3779b97f4a7c15ull + incarnation]() mutable {
    state += 0x9e3779b97f4a7c15ull;
    return (state ^ (state >> 31)) * 0xbf58476d1ce4e5b9ull;
  };
  keeper_ = std::make_unique<log::Keeper>(disk_, config);
  if (!keeper_->start(report, &error)) return false;
  EXPECT_EQ(keeper_->incarnation(), incarnation);
  // From here on a commit that recovery brought back is as good as acknowledged.
  for (uint32_t shard = 0; shard < shards(); ++shard) {
    const uint64_t survived = sink.states[shard].rows[kLast];
    history_[shard] = {survived, survived};
  }
  states = std::move(sink.states);
  workers_.resize(config_.workers);
  for (uint32_t i = 0; i < config_.workers; ++i) {
    log::WorkerLogConfig worker;
    worker.worker = i;
    worker.durability = config_.durability;
    worker.group_bytes = config_.group_bytes;
    worker.mark_delay_ns = config_.mark_delay_ns;
    workers_[i].log = std::make_unique<log::WorkerLog>(worker, keeper_.get(), incarnation);
    for (uint32_t shard = i; shard < shards(); shard += config_.workers) workers_[i].shards.push_back(shard);
  }
  return true;
}

void LogNode::judge(const ModelSink& sink) {
  for (uint32_t shard = 0; shard < shards(); ++shard) {
    std::map<uint64_t, uint64_t> rows = sink.states[shard].rows;
    const uint64_t last = rows[kLast];
    EXPECT_GE(last, history_[shard].acknowledged) << "shard " << shard << ": an acknowledged commit was lost";
    EXPECT_LE(last, history_[shard].appended) << "shard " << shard << ": a commit was invented";
    rows.erase(kLast);
    std::map<uint64_t, uint64_t> expected;
    for (uint64_t n = last > kKeys ? last - kKeys + 1 : 1; n <= last; ++n) expected[n % kKeys] = n;
    EXPECT_EQ(rows, expected) << "shard " << shard << ": not the prefix of " << last << " commits";
    EXPECT_EQ(sink.states[shard].outcome, last) << "shard " << shard << ": outcomes differ from commits";
  }
}

bool LogNode::commit(uint32_t shard) {
  Worker& worker = workers_[shard % config_.workers];
  ShardHistory& history = history_[shard];
  const uint64_t number = history.appended + 1;
  const std::array<std::pair<uint64_t, uint64_t>, 2> writes{{{number % kKeys, number}, {kLast, number}}};
  const Version version = first_version(keeper_->incarnation()) + number;
  const auto id = static_cast<uint16_t>(shard);
  const uint32_t length =
      write_record(nullptr, RecordType::kCommit, id, version, 7, number, writes, config_.value_bytes);
  std::byte* at = worker.log->reserve(length);
  if (at == nullptr) return false;
  write_record(at, RecordType::kCommit, id, version, 7, number, writes, config_.value_bytes);
  worker.pending.push_back({worker.log->append(length), shard, number});
  history.appended = number;
  ShardState& state = states[shard];
  for (const auto& [key, value] : writes) state.rows[key] = value;
  state.outcome = number;
  state.shard_version = version;
  return true;
}

bool LogNode::transact(uint32_t shard, RecordType type, Sequence sequence) {
  const uint64_t key = 5000;
  std::array<std::byte, 24> redo{};
  (void)log::lay_write(redo.data(), 1, false, reinterpret_cast<const std::byte*>(&key), 8,
                       reinterpret_cast<const std::byte*>(&sequence), 8);
  const commit::Lock lock{key, true};
  log::TransactionEntry entry;
  entry.type = type;
  entry.id = {9, sequence};
  entry.participants.count = 2;
  entry.participants.shards = {static_cast<ShardId>(shard), 100};
  if (type == RecordType::kAbort) entry.result = Result::kConflict;
  if (type == RecordType::kPrepare) entry.locks = {&lock, 1}, entry.redo = redo;
  const uint32_t bytes = log::transaction_bytes(entry);
  log::WorkerLog& log = *workers_[shard % config_.workers].log;
  std::byte* at = log.reserve(bytes);
  if (at == nullptr) return false;
  log::lay_transaction(entry, static_cast<ShardId>(shard), at);
  log.append(bytes);
  return true;
}

bool LogNode::open_session(uint32_t worker, SessionId session, Stamp stamp) {
  RecordHeader header{};
  header.length = sizeof header + sizeof(log::SessionBody);
  header.type = static_cast<uint8_t>(RecordType::kSessionOpen);
  header.shard = log::kNoShard;
  header.session = session;
  std::byte* at = log(worker).reserve(header.length);
  if (at == nullptr) return false;
  store(at, header);
  store(at + sizeof header, log::SessionBody{stamp, 0x0a000001, 99, 0});
  log(worker).append(header.length);
  return true;
}

void LogNode::acknowledge(Worker& worker) {
  while (!worker.pending.empty() && worker.pending.front().lsn <= worker.log->durable()) {
    history_[worker.pending.front().shard].acknowledged = worker.pending.front().number;
    worker.pending.pop_front();
  }
}

// One record of the part: rows of one shard after the other, then its outcome and version. The rows are read when
// they are written, while commits go on: the checkpoint is fuzzy.
bool LogNode::write_part_record(Worker& worker, log::CheckpointWriter* part) {
  const uint32_t shard = worker.shards[worker.scan_shard];
  const ShardState& state = states[shard];
  const auto id = static_cast<uint16_t>(shard);
  const auto row = state.rows.lower_bound(worker.scan_key);
  if (row != state.rows.end()) {
    const std::array<std::pair<uint64_t, uint64_t>, 1> writes{{{row->first, row->second}}};
    std::byte* at = part->reserve(write_record(nullptr, RecordType::kRow, id, 1, 0, 0, writes));
    if (at == nullptr) return false;
    part->append(write_record(at, RecordType::kRow, id, 1, 0, 0, writes));
    worker.scan_key = row->first + 1;
    return true;
  }
  std::byte* at = part->reserve(sizeof(RecordHeader));
  if (at == nullptr) return false;
  part->append(write_record(at, RecordType::kOutcome, id, state.shard_version, 7, state.outcome << 16, {}));
  worker.scan_key = 0;
  ++worker.scan_shard;
  return true;
}

void LogNode::write_part(Worker& worker, log::CheckpointWriter* part) {
  for (uint32_t i = 0; i < config_.checkpoint_rows_per_step && worker.scan_shard < worker.shards.size(); ++i) {
    if (!write_part_record(worker, part)) break;
  }
  if (worker.scan_shard == worker.shards.size() && !worker.finished_part) {
    part->finish(worker.log->end());
    worker.finished_part = true;
  }
  part->poll();
}

void LogNode::worker_step(uint32_t index) {
  Worker& worker = workers_[index];
  worker.log->poll(now_);
  acknowledge(worker);
  if (log::CheckpointWriter* part = keeper_->part(index); part != nullptr) {
    write_part(worker, part);
  } else if (keeper_->part_offered(index)) {
    keeper_->start_part(index, *worker.log);
    worker.scan_shard = 0;
    worker.scan_key = 0;
    worker.finished_part = false;
  }
}

void LogNode::step(TimeNs nanoseconds) {
  now_ += nanoseconds;
  for (uint32_t i = 0; i < config_.workers; ++i) worker_step(i);
  keeper_->step(now_);
}

bool LogNode::settle(uint32_t steps_max) {
  for (uint32_t i = 0; i < steps_max; ++i) {
    bool quiet = true;
    for (const Worker& worker : workers_) quiet &= worker.log->quiet();
    if (quiet) return true;
    step();
  }
  return false;
}

bool LogNode::close(uint32_t steps_max) {
  for (Worker& worker : workers_) worker.log->begin_close();
  for (uint32_t i = 0; i < steps_max; ++i) {
    bool closed = true;
    for (const Worker& worker : workers_) closed &= worker.log->closed();
    if (closed) return true;
    step();
  }
  return false;
}

bool LogNode::checkpoint(uint32_t steps_max) {
  if (!keeper_->begin_checkpoint()) return false;
  for (uint32_t i = 0; i < steps_max; ++i) {
    step();
    if (!keeper_->checkpoint_running()) return true;
  }
  return false;
}

bool LogNode::failed() const {
  for (const Worker& worker : workers_) {
    if (worker.log->state() == log::LogState::kFailed) return true;
  }
  return keeper_->failed();
}

}  // namespace txnic::test
