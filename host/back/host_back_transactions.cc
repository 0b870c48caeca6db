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
  return offload::lay_redo(writes, room);
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
  write(shard, writes, version);
}

void HostBack::write(storage::Shard& shard, std::span<const Prepared> writes, Version version) {
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

Sequence HostBack::least_watermark(Sequence sequence) const {
  return offload::least_watermark(sequence, sessions_->configured().window);
}

bool HostBack::log_transaction(const offload::TransactionRecord& record, Lsn* lsn) {
  *lsn = 0;
  if (log_ == nullptr) return true;
  const commit::Transaction& t = *record.transaction;
  const Sequence watermark = std::max(record.watermark, least_watermark(t.id.sequence));
  const log::TransactionEntry entry = offload::entry_of(record.kind, t, record.in_window, watermark);
  const uint32_t bytes = log::transaction_bytes(entry);
  std::byte* const at = log_->reserve(bytes);
  if (at == nullptr) return false;
  log::lay_transaction(entry, global_shard(record.local_shard), at);
  *lsn = log_->append(bytes);
  return true;
}

}  // namespace txnic::back
