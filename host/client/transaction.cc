// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/transaction.h"

#include <algorithm>

#include "host/client/connection.h"
#include "txn/hash.h"

namespace txnic {
namespace {

bool is_writing(wire::Code code) { return wire::code_writes(static_cast<uint8_t>(code)); }

}  // namespace

Status Transaction::fail(Error error) {
  if (!error_) error_ = error;
  return error;
}

Status Transaction::admit(const Key& key) {
  if (done_) {
    return fail({ErrorKind::kInvalid, Result::kBadRequest, 0, "this transaction is used up: begin a new one"});
  }
  if (!key.is_valid()) {
    return fail({ErrorKind::kInvalid, Result::kBadRequest, 0,
                 "a key has 1 to " + std::to_string(limits::kKeyBytesMax) + " bytes"});
  }
  return {};
}

// ---- reads --------------------------------------------------------------------------------------

Expected<Value> Transaction::get(TableId table, const Key& key) {
  const Status admitted = admit(key);
  if (!admitted) return admitted.error();
  if (decides_value(table, key)) return with_own_writes(table, key, Value{});
  const Expected<Value> value = read(table, key);
  if (!value) return value;
  return with_own_writes(table, key, *value);
}

// The value at the node, which joins the read set; the same one again for the same key.
Expected<Value> Transaction::read(TableId table, const Key& key) {
  for (const Read& r : reads_) {
    if (r.table == table && r.key == key) return r.value;
  }
  Batch batch;
  batch.get(table, key);
  const Expected<Committed> answer = connection_->execute(batch);
  if (!answer) return answer.error();
  if (!answer->values_known) {
    return Error{ErrorKind::kRefused, Result::kBadRequest, 0,
                 "the node's answer to a read carries no value: report this as a bug of the node"};
  }
  reads_.push_back({table, key, *answer->values[0]});
  return reads_.back().value;
}

// True if own writes alone say what the key holds.
bool Transaction::decides_value(TableId table, const Key& key) const {
  return std::any_of(writes_.begin(), writes_.end(), [&](const Batch::Operation& op) {
    return op.table == table && op.key == key && is_writing(op.code) && op.code != wire::Code::kAdd;
  });
}

Value Transaction::with_own_writes(TableId table, const Key& key, Value value) const {
  for (const Batch::Operation& op : writes_) {
    if (op.table != table || !(op.key == key)) continue;
    switch (op.code) {
      case wire::Code::kPut:
      case wire::Code::kInsert: value = {true, op.value, 0}; break;
      case wire::Code::kDelete: value = {}; break;
      case wire::Code::kAdd:
        if (const auto number = value.number()) {
          const auto sum = static_cast<uint64_t>(*number) + static_cast<uint64_t>(load<int64_t>(op.value.data()));
          value = {true, number_value(static_cast<int64_t>(sum)), 0};
        }
        break;  // on an absent key or another kind of value, the commit fails
      default: break;
    }
  }
  return value;
}

// ---- writes -------------------------------------------------------------------------------------

Status Transaction::buffer(wire::Code code, TableId table, const Key& key, std::string_view value, uint16_t flags,
                           Version expected) {
  Status admitted = admit(key);
  if (!admitted) return admitted;
  if (value.size() > limits::kValueBytesMax) {
    return fail({ErrorKind::kInvalid, Result::kTooLarge, 0,
                 "a value has at most " + std::to_string(limits::kValueBytesMax) + " bytes, this one " +
                     std::to_string(value.size()) + "; split it over several keys"});
  }
  writes_.push_back({code, table, flags, expected, key, std::string(value)});
  return {};
}

Status Transaction::put(TableId table, const Key& key, std::string_view value) {
  return buffer(wire::Code::kPut, table, key, value, 0, 0);
}

Status Transaction::insert(TableId table, const Key& key, std::string_view value) {
  return buffer(wire::Code::kInsert, table, key, value, 0, 0);
}

Status Transaction::remove(TableId table, const Key& key) {
  return buffer(wire::Code::kDelete, table, key, {}, 0, 0);
}

Status Transaction::add(TableId table, const Key& key, int64_t delta) {
  return buffer(wire::Code::kAdd, table, key, number_value(delta), 0, 0);
}

Status Transaction::add(TableId table, const Key& key, int64_t delta, int64_t floor) {
  return buffer(wire::Code::kAdd, table, key, number_value(delta) + number_value(floor), wire::kHasFloor, 0);
}

Status Transaction::check(TableId table, const Key& key, const Value& as_read) {
  return buffer(wire::Code::kCheck, table, key, {}, as_read.present ? uint16_t{0} : wire::kExpectAbsent,
                as_read.version);
}

// ---- commit -------------------------------------------------------------------------------------

// What was read is validated by the first write of the key where that can carry a version, else by a CHECK. Expected
// versions are judged against the state before the transaction, so their place does not matter.
Batch Transaction::commit_batch() const {
  Batch batch;
  std::vector<Version> expected(writes_.size(), 0);
  std::vector<uint16_t> flags(writes_.size(), 0);
  for (const Read& r : reads_) {
    size_t at = 0;
    while (at < writes_.size() &&
           !(writes_[at].table == r.table && writes_[at].key == r.key && is_writing(writes_[at].code))) {
      ++at;
    }
    const bool carries = at < writes_.size() &&
                         (writes_[at].code == wire::Code::kPut ||
                          (r.value.present && writes_[at].code != wire::Code::kInsert));
    const uint16_t absent = r.value.present ? uint16_t{0} : wire::kExpectAbsent;
    if (carries) {
      expected[at] = r.value.version;
      flags[at] = static_cast<uint16_t>(wire::kExpectVersion | absent);
    } else {
      batch.append(wire::Code::kCheck, r.table, r.key, {}, static_cast<uint16_t>(wire::kReadSet | absent),
                   r.value.version);
    }
  }
  for (size_t i = 0; i < writes_.size(); ++i) {
    const Batch::Operation& op = writes_[i];
    const Version version = flags[i] != 0 ? expected[i] : op.expected;
    batch.append(op.code, op.table, op.key, op.value, static_cast<uint16_t>(op.flags | flags[i]), version);
  }
  return batch;
}

// Every read after the last one (DESIGN 4.4, trap 13): then all of them were true at the moment when the last one was
// made. Each shard judges its own; a key that somebody has prepared a write of is LOCKED there, and the answer waits
// for him, or fails.
Expected<Committed> Transaction::validate_reads() const {
  std::vector<Batch> batches;
  std::vector<ShardId> shards;
  for (const Read& r : reads_) {
    const ShardId shard = shard_of(r.key.hash(), connection_->machine().shard_count());
    const auto found = std::find(shards.begin(), shards.end(), shard);
    const auto at = static_cast<size_t>(found - shards.begin());
    if (found == shards.end()) {
      shards.push_back(shard);
      batches.emplace_back();
    }
    const uint16_t absent = r.value.present ? uint16_t{0} : wire::kExpectAbsent;
    batches[at].append(wire::Code::kCheck, r.table, r.key, {}, static_cast<uint16_t>(wire::kReadSet | absent),
                       r.value.version);
  }
  std::vector<Expected<Committed>> answers = connection_->execute_all(batches);
  for (const Expected<Committed>& answer : answers) {
    if (!answer) return answer;
  }
  return Committed{};
}

Expected<Committed> Transaction::commit() {
  if (done_) {
    return Error{ErrorKind::kInvalid, Result::kBadRequest, 0, "this transaction is used up: begin a new one"};
  }
  done_ = true;
  if (error_) return *error_;
  // One read is one state of the world by itself.
  if (writes_.empty() && reads_.size() <= 1) return Committed{};
  if (writes_.empty()) return validate_reads();
  Expected<Committed> answer = connection_->execute(commit_batch());
  if (answer) answer->values.clear();  // their places would be those of the message, not of the calls
  return answer;
}

}  // namespace txnic
