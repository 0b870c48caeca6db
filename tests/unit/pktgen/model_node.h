// SPDX-License-Identifier: BSD-3-Clause
// A node as a model: std::map for the store, std::map for the exactly-once windows, one transaction after the other.
// It is a Transport, so that the generator runs against it in one thread, over a network that drops, doubles and
// reorders as a seed says, and with restarts that keep or lose what a real node would.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "pktgen/load/transport.h"
#include "pktgen/workload/random.h"
#include "txn/hash.h"
#include "txn/wire/commit.h"

namespace txnic::pktgen::test {

using RowKey = std::pair<TableId, std::vector<std::byte>>;
struct Row {
  std::vector<std::byte> value;
  Version version = 0;
};

struct Faults {
  double drop = 0, duplicate = 0, reorder = 0;
};

class ModelNode final : public Transport {
 public:
  explicit ModelNode(uint32_t shards = 1, uint32_t window = 256, uint64_t seed = 1)
      : shards_(shards), window_(window), random_(seed, 0) {}

  // ---- Transport
  void send(const std::byte* message, uint32_t length, uint32_t, uint32_t) override {
    ++statistics_.sent;
    if (is_silent() && !silent_but_executes) return;
    if (restart_every != 0 && executed >= restart_every * (restarts + 1)) restart(restart_keeps);
    const std::vector<std::byte> copy(message, message + length);
    pass(copy, [this](const std::vector<std::byte>& m) { answer(m); });
  }
  void flush() override {}
  uint32_t receive(std::span<Received> out) override {
    lent_.clear();
    uint32_t count = 0;
    while (count < out.size() && !replies_.empty()) {
      lent_.push_back(std::move(replies_.front()));
      replies_.pop_front();
      ++count;
    }
    for (uint32_t i = 0; i < count; ++i) out[i] = {lent_[i].data(), static_cast<uint32_t>(lent_[i].size())};
    statistics_.received += count;
    return count;
  }
  void wait(TimeNs) override {}
  TransportStatistics statistics() const override { return statistics_; }

  // ---- what tests do to it
  // A new incarnation. With `keeps` as after a crash in mode sync, else as in mode none.
  void restart(bool keeps) {
    ++incarnation_;
    ++restarts;
    stamps_.clear();
    replies_.clear();
    prepares_.clear();
    if (keeps) return;
    rows.clear();
    windows_.clear();
  }
  // Restarts by itself each time so many transactions have been executed; 0: never.
  uint64_t restart_every = 0;
  bool restart_keeps = true;
  uint32_t restarts = 0;

  Faults faults;
  uint64_t silent_after = 0;         // not 0: after so many executed transactions nothing is answered
  bool silent_but_executes = false;  // only the answers are lost
  uint64_t refuse_every = 0;         // every so many EXECUTEs are refused as BUSY
  bool forget_commits = false;  // broken on purpose: acknowledges writes and does not make them
  std::map<RowKey, Row> rows;
  std::map<uint8_t, uint64_t> answers;  // by result
  uint64_t executed = 0;
  uint64_t prepared = 0;    // of them over several shards
  uint64_t lock_every = 0;  // every so many of those find a lock
  Result refuse_all = Result::kCommitted;  // not kCommitted: every EXECUTE gets this

 private:
  struct Outcome {
    Result result;
    uint8_t detail;
    Version version;
  };

  template <class Deliver>
  void pass(const std::vector<std::byte>& message, Deliver deliver) {
    if (random_.unit() < faults.drop) return;
    deliver(message);
    if (random_.unit() < faults.duplicate) deliver(message);
  }
  bool is_silent() const { return silent_after != 0 && executed >= silent_after; }
  void reply(std::vector<std::byte> message) {
    if (is_silent()) return;
    pass(message, [this](const std::vector<std::byte>& m) {
      if (!replies_.empty() && random_.unit() < faults.reorder) {
        const auto at = static_cast<std::ptrdiff_t>(random_.below(replies_.size()));
        replies_.insert(replies_.begin() + at, m);
      } else {
        replies_.push_back(m);
      }
    });
  }
  static std::vector<std::byte> message_of(const wire::Header& header, size_t length) {
    std::vector<std::byte> out(length);
    wire::Header h = header;
    h.length = static_cast<uint16_t>(length);
    wire::write_header(out.data(), h);
    return out;
  }

