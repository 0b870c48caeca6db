// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/client/model_node.h"

#include <algorithm>

#include "txn/hash.h"
#include "txn/wire/map.h"

namespace txnic::client::test {

void ModelNode::restart(bool keep_windows) {
  incarnation_ = static_cast<uint32_t>(random_() | 1);
  openings_ = 0;
  if (!keep_windows) sessions_.clear();
  for (auto& [id, session] : sessions_) {
    session.stamp = 0;
    std::erase_if(session.outcomes, [](const auto& entry) { return entry.second.result != Result::kCommitted; });
  }
}

std::optional<std::string> ModelNode::value(TableId table, const std::string& key) const {
  const auto found = store_->records.find({table, key});
  if (found == store_->records.end() || !found->second.present) return std::nullopt;
  return found->second.value;
}

std::optional<Message> ModelNode::handle(const std::byte* message, uint32_t length) {
  wire::Header h;
  const wire::ParseError error = wire::parse_request_header(message, length, &h);
  if (error != wire::ParseError::kNone) return std::nullopt;
  const std::lock_guard lock(store_->mutex);
  switch (static_cast<wire::Type>(h.type)) {
    case wire::Type::kOpen: return open(h, message);
    case wire::Type::kClose: return close(h);
    case wire::Type::kExecute: return execute(h, message);
    case wire::Type::kPrepare: return prepare(h, message);
    case wire::Type::kMap: return tell_map(h);
    default: return std::nullopt;
  }
}

std::optional<Message> ModelNode::open(const wire::Header& h, const std::byte* message) {
  const auto cookie = static_cast<uint8_t>(incarnation_ % 255 + 1);
  if (message[wire::kHeaderBytes] != std::byte{cookie}) return challenge(h.session, h.sequence, cookie);
  const auto unknown = [&h] {
    return reply_message(wire::Type::kOpened, h.session, h.sequence, h.stamp, Result::kBadSession,
                         static_cast<uint8_t>(BadSessionReason::kUnknown), 0);
  };
  auto found = sessions_.find(h.session);
  const bool opened_now =
      found != sessions_.end() && stamp_incarnation(found->second.stamp) == incarnation_;
  if (opened_now && h.sequence < found->second.attempt) return std::nullopt;
  const bool same = opened_now && h.sequence == found->second.attempt;
  if (found != sessions_.end() && found->second.half_open && (same || h.stamp != 0)) return unknown();
  if (h.stamp == 0 && !same) {
    sessions_.erase(h.session);
    found = sessions_.emplace(h.session, Session{}).first;
    found->second.half_open = chance(options_.opening_loss_per_mille);
  }
  if (found == sessions_.end()) return unknown();
  Session& session = found->second;
  if (!same) session.stamp = make_stamp(incarnation_, ++openings_);
  session.attempt = h.sequence;
  if (session.half_open) return std::nullopt;
  Opening opening;
  opening.stamp = session.stamp;
  opening.shards = options_.shards;
  opening.workers = options_.workers;
  opening.window = options_.window;
  opening.survived = same || h.stamp != 0;
  if (store_->map) opening.map_epoch = store_->map->epoch;
  Message reply = opened(h.session, h.sequence, opening);
  auto body = load<wire::OpenedBody>(reply.data() + wire::kHeaderBytes);
  body.base_port = options_.base_port;
  store(reply.data() + wire::kHeaderBytes, body);
  return reply;
}

Message ModelNode::close(const wire::Header& h) {
  const auto found = sessions_.find(h.session);
  const bool known = found != sessions_.end() && found->second.stamp == h.stamp;
  if (known) sessions_.erase(found);
  return reply_message(wire::Type::kClosed, h.session, h.sequence, h.stamp,
                       known ? Result::kCommitted : Result::kBadSession, known ? 0 : 1, 0);
}

Message ModelNode::answer(const wire::Header& h, Result result, uint8_t detail, Version version,
                          const std::vector<ReplyValue>& values, uint8_t flags) {
  const Stamp stamp = result == Result::kBadSession ? make_stamp(incarnation_, 0) : h.stamp;
  return executed(h.session, h.sequence, stamp, result, detail, version, values, flags);
}

Message ModelNode::tell_map(const wire::Header& h) const {
  const auto found = sessions_.find(h.session);
  if (found == sessions_.end() || found->second.stamp != h.stamp || !store_->map) {
    return reply_message(wire::Type::kMapped, h.session, h.sequence, make_stamp(incarnation_, 0), Result::kBadSession,
                         static_cast<uint8_t>(BadSessionReason::kUnknown), 0);
  }
  Message m(limits::kMessageBytesMax);
  m.resize(wire::build_mapped(*store_->map, h, m));
  return m;
}

bool ModelNode::has_shard(ShardId shard) const {
  if (!store_->map) return shard < options_.shards;
  return shard < store_->map->shard_count &&
         store_->map->nodes[store_->map->places[shard].node].base.port == options_.base_port;
}

Message ModelNode::refuse(const wire::Header& h, Result result, uint8_t detail) {
  if (h.type == static_cast<uint8_t>(wire::Type::kExecute)) return answer(h, result, detail);
  const Stamp stamp = result == Result::kBadSession ? make_stamp(incarnation_, 0) : h.stamp;
  Message m = reply_message(wire::Type::kPrepared, h.session, h.sequence, stamp, result, detail, 0);
  store(m.data() + offsetof(wire::Header, shard), h.shard);
  return m;
}

std::optional<Message> ModelNode::admit(const wire::Header& h) {
  const auto found = sessions_.find(h.session);
  if (found == sessions_.end() || found->second.half_open) {
    return refuse(h, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kUnknown));
  }
  Session& session = found->second;
  if (session.stamp != h.stamp) {
    return refuse(h, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kOldStamp));
  }
  const Sequence watermark = h.watermark_lag >= h.sequence ? 1 : h.sequence - h.watermark_lag;
  session.watermark = std::max(session.watermark, watermark);
  session.outcomes.erase(session.outcomes.begin(), session.outcomes.lower_bound(session.watermark));
  if (h.sequence < session.watermark) return refuse(h, Result::kOldSequence);
  if (h.sequence >= session.watermark + options_.window) {
    return refuse(h, Result::kBusy, static_cast<uint8_t>(BusyReason::kWindow));
  }
  return std::nullopt;
}

