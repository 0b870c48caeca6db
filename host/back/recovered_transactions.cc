// SPDX-License-Identifier: BSD-3-Clause
// Transactions over several shards, from the log back into the commit machines.
#include "host/back/recovered_state.h"
#include "txn/commit/machine.h"

namespace txnic::back {
namespace {

std::string describe(const log::KeptTransaction& kept) {
  return "transaction (session " + std::to_string(kept.id.session) + ", sequence " + std::to_string(kept.id.sequence) +
         ")";
}

bool any_is_locked(const commit::LockTable& locks, const log::KeptTransaction& kept) {
  for (const commit::Lock& lock : kept.locks) {
    if (lock.exclusive ? locks.is_locked(lock.key) : locks.is_write_locked(lock.key)) return true;
  }
  return false;
}

commit::Restored restored_of(const log::KeptTransaction& kept) {
  commit::Restored restored;
  restored.result = kept.result;
  restored.detail = kept.detail;
  restored.forced = kept.forced;
  restored.prepared.id = kept.id;
  restored.prepared.shard = kept.participants.shards[kept.place];
  restored.prepared.participants = kept.participants;
  restored.prepared.version = kept.version;
  if (kept.type != log::RecordType::kPrepare) {
    restored.state = kept.type == log::RecordType::kAbort ? commit::State::kAborted : commit::State::kCommitted;
    return restored;
  }
  restored.state = commit::State::kPrepared;
  restored.prepared.locks = kept.locks;
  restored.prepared.redo = kept.redo;
  restored.prepared.values = kept.values;
  restored.prepared.value_count = kept.value_count;
  return restored;
}

// Answers an error text, or empty.
std::string restore_one(const log::KeptTransaction& kept, uint32_t local_shard, TimeNs now,
                        const std::function<bool(uint32_t, Bytes)>& set_aside, commit::Machine* machine) {
  const bool is_prepared = kept.type == log::RecordType::kPrepare;
  if (is_prepared && any_is_locked(machine->locks(), kept)) {
    return describe(kept) +
           ": another prepared one of the log locks the same key, which cannot be: start the program " +
           "version that wrote it, and report this";
  }
  if (is_prepared && !set_aside(local_shard, kept.redo)) {
    return describe(kept) + ": its prepared writes do not fit the store: raise memory_mib or the capacity of the " +
           "tables in the configuration";
  }
  if (machine->restore(restored_of(kept), now)) return {};
  return describe(kept) + ": it does not fit the worker's commit machine, which was made with room for it: report this";
}

}  // namespace

bool RecoveredState::on_transaction(ShardId shard, const log::TransactionEntry& entry) {
  Stream& stream = streams_[shard];
  stream.newest = std::max(stream.newest, entry.version);
  log::LoggedWrite write;
  for (size_t at = 0; at < entry.redo.size();) {
    at += log::read_write(entry.redo.data() + at, static_cast<uint32_t>(entry.redo.size() - at), &write);
    if (stream.shard == nullptr || stream.shard->table_index(write.table) >= 0) continue;
    stream.undeclared_table = write.table;
    return false;
  }
  stream.kept.on_transaction(entry);
  return true;
}

RecoveredState::Room RecoveredState::room_to_restore(uint32_t worker, uint32_t worker_count) const {
  Room room;
  for (size_t shard = worker; shard < streams_.size(); shard += worker_count) {
    streams_[shard].kept.for_each([&room](const log::KeptTransaction& kept) {
      ++room.transactions;
      room.locks += static_cast<uint32_t>(kept.locks.size());
    });
  }
  return room;
}

std::string RecoveredState::restore_with(const SetAside& set_aside, uint32_t worker, uint32_t worker_count, TimeNs now,
                                         commit::Machine* machine) const {
  std::string error;
  for (size_t shard = worker; shard < streams_.size(); shard += worker_count) {
    const auto local_shard = static_cast<uint32_t>(shard / worker_count);
    streams_[shard].kept.for_each([&](const log::KeptTransaction& kept) {
      if (error.empty()) error = restore_one(kept, local_shard, now, set_aside, machine);
    });
  }
  return error;
}

uint64_t RecoveredState::transactions() const {
  uint64_t sum = 0;
  for (const Stream& stream : streams_) sum += stream.kept.size();
  return sum;
}

}  // namespace txnic::back
