// SPDX-License-Identifier: BSD-3-Clause
#include "host/back/mirror.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace txnic::back {

// Twice the front's: with all of its transactions kept there is room for as many promises of a time long past.
Mirror::Mirror(const MirrorConfig& config)
    : config_(config),
      session_memory_((SessionTable::memory_bytes(config.sessions) + sizeof(Line) - 1) / sizeof(Line)),
      slots_(2 * size_t{config.transactions}),
      records_(std::make_unique_for_overwrite<std::byte[]>(slots_.size() * kSlotBytes)) {
  sessions_.init(config.sessions, {session_memory_[0].bytes, session_memory_.size() * sizeof(Line)});
  const auto count = std::bit_ceil(static_cast<uint32_t>(slots_.size()));
  buckets_.assign(count, kNone);
  bucket_shift_ = 64 - static_cast<uint32_t>(std::countr_zero(count));
  for (uint32_t slot = capacity(); slot-- != 0;) slots_[slot].next = free_, free_ = slot;
}

bool Mirror::apply(Bytes record, const log::TransactionEntry* entry) {
  const auto header = load<log::RecordHeader>(record.data());
  switch (static_cast<log::RecordType>(header.type)) {
    case log::RecordType::kCommit:
      return header.session == 0 ||
             on_outcome(header.session, header.shard,
                        Outcome::make(header.sequence, Result::kCommitted, 0, header.version), header.watermark);
    case log::RecordType::kOutcome:
      return on_outcome(header.session, header.shard, {header.sequence, header.version}, header.watermark);
    case log::RecordType::kSessionOpen:
      return on_open(record);
    case log::RecordType::kSessionClose:
      on_close(header.session);
      return true;
    default:
      return entry == nullptr || on_transaction(*entry, header.shard);
  }
}

Session* Mirror::session_of(SessionId id) {
  Session* const session = sessions_.find(id);
  return session != nullptr ? session : sessions_.insert(id);
}

bool Mirror::on_outcome(SessionId id, ShardId shard, Outcome outcome, Sequence watermark) {
  Session* const session = session_of(id);
  if (session == nullptr) return false;
  session->watermark = std::max(session->watermark, watermark);
  Outcome& entry = sessions_.entry(session, local_shard(shard), outcome.sequence());
  // Out of order inside a window is normal.
  if (entry.key == 0 || entry.sequence() <= outcome.sequence()) entry = outcome;
  return true;
}

bool Mirror::on_open(Bytes record) {
  const auto header = load<log::RecordHeader>(record.data());
  const auto body = load<log::SessionBody>(record.data() + sizeof header);
  Session* const session = session_of(header.session);
  if (session == nullptr) return false;
  session->stamp = body.stamp;
  session->attempt = header.sequence;
  session->opened_from = {body.address, body.port};
  session->watermark = std::max(session->watermark, header.watermark);
  // Promises of before, whose session was not open: their outcomes go into the window now.
  for (uint32_t slot = 0; over_ != 0 && slot < capacity(); ++slot) {
    if (!slots_[slot].is_over || slots_[slot].id.session != header.session) continue;
    log::TransactionEntry entry;
    log::LockArray locks;
    const Bytes bytes = bytes_of(slot);
    const bool is_whole = log::parse_transaction(bytes.data(), static_cast<uint32_t>(bytes.size()), &locks, &entry);
    assert(is_whole);
    if (is_whole) {
      on_outcome(header.session, slots_[slot].shard,
                 log::outcome_of(entry.id, entry.result, entry.detail, entry.version), entry.watermark);
    }
    remove(slot);
  }
  return true;
}

void Mirror::on_close(SessionId id) {
  if (Session* const session = sessions_.find(id); session != nullptr) sessions_.erase(session);
  for (uint32_t slot = 0; over_ != 0 && slot < capacity(); ++slot) {
    if (slots_[slot].is_over && slots_[slot].id.session == id) remove(slot);
  }
}

// As KeptTransactions::on_transaction.
bool Mirror::on_transaction(const log::TransactionEntry& entry, ShardId shard) {
  const bool is_prepare = entry.type == log::RecordType::kPrepare;
  const bool is_forced = entry.forced && entry.place != 0;
  const bool is_over = !is_prepare && !is_forced && (entry.type == log::RecordType::kEnd || entry.place != 0);
  if (entry.in_window && !is_prepare &&
      !on_outcome(entry.id.session, shard, log::outcome_of(entry.id, entry.result, entry.detail, entry.version),
                  entry.watermark)) {
    return false;
  }
  uint32_t slot = find(entry.id, shard);
  if (is_over && entry.in_window) {
    if (slot != kNone) remove(slot);
    return true;
  }
  if (slot == kNone) slot = insert(entry.id, shard);
  if (slot == kNone) return false;
  log::TransactionEntry kept = entry;
  if (!is_prepare) kept.redo = {};  // its writes are in the store
  Slot& s = slots_[slot];
  over_ += is_over;
  over_ -= s.is_over;
  s.is_over = is_over;
  s.is_prepared = is_prepare;
  s.age = ++age_;
  s.length = log::transaction_bytes(kept);
  log::lay_transaction(kept, shard, records_.get() + size_t{slot} * kSlotBytes);
  return true;
}

