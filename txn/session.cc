// SPDX-License-Identifier: BSD-3-Clause
#include "txn/session.h"

#include <bit>
#include <cassert>

namespace txnic {
namespace {

uint32_t index_size(const SessionLimits& limits) { return std::bit_ceil(limits.sessions * 2 + 2); }


size_t outcome_bytes(const SessionLimits& limits) {
  return static_cast<size_t>(limits.sessions) * limits.shards * limits.window * sizeof(Outcome);
}

}  // namespace

size_t SessionTable::memory_bytes(const SessionLimits& limits) {
  return align64(index_size(limits) * sizeof(uint32_t)) + align64(limits.sessions * sizeof(Session)) +
         align64(outcome_bytes(limits));
}

void SessionTable::init(const SessionLimits& limits, MutableBytes memory) {
  assert(limits.sessions != 0 && limits.shards != 0 && std::has_single_bit(limits.window));
  assert(memory.size() >= memory_bytes(limits));
  limits_ = limits;
  mask_ = index_size(limits) - 1;
  window_bits_ = static_cast<uint32_t>(std::countr_zero(limits.window));
  std::byte* at = memory.data();
  index_ = reinterpret_cast<uint32_t*>(at);
  at += align64((mask_ + 1) * sizeof(uint32_t));
  sessions_ = reinterpret_cast<Session*>(at);
  at += align64(limits.sessions * sizeof(Session));
  outcomes_ = reinterpret_cast<Outcome*>(at);
  for (uint32_t i = 0; i < limits.sessions; ++i) sessions_[i] = Session{};
  size_ = expiry_cursor_ = free_cursor_ = 0;
  rebuild_index();
}

void SessionTable::rebuild_index() {
  for (uint32_t i = 0; i <= mask_; ++i) index_[i] = kEmpty;
  deleted_ = 0;
  for (uint32_t slot = 0; slot < limits_.sessions; ++slot) {
    if (sessions_[slot].id == 0) continue;
    uint32_t at = home(sessions_[slot].id);
    while (index_[at] != kEmpty) at = (at + 1) & mask_;
    index_[at] = slot;
  }
}

Session* SessionTable::insert(SessionId id) {
  assert(id != 0 && find(id) == nullptr);
  if (size_ == limits_.sessions) return nullptr;
  // Deleted marks lengthen probes; opening sessions is rare enough to pay for cleaning here.
  if (deleted_ > limits_.sessions / 2) rebuild_index();
  while (sessions_[free_cursor_].id != 0) free_cursor_ = (free_cursor_ + 1) % limits_.sessions;
  const uint32_t slot = free_cursor_;
  sessions_[slot] = Session{};
  sessions_[slot].id = id;
  uint32_t at = home(id);
  while (index_[at] != kEmpty && index_[at] != kDeleted) at = (at + 1) & mask_;
  if (index_[at] == kDeleted) --deleted_;
  index_[at] = slot;
  ++size_;
  return &sessions_[slot];
}

void SessionTable::erase(Session* session) {
  assert(session->id != 0);
  uint32_t at = home(session->id);
  const uint32_t slot = slot_of(session);
  while (index_[at] != slot) at = (at + 1) & mask_;
  index_[at] = kDeleted;
  ++deleted_;
  --size_;
  const size_t entries = static_cast<size_t>(limits_.shards) * limits_.window;
  std::memset(static_cast<void*>(outcomes_ + slot * entries), 0, entries * sizeof(Outcome));
  *session = Session{};
}

}  // namespace txnic
