// SPDX-License-Identifier: BSD-3-Clause
#include "txn/record/transaction_record.h"

#include <cassert>

namespace txnic::log {
namespace {

static_assert(limits::kOperationsMax <= 64, "a bit a lock");

constexpr uint32_t padded(size_t bytes) { return static_cast<uint32_t>((bytes + 7) & ~size_t{7}); }
constexpr uint32_t lock_bytes(size_t count) { return count == 0 ? 0 : static_cast<uint32_t>(count * 8 + 8); }

// Copies and pads with zeros; answers the place behind.
std::byte* lay(std::byte* at, const void* from, size_t bytes) {
  const uint32_t with_padding = padded(bytes);
  if (with_padding == 0) return at;
  store<uint64_t>(at + with_padding - 8, 0);
  std::memcpy(at, from, bytes);
  return at + with_padding;
}

// How many writes there are, or 256 if it is not a row of writes.
uint32_t count_writes(Bytes redo) {
  uint32_t count = 0;
  LoggedWrite write;
  for (size_t at = 0; at < redo.size(); ++count) {
    const uint32_t bytes = read_write(redo.data() + at, static_cast<uint32_t>(redo.size() - at), &write);
    if (bytes == 0) return 256;
    at += bytes;
  }
  return count;
}

bool parse_participants(const std::byte* at, const TransactionBody& body, Participants* participants) {
  if (body.participant_count < 2 || body.participant_count > limits::kParticipantsMax ||
      body.place >= body.participant_count) {
    return false;
  }
  participants->count = body.participant_count;
  participants->map_epoch = body.map_epoch;
  for (uint32_t i = 0; i < body.participant_count; ++i) participants->shards[i] = load<ShardId>(at + i * 2);
  return true;
}

}  // namespace

uint32_t transaction_bytes(const TransactionEntry& entry) {
  return static_cast<uint32_t>(sizeof(RecordHeader) + sizeof(TransactionBody)) + padded(entry.participants.count * 2) +
         lock_bytes(entry.locks.size()) + padded(entry.values.size()) + static_cast<uint32_t>(entry.redo.size());
}

void lay_transaction(const TransactionEntry& entry, ShardId shard, std::byte* at) {
  const uint32_t bytes = transaction_bytes(entry);
  const uint32_t writes = count_writes(entry.redo);
  assert(writes <= limits::kOperationsMax && entry.values.size() <= limits::kMessageBytesMax);
  store(at, RecordHeader{bytes, static_cast<uint8_t>(entry.type), static_cast<uint8_t>(writes), shard, entry.version,
                         entry.id.session, entry.id.sequence, entry.watermark});
  TransactionBody body{};
  body.map_epoch = entry.participants.map_epoch;
  body.participant_count = static_cast<uint8_t>(entry.participants.count);
  body.place = entry.place;
  body.result = static_cast<uint8_t>(entry.result);
  body.detail = entry.detail;
  body.in_window = entry.in_window;
  body.forced = entry.forced;
  body.lock_count = static_cast<uint8_t>(entry.locks.size());
  body.value_count = entry.value_count;
  body.value_bytes = static_cast<uint16_t>(entry.values.size());
  store(at + sizeof(RecordHeader), body);
  std::byte* to = at + sizeof(RecordHeader) + sizeof body;
  to = lay(to, entry.participants.shards.data(), entry.participants.count * 2);
  if (!entry.locks.empty()) {
    uint64_t exclusive = 0;
    for (size_t i = 0; i < entry.locks.size(); ++i, to += 8) {
      store(to, entry.locks[i].key);
      exclusive |= static_cast<uint64_t>(entry.locks[i].exclusive) << i;
    }
    store(to, exclusive);
    to += 8;
  }
  to = lay(to, entry.values.data(), entry.values.size());
  to = lay(to, entry.redo.data(), entry.redo.size());
  assert(to == at + bytes);
}

bool parse_transaction(const std::byte* record, uint32_t room, LockArray* locks, TransactionEntry* entry) {
  const auto header = load<RecordHeader>(record);
  constexpr uint32_t kFixed = sizeof(RecordHeader) + sizeof(TransactionBody);
  if (room < kFixed || header.length > room || header.length < kFixed) return false;
  const auto body = load<TransactionBody>(record + sizeof header);
  const bool is_prepare = header.type == static_cast<uint8_t>(RecordType::kPrepare);
  const uint32_t before_redo =
      kFixed + padded(body.participant_count * 2u) + lock_bytes(body.lock_count) + padded(body.value_bytes);
  if (before_redo > header.length || header.length - before_redo > limits::kPreparedBytesMax ||
      body.lock_count > limits::kOperationsMax || body.value_bytes > limits::kMessageBytesMax ||
      body.value_count > limits::kOperationsMax || body.result >= kResultCount || header.session == 0 ||
      header.sequence > kSequenceMax || (!is_prepare && body.lock_count + body.value_bytes != 0) ||
      !parse_participants(record + kFixed, body, &entry->participants)) {
    return false;
  }
  entry->type = static_cast<RecordType>(header.type);
  entry->id = {header.session, header.sequence};
  entry->place = body.place;
  entry->result = static_cast<Result>(body.result);
  entry->detail = body.detail;
  entry->in_window = body.in_window != 0;
  entry->forced = body.forced != 0;
  entry->version = header.version;
  entry->watermark = header.watermark;
  const std::byte* at = record + kFixed + padded(body.participant_count * 2u);
  for (uint32_t i = 0; i < body.lock_count; ++i) {
    (*locks)[i] = {load<uint64_t>(at + i * 8), (load<uint64_t>(at + body.lock_count * 8u) >> i & 1) != 0};
  }
  entry->locks = {locks->data(), body.lock_count};
  at += lock_bytes(body.lock_count);
  entry->values = Bytes(at, body.value_bytes);
  entry->value_count = body.value_count;
  entry->redo = Bytes(record + before_redo, header.length - before_redo);
  // What they say of the result: a prepared one has none yet, a commit has one.
  const bool is_abort = entry->result != Result::kCommitted;
  if (entry->type == RecordType::kAbort ? !is_abort : entry->type != RecordType::kEnd && is_abort) return false;
  const bool has_redo = is_prepare || entry->type == RecordType::kPreparedCommit;
  return count_writes(entry->redo) == header.write_count && header.write_count <= limits::kOperationsMax &&
         (has_redo || header.write_count == 0);
}

}  // namespace txnic::log
