// SPDX-License-Identifier: BSD-3-Clause
// What a LinkServer needs of the back: its front is on the NIC, and made these records there.
#include <algorithm>

#include "host/back/host_back.h"

namespace txnic::back {

bool HostBack::is_redo(Bytes redo, uint32_t count) const {
  log::LoggedWrite write;
  uint32_t found = 0;
  for (size_t at = 0; at < redo.size(); ++found) {
    const uint32_t bytes = log::read_write(redo.data() + at, static_cast<uint32_t>(redo.size() - at), &write);
    if (bytes == 0 || !knows_table(write.table)) return false;
    at += bytes;
  }
  return found == count && count <= limits::kOperationsMax;
}

bool HostBack::reserve_record(uint32_t bytes) {
  if (log_ == nullptr) return true;
  reserved_bytes_ = bytes;
  reserved_ = log_->reserve(bytes);
  return reserved_ != nullptr;
}

void HostBack::append_record(Bytes record) {
  if (log_ == nullptr) return;
  assert(record.size() == reserved_bytes_);
  std::memcpy(reserved_, record.data(), record.size());
  log_->append(reserved_bytes_);
}

bool HostBack::can_put(uint32_t local_shard, Bytes redo) {
  const std::span<const Prepared> writes = take_apart(local_shard, redo);
  put_count_ = static_cast<uint32_t>(writes.size());
  // Far from full there is room for any transaction; near it the store is asked, which also knows declared capacities.
  constexpr uint64_t kAnyTransaction = (limits::kOperationsMax + 2) * uint64_t{storage::kPageBytes};
  const storage::Shard& shard = *shards_[local_shard];
  return shard.spare_bytes() >= kAnyTransaction || shard.room(needs_of(writes));
}

void HostBack::put(uint32_t local_shard, Version version) {
  write(*shards_[local_shard], {prepared_.data(), put_count_}, version);
}

bool HostBack::store_is_full(uint64_t reserve_bytes) const {
  return std::any_of(shards_.begin(), shards_.end(), [&](const storage::Shard* shard) {
    return shard->spare_bytes() < std::min(reserve_bytes, shard->memory_bytes() / 8);
  });
}

}  // namespace txnic::back
