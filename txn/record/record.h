// SPDX-License-Identifier: BSD-3-Clause
// Log records, as they stand inside a group (and, for the same content, inside a checkpoint, and in the APPENDs of the
// host link: offload/link). Little-endian, 8-aligned. A group's checksum covers them, see host/log/README.md. Here and
// not in host/log, because the front on the NIC lays them, and it may not include the host's folders.
#pragma once

#include "txn/limits.h"
#include "txn/types.h"

namespace txnic::log {

enum class RecordType : uint8_t {
  kCommit = 1,        // a one-shard commit: outcome and writes
  kSessionOpen = 2,   // a session was opened (or opened again): SessionBody
  kSessionClose = 3,  // closed or expired
  kRow = 4,           // checkpoint: one row (a commit of one write without an outcome)
  kOutcome = 5,       // checkpoint: one window entry
  kShardState = 6,    // checkpoint: a shard's next version
  kClean = 7,         // a clean stop: everything before is durable, and nothing follows
  // Transactions over several shards, at one participant: TransactionBody and what it counts (transaction_record.h).
  kPrepare = 8,         // participants, locks, values, writes: all that a restart needs to hold it again
  kPreparedCommit = 9,  // its writes again: replayed here, by position (COMMIT 17). At the coordinator the decision
  kAbort = 10,          // of a prepared one, or the promise never to prepare it. At the coordinator the decision
  kEnd = 11,            // coordinator: everybody has acknowledged; nothing but the outcome need be kept
};
inline constexpr uint32_t kRecordTypeCount = 12;  // RecordType + 1

inline constexpr uint16_t kNoShard = 0xffff;  // session records: every shard of the log; kClean: none

// Every record starts with this.
struct RecordHeader {
  uint32_t length;      // of the record, header and padding included; a multiple of 8
  uint8_t type;         // RecordType
  uint8_t write_count;  // kCommit, kRow, kPrepare, kPreparedCommit
  uint16_t shard;       // global shard number; 0xffff where it does not apply
  Version version;      // commit version; kOutcome: the entry's; kShardState: the newest version taken; reserved one
  SessionId session;    // 0: no outcome to record (replay sessions, rows)
  uint64_t sequence;    // kOutcome: Outcome::key
  uint64_t watermark;   // the session's watermark then
};
static_assert(sizeof(RecordHeader) == 40);

// A write: this, then key, then value, padded to 8.
struct WriteHeader {
  uint8_t key_length;
  uint8_t is_delete;
  uint16_t table;
  uint16_t value_length;
  uint16_t reserved;
};
static_assert(sizeof(WriteHeader) == 8);

struct SessionBody {  // behind RecordHeader in kSessionOpen; header.sequence is the attempt
  Stamp stamp;
  uint32_t address;
  uint16_t port;
  uint16_t reserved;
};
static_assert(sizeof(SessionBody) == 16);

// Behind RecordHeader in records about a transaction over several shards; the header has its id, the reserved version
// and the session's watermark. Then, each padded to 8: the participants' shards (u16 each, numbered over the cluster);
// kPrepare: the locks' names (u64 each) and if there are any a u64 with a bit for each exclusive one; value bytes as in
// a VOTE; kPrepare, kPreparedCommit: header.write_count writes.
struct TransactionBody {
  uint32_t map_epoch;
  uint8_t participant_count;
  uint8_t place;   // ours in the list
  uint8_t result;  // kAbort, kEnd: the outcome
  uint8_t detail;
  uint8_t in_window;  // 1: the session was open here, so its window has the outcome
  uint8_t lock_count;
  uint8_t value_count;
  uint8_t forced;  // 1: decided by the operator, not by the coordinator (COMMIT 24)
  uint16_t value_bytes;
  uint16_t reserved_too;
};
static_assert(sizeof(TransactionBody) == 16);

inline constexpr uint32_t write_bytes(uint32_t key_length, uint32_t value_length) {
  return (static_cast<uint32_t>(sizeof(WriteHeader)) + key_length + value_length + 7) & ~7u;
}

// A write, taken apart: it leads into the record.
struct LoggedWrite {
  TableId table = 0;
  bool is_delete = false;
  Bytes key, value;
};

// Lays a write at `at`, where write_bytes() have room, and answers them. Padding is zero: equal runs write equal logs.
inline uint32_t lay_write(std::byte* at, TableId table, bool is_delete, const std::byte* key, uint8_t key_length,
                          const std::byte* value, uint16_t value_length) {
  const uint32_t bytes = write_bytes(key_length, value_length);
  store<uint64_t>(at + bytes - 8, 0);
  store(at, WriteHeader{key_length, is_delete, table, value_length, 0});
  std::memcpy(at + sizeof(WriteHeader), key, key_length);
  if (value_length != 0) std::memcpy(at + sizeof(WriteHeader) + key_length, value, value_length);
  return bytes;
}

// The write at `at`, in `room` bytes. Answers how many it takes, or 0 if it cannot be one.
inline uint32_t read_write(const std::byte* at, uint32_t room, LoggedWrite* write) {
  if (room < sizeof(WriteHeader)) return 0;
  const auto header = load<WriteHeader>(at);
  const uint32_t bytes = write_bytes(header.key_length, header.value_length);
  if (bytes > room || header.key_length == 0 || header.key_length > limits::kKeyBytesMax ||
      header.value_length > limits::kValueBytesMax) {
    return 0;
  }
  write->table = header.table;
  write->is_delete = header.is_delete != 0;
  write->key = Bytes(at + sizeof header, header.key_length);
  write->value = Bytes(write->key.data() + header.key_length, header.value_length);
  return bytes;
}

}  // namespace txnic::log