  void answer(const std::vector<std::byte>& message) {
    wire::Header h;
    if (wire::parse_request_header(message.data(), static_cast<uint32_t>(message.size()), &h) !=
        wire::ParseError::kNone) {
      return;
    }
    switch (static_cast<wire::Type>(h.type)) {
      case wire::Type::kOpen: return open(h, message);
      case wire::Type::kClose:
        h.type = static_cast<uint8_t>(wire::Type::kClosed);
        windows_.erase(h.session);
        return reply(message_of(h, wire::kHeaderBytes));
      case wire::Type::kEcho: {
        auto copy = message;
        copy[3] = static_cast<std::byte>(wire::Type::kEchoed);
        return reply(copy);
      }
      case wire::Type::kExecute: return execute(h, message);
      case wire::Type::kPrepare: return prepare(h, message);
      default: return;
    }
  }

  void open(wire::Header h, const std::vector<std::byte>& message) {
    const std::byte cookie = message[wire::kHeaderBytes];
    if (cookie == std::byte{0}) {
      h.type = static_cast<uint8_t>(wire::Type::kChallenge);
      auto out = message_of(h, wire::kChallengeBytes);
      out[wire::kHeaderBytes] = std::byte{1};
      return reply(out);
    }
    const bool known = windows_.count(h.session) != 0;
    if (h.stamp != 0 && !known) {  // the window is lost, and nothing is opened (PROTOCOL 8.2)
      h.type = static_cast<uint8_t>(wire::Type::kOpened);
      h.result = static_cast<uint8_t>(Result::kBadSession);
      h.detail = static_cast<uint8_t>(BadSessionReason::kUnknown);
      return reply(message_of(h, wire::kHeaderBytes));
    }
    auto& opened = stamps_[h.session];
    if (opened.second != h.sequence) {
      opened = {make_stamp(incarnation_, ++openings_), h.sequence};
      if (h.stamp == 0) windows_[h.session].clear();
    }
    windows_[h.session];
    wire::OpenedBody body{};
    body.shard_count = static_cast<uint16_t>(shards_);
    body.worker_count = 1;
    body.base_port = wire::kBasePortDefault;
    body.window = window_;
    body.idle_expiry_seconds = 300;
    body.window_survived = h.stamp != 0;
    body.durability = static_cast<uint8_t>(Durability::kSync);
    h.type = static_cast<uint8_t>(wire::Type::kOpened);
    h.stamp = opened.first;
    auto out = message_of(h, wire::kOpenedBytes);
    store(out.data() + wire::kHeaderBytes, body);
    reply(out);
  }

  void refuse(wire::Header h, Result result, uint8_t detail, Stamp stamp) {
    h.type = static_cast<uint8_t>(h.type + 1);  // EXECUTED, PREPARED
    h.operation_count = 0;
    h.result = static_cast<uint8_t>(result);
    h.detail = detail;
    h.stamp = stamp;
    ++answers[h.result];
    reply(message_of(h, wire::kHeaderBytes));
  }

  void execute(wire::Header h, const std::vector<std::byte>& message) {
    const auto opened = stamps_.find(h.session);
    if (opened == stamps_.end() || opened->second.first != h.stamp) {
      return refuse(h, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kOldStamp),
                    make_stamp(incarnation_, 0));
    }
    if (refuse_every != 0 && ++refusals_ % refuse_every == 0) {
      return refuse(h, Result::kBusy, static_cast<uint8_t>(BusyReason::kMemory), h.stamp);
    }
    if (refuse_all != Result::kCommitted) return refuse(h, refuse_all, 0, h.stamp);
    auto& window = windows_[h.session];
    const Sequence watermark = h.sequence - h.watermark_lag;
    if (h.sequence >= watermark + window_) {
      return refuse(h, Result::kBusy, static_cast<uint8_t>(BusyReason::kWindow), h.stamp);
    }
    window.erase(window.begin(), window.lower_bound(watermark));
    std::vector<std::byte> values;
    uint8_t value_count = 0;
    auto known = window.find(h.sequence);
    const bool duplicate = known != window.end();
    if (!duplicate) {
      wire::Operation operations[limits::kOperationsMax];
      if (wire::parse_operations(message.data(), h, operations) != wire::ParseError::kNone) {
        return refuse(h, Result::kBadRequest, 0, h.stamp);
      }
      for (uint32_t i = 0; i < h.operation_count; ++i) {
        if (shard_of(operations[i].key_hash, shards_) != h.shard) return refuse(h, Result::kCrossShard, 0, h.stamp);
      }
      const Outcome outcome = run({operations, h.operation_count}, &values, &value_count);
      if (outcome.result == Result::kTooLarge) return refuse(h, outcome.result, 0, h.stamp);
      known = window.emplace(h.sequence, outcome).first;
      ++executed;
    }
    const Outcome& outcome = known->second;
    h.type = static_cast<uint8_t>(wire::Type::kExecuted);
    h.result = static_cast<uint8_t>(outcome.result);
    h.detail = outcome.detail;
    h.operation_count = value_count;
    h.flags = duplicate ? wire::kReplyFlagDuplicate : uint8_t{0};
    ++answers[h.result];
    auto out = message_of(h, wire::kExecutedFixedBytes + values.size());
    store(out.data() + wire::kHeaderBytes, outcome.version);
    std::copy(values.begin(), values.end(), out.begin() + wire::kExecutedFixedBytes);
    reply(out);
  }