std::optional<Message> ModelNode::prepare(const wire::Header& h, const std::byte* message) {
  if (!has_shard(h.shard)) return refuse(h, Result::kWrongShard);
  wire::Operation operations[limits::kOperationsMax];
  Participants participants;
  const wire::ParseError error = wire::parse_prepare(message, h, &participants, operations);
  if (error != wire::ParseError::kNone) return refuse(h, Result::kBadRequest, static_cast<uint8_t>(error));
  for (uint8_t i = 0; i < h.operation_count; ++i) {
    if (shard_of(operations[i].key_hash, shard_count()) != h.shard) return refuse(h, Result::kCrossShard, i);
  }
  if (auto refusal = admit(h)) return refusal;
  const Id id{h.session, h.sequence};
  if (const auto known = store_->decided.find(id); known != store_->decided.end()) {
    if (h.shard != participants.coordinator()) return std::nullopt;
    Message m = refuse(h, known->second.result, known->second.detail);
    m[offsetof(wire::Header, flags)] = std::byte{wire::kReplyFlagDecided | wire::kReplyFlagDuplicate};
    return m;
  }
  std::map<ShardId, Message>& parts = store_->prepares[id];
  parts[h.shard] = {message, message + h.length};
  if (parts.size() != participants.count) return std::nullopt;
  Message m = decide(h, participants, parts);
  store_->prepares.erase(id);
  return m;
}

Message ModelNode::decide(const wire::Header& h, const Participants& participants, std::map<ShardId, Message>& parts) {
  std::map<Key, Record> after;
  std::array<Version, limits::kParticipantsMax> versions{};
  std::vector<std::pair<uint8_t, ReplyValue>> values;
  Outcome outcome;
  if (store_->locked != 0) {
    --store_->locked;
    outcome = {Result::kLocked, 0, 0};
  }
  for (uint32_t place = 0; place < participants.count && outcome.result == Result::kCommitted; ++place) {
    const Message& part = parts[participants.shards[place]];
    const wire::Header header = wire::read_header(part.data());
    wire::Operation operations[limits::kOperationsMax];
    Participants list;
    wire::parse_prepare(part.data(), header, &list, operations);
    std::vector<ReplyValue> own;
    outcome = run(operations, header.operation_count, &after, &own);
    for (ReplyValue& value : own) values.emplace_back(static_cast<uint8_t>(place), std::move(value));
    const bool writes = std::any_of(operations, operations + header.operation_count,
                                    [](const wire::Operation& op) { return wire::code_writes(op.code); });
    if (writes) versions[place] = store_->version + 1;
  }
  const Id id{h.session, h.sequence};
  store_->decided[id] = outcome;
  if (outcome.result != Result::kCommitted) {
    Message m = refuse(h, outcome.result, outcome.detail);
    store(m.data() + offsetof(wire::Header, shard), participants.coordinator());
    m[offsetof(wire::Header, flags)] = std::byte{wire::kReplyFlagDecided};
    return m;
  }
  ++store_->version;
  ++store_->executions[id];
  for (auto& [key, record] : after) store_->records[key] = record;
  Message m(wire::prepared_fixed_bytes(participants.count));
  wire::begin_prepared(m.data(), {h.session, h.sequence}, h.stamp, participants, versions.data());
  for (const auto& [place, v] : values) append_value(m, v, place);
  wire::finish_prepared(m.data(), static_cast<uint32_t>(m.size()), static_cast<uint32_t>(values.size()));
  return m;
}

