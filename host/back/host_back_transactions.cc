// SPDX-License-Identifier: BSD-3-Clause
// What a transaction over several shards needs of the back, from PREPARE to its end.
#include <algorithm>

#include "host/back/host_back.h"
#include "txn/hash.h"
#include "txn/record/transaction_record.h"

namespace txnic::back {
namespace {

static_assert(offload::Back<HostBack> && offload::CommitBack<HostBack>);

}  // namespace

uint32_t HostBack::encode_redo(std::span<const offload::Write> writes, MutableBytes room) const {
  uint32_t used = 0;
  for (const offload::Write& write : writes) {
    assert(used + log::write_bytes(write.key_length, write.value_length) <= room.size());
    used += log::lay_write(room.data() + used, write.table, write.is_delete, write.key, write.key_length, write.value,
                           write.value_length);
  }
  return used;
}

std::span<const HostBack::Prepared> HostBack::take_apart(uint32_t local_shard, Bytes redo) {
  uint32_t count = 0;
  for (size_t at = 0; at < redo.size(); ++count) {
    Prepared& p = prepared_[count];
    const uint32_t bytes = log::read_write(redo.data() + at, static_cast<uint32_t>(redo.size() - at), &p.write);
    assert(bytes != 0 && "redo is what encode_redo() made, or what recovery has checked");
    const std::byte* const key = p.write.key.data();
    const auto key_length = static_cast<uint32_t>(p.write.key.size());
    p.hash = table_hash(hash_key(key, key_length), p.write.table);
    p.record = shards_[local_shard]->find(p.write.table, key, key_length, p.hash).record;
    at += bytes;
  }
  return {prepared_.data(), count};
}

std::span<const storage::Need> HostBack::needs_of(std::span<const Prepared> writes) {
  uint32_t count = 0;
  for (const Prepared& p : writes) {
    if (p.write.is_delete) continue;
    needs_[count++] = need_of(p.write.table, static_cast<uint32_t>(p.write.key.size()),
                              static_cast<uint32_t>(p.write.value.size()), p.hash, p.record);
  }
  return {needs_.data(), count};
}

bool HostBack::set_aside(uint32_t local_shard, std::span<const offload::Write> writes) {
  uint32_t count = 0;
  for (const offload::Write& write : writes) {
    if (write.is_delete) continue;
    needs_[count++] = need_of(write.table, write.key_length, write.value_length, write.hash,
                              static_cast<const storage::Record*>(write.handle));
  }
  return shards_[local_shard]->set_aside({needs_.data(), count});
}

bool HostBack::set_aside(uint32_t local_shard, Bytes redo) {
  return shards_[local_shard]->set_aside(needs_of(take_apart(local_shard, redo)));
}

void HostBack::give_back(uint32_t local_shard, Bytes redo) {
  shards_[local_shard]->give_back(needs_of(take_apart(local_shard, redo)));
}

// The records stay where they are until maintain(): a put() moves its own key's at most, and no key stands twice.
void HostBack::apply(uint32_t local_shard, Version version, Bytes redo) {
  storage::Shard& shard = *shards_[local_shard];
  const std::span<const Prepared> writes = take_apart(local_shard, redo);
  shard.give_back(needs_of(writes));
  for (const Prepared& p : writes) {
    const auto key_length = static_cast<uint32_t>(p.write.key.size());
    if (!p.write.is_delete) {
      shard.put(p.write.table, p.write.key.data(), key_length, p.hash, p.write.value.data(),
                static_cast<uint32_t>(p.write.value.size()), version, p.record);
    } else if (p.record != nullptr) {
      shard.erase(p.record, p.hash, version);
    }
  }
  shard.maintain();
}

// A record's watermark: the client has sent this sequence, so its own is less than a window below, though its newer
// messages may have gone to other shards only. Else replay would miss what the window let go for this one.
Sequence HostBack::least_watermark(Sequence sequence) const {
  const Sequence window = sessions_->configured().window;
  return sequence < window ? 1 : sequence - window + 1;
}

log::TransactionEntry entry_of(commit::Record kind, const commit::Transaction& t, bool in_window, Sequence watermark) {
  log::TransactionEntry entry;
  entry.id = t.id;
  entry.participants = t.participants;
  entry.place = t.place;
  entry.in_window = in_window;
  entry.forced = t.forced;
  entry.version = t.version();
  entry.watermark = watermark;
  switch (kind) {
    case commit::Record::kPrepare:
      entry.type = log::RecordType::kPrepare;
      entry.locks = t.held_locks();
      entry.values = t.values_of(t.place);
      entry.value_count = t.parts[t.place].value_count;
      entry.redo = t.redo();
      return entry;
    case commit::Record::kCommit:
      entry.type = log::RecordType::kPreparedCommit;
      entry.redo = t.redo();
      return entry;
    case commit::Record::kAbort:
      entry.type = log::RecordType::kAbort;
      break;
    case commit::Record::kEnd:
      entry.type = log::RecordType::kEnd;
      if (t.state == commit::State::kCommitted) return entry;
  }
  entry.result = t.result;
  entry.detail = t.detail;
  return entry;
}

bool HostBack::log_transaction(const offload::TransactionRecord& record, Lsn* lsn) {
  *lsn = 0;
  if (log_ == nullptr) return true;
  const commit::Transaction& t = *record.transaction;
  const Sequence watermark = std::max(record.watermark, least_watermark(t.id.sequence));
  const log::TransactionEntry entry = entry_of(record.kind, t, record.in_window, watermark);
  const uint32_t bytes = log::transaction_bytes(entry);
  std::byte* const at = log_->reserve(bytes);
  if (at == nullptr) return false;
  log::lay_transaction(entry, global_shard(record.local_shard), at);
  *lsn = log_->append(bytes);
  return true;
}

}  // namespace txnic::back
