// SPDX-License-Identifier: BSD-3-Clause
// Builds requests in a caller's buffer. Refuses what would not parse, so that a client learns at once.
#pragma once

#include <cassert>

#include "txn/hash.h"
#include "txn/wire/commit.h"

namespace txnic::wire {

// Builds one EXECUTE. The buffer is the caller's, at most kMessageBytesMax of it are used. Each call answers
// false, and leaves the message as it was, if the operation does not fit or a length is out of range.
class ExecuteBuilder {
 public:
  ExecuteBuilder() = default;
  // At least kHeaderBytes.
  explicit ExecuteBuilder(MutableBytes buffer) : base_(buffer.data()), capacity_(buffer.size()) {
    assert(buffer.size() >= kHeaderBytes);
    if (capacity_ > limits::kMessageBytesMax) capacity_ = limits::kMessageBytesMax;
    used_ = kHeaderBytes;
  }

  // For a PREPARE: operations of one participant of several, behind the list of them. The buffer holds at least
  // prepare_fixed_bytes(participants.count).
  ExecuteBuilder(MutableBytes buffer, const Participants& participants);

  bool get(TableId table, Bytes key) { return add_operation(Code::kGet, table, key, {}, 0, 0); }
  bool put(TableId table, Bytes key, Bytes value) { return add_operation(Code::kPut, table, key, value, 0, 0); }
  bool put_if(TableId table, Bytes key, Bytes value, Version expected) {
    return add_operation(Code::kPut, table, key, value, kExpectVersion, expected);
  }
  bool insert(TableId table, Bytes key, Bytes value) { return add_operation(Code::kInsert, table, key, value, 0, 0); }
  bool remove(TableId table, Bytes key) { return add_operation(Code::kDelete, table, key, {}, 0, 0); }
  bool add(TableId table, Bytes key, int64_t delta) {
    std::byte args[8];
    store(args, delta);
    return add_operation(Code::kAdd, table, key, args, 0, 0);
  }
  bool add_with_floor(TableId table, Bytes key, int64_t delta, int64_t floor) {
    std::byte args[16];
    store(args, delta);
    store(args + 8, floor);
    return add_operation(Code::kAdd, table, key, args, kHasFloor, 0);
  }
  // `flags`: kExpectAbsent, kReadSet.
  bool check(TableId table, Bytes key, Version expected, uint16_t flags) {
    return add_operation(Code::kCheck, table, key, {}, flags, expected);
  }

  // Completes the message with its header and returns its length. `watermark_lag`: sequence minus the lowest sequence
  // whose answer is still wanted. May be called again, with another stamp or lag, to send the message again.
  uint32_t finish(SessionId session, Sequence sequence, Stamp stamp, uint32_t watermark_lag, ShardId shard) {
    Header h = request_header(Type::kExecute, session, sequence, stamp);
    h.length = static_cast<uint16_t>(used_);
    h.operation_count = static_cast<uint8_t>(count_);
    h.watermark_lag = watermark_lag;
    h.shard = shard;
    write_header(base_, h);
    return static_cast<uint32_t>(used_);
  }

  // The same for a PREPARE to participant `shard`.
  uint32_t finish_prepare(const TransactionId& id, Stamp stamp, uint32_t watermark_lag, ShardId shard,
                          uint32_t map_epoch) {
    finish(id.session, id.sequence, stamp, watermark_lag, shard);
    Header h = read_header(base_);
    h.type = static_cast<uint8_t>(Type::kPrepare);
    h.map_epoch = map_epoch;
    write_header(base_, h);
    return static_cast<uint32_t>(used_);
  }

  // An operation as it stands in another message of this kind. It must fit.
  void append_copy(Bytes operation) {
    assert(count_ < limits::kOperationsMax && used_ + operation.size() <= capacity_);
    std::memcpy(base_ + used_, operation.data(), operation.size());
    used_ += operation.size();
    ++count_;
  }

  uint32_t operation_count() const { return count_; }
  size_t size() const { return used_; }

  bool add_operation(Code code, TableId table, Bytes key, Bytes value, uint16_t flags, Version expected) {
    if (count_ == limits::kOperationsMax || key.empty() || key.size() > limits::kKeyBytesMax ||
        value.size() > limits::kValueBytesMax || code < Code::kGet || static_cast<uint8_t>(code) > kCodeMax) {
      return false;
    }
    const OperationHeader header{static_cast<uint8_t>(code), static_cast<uint8_t>(key.size()), table,
                                 static_cast<uint16_t>(value.size()), flags};
    const bool has_version = carries_version(header);
    const size_t need = sizeof(OperationHeader) + (has_version ? 8 : 0) + key.size() + value.size();
    if (used_ + need > capacity_ || !flags_allowed(header) || !value_length_allowed(header)) return false;
    std::byte* at = base_ + used_;
    store(at, header);
    at += sizeof(OperationHeader);
    if (has_version) {
      store(at, expected);
      at += 8;
    }
    std::memcpy(at, key.data(), key.size());
    if (!value.empty()) std::memcpy(at + key.size(), value.data(), value.size());
    used_ += need;
    ++count_;
    return true;
  }

 private:
  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
  uint32_t count_ = 0;
};

// A session-level request without operations (OPEN, CLOSE). Returns its length.
// `held_stamp`: the stamp that the client holds for this session: the node then opens it again only if its window
// survived. 0: a new session, of which nothing is in flight.
uint32_t build_open(std::byte* buffer, SessionId session, Sequence attempt, const uint8_t* cookie_or_null,
                    Stamp held_stamp = 0);
uint32_t build_close(std::byte* buffer, SessionId session, Sequence sequence, Stamp stamp);

}  // namespace txnic::wire
