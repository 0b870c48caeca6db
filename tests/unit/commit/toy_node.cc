// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/commit/toy_node.h"

#include <stdexcept>

namespace txnic::test {
namespace {

// Redo and values are lists of (key, number).
void put(std::vector<std::byte>& bytes, uint64_t word) {
  bytes.resize(bytes.size() + sizeof word);
  txnic::store(bytes.data() + bytes.size() - sizeof word, word);
}

void put_value(std::vector<std::byte>& bytes, uint8_t operation, uint32_t place, Key key, uint64_t number) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(wire::ValueHeader));
  txnic::store(bytes.data() + at, wire::ValueHeader{number + 1, 8, operation, 1, static_cast<uint8_t>(place), {}});
  put(bytes, key);
}

std::vector<std::byte> copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

ToyNode::ToyNode(std::set<ShardId> shards, uint32_t transactions, Hooks hooks)
    : shards_(std::move(shards)), transactions_(transactions), hooks_(std::move(hooks)) {
  start(0);
}

void ToyNode::on_work(const Work& work, TimeNs now) {
  if (work.stamp != incarnation) return;
  Sequence& watermark = watermarks_[work.id.session];
  watermark = std::max(watermark, work.watermark);
  if (work.id.sequence < watermark) return;
  const commit::Client client{{1, 1}, work.stamp};
  takes_prepare_ = true;
  const commit::PrepareAnswer seen = machine.seen(work.id, work.shard, work.participants, client, now);
  takes_prepare_ = false;
  switch (seen) {
    case commit::PrepareAnswer::kNew: break;
    case commit::PrepareAnswer::kFinished:
      if (work.participants.coordinator() == work.shard) {
        hooks_.answer(work.id, window_.at({id_of(work.id), work.shard}), {});
      }
      return;
    default: return;
  }
  commit::PrepareRequest request{.id = work.id, .shard = work.shard, .participants = work.participants};
  request.client = client;
  if (work.fails) request.verdict = Result::kCheckFailed;
  const uint32_t place = work.participants.index_of(work.shard);
  std::vector<commit::Lock> locks;
  std::vector<std::byte> redo, values;
  for (const Key key : work.reads) {
    locks.push_back({key, false});
    put_value(values, request.value_count++, place, key, store[key]);
  }
  for (const Key key : work.adds) {
    locks.push_back({key, true});
    put_value(values, request.value_count++, place, key, store[key]);
    put(redo, key);
    put(redo, store[key] + 1);
  }
  request.locks = locks;
  request.redo = redo;
  request.values = values;
  request.version = work.adds.empty() ? 0 : 1;
  machine.prepare(request, now);
}

void ToyNode::on_bytes(const std::vector<std::byte>& bytes, TimeNs now) {
  wire::CommitMessage m;
  if (wire::parse_commit_message(bytes.data(), static_cast<uint32_t>(bytes.size()), &m) != wire::ParseError::kNone) {
    throw std::logic_error("the machine sent a message that does not parse");
  }
  machine.on_message(m, now);
}

void ToyNode::sync(size_t records, TimeNs now) {
  const size_t before = durable_;
  durable_ += std::min(records, unsynced());
  for (size_t i = before; i < durable_; ++i) hooks_.durable(log_[i]);
  machine.on_durable(base_lsn_ + durable_, now);
}

void ToyNode::crash(size_t keep, TimeNs now) {
  const size_t before = durable_;
  log_.resize(durable_ + std::min(keep, unsynced()));
  durable_ = log_.size();
  for (size_t i = before; i < durable_; ++i) hooks_.durable(log_[i]);  // nobody was told, but it counts
  ++incarnation;
  start(now);
}

void ToyNode::start(TimeNs now) {
  commit::MachineConfig config;
  config.incarnation = incarnation;
  config.transactions = transactions_;
  config.locks = 64;
  config.forgets = forgets;
  config.ask_delay_ns = 40;
  config.ask_delay_max_ns = 400;
  config.vote_keep_ns = 2000;
  config.timer_pause_ns = 0;
  memory_.assign(commit::Machine::memory_bytes(config) / 64 + 1, Line{});
  machine.init(config, {memory_.front().bytes, memory_.size() * 64}, this);
  store = base_.store;
  window_ = base_.window;
  watermarks_ = base_.watermarks;
  std::map<Place, Kept> kept = base_.kept;
  for (const LogRecord& record : log_) replay(record, kept);
  for (const auto& [place, transaction] : kept) restore(transaction, now);
}

void ToyNode::replay(const LogRecord& record, std::map<Place, Kept>& kept) {
  Kept& transaction = kept[record.place];
  transaction.last = record;
  if (record.watermark != 0) {
    Sequence& watermark = watermarks_[record.place.first.session];
    watermark = std::max(watermark, record.watermark);
  }
  switch (record.kind) {
    case Record::kPrepare: transaction.prepare = record; return;
    case Record::kEnd: transaction.ended = true; return;
    case Record::kCommit: {
      const std::vector<std::byte>& redo = transaction.prepare.value().redo;
      for (size_t at = 0; at < redo.size(); at += 16) store[load<Key>(&redo[at])] = load<uint64_t>(&redo[at + 8]);
      [[fallthrough]];
    }
    case Record::kAbort: window_[record.place] = record.kind == Record::kCommit ? Result::kCommitted : record.result;
  }
}

