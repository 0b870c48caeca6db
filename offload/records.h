// SPDX-License-Identifier: BSD-3-Clause
// The back's log records (txn/record) from what the front hands over: laid alike by the back on the host into its log,
// and by the back on the NIC into the host link.
#pragma once

#include <algorithm>

#include "offload/back.h"
#include "txn/record/transaction_record.h"

namespace txnic::offload {

// ---- a commit of one shard
inline uint32_t commit_record_bytes(const CommitRequest& request) {
  uint32_t bytes = sizeof(log::RecordHeader);
  for (const Write& write : request.writes) bytes += log::write_bytes(write.key_length, write.value_length);
  return bytes;
}

// `at` has commit_record_bytes(). `shard`: the node's own number.
inline void lay_commit_record(const CommitRequest& request, ShardId shard, Version version, uint32_t bytes,
                              std::byte* at) {
  store(at, log::RecordHeader{bytes, static_cast<uint8_t>(log::RecordType::kCommit),
                              static_cast<uint8_t>(request.writes.size()), shard, version,
                              request.is_replay ? 0 : request.session, request.sequence, request.watermark});
  at += sizeof(log::RecordHeader);
  for (const Write& write : request.writes) {
    at +=
        log::lay_write(at, write.table, write.is_delete, write.key, write.key_length, write.value, write.value_length);
  }
}

// ---- redo: a row of writes. Answers its length.
inline uint32_t lay_redo(std::span<const Write> writes, MutableBytes room) {
  uint32_t used = 0;
  for (const Write& write : writes) {
    assert(used + log::write_bytes(write.key_length, write.value_length) <= room.size());
    used += log::lay_write(room.data() + used, write.table, write.is_delete, write.key, write.key_length, write.value,
                           write.value_length);
  }
  return used;
}

// ---- sessions
inline constexpr uint32_t kOpenRecordBytes = sizeof(log::RecordHeader) + sizeof(log::SessionBody);
inline constexpr uint32_t kCloseRecordBytes = sizeof(log::RecordHeader);

inline void lay_open_record(SessionId session, Endpoint from, Stamp stamp, Sequence attempt, std::byte* at) {
  store(at, log::RecordHeader{kOpenRecordBytes, static_cast<uint8_t>(log::RecordType::kSessionOpen), 0, log::kNoShard,
                              0, session, attempt, 0});
  store(at + sizeof(log::RecordHeader), log::SessionBody{stamp, from.address, from.port, 0});
}
inline void lay_close_record(SessionId session, std::byte* at) {
  store(at, log::RecordHeader{kCloseRecordBytes, static_cast<uint8_t>(log::RecordType::kSessionClose), 0, log::kNoShard,
                              0, session, 0, 0});
}

// ---- transactions over several shards
// A record's watermark is at least this: the client has sent this sequence, so its own is less than a window below,
// though its newer messages may have gone to other shards only. Else replay would miss what the window let go for this
// one.
inline Sequence least_watermark(Sequence sequence, Sequence window) {
  return sequence < window ? 1 : sequence - window + 1;
}

// For the log, checkpoints and the link. It points into `t`.
log::TransactionEntry entry_of(commit::Record kind, const commit::Transaction& t, bool in_window, Sequence watermark);

}  // namespace txnic::offload
