// SPDX-License-Identifier: BSD-3-Clause
// The commit path of HostBack, inline: it is the hot half of every writing transaction.
#pragma once

#include "host/back/host_back.h"

namespace txnic::back {

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
  reserved_bytes_ = offload::commit_record_bytes(request);
  reserved_ = log_->reserve(reserved_bytes_);
  return reserved_ != nullptr ? BusyReason::kNone : BusyReason::kLogFull;
}

inline Version HostBack::commit(const offload::CommitRequest& request) {
  const Version version = ++current_versions_[request.local_shard];
  if (log_ != nullptr) {
    offload::lay_commit_record(request, global_shard(request.local_shard), version, reserved_bytes_, reserved_);
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
