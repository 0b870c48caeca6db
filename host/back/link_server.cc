// SPDX-License-Identifier: BSD-3-Clause
#include "host/back/link_server.h"

#include <algorithm>

#include "txn/hash.h"

namespace txnic::back {
namespace {

using log::RecordType;

bool is_transaction(RecordType type) { return type >= RecordType::kPrepare && type <= RecordType::kEnd; }

}  // namespace

LinkServer::LinkServer(const LinkServerConfig& config, HostBack* back, Mirror* mirror, MutableBytes memory,
                       link::FramePort* port)
    : config_(config), back_(back), mirror_(mirror) {
  assert(back->mirror() == mirror && &back->sessions() == &mirror->sessions());
  link_.init(config.link, memory, port, this);
}

void LinkServer::admit(uint64_t epoch, uint32_t incarnation, TimeNs now) {
  log_base_ = back_->log() == nullptr ? 0 : back_->log()->end();
  for (uint32_t local = 0; local < back_->shard_count(); ++local) {
    back_->note_version(local, first_version(incarnation));
  }
  link_.admit(epoch, incarnation, now);
}

uint32_t LinkServer::poll() {
  const bool is_full = link_.has_front() && back_->store_is_full(config_.reserve_bytes);
  return link_.poll(link_.has_front() ? durable() : 0, is_full);
}

// In this epoch nobody else appends, so positions of the log and of the link run side by side.
Lsn LinkServer::durable() const {
  if (back_->log() == nullptr) return link_.taken();
  const Lsn durable = back_->log()->durable();
  return durable <= log_base_ ? 0 : std::min(durable - log_base_, link_.taken());
}

bool LinkServer::is_mine(ShardId shard) const {
  return shard < config_.shard_count && back_->global_shard(back_->local_shard(shard)) == shard;
}

link::Taken LinkServer::on_record(Bytes record) {
  const auto header = load<log::RecordHeader>(record.data());
  const auto type = static_cast<RecordType>(header.type);
  if (type == RecordType::kSessionOpen || type == RecordType::kSessionClose) {
    const bool is_open = type == RecordType::kSessionOpen;
    const size_t bytes = sizeof header + (is_open ? sizeof(log::SessionBody) : 0);
    if (header.session == 0 || header.shard != log::kNoShard || record.size() != bytes) return link::Taken::kMalformed;
    if (!back_->reserve_record(header.length)) return put_off(&counters_.log_full);
    return take(record, nullptr);
  }
  if (!is_mine(header.shard)) return link::Taken::kMalformed;
  if (type == RecordType::kCommit) return take_commit(header, record);
  if (type == RecordType::kOutcome) {
    if (header.session == 0 || record.size() != sizeof header) return link::Taken::kMalformed;
    if (!back_->reserve_record(header.length)) return put_off(&counters_.log_full);
    return take(record, nullptr);
  }
  log::TransactionEntry entry;
  log::LockArray locks;
  if (!is_transaction(type) || !log::parse_transaction(record.data(), header.length, &locks, &entry) ||
      !back_->is_redo(entry.redo, header.write_count)) {
    return link::Taken::kMalformed;
  }
  return take_transaction(header, record, entry);
}

// Into log and mirror; what it does to the store has been done, or cannot fail any more.
link::Taken LinkServer::take(Bytes record, const log::TransactionEntry* entry) {
  if (!mirror_->apply(record, entry)) return link::Taken::kMalformed;
  back_->append_record(record);
  return link::Taken::kYes;
}

link::Taken LinkServer::take_commit(const log::RecordHeader& header, Bytes record) {
  const Bytes redo = record.subspan(sizeof header);
  const uint32_t local = back_->local_shard(header.shard);
  if (!back_->is_redo(redo, header.write_count)) return link::Taken::kMalformed;
  if (!back_->reserve_record(header.length)) return put_off(&counters_.log_full);
  if (!back_->can_put(local, redo)) return put_off(&counters_.no_memory);
  const link::Taken taken = take(record, nullptr);
  if (taken != link::Taken::kYes) return taken;
  back_->put(local, header.version);
  back_->note_version(local, header.version);
  ++counters_.commits;
  counters_.rows += header.write_count;
  return taken;
}

// The writes that its PREPARE record has; empty if it is not prepared, or writes nothing.
Bytes LinkServer::prepared_redo(const TransactionId& id, ShardId shard, bool* is_set_aside) const {
  const Bytes prepared = mirror_->prepared(id, shard, is_set_aside);
  if (prepared.empty()) return {};
  log::TransactionEntry entry;
  log::LockArray locks;
  const bool is_whole = log::parse_transaction(prepared.data(), load<uint32_t>(prepared.data()), &locks, &entry);
  assert(is_whole && "it was parsed when it came");
  return is_whole ? entry.redo : Bytes();
}

link::Taken LinkServer::take_transaction(const log::RecordHeader& header, Bytes record,
                                         const log::TransactionEntry& entry) {
  const uint32_t local = back_->local_shard(header.shard);
  bool is_set_aside = false;
  const Bytes prepared = prepared_redo(entry.id, header.shard, &is_set_aside);
  const bool commits = entry.type == RecordType::kPreparedCommit;
  if (entry.type == RecordType::kPrepare && is_set_aside) return link::Taken::kMalformed;  // twice
  const bool same =
      prepared.size() == entry.redo.size() && std::equal(prepared.begin(), prepared.end(), entry.redo.begin());
  if (commits && is_set_aside && !same) return link::Taken::kMalformed;
  if (!back_->reserve_record(header.length)) return put_off(&counters_.log_full);
  bool sets_aside = false;
  if (entry.type == RecordType::kPrepare) {
    sets_aside = back_->set_aside(local, entry.redo);
    if (!sets_aside && back_->store_is_full(config_.reserve_bytes)) return put_off(&counters_.no_memory);
    counters_.not_set_aside += !sets_aside;
    ++counters_.prepares;
  } else if (commits) {
    if (!is_set_aside && !back_->can_put(local, entry.redo)) return put_off(&counters_.no_memory);
    if (is_set_aside) {
      back_->apply(local, entry.version, entry.redo);
    } else {
      back_->put(local, entry.version);
    }
    ++counters_.prepared_commits;
    counters_.rows += header.write_count;
  } else if (is_set_aside) {
    back_->give_back(local, prepared);
    ++counters_.aborts;
  }
  back_->note_version(local, entry.version);
  const link::Taken taken = take(record, &entry);
  if (sets_aside && taken == link::Taken::kYes) mirror_->note_set_aside(entry.id, header.shard, true);
  return taken;
}

bool LinkServer::keep(Bytes record) {
  const auto header = load<log::RecordHeader>(record.data());
  const auto type = static_cast<RecordType>(header.type);
  if (type == RecordType::kShardState) {
    back_->note_version(back_->local_shard(header.shard), header.version);
    return true;
  }
  if (!is_transaction(type)) return mirror_->apply(record, nullptr);
  log::TransactionEntry entry;
  log::LockArray locks;
  if (!log::parse_transaction(record.data(), header.length, &locks, &entry) || !mirror_->apply(record, &entry)) {
    return false;
  }
  if (type != RecordType::kPrepare) return true;
  const bool is_set_aside = back_->set_aside(back_->local_shard(header.shard), entry.redo);
  mirror_->note_set_aside(entry.id, header.shard, is_set_aside);
  return is_set_aside;
}

void LinkServer::give_back_all() {
  for (uint32_t slot = 0; slot < mirror_->capacity(); ++slot) {
    const Bytes record = mirror_->kept(slot);
    if (record.empty()) continue;
    const auto header = load<log::RecordHeader>(record.data());
    const TransactionId id{header.session, header.sequence};
    bool is_set_aside = false;
    const Bytes redo = prepared_redo(id, header.shard, &is_set_aside);
    if (!is_set_aside) continue;
    back_->give_back(back_->local_shard(header.shard), redo);
    mirror_->note_set_aside(id, header.shard, false);
  }
}

void LinkServer::prefetch_key(uint32_t local_shard, TableId table, Bytes key, Stage stage) const {
  const uint64_t hash = table_hash(hash_key(key.data(), static_cast<uint32_t>(key.size())), table);
  if (stage == Stage::kPlaces) {
    back_->prefetch_bucket(local_shard, hash);
  } else {
    back_->prefetch_record(local_shard, hash);
  }
}

void LinkServer::prefetch_question(const link::Question& question, Stage stage) {
  prefetch_key(question.local_shard, question.table, {question.key, question.key_length}, stage);
}

// A commit's first writes, and its window entry.
void LinkServer::prefetch_record(Bytes record, Stage stage) {
  constexpr uint32_t kWrites = 4;
  const auto header = load<log::RecordHeader>(record.data());
  if (header.type != static_cast<uint8_t>(RecordType::kCommit) || !is_mine(header.shard)) return;
  const uint32_t local = back_->local_shard(header.shard);
  if (stage == Stage::kPlaces) {
    mirror_->sessions().prefetch(header.session);
  } else {
    mirror_->sessions().prefetch_entry(header.session, local, header.sequence);
  }
  Bytes rest = record.subspan(sizeof header);
  log::LoggedWrite write;
  for (uint32_t i = 0; i < header.write_count && i < kWrites; ++i) {
    const uint32_t bytes = log::read_write(rest.data(), static_cast<uint32_t>(rest.size()), &write);
    if (bytes == 0) return;
    prefetch_key(local, write.table, write.key, stage);
    rest = rest.subspan(bytes);
  }
}

link::Answer LinkServer::on_question(const link::Question& question) {
  const uint64_t hash = table_hash(hash_key(question.key, question.key_length), question.table);
  const offload::Found found =
      back_->find(question.local_shard, question.table, question.key, question.key_length, hash);
  ++(found.present() ? counters_.found : counters_.absent);
  return {found.present(), found.version, {found.value, found.value_length}};
}

uint32_t LinkServer::kept(MutableBytes room, bool from_start) {
  constexpr uint32_t kBytes = sizeof(log::RecordHeader);
  if (from_start) version_told_ = 0, cursor_ = {};
  uint32_t used = 0;
  for (; version_told_ < back_->shard_count() && used + kBytes <= room.size(); ++version_told_, used += kBytes) {
    store(room.data() + used,
          log::RecordHeader{kBytes, static_cast<uint8_t>(RecordType::kShardState), 0,
                            back_->global_shard(version_told_), back_->current_version(version_told_), 0, 0, 0});
  }
  if (version_told_ < back_->shard_count()) return used;
  return used + mirror_->tell(&cursor_, room.subspan(used));
}

// Growth during the scan loses no key that stays, see Shard::scan.
uint32_t LinkServer::hashes(uint32_t local_shard, uint64_t cursor, std::span<uint64_t> room, uint64_t* next) {
  constexpr uint32_t kBucketMax = limits::kBucketChainMax * 7;
  static_assert(kBucketMax <= kFillStep);
  constexpr uint32_t kBucketsPerStep = 1024;
  uint32_t count = 0;
  bool more = true;
  for (uint32_t i = 0; more && i < kBucketsPerStep && count + kBucketMax <= room.size(); ++i) {
    more = back_->shard(local_shard).scan(&cursor, 1, [&](const storage::Record& record) {
      room[count++] = table_hash(hash_key(record.key(), record.key_length), record.table);
    });
  }
  *next = more ? cursor : link::kFillEnd;
  return count;
}

}  // namespace txnic::back
