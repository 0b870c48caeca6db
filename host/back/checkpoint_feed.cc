// SPDX-License-Identifier: BSD-3-Clause
#include "host/back/checkpoint_feed.h"

#include <algorithm>

#include "host/back/host_back.h"
#include "host/back/mirror.h"
#include "txn/commit/machine.h"

namespace txnic::back {
namespace {

// Worst case of the buckets of one step: every record of the largest size would not fit a buffer at once, so a step
// asks for room bucket by bucket and repeats the bucket that did not fit. Rows may be written twice; redo is exact.
bool write_row(log::CheckpointWriter& part, ShardId shard, const storage::Record& record) {
  const uint32_t bytes =
      static_cast<uint32_t>(sizeof(log::RecordHeader)) + log::write_bytes(record.key_length, record.value_length);
  std::byte* at = part.reserve(bytes);
  if (at == nullptr) return false;
  store(at, log::RecordHeader{bytes, static_cast<uint8_t>(log::RecordType::kRow), 1, shard, record.version, 0, 0, 0});
  at += sizeof(log::RecordHeader);
  store<uint64_t>(at + log::write_bytes(record.key_length, record.value_length) - 8, 0);
  store(at, log::WriteHeader{record.key_length, 0, record.table, record.value_length, 0});
  std::memcpy(at + sizeof(log::WriteHeader), record.key(), record.key_length + record.value_length);
  part.append(bytes);
  return true;
}

bool write_header(log::CheckpointWriter& part, const log::RecordHeader& header) {
  std::byte* const at = part.reserve(header.length);
  if (at == nullptr) return false;
  store(at, header);
  part.append(header.length);
  return true;
}

bool write_transaction(log::CheckpointWriter& part, const HostBack& back, const commit::Transaction& t) {
  const commit::Record kind = t.state == commit::State::kPrepared    ? commit::Record::kPrepare
                              : t.state == commit::State::kCommitted ? commit::Record::kCommit
                                                                     : commit::Record::kAbort;
  const Session* const session = back.sessions().find(t.id.session);
  const Sequence watermark = std::max(session == nullptr ? 0 : session->watermark, back.least_watermark(t.id.sequence));
  log::TransactionEntry entry = offload::entry_of(kind, t, session != nullptr, watermark);
  if (kind == commit::Record::kCommit) entry.redo = {};
  const uint32_t bytes = log::transaction_bytes(entry);
  std::byte* const at = part.reserve(bytes);
  if (at == nullptr) return false;
  log::lay_transaction(entry, back.own_number(t.shard), at);
  part.append(bytes);
  return true;
}

constexpr uint32_t kHeaderBytes = sizeof(log::RecordHeader);

}  // namespace

uint32_t CheckpointFeed::step(const HostBack& back) {
  if (part_ == nullptr) return 0;
  part_->poll();
  switch (phase_) {
    case Phase::kShards:
      return write_shards(back);
    case Phase::kTransactions:
      return write_transactions(back);
    case Phase::kSessions:
      return write_sessions(back);
    case Phase::kRows:
      return write_rows(back);
    case Phase::kFinish:
      break;
  }
  if (part_->done() || part_->failed()) part_ = nullptr;
  return 0;
}

uint32_t CheckpointFeed::write_shards(const HostBack& back) {
  uint32_t written = 0;
  for (; shard_ < back.shard_count(); ++shard_, ++written) {
    if (!write_header(*part_, {kHeaderBytes, static_cast<uint8_t>(log::RecordType::kShardState), 0,
                               back.global_shard(shard_), back.current_version(shard_), 0, 0, 0})) {
      return written;
    }
  }
  shard_ = 0;
  phase_ = Phase::kTransactions;
  return written;
}

uint32_t CheckpointFeed::write_transactions(const HostBack& back) {
  if (back.mirror() != nullptr) return write_mirrored(*back.mirror());
  commit::Machine* const machine = back.machine();
  const uint32_t slots = machine == nullptr ? 0 : machine->capacity();
  uint32_t written = 0;
  for (uint32_t looked_at = 0; slot_ < slots; ++slot_, ++looked_at) {
    if (looked_at == kSlotsPerStep || written == kTransactionsPerStep) return std::max(written, 1u);
    const commit::Transaction* const t = machine->kept(slot_);
    if (t == nullptr) continue;
    if (!write_transaction(*part_, back, *t)) return written;
    ++written;
  }
  phase_ = Phase::kSessions;
  return written;
}

// The same, with a front on the NIC.
uint32_t CheckpointFeed::write_mirrored(const Mirror& mirror) {
  uint32_t written = 0;
  for (uint32_t looked_at = 0; slot_ < mirror.capacity(); ++slot_, ++looked_at) {
    if (looked_at == kSlotsPerStep || written == kTransactionsPerStep) return std::max(written, 1u);
    const Bytes record = mirror.kept(slot_);
    if (record.empty()) continue;
    std::byte* const at = part_->reserve(static_cast<uint32_t>(record.size()));
    if (at == nullptr) return written;
    std::memcpy(at, record.data(), record.size());
    part_->append(static_cast<uint32_t>(record.size()));
    ++written;
  }
  phase_ = Phase::kSessions;
  return written;
}

// The session's own record, then its outcomes. False: no room now, go on from here at the next step.
bool CheckpointFeed::write_session(const Session& session) {
  if (!session_written_) {
    constexpr uint32_t bytes = kHeaderBytes + sizeof(log::SessionBody);
    std::byte* const at = part_->reserve(bytes);
    if (at == nullptr) return false;
    store(at, log::RecordHeader{bytes, static_cast<uint8_t>(log::RecordType::kSessionOpen), 0, 0xffff, 0, session.id,
                                session.attempt, session.watermark});
    store(at + kHeaderBytes, log::SessionBody{session.stamp, session.opened_from.address, session.opened_from.port, 0});
    part_->append(bytes);
    session_written_ = true;
  }
  return true;
}

uint32_t CheckpointFeed::write_sessions(const HostBack& back) {
  const SessionTable& table = back.sessions();
  const uint32_t window = table.configured().window;
  const uint32_t entries = window * back.shard_count();
  uint32_t looked_at = 0;
  while (session_ < table.capacity()) {
    const Session* const session = table.at(session_);
    if (session == nullptr || session->is_static_replay || outcome_ == entries) {
      ++session_, outcome_ = 0, session_written_ = false;
      if (++looked_at >= kOutcomesPerStep) return looked_at;
      continue;
    }
    if (!write_session(*session)) return looked_at + 1;
    for (; outcome_ < entries; ++outcome_) {
      if (++looked_at >= kOutcomesPerStep) return looked_at;
      const uint32_t local = outcome_ / window;
      const Outcome& outcome = table.entry(session, local, outcome_ % window);
      // Aborts too: one over several shards is final, whatever stamp a duplicate carries.
      if (outcome.key == 0) continue;
      if (!write_header(*part_,
                        {kHeaderBytes, static_cast<uint8_t>(log::RecordType::kOutcome), 0, back.global_shard(local),
                         outcome.version, session->id, outcome.key, session->watermark})) {
        return looked_at;
      }
    }
  }
  phase_ = Phase::kRows;
  return looked_at;
}

uint32_t CheckpointFeed::write_rows(const HostBack& back) {
  uint32_t written = 0;
  for (uint32_t step = 0; step < kBucketsPerStep && shard_ < back.shard_count(); ++step) {
    const uint64_t before = cursor_;
    bool fits = true;
    const bool more = back.shard(shard_).scan(&cursor_, 1, [&](const storage::Record& record) {
      fits = fits && write_row(*part_, back.global_shard(shard_), record);
      ++written;
    });
    if (!fits) {
      cursor_ = before;
      return written;
    }
    if (!more) next_shard();
  }
  if (shard_ == back.shard_count()) {
    part_->finish(back.log()->end());
    phase_ = Phase::kFinish;
  }
  return written;
}

}  // namespace txnic::back