uint32_t Mirror::find(const TransactionId& id, ShardId shard) const {
  uint32_t slot = const_cast<Mirror*>(this)->bucket(id);
  while (slot != kNone && !(slots_[slot].id == id && slots_[slot].shard == shard)) slot = slots_[slot].next;
  return slot;
}

Bytes Mirror::prepared(const TransactionId& id, ShardId shard, bool* is_set_aside) const {
  const uint32_t slot = find(id, shard);
  *is_set_aside = slot != kNone && slots_[slot].is_set_aside;
  return slot != kNone && slots_[slot].is_prepared ? bytes_of(slot) : Bytes();
}

uint32_t Mirror::insert(const TransactionId& id, ShardId shard) {
  if (free_ == kNone && over_ >= config_.transactions) {
    uint32_t oldest = kNone;
    for (uint32_t slot = 0; slot < capacity(); ++slot) {
      if (slots_[slot].is_over && (oldest == kNone || slots_[slot].age < slots_[oldest].age)) oldest = slot;
    }
    remove(oldest);
  }
  if (free_ == kNone) return kNone;
  const uint32_t slot = free_;
  free_ = slots_[slot].next;
  slots_[slot] = {};
  slots_[slot].id = id;
  slots_[slot].shard = shard;
  slots_[slot].next = bucket(id);
  bucket(id) = slot;
  ++used_;
  return slot;
}

void Mirror::remove(uint32_t slot) {
  uint32_t* at = &bucket(slots_[slot].id);
  while (*at != slot) at = &slots_[*at].next;
  *at = slots_[slot].next;
  over_ -= slots_[slot].is_over;
  --used_;
  slots_[slot] = {};
  slots_[slot].next = free_;
  free_ = slot;
}

// Transactions first, then sessions, as in a checkpoint: the reader takes an outcome that a session's record follows
// into its window.
uint32_t Mirror::tell(Cursor* cursor, MutableBytes room) const {
  uint32_t used = 0;
  for (; cursor->slot < capacity(); ++cursor->slot) {
    const Bytes record = kept(cursor->slot);
    if (record.empty()) continue;
    if (used + record.size() > room.size()) return used;
    std::memcpy(room.data() + used, record.data(), record.size());
    used += static_cast<uint32_t>(record.size());
  }
  for (; cursor->session < sessions_.capacity(); ++cursor->session) {
    const Session* const session = sessions_.at(cursor->session);
    if (session != nullptr && !tell_session(*session, cursor, room, &used)) return used;
    cursor->entry = 0;
    cursor->session_told = false;
  }
  return used;
}

// False: no more room.
bool Mirror::tell_session(const Session& session, Cursor* cursor, MutableBytes room, uint32_t* used) const {
  constexpr uint32_t kOpenBytes = sizeof(log::RecordHeader) + sizeof(log::SessionBody);
  if (!cursor->session_told) {
    if (*used + kOpenBytes > room.size()) return false;
    store(room.data() + *used, log::RecordHeader{kOpenBytes, static_cast<uint8_t>(log::RecordType::kSessionOpen), 0,
                                                 log::kNoShard, 0, session.id, session.attempt, session.watermark});
    store(room.data() + *used + sizeof(log::RecordHeader),
          log::SessionBody{session.stamp, session.opened_from.address, session.opened_from.port, 0});
    *used += kOpenBytes;
    cursor->session_told = true;
  }
  const uint32_t window = config_.sessions.window;
  for (; cursor->entry < window * config_.sessions.shards; ++cursor->entry) {
    const uint32_t local = cursor->entry / window;
    const Outcome& outcome = sessions_.entry(&session, local, cursor->entry % window);
    if (outcome.key == 0) continue;
    if (*used + sizeof(log::RecordHeader) > room.size()) return false;
    const auto shard = static_cast<ShardId>(local * config_.worker_count + config_.worker);
    store(room.data() + *used,
          log::RecordHeader{sizeof(log::RecordHeader), static_cast<uint8_t>(log::RecordType::kOutcome), 0, shard,
                            outcome.version, session.id, outcome.key, session.watermark});
    *used += static_cast<uint32_t>(sizeof(log::RecordHeader));
  }
  return true;
}

}  // namespace txnic::back