  // A transaction over several shards happens when the last of its PREPAREs is there.
  void prepare(wire::Header h, const std::vector<std::byte>& message) {
    const auto opened = stamps_.find(h.session);
    if (opened == stamps_.end() || opened->second.first != h.stamp) {
      return refuse(h, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kOldStamp),
                    make_stamp(incarnation_, 0));
    }
    Participants participants;
    std::array<wire::Operation, limits::kOperationsMax> operations;
    if (wire::parse_prepare(message.data(), h, &participants, operations.data()) != wire::ParseError::kNone) {
      return refuse(h, Result::kBadRequest, 0, h.stamp);
    }
    auto& window = windows_[h.session];
    window.erase(window.begin(), window.lower_bound(h.sequence - h.watermark_lag));
    const auto known = window.find(h.sequence);
    if (known != window.end()) {
      if (h.shard == participants.coordinator()) tell(h, participants, known->second, {}, 0);
      return;
    }
    auto& parts = prepares_[{h.session, h.sequence}];
    parts[h.shard] = message;
    if (parts.size() < participants.count) return;
    std::vector<wire::Operation> all;
    std::vector<std::pair<uint8_t, uint8_t>> places;  // participant and its own index, of each operation
    for (uint8_t place = 0; place < participants.count; ++place) {
      const std::vector<std::byte>& part = parts[participants.shards[place]];
      const wire::Header header = wire::read_header(part.data());
      Participants same;
      wire::parse_prepare(part.data(), header, &same, operations.data());
      for (uint8_t i = 0; i < header.operation_count; ++i) {
        ASSERT_EQ(shard_of(operations[i].key_hash, shards_), header.shard);
        all.push_back(operations[i]);
        places.emplace_back(place, i);
      }
    }
    std::vector<std::byte> values;
    uint8_t value_count = 0;
    Outcome outcome{Result::kLocked, 0, 0};
    ++prepared;
    if (lock_every == 0 || prepared % lock_every != 0) outcome = run(all, &values, &value_count);
    for (size_t at = 0; at < values.size();) {
      auto value = load<wire::ValueHeader>(values.data() + at);
      std::tie(value.participant, value.operation) = places[value.operation];
      store(values.data() + at, value);
      at += sizeof value + value.value_length;
    }
    window.emplace(h.sequence, outcome);
    ++executed;
    prepares_.erase({h.session, h.sequence});
    tell(h, participants, outcome, values, value_count);
  }

  void tell(const wire::Header& h, const Participants& participants, const Outcome& outcome,
            const std::vector<std::byte>& values, uint8_t value_count) {
    ++answers[static_cast<uint8_t>(outcome.result)];
    std::array<Version, limits::kParticipantsMax> versions;
    versions.fill(outcome.version);
    std::vector<std::byte> out(wire::prepared_fixed_bytes(participants.count));
    wire::begin_prepared(out.data(), {h.session, h.sequence}, h.stamp, participants, versions.data());
    out.insert(out.end(), values.begin(), values.end());
    if (outcome.result != Result::kCommitted) out.resize(wire::kHeaderBytes);
    wire::finish_prepared(out.data(), static_cast<uint32_t>(out.size()), value_count);
    store(out.data() + offsetof(wire::Header, result), outcome.result);
    reply(out);
  }

  static RowKey key_of(const wire::Operation& op) { return {op.table, {op.key, op.key + op.key_length}}; }

  // Operations see each other's writes; nothing stays if one fails.
  Outcome run(std::span<const wire::Operation> operations, std::vector<std::byte>* values, uint8_t* value_count) {
    std::map<RowKey, Row> after = {};
    std::set<RowKey> removed, written;
    const auto find = [&](const RowKey& key) -> const Row* {
      if (removed.count(key) != 0) return nullptr;
      if (const auto own = after.find(key); own != after.end()) return &own->second;
      const auto row = rows.find(key);
      return row == rows.end() ? nullptr : &row->second;
    };
    const Version next = first_version(incarnation_) + sequence_ + 1;
    for (size_t i = 0; i < operations.size(); ++i) {
      const wire::Operation& op = operations[i];
      const RowKey key = key_of(op);
      const Row* row = find(key);
      const auto fail = [&](Result result) {
        values->clear();
        *value_count = 0;
        return Outcome{result, static_cast<uint8_t>(i), 0};
      };
      const auto code = static_cast<wire::Code>(op.code);
      if (code == wire::Code::kCheck || (op.flags & wire::kExpectVersion) != 0) {
        const bool absent = (op.flags & wire::kExpectAbsent) != 0;
        const Version version = row == nullptr ? Version{1} : row->version;
        if (absent != (row == nullptr) || version != op.expected_version) {
          const bool own_check = code == wire::Code::kCheck && (op.flags & wire::kReadSet) == 0;
          return fail(own_check ? Result::kCheckFailed : Result::kConflict);
        }
      }
      std::vector<std::byte> value(op.value, op.value + op.value_length);
      int64_t sum = 0;
      switch (code) {
        case wire::Code::kGet: break;
        case wire::Code::kCheck: continue;
        case wire::Code::kInsert:
          if (row != nullptr) return fail(Result::kExists);
          [[fallthrough]];
        case wire::Code::kPut: after[key] = {value, next}; break;
        case wire::Code::kDelete:
          if (row == nullptr) return fail(Result::kNotFound);
          break;
        case wire::Code::kAdd: {
          if (row == nullptr) return fail(Result::kNotFound);
          if (row->value.size() != 8) return fail(Result::kTooLarge);
          const auto delta = load<int64_t>(op.value);
          sum = load<int64_t>(row->value.data()) + delta;
          const bool floor = (op.flags & wire::kHasFloor) != 0;
          if (floor && sum < load<int64_t>(op.value + 8)) return fail(Result::kBelowFloor);
          std::vector<std::byte> bytes(8);
          store(bytes.data(), sum);
          after[key] = {bytes, next};
          break;
        }
      }
      if (code == wire::Code::kDelete) removed.insert(key);
      if (code == wire::Code::kPut || code == wire::Code::kInsert || code == wire::Code::kAdd) removed.erase(key);
      if (wire::code_returns_value(op.code)) {
        const Row* seen = find(key);
        add_value(values, static_cast<uint8_t>(i), seen);
        ++*value_count;
      }
    }
    if (after.empty() && removed.empty()) return {Result::kCommitted, 0, 0};
    ++sequence_;
    if (!forget_commits) {
      for (auto& [key, row] : after) rows[key] = row;
      for (const RowKey& key : removed) rows.erase(key);
    }
    return {Result::kCommitted, 0, next};
  }

  static void add_value(std::vector<std::byte>* out, uint8_t operation, const Row* row) {
    wire::ValueHeader header{};
    header.version = row == nullptr ? 1 : row->version;
    header.present = row != nullptr;
    header.operation = operation;
    header.value_length = static_cast<uint16_t>(row == nullptr ? 0 : row->value.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(&header);
    out->insert(out->end(), bytes, bytes + sizeof header);
    if (row != nullptr) out->insert(out->end(), row->value.begin(), row->value.end());
  }

  const uint32_t shards_, window_;
  Random random_;
  uint32_t incarnation_ = 1, openings_ = 0;
  uint64_t sequence_ = 0;
  uint64_t refusals_ = 0;
  std::map<SessionId, std::pair<Stamp, Sequence>> stamps_;
  std::map<SessionId, std::map<Sequence, Outcome>> windows_;
  std::map<std::pair<SessionId, Sequence>, std::map<ShardId, std::vector<std::byte>>> prepares_;
  std::deque<std::vector<std::byte>> replies_;
  std::vector<std::vector<std::byte>> lent_;
  TransportStatistics statistics_;
};

}  // namespace txnic::pktgen::test
