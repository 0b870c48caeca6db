// SPDX-License-Identifier: BSD-3-Clause
// Transactions that only read (GET, CHECK). One shard has one owner, so all reads happen at one point in time;
// nothing is recorded: an execution again answers a newer, equally valid state (docs/PROTOCOL.md, "Duplicates").
#pragma once

#include "offload/front.h"

namespace txnic::offload {

template <Back B>
inline typename Front<B>::Verdict Front<B>::validate(const wire::Operation& operation, const Found& found) const {
  const bool is_check = operation.code == static_cast<uint8_t>(wire::Code::kCheck);
  if (!is_check && (operation.flags & wire::kExpectVersion) == 0) return {};
  // An absent key is validated against its bucket's version, not merely "still absent" (DESIGN 4.4, trap 2).
  const bool expect_present = (operation.flags & wire::kExpectAbsent) == 0;
  if (found.present() == expect_present && found.version == operation.expected_version) return {};
  const bool is_conflict = !is_check || (operation.flags & wire::kReadSet) != 0;
  return {is_conflict ? Result::kConflict : Result::kCheckFailed, 0, 0};
}

template <Back B>
inline void Front<B>::execute_read(Request& request, const Parsed& parsed, const Session& session) {
  const wire::Header& header = parsed.header;
  const wire::Operation* const operations = &operations_[parsed.first_operation];
  const uint64_t* const hashes = &hashes_[parsed.first_operation];
  const uint32_t count = header.operation_count;

  if (machine_.locks().any()) [[unlikely]] {
    uint32_t operation = 0;
    if (is_locked(parsed, &operation)) {
      refuse(request, header, Result::kLocked, static_cast<uint8_t>(operation));
      return;
    }
  }
  // Everything is looked up before the reply is written over the request's keys.
  Verdict verdict;
  Version newest = 0;
  uint32_t length = wire::kExecutedFixedBytes;
  for (uint32_t i = 0; i < count; ++i) {
    const wire::Operation& operation = operations[i];
    found_[i] = back_->find(parsed.local_shard, operation.table, operation.key, operation.key_length, hashes[i]);
    newest = std::max(newest, found_[i].version);
    if (operation.code == static_cast<uint8_t>(wire::Code::kGet)) {
      length += static_cast<uint32_t>(sizeof(wire::ValueHeader)) + found_[i].value_length;
    } else if (verdict.result == Result::kCommitted) {
      verdict.result = validate(operation, found_[i]).result;
      verdict.detail = static_cast<uint8_t>(i);
    }
  }
  if (length > reply_room(request)) [[unlikely]] {
    refuse(request, header, Result::kTooLarge, 0);
    return;
  }

  wire::Header reply = header;
  reply.type = static_cast<uint8_t>(wire::Type::kExecuted);
  reply.flags = session.is_static_replay ? wire::kReplyFlagReplay : 0;
  reply.result = static_cast<uint8_t>(verdict.result);
  uint32_t values = 0;
  std::byte* at = request.message + wire::kHeaderBytes;
  store<uint64_t>(at, 0);
  at += 8;
  if (verdict.result == Result::kCommitted) [[likely]] {
    for (uint32_t i = 0; i < count; ++i) {
      if (operations[i].code != static_cast<uint8_t>(wire::Code::kGet)) continue;
      const Found& found = found_[i];
      store(at, wire::ValueHeader{found.version, static_cast<uint16_t>(found.value_length), static_cast<uint8_t>(i),
                                  found.present(), 0});
      at += sizeof(wire::ValueHeader);
      if (found.value_length != 0) std::memcpy(at, found.value, found.value_length);
      at += found.value_length;
      ++values;
    }
    ++counters_.read_only;
  } else {
    reply.detail = verdict.detail;
  }
  reply.operation_count = static_cast<uint8_t>(values);
  request.reply_length = static_cast<uint32_t>(at - request.message);
  reply.length = static_cast<uint16_t>(request.reply_length);
  wire::write_header(request.message, reply);
  ++counters_.results[reply.result];
  answer(request, back_->dependency(parsed.local_shard, newest));
}

}  // namespace txnic::offload
