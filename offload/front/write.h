// SPDX-License-Identifier: BSD-3-Clause
// Transactions that write, within one shard: evaluate the operations in order against what the transaction itself
// has written so far, without changing anything; then commit the final value of each key at once; then answer.
// Versions (CHECK, expected versions) are judged against the state before the transaction.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

template <Back B>
inline void Front<B>::execute_write(Request& request, const Parsed& parsed, Session& session) {
  if (machine_.locks().any()) [[unlikely]] {
    uint32_t operation = 0;
    if (is_locked(parsed, &operation)) {
      refuse(request, parsed.header, Result::kLocked, static_cast<uint8_t>(operation));
      return;
    }
  }
  look_up(parsed);
  Verdict verdict = evaluate(parsed, reply_room(request));
  if (verdict.result == Result::kCommitted) [[likely]] {
    const uint32_t count = collect_writes(parsed);
    const CommitRequest commit{session.id,         parsed.header.sequence, session.watermark, session.is_static_replay,
                               parsed.local_shard, {writes_.data(), count}};
    const BusyReason busy = back_->can_commit(commit);
    if (busy != BusyReason::kNone) [[unlikely]] {
      refuse(request, parsed.header, Result::kBusy, static_cast<uint8_t>(busy));
      return;
    }
    const Version version = back_->commit(commit);
    if (!session.is_static_replay) {
      sessions_->entry(&session, parsed.local_shard, parsed.header.sequence) =
          Outcome::make(parsed.header.sequence, Result::kCommitted, 0, version);
    }
    answer_commit(request, parsed, session, version);
    return;
  }
  if (!is_recorded(verdict.result)) {
    refuse(request, parsed.header, verdict.result, verdict.detail);
    return;
  }
  // An abort that was told stays an abort (trap 14), and waits for what it depends on (COMMIT 6).
  if (!session.is_static_replay) {
    sessions_->entry(&session, parsed.local_shard, parsed.header.sequence) =
        Outcome::make(parsed.header.sequence, verdict.result, verdict.detail, verdict.newest);
  }
  refuse(request, parsed.header, verdict.result, verdict.detail);
  answer(request, back_->dependency(parsed.local_shard, verdict.newest));
}

// Finds every key, and for each operation the first one that names the same key.
template <Back B>
inline void Front<B>::look_up(const Parsed& parsed) {
  const wire::Operation* const operations = &operations_[parsed.first_operation];
  const uint64_t* const hashes = &hashes_[parsed.first_operation];
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
    const wire::Operation& operation = operations[i];
    uint32_t first = i;
    for (uint32_t j = 0; j < i; ++j) {
      if (hashes[j] != hashes[i]) [[likely]]
        continue;
      if (operations[j].table == operation.table && operations[j].key_length == operation.key_length &&
          std::memcmp(operations[j].key, operation.key, operation.key_length) == 0) {
        first = key_of_[j];
        break;
      }
    }
    key_of_[i] = static_cast<uint8_t>(first);
    if (first != i) {
      found_[i] = found_[first];
      continue;
    }
    const Found found =
        back_->find(parsed.local_shard, operation.table, operation.key, operation.key_length, hashes[i]);
    found_[i] = found;
    keys_[i] = {found.value, found.value_length, found.present(), false};
  }
}

template <Back B>
inline typename Front<B>::Verdict Front<B>::evaluate(const Parsed& parsed, uint32_t room) {
  const wire::Operation* const operations = &operations_[parsed.first_operation];
  own_version_count_ = value_count_ = scratch_used_ = 0;
  Version newest = 0;
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) newest = std::max(newest, found_[i].version);
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
    const wire::Operation& operation = operations[i];
    Verdict verdict = validate(operation, found_[i]);
    if (verdict.result == Result::kCommitted) verdict = apply_operation(operation, i);
    if (verdict.result == Result::kCommitted && wire::code_returns_value(operation.code) &&
        !emit_value(operation, i, room)) {
      verdict.result = Result::kTooLarge;
    }
    if (verdict.result != Result::kCommitted) {
      verdict.detail = static_cast<uint8_t>(i);
      verdict.newest = newest;
      return verdict;
    }
  }
  return {Result::kCommitted, 0, newest};
}

