// SPDX-License-Identifier: BSD-3-Clause
#include "host/back/host_back.h"

namespace txnic::back {

HostBack::HostBack(const HostBackConfig& config, std::span<const storage::Table> tables,
                   std::vector<storage::Shard*> shards, log::WorkerLog* log, log::Keeper* keeper,
                   SessionTable* sessions)
    : config_(config),
      durability_(config.durability),
      log_(log),
      keeper_(keeper),
      sessions_(sessions),
      shards_(std::move(shards)),
      current_versions_(shards_.size(), config.first_version),
      durable_versions_(shards_.size(), config.first_version) {
  assert((log == nullptr) == (config.durability == Durability::kNone));
  table_index_.fill(kUnknownTable);
  for (size_t i = 0; i < tables.size(); ++i) table_index_[tables[i].id] = static_cast<uint16_t>(i);
  if (log_ != nullptr) log_->track_versions(current_versions_, durable_versions_);
}

void HostBack::set_current_version(uint32_t local_shard, Version newest) {
  assert(newest >= current_versions_[local_shard]);
  current_versions_[local_shard] = newest;
  durable_versions_[local_shard] = newest;
}

bool HostBack::log_session_open(SessionId session, Endpoint from, Stamp stamp, Sequence attempt) {
  if (log_ == nullptr) return true;
  std::byte* const at = log_->reserve(offload::kOpenRecordBytes);
  if (at == nullptr) return false;
  offload::lay_open_record(session, from, stamp, attempt, at);
  log_->append(offload::kOpenRecordBytes);
  return true;
}

bool HostBack::log_session_close(SessionId session) {
  if (log_ == nullptr) return true;
  std::byte* const at = log_->reserve(offload::kCloseRecordBytes);
  if (at == nullptr) return false;
  offload::lay_close_record(session, at);
  log_->append(offload::kCloseRecordBytes);
  return true;
}

uint32_t HostBack::poll(TimeNs now) {
  if (log_ == nullptr) return 0;
  const Lsn before = log_->durable();
  log_->poll(now);
  if (keeper_->part_offered(config_.worker) && !checkpoint_.active()) [[unlikely]] {
    log::CheckpointWriter* const part = keeper_->start_part(config_.worker, *log_);
    if (part != nullptr) checkpoint_.begin(part);
  }
  const uint32_t fed = checkpoint_.active() ? checkpoint_.step(*this) : 0;
  return fed + (log_->durable() != before ? 1 : 0);
}

}  // namespace txnic::back