void ToyNode::restore(const Kept& kept, TimeNs now) {
  const LogRecord& last = kept.last;
  const bool coordinates = last.participants.coordinator() == last.place.second;
  // Over, and in a window where past() finds it. Without a session it stays a promise, also after its END.
  const bool over = last.kind == Record::kEnd || (last.kind != Record::kPrepare && !coordinates);
  if (over && watermarks_.contains(last.place.first.session) && window_.contains(last.place)) return;
  commit::Restored restored;
  restored.state = last.kind == Record::kPrepare          ? State::kPrepared
                   : last.result == Result::kCommitted ? State::kCommitted
                                                          : State::kAborted;
  restored.result = last.result;
  restored.detail = last.detail;
  restored.prepared.id = {last.place.first.session, last.place.first.sequence};
  restored.prepared.shard = last.place.second;
  restored.prepared.participants = last.participants;
  if (restored.state == State::kPrepared) {
    restored.prepared.locks = kept.prepare->locks;
    restored.prepared.redo = kept.prepare->redo;
    restored.prepared.values = kept.prepare->values;
    restored.prepared.value_count = kept.prepare->value_count;
    restored.prepared.version = kept.prepare->version;
  }
  if (!machine.restore(restored, now)) throw std::logic_error("a transaction could not be restored");
}

void ToyNode::checkpoint() {
  if (unsynced() != 0) return;
  base_lsn_ += log_.size();
  base_ = {store, window_, watermarks_, {}};
  machine.for_each([&](const Transaction& t) {
    Kept kept;
    const Record kind = t.state == State::kPrepared    ? Record::kPrepare
                        : t.ended                      ? Record::kEnd
                        : t.state == State::kCommitted ? Record::kCommit
                                                       : Record::kAbort;
    kept.last = record_of(kind, t);
    if (kind == Record::kPrepare) kept.prepare = kept.last;
    base_.kept[kept.last.place] = kept;
  });
  log_.clear();
  durable_ = 0;
}

bool ToyNode::forget(SessionId session) {
  bool is_idle = unsynced() == 0;
  machine.for_each([&](const Transaction& t) { is_idle = is_idle && t.id.session != session; });
  if (!is_idle) return false;
  for (const auto& [place, result] : window_) {
    if (place.first.session == session) expired_.insert(place);
  }
  std::erase_if(window_, [session](const auto& entry) { return entry.first.first.session == session; });
  watermarks_.erase(session);
  return true;
}

LogRecord ToyNode::record_of(Record kind, const Transaction& t) const {
  LogRecord record{};
  record.kind = kind;
  record.place = {id_of(t.id), t.shard};
  record.participants = t.participants;
  record.result = t.result;
  record.detail = t.detail;
  const auto watermark = watermarks_.find(t.id.session);
  record.watermark = watermark == watermarks_.end() ? 0 : watermark->second;
  if (kind != Record::kPrepare) return record;
  record.locks.assign(t.held_locks().begin(), t.held_locks().end());
  record.redo = copy(t.redo());
  record.values = copy(t.values_of(t.place));
  record.value_count = t.parts[t.place].value_count;
  record.version = t.version();
  return record;
}

bool ToyNode::append(Record kind, const Transaction& t, Lsn* lsn) {
  if (log_.size() >= log_limit) return false;
  log_.push_back(record_of(kind, t));
  *lsn = base_lsn_ + log_.size();
  return true;
}

void ToyNode::send(const wire::CommitMessage& m) {
  std::vector<std::byte> bytes(limits::kMessageBytesMax);
  bytes.resize(wire::build_commit_message(m, bytes));
  hooks_.send(m.shard, std::move(bytes));
}

void ToyNode::answer(const Transaction& t) {
  std::map<Key, uint64_t> read;
  for (uint32_t i = 0; t.state == State::kCommitted && i < t.participants.count; ++i) {
    const Bytes values = t.values_of(i);
    for (size_t at = 0; at < values.size(); at += sizeof(wire::ValueHeader) + 8) {
      read[load<Key>(&values[at + sizeof(wire::ValueHeader)])] = load<wire::ValueHeader>(&values[at]).version - 1;
    }
  }
  hooks_.answer(t.id, t.state == State::kCommitted ? Result::kCommitted : t.result, read);
}

void ToyNode::apply(const Transaction& t) {
  const Bytes redo = t.redo();
  for (size_t at = 0; at < redo.size(); at += 16) store[load<Key>(&redo[at])] = load<uint64_t>(&redo[at + 8]);
}

bool ToyNode::remember(const Transaction& t) {
  if (!watermarks_.contains(t.id.session)) return false;
  window_[{id_of(t.id), t.shard}] = t.state == State::kCommitted ? Result::kCommitted : t.result;
  return true;
}

Past ToyNode::past(const TransactionId& id, ShardId shard) const {
  const auto watermark = watermarks_.find(id.session);
  if (watermark != watermarks_.end() && id.sequence < watermark->second) return Past::kForgotten;
  if (!takes_prepare_ && expired_.contains({id_of(id), shard})) return Past::kForgotten;
  // Here a session is open from its first PREPARE on, whenever that comes: never kNoSession, which says that no PREPARE
  // of the session is taken.
  const auto outcome = window_.find({id_of(id), shard});
  if (watermark == watermarks_.end() || outcome == window_.end()) return Past::kNothing;
  return outcome->second == Result::kCommitted ? Past::kCommitted : Past::kAborted;
}

}  // namespace txnic::test
