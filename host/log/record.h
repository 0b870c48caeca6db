// SPDX-License-Identifier: BSD-3-Clause
// Log records, as they stand inside a group (and, for the same content, inside a checkpoint). Little-endian,
// 8-aligned. A group's checksum covers them, see host/log/README.md.
#pragma once

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
};

inline constexpr uint16_t kNoShard = 0xffff;  // session records: every shard of the log; kClean: none

// Every record starts with this.
struct RecordHeader {
  uint32_t length;      // of the record, header and padding included; a multiple of 8
  uint8_t type;         // RecordType
  uint8_t write_count;  // kCommit, kRow
  uint16_t shard;       // global shard number; 0xffff where it does not apply
  Version version;      // commit version; kOutcome: the entry's; kShardState: the newest version taken
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

inline constexpr uint32_t write_bytes(uint32_t key_length, uint32_t value_length) {
  return (static_cast<uint32_t>(sizeof(WriteHeader)) + key_length + value_length + 7) & ~7u;
}

}  // namespace txnic::log