// Changes the transaction's own view of the operation's key.
template <Back B>
inline typename Front<B>::Verdict Front<B>::apply_operation(const wire::Operation& operation, uint32_t i) {
  KeyState& key = keys_[key_of_[i]];
  switch (static_cast<wire::Code>(operation.code)) {
    case wire::Code::kGet:
    case wire::Code::kCheck:
      return {};
    case wire::Code::kInsert:
      if (key.present) return {Result::kExists, 0, 0};
      [[fallthrough]];
    case wire::Code::kPut:
      key = {operation.value, operation.value_length, true, true};
      return {};
    case wire::Code::kDelete:
      if (!key.present) return {Result::kNotFound, 0, 0};
      key = {nullptr, 0, false, true};
      return {};
    case wire::Code::kAdd: {
      if (!key.present) return {Result::kNotFound, 0, 0};
      if (key.value_length != sizeof(int64_t)) return {Result::kTooLarge, 0, 0};
      int64_t sum = 0;
      if (__builtin_add_overflow(load<int64_t>(key.value), load<int64_t>(operation.value), &sum)) {
        return {Result::kTooLarge, 0, 0};
      }
      if ((operation.flags & wire::kHasFloor) != 0 && sum < load<int64_t>(operation.value + 8)) {
        return {Result::kBelowFloor, 0, 0};
      }
      sums_[i] = sum;
      key = {reinterpret_cast<const std::byte*>(&sums_[i]), sizeof(int64_t), true, true};
      return {};
    }
  }
  return {Result::kBadRequest, 0, 0};
}

// Copies a value into the reply before anything is overwritten. False: the reply would be too large.
template <Back B>
inline bool Front<B>::emit_value(const wire::Operation&, uint32_t i, uint32_t room) {
  const KeyState& key = keys_[key_of_[i]];
  const uint32_t need = static_cast<uint32_t>(sizeof(wire::ValueHeader)) + key.value_length;
  if (wire::kExecutedFixedBytes + scratch_used_ + need > room) return false;
  std::byte* at = &scratch_[scratch_used_];
  if (key.written) own_versions_[own_version_count_++] = static_cast<uint16_t>(scratch_used_);
  store(at, wire::ValueHeader{key.written ? 0 : found_[i].version, static_cast<uint16_t>(key.value_length),
                              static_cast<uint8_t>(i), key.present, value_place_});
  if (key.value_length != 0) std::memcpy(at + sizeof(wire::ValueHeader), key.value, key.value_length);
  scratch_used_ += need;
  ++value_count_;
  return true;
}

// The final value of each written key. A key that was absent and is absent again needs no write.
template <Back B>
inline uint32_t Front<B>::collect_writes(const Parsed& parsed) {
  const wire::Operation* const operations = &operations_[parsed.first_operation];
  uint32_t count = 0;
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
    if (key_of_[i] != i) continue;
    const KeyState& key = keys_[i];
    if (!key.written || (!key.present && !found_[i].present())) continue;
    const wire::Operation& operation = operations[i];
    writes_[count++] = {operation.key,        key.value,       hashes_[parsed.first_operation + i],
                        found_[i].handle,     operation.table, static_cast<uint16_t>(key.value_length),
                        operation.key_length, !key.present};
  }
  return count;
}

template <Back B>
inline void Front<B>::answer_commit(Request& request, const Parsed& parsed, const Session& session, Version version) {
  for (uint32_t i = 0; i < own_version_count_; ++i) store(&scratch_[own_versions_[i]], version);
  wire::Header reply = parsed.header;
  reply.type = static_cast<uint8_t>(wire::Type::kExecuted);
  reply.flags = session.is_static_replay ? wire::kReplyFlagReplay : 0;
  reply.operation_count = static_cast<uint8_t>(value_count_);
  reply.length = static_cast<uint16_t>(wire::kExecutedFixedBytes + scratch_used_);
  wire::write_header(request.message, reply);
  store(request.message + wire::kHeaderBytes, version);
  if (scratch_used_ != 0) std::memcpy(request.message + wire::kExecutedFixedBytes, scratch_.data(), scratch_used_);
  request.reply_length = reply.length;
  ++counters_.results[static_cast<uint8_t>(Result::kCommitted)];
  answer(request, back_->dependency(parsed.local_shard, version));
}

}  // namespace txnic::offload
