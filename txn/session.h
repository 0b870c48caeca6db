// SPDX-License-Identifier: BSD-3-Clause
// Sessions and their exactly-once windows, as one worker keeps them (COMMIT 8–12).
//
// A session spans the workers of a node; each worker has a SessionTable with the windows of its own shards:
// outcomes are keyed (session, sequence, shard) and move with the shard. The window is a ring: sequence s
// lives in entry s % window, and the client keeps what it has outstanding within [watermark, watermark + window),
// so an entry is only ever overwritten by a sequence that the client allowed by its watermark.
//
// Pure: memory, time and stamps are passed in. Not thread-safe: one owner.
#pragma once

#include "txn/limits.h"
#include "txn/prefetch.h"
#include "txn/result.h"
#include "txn/types.h"

namespace txnic {

struct SessionLimits {
  uint32_t sessions = limits::kSessionsDefault;
  uint32_t window = limits::kWindowDefault;  // a power of two
  uint32_t shards = 1;                       // local shards of this worker
  TimeNs idle_expiry_ns = limits::kSessionIdleExpirySecondsDefault * 1'000'000'000ull;
};

// One recorded outcome. 16 bytes; an empty entry has key 0.
struct Outcome {
  uint64_t key = 0;     // sequence << 16 | detail << 8 | result
  Version version = 0;  // commit version; for aborts the newest version that the decision depends on

  Sequence sequence() const { return key >> 16; }
  Result result() const { return static_cast<Result>(key & 0xff); }
  uint8_t detail() const { return static_cast<uint8_t>(key >> 8); }
  static Outcome make(Sequence sequence, Result result, uint8_t detail, Version version) {
    return {sequence << 16 | static_cast<uint64_t>(detail) << 8 | static_cast<uint64_t>(result), version};
  }
};
static_assert(sizeof(Outcome) == 16);
inline constexpr Sequence kSequenceMax = (1ull << 48) - 1;

struct Session {
  SessionId id = 0;  // 0: a free slot
  Stamp stamp = 0;   // 0 in a session that recovery brought back and nobody has opened again yet
  Sequence watermark = 1;
  Sequence attempt = 0;  // the client's opening attempt that yielded `stamp`
  TimeNs last_seen_ns = 0;
  Endpoint opened_from;
  bool is_static = false;         // named in the configuration: needs no opening, any stamp, any address, no expiry
  bool is_static_replay = false;  // and no window: every copy is executed (replay: EXECUTE)
};

class SessionTable {
 public:
  static size_t memory_bytes(const SessionLimits& limits);
  // `memory`: memory_bytes() zeroed bytes, 64-aligned, the caller's for the life of the table.
  void init(const SessionLimits& limits, MutableBytes memory);

  // Finds an open session; null if unknown.
  Session* find(SessionId id) {
    uint32_t at = home(id);
    for (uint32_t probes = 0; probes <= mask_; ++probes) {
      const uint32_t slot = index_[at];
      if (slot == kEmpty) return nullptr;
      if (slot != kDeleted && sessions_[slot].id == id) return &sessions_[slot];
      at = (at + 1) & mask_;
    }
    return nullptr;
  }
  const Session* find(SessionId id) const { return const_cast<SessionTable*>(this)->find(id); }
  void prefetch(SessionId id) const { txnic::prefetch(&index_[home(id)]); }

  // The second stage: the window entry, once the index is in the cache.
  void prefetch_entry(SessionId id, uint32_t local_shard, Sequence sequence) {
    if (const Session* session = find(id); session != nullptr) {
      txnic::prefetch(&entry(session, local_shard, sequence));
    }
  }

  // Adds a session, which must not be there yet, with an empty window; null when the table is full (answer BUSY,
  // reason kSessions).
  Session* insert(SessionId id);
  // Forgets a session and its windows.
  void erase(Session* session);

  // The window entry of (session, local shard, sequence).
  Outcome& entry(const Session* session, uint32_t local_shard, Sequence sequence) {
    const size_t row = static_cast<size_t>(slot_of(session)) * limits_.shards + local_shard;
    return outcomes_[(row << window_bits_) | (sequence & (limits_.window - 1))];
  }

  const Outcome& entry(const Session* session, uint32_t local_shard, Sequence sequence) const {
    return const_cast<SessionTable*>(this)->entry(session, local_shard, sequence);
  }

  // Idle expiry: looks at up to `count` slots from where the last call stopped; erases sessions that have been
  // silent for idle_expiry_ns, if may_erase(session) says so: there the caller logs their end, else every session
  // that ever expired comes back at the next recovery. Answers how many were erased. The caller makes sure that all
  // their outcomes are durable (COMMIT 9).
  template <class MayErase>
  uint32_t expire(TimeNs now, uint32_t count, MayErase&& may_erase) {
    uint32_t erased = 0;
    for (uint32_t i = 0; i < count; ++i) {
      Session& session = sessions_[expiry_cursor_];
      expiry_cursor_ = (expiry_cursor_ + 1) % limits_.sessions;
      if (session.id == 0 || session.is_static || now < session.last_seen_ns + limits_.idle_expiry_ns) continue;
      if (!may_erase(static_cast<const Session&>(session))) continue;
      erase(&session);
      ++erased;
    }
    return erased;
  }
  uint32_t expire(TimeNs now, uint32_t count) {
    return expire(now, count, [](const Session&) { return true; });
  }

  // For checkpoints and statistics: slot i's session or null; i < capacity().
  const Session* at(uint32_t slot) const { return sessions_[slot].id != 0 ? &sessions_[slot] : nullptr; }
  uint32_t slot_of(const Session* session) const { return static_cast<uint32_t>(session - sessions_); }
  uint32_t capacity() const { return limits_.sessions; }
  uint32_t size() const { return size_; }
  const SessionLimits& configured() const { return limits_; }

 private:
  static constexpr uint32_t kEmpty = 0xffffffff;
  static constexpr uint32_t kDeleted = 0xfffffffe;
  uint32_t home(SessionId id) const {
    return static_cast<uint32_t>((id * 0x9e3779b97f4a7c15ull) >> 32) & mask_;
  }
  void rebuild_index();

  SessionLimits limits_;
  uint32_t mask_ = 0;
  uint32_t window_bits_ = 0;
  uint32_t size_ = 0;
  uint32_t deleted_ = 0;
  uint32_t expiry_cursor_ = 0;
  uint32_t free_cursor_ = 0;
  uint32_t* index_ = nullptr;      // hash index: slot numbers
  Session* sessions_ = nullptr;
  Outcome* outcomes_ = nullptr;    // [session][local shard][window]
};

}  // namespace txnic
