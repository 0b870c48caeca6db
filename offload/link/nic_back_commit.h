// SPDX-License-Identifier: BSD-3-Clause
// Commits of the back on the NIC: of one shard, and of prepared transactions.
#pragma once

#include "offload/link/nic_back.h"

namespace txnic::offload {

template <class Link>
inline BusyReason NicBackOf<Link>::can_commit(const CommitRequest& request) {
  if (link_->store_is_full() && needs_memory(request.writes)) [[unlikely]] {
    ++counters_.store_full;
    return BusyReason::kMemory;
  }
  if (is_last(shards_[request.local_shard].newest)) [[unlikely]]
    return BusyReason::kMemory;
  uint64_t units = 0;
  for (const Write& write : request.writes) {
    if (!write.is_delete) {
      units += Cache::put_units(static_cast<CacheEntry*>(write.handle), write.key_length, write.value_length);
    }
  }
  if (!cache_.can_take(units)) [[unlikely]] {
    ++counters_.cache_full;
    return BusyReason::kFetching;
  }
  reserved_bytes_ = commit_record_bytes(request);
  reserved_ = link_->reserve(reserved_bytes_);
  if (reserved_ == nullptr) [[unlikely]] {
    ++counters_.link_full;
    return BusyReason::kLink;
  }
  return BusyReason::kNone;
}

template <class Link>
inline Version NicBackOf<Link>::commit(const CommitRequest& request) {
  const Version version = ++shards_[request.local_shard].newest;
  lay_commit_record(request, own_number(request.local_shard), version, reserved_bytes_, reserved_);
  const Lsn position = link_->append(reserved_bytes_);
  for (const Write& write : request.writes) {
    const CacheKey key = key_of(request.local_shard, write);
    change(key, entry_of_write(key, write), write.handle == nullptr, write.is_delete, {write.value, write.value_length},
           version, position);
  }
  mark(request.local_shard, version, position);
  ++counters_.commits;
  return version;
}

template <class Link>
inline void NicBackOf<Link>::change(const CacheKey& key, CacheEntry* entry, bool may_be_absent, bool is_delete,
                                    Bytes value, Version version, Lsn position) {
  Absence& absence = shards_[key.local_shard].absence;
  if (is_delete) {
    cache_.erase(key, entry, position);
    absence.changed(key.hash, version, false);
  } else {
    cache_.put(key, entry, version, value, position);
    if (may_be_absent) absence.changed(key.hash, version, true);
  }
}

template <class Link>
inline void NicBackOf<Link>::mark(uint32_t local_shard, Version version, Lsn position) {
  Mark& newest = marks_[(mark_tail_ - 1) % marks_.size()];
  if (mark_head_ != mark_tail_ && newest.local_shard == local_shard && position - mark_began_ <= kMarkBytes) {
    newest.position = position;
    newest.version = std::max(newest.version, version);
    return;
  }
  if (mark_tail_ - mark_head_ == marks_.size()) [[unlikely]]
    return;
  marks_[mark_tail_++ % marks_.size()] = {position, version, local_shard};
  mark_began_ = position;
}

// ---- sessions
template <class Link>
bool NicBackOf<Link>::log_session_open(SessionId session, Endpoint from, Stamp stamp, Sequence attempt) {
  std::byte* const at = link_->reserve(kOpenRecordBytes);
  if (at == nullptr) return false;
  lay_open_record(session, from, stamp, attempt, at);
  link_->append(kOpenRecordBytes);
  return true;
}

template <class Link>
bool NicBackOf<Link>::log_session_close(SessionId session) {
  std::byte* const at = link_->reserve(kCloseRecordBytes);
  if (at == nullptr) return false;
  lay_close_record(session, at);
  link_->append(kCloseRecordBytes);
  return true;
}

// ---- prepared transactions. What is set aside is counted from lengths and from what the key's entry was, so the keys
// must be locked from set_aside() to apply() or give_back().
template <class Link>
bool NicBackOf<Link>::set_aside(uint32_t local_shard, std::span<const Write> writes) {
  if (link_->store_is_full() && needs_memory(writes)) [[unlikely]] {
    ++counters_.store_full;
    return false;
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    const CacheKey key = key_of(local_shard, writes[i]);
    if (cache_.set_aside(entry_of_write(key, writes[i]), key.length, writes[i].value_length)) [[likely]]
      continue;
    while (i-- != 0) {
      const CacheKey taken = key_of(local_shard, writes[i]);
      cache_.give_back(entry_of_write(taken, writes[i]), taken.length, writes[i].value_length);
    }
    ++counters_.cache_full;
    return false;
  }
  return true;
}

template <class Link>
bool NicBackOf<Link>::set_aside(uint32_t local_shard, Bytes redo) {
  size_t taken = 0;
  bool has_room = true;
  for_each(local_shard, redo, [&](const CacheKey& key, const log::LoggedWrite& write) {
    if (!has_room) return;
    has_room = cache_.set_aside(cache_.find(key), key.length, static_cast<uint32_t>(write.value.size()));
    taken += has_room ? log::write_bytes(key.length, static_cast<uint32_t>(write.value.size())) : 0;
  });
  if (!has_room) give_back(local_shard, redo.first(taken));
  return has_room;
}

template <class Link>
void NicBackOf<Link>::give_back(uint32_t local_shard, Bytes redo) {
  for_each(local_shard, redo, [&](const CacheKey& key, const log::LoggedWrite& write) {
    cache_.give_back(cache_.find(key), key.length, static_cast<uint32_t>(write.value.size()));
  });
}

// The record of the commit is the newest one of the link: the machine has just appended it.
template <class Link>
void NicBackOf<Link>::apply(uint32_t local_shard, Version version, Bytes redo) {
  give_back(local_shard, redo);
  const Lsn position = link_->end();
  for_each(local_shard, redo, [&](const CacheKey& key, const log::LoggedWrite& write) {
    CacheEntry* const entry = cache_.find(key);
    const bool is_present = entry != nullptr && entry->state == CacheEntry::State::kPresent;
    change(key, entry, !is_present, write.is_delete, write.value, version, position);
  });
  mark(local_shard, version, position);
  ++counters_.applied;
}

template <class Link>
bool NicBackOf<Link>::log_transaction(const TransactionRecord& record, Lsn* lsn) {
  *lsn = 0;
  const commit::Transaction& t = *record.transaction;
  const Sequence watermark = std::max(record.watermark, least_watermark(t.id.sequence, config_.session_window));
  const log::TransactionEntry entry = entry_of(record.kind, t, record.in_window, watermark);
  const uint32_t bytes = log::transaction_bytes(entry);
  std::byte* const at = link_->reserve(bytes);
  if (at == nullptr) {
    ++counters_.link_full;
    return false;
  }
  log::lay_transaction(entry, own_number(record.local_shard), at);
  *lsn = link_->append(bytes);
  return true;
}

}  // namespace txnic::offload
