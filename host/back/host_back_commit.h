// SPDX-License-Identifier: BSD-3-Clause
// The commit path of HostBack, inline: it is the hot half of every writing transaction.
#pragma once

#include "host/back/host_back.h"

namespace txnic::back {

inline uint32_t HostBack::record_bytes(const offload::CommitRequest& request) const {
  uint32_t bytes = sizeof(log::RecordHeader);
  for (const offload::Write& write : request.writes) bytes += log::write_bytes(write.key_length, write.value_length);
  return bytes;
}

inline bool HostBack::has_room(const offload::CommitRequest& request) {
  uint32_t count = 0;
  for (const offload::Write& write : request.writes) {
    if (write.is_delete) continue;
    const auto* const record = static_cast<const storage::Record*>(write.handle);
    // A value of the same length is overwritten where it stands.
    if (record != nullptr && record->value_length == write.value_length) [[likely]]
      continue;
    const auto bytes = static_cast<uint32_t>(sizeof(storage::Record)) + write.key_length + write.value_length;
    needs_[count++] = {table_index_[write.table], bytes, record == nullptr, write.hash, record};
  }
  return count == 0 || shards_[request.local_shard]->room({needs_.data(), count});
}

inline BusyReason HostBack::can_commit(const offload::CommitRequest& request) {
  if (!has_room(request)) [[unlikely]]
    return BusyReason::kMemory;
  // 2^48 commits of one shard in one incarnation: a restart takes a new incarnation.
  if (((current_versions_[request.local_shard] + 1) << 16) == 0) [[unlikely]]
    return BusyReason::kMemory;
  if (log_ == nullptr) return BusyReason::kNone;
  reserved_bytes_ = record_bytes(request);
  reserved_ = log_->reserve(reserved_bytes_);
  return reserved_ != nullptr ? BusyReason::kNone : BusyReason::kLogFull;
}

inline void HostBack::encode(const offload::CommitRequest& request, Version version, std::byte* at,
                             uint32_t bytes) const {
  store(at, log::RecordHeader{bytes, static_cast<uint8_t>(log::RecordType::kCommit),
                              static_cast<uint8_t>(request.writes.size()), global_shard(request.local_shard), version,
                              request.is_replay ? 0 : request.session, request.sequence, request.watermark});
  at += sizeof(log::RecordHeader);
  for (const offload::Write& write : request.writes) {
    at +=
        log::lay_write(at, write.table, write.is_delete, write.key, write.key_length, write.value, write.value_length);
  }
}

inline Version HostBack::commit(const offload::CommitRequest& request) {
  const Version version = ++current_versions_[request.local_shard];
  if (log_ != nullptr) {
    encode(request, version, reserved_, reserved_bytes_);
    log_->append(reserved_bytes_);
  }
  storage::Shard& shard = *shards_[request.local_shard];
  for (const offload::Write& write : request.writes) {
    auto* const record = static_cast<storage::Record*>(write.handle);
    if (write.is_delete) {
      shard.erase(record, write.hash, version);
    } else {
      shard.put(write.table, write.key, write.key_length, write.hash, write.value, write.value_length, version, record);
    }
  }
  shard.maintain();
  return version;
}

}  // namespace txnic::back