Message ModelNode::execute(const wire::Header& h, const std::byte* message) {
  if (!has_shard(h.shard)) return answer(h, Result::kWrongShard);
  wire::Operation operations[limits::kOperationsMax];
  const wire::ParseError error = wire::parse_operations(message, h, operations);
  if (error != wire::ParseError::kNone) return answer(h, Result::kBadRequest, static_cast<uint8_t>(error));
  for (uint8_t i = 0; i < h.operation_count; ++i) {
    if (shard_of(operations[i].key_hash, shard_count()) != h.shard) return answer(h, Result::kCrossShard, i);
    if (operations[i].table > 9) return answer(h, Result::kUnknownTable, i);
  }
  if (auto refusal = admit(h)) return *refusal;
  Session& session = sessions_.at(h.session);
  if (const auto known = session.outcomes.find(h.sequence); known != session.outcomes.end()) {
    const Outcome& o = known->second;
    return answer(h, o.result, o.detail, o.version, {}, wire::kReplyFlagDuplicate);
  }
  if (chance(options_.busy_per_mille)) {
    return answer(h, Result::kBusy, static_cast<uint8_t>(BusyReason::kLogFull));
  }
  const bool writes = std::any_of(operations, operations + h.operation_count,
                                  [](const wire::Operation& op) { return wire::code_writes(op.code); });
  std::map<Key, Record> after;
  std::vector<ReplyValue> values;
  Outcome outcome = run(operations, h.operation_count, &after, &values);
  if (outcome.result == Result::kCommitted && writes && chance(options_.abort_per_mille)) {
    outcome = {Result::kCheckFailed, 0, 0};
  }
  if (outcome.result == Result::kCommitted && writes) {
    ++store_->version;
    ++store_->executions[{h.session, h.sequence}];
    outcome.version = store_->version;
    for (auto& [key, record] : after) store_->records[key] = record;
  }
  if (writes && is_recorded(outcome.result)) session.outcomes[h.sequence] = outcome;
  if (outcome.result != Result::kCommitted) values.clear();
  return answer(h, outcome.result, outcome.detail, outcome.version, values);
}

ModelNode::Outcome ModelNode::run(const wire::Operation* operations, uint32_t count, std::map<Key, Record>* after,
                                  std::vector<ReplyValue>* values) {
  for (uint8_t i = 0; i < count; ++i) {
    const wire::Operation& op = operations[i];
    const Key key{op.table, std::string(reinterpret_cast<const char*>(op.key), op.key_length)};
    const Record before = store_->records.contains(key) ? store_->records[key] : Record{};
    Record now = after->contains(key) ? (*after)[key] : before;
    const Outcome outcome = apply(op, i, before, &now, values);
    if (outcome.result != Result::kCommitted) return outcome;
    if (wire::code_writes(op.code)) (*after)[key] = now;
  }
  return {};
}

ModelNode::Outcome ModelNode::apply(const wire::Operation& op, uint8_t index, const Record& before, Record* record,
                                    std::vector<ReplyValue>* values) const {
  const auto code = static_cast<wire::Code>(op.code);
  if (code == wire::Code::kCheck || (op.flags & wire::kExpectVersion) != 0) {
    const bool absent = (op.flags & wire::kExpectAbsent) != 0;
    const bool conflict = code != wire::Code::kCheck || (op.flags & wire::kReadSet) != 0;
    if (before.present == absent || before.version != op.expected_version) {
      return {conflict ? Result::kConflict : Result::kCheckFailed, index, 0};
    }
  }
  const std::string value(reinterpret_cast<const char*>(op.value), op.value_length);
  switch (code) {
    case wire::Code::kGet:
      values->push_back({index, record->present, record->version, record->present ? record->value : ""});
      return {};
    case wire::Code::kInsert:
      if (record->present) return {Result::kExists, index, 0};
      [[fallthrough]];
    case wire::Code::kPut: *record = {value, store_->version + 1, true}; return {};
    case wire::Code::kDelete:
      if (!record->present) return {Result::kNotFound, index, 0};
      *record = {"", store_->version + 1, false};
      return {};
    case wire::Code::kAdd: {
      if (!record->present) return {Result::kNotFound, index, 0};
      if (record->value.size() != 8) return {Result::kTooLarge, index, 0};
      const int64_t sum = load<int64_t>(record->value.data()) + load<int64_t>(op.value);
      if ((op.flags & wire::kHasFloor) != 0 && sum < load<int64_t>(op.value + 8)) {
        return {Result::kBelowFloor, index, 0};
      }
      std::string bytes(8, '\0');
      store(bytes.data(), sum);
      *record = {bytes, store_->version + 1, true};
      values->push_back({index, true, store_->version + 1, bytes});
      return {};
    }
    default: return {};
  }
}

}  // namespace txnic::client::test
