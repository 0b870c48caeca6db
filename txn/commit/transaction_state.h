// SPDX-License-Identifier: BSD-3-Clause
// One transaction at one shard: what the participant there knows, and if the shard is the first in the list, what the
// coordinator knows.
#pragma once

#include <cassert>
#include <cstring>

#include "txn/commit/lock_table.h"
#include "txn/result.h"
#include "txn/transaction.h"

namespace txnic::commit {

enum class State : uint8_t {
  kUnknown,    // nothing logged: votes that came before the PREPARE, or a refusal of our own
  kPrepared,   // the PREPARE record is appended; locks are held
  kCommitted,  // the COMMIT record is appended; locks are gone
  kAborted,    // the ABORT record is appended: an abort, or the promise never to prepare (or to commit) it
};

// Who waits for the outcome: the newest copy of the client's PREPARE.
struct Client {
  Endpoint from;  // port 0: nobody (recovered, or only votes came)
  Stamp stamp = 0;
  void* copy = nullptr;  // the node's own: where the answer is built; given back by answer() or let_go()
  bool is_waiting() const { return from.port != 0; }
};

// A participant's part, as far as the coordinator (of the others) or it itself knows it.
struct Part {
  Version version;     // reserved for its writes; 0: it writes nothing
  uint16_t values_at;  // in the content
  uint16_t values_bytes;
  uint8_t value_count;  // values that the client will get, as the participant sent them
};

// Hot first: most transactions are small and many are in flight, so that what one touches decides what fits the
// processor's caches. Locks, redo and values stand in `near` as long as they fit, else all of them in `far`.
struct Transaction {
  TransactionId id;
  uint32_t next = 0;        // in the table's chain
  uint32_t generation = 0;  // of the slot
  ShardId shard = 0;
  uint8_t place = 0;  // of `shard` in the list; 0: it coordinates
  bool in_use = false;

  State state = State::kUnknown;
  bool durable = false;                // the record of `state` is
  bool recovered = false;              // as prepared, by a restart: plain no votes are from before it (COMMIT 4)
  bool refused = false;                // we have said no; remembered while the node lives (COMMIT 5)
  bool forced = false;                 // by the operator, not by the coordinator
  bool contradicted = false;           // a decision that says something else has come; told once
  bool orphaned = false;               // its coordinator has said that it does not know (COMMIT 18)
  bool ended = false;                  // coordinator: the END record is appended
  Result result = Result::kCommitted;  // of an abort: why
  uint8_t detail = 0;

  // The coordinator's: one bit a participant.
  uint32_t yes = 0, no = 0, acknowledged = 0;

  Participants participants;  // set by bind()
  Client client;

  TimeNs since = 0;  // it is known here
  TimeNs due = 0;    // of the next timer
  uint8_t attempts = 0;

  uint8_t lock_count = 0;  // held here
  bool is_far = false;
  uint16_t locks_at = 0, redo_at = 0, redo_bytes = 0;  // in the content
  uint16_t values_used = 0;                            // bytes of all values
  uint16_t content_used = 0;

  // At most this, whatever comes: each piece begins at a multiple of 8.
  static constexpr uint32_t kContentBytesMax = limits::kOperationsMax * sizeof(Lock) + limits::kPreparedBytesMax +
                                               limits::kMessageBytesMax + (limits::kParticipantsMax + 2) * 8;
  static constexpr uint32_t kNearBytes = 320;

  std::byte* far;                                    // the table's, kContentBytesMax bytes
  std::array<Part, limits::kParticipantsMax> parts;  // of the participants alone
  alignas(8) std::array<std::byte, kNearBytes> near;

  bool coordinates() const { return place == 0; }
  bool decided() const { return state == State::kCommitted || state == State::kAborted; }
  const std::byte* content() const { return is_far ? far : near.data(); }
  std::span<const Lock> held_locks() const { return {reinterpret_cast<const Lock*>(content() + locks_at), lock_count}; }
  Bytes redo() const { return {content() + redo_at, redo_bytes}; }
  Bytes values_of(uint32_t participant) const {
    return {content() + parts[participant].values_at, parts[participant].values_bytes};
  }
  Version version() const { return parts[place].version; }
  uint32_t value_count() const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < participants.count; ++i) count += parts[i].value_count;
    return count;
  }

  // The id is bound to this list (COMMIT 7).
  void bind(const Participants& list) {
    participants = list;
    place = static_cast<uint8_t>(list.index_of(shard));
    for (uint32_t i = 0; i < list.count; ++i) parts[i] = {};
  }
  // Copies a piece of content; answers its place.
  uint16_t keep(const void* from, size_t bytes) {
    const uint32_t end = content_used + static_cast<uint32_t>((bytes + 7) & ~size_t{7});
    assert(end <= kContentBytesMax);
    if (!is_far && end > kNearBytes) [[unlikely]] {
      std::memcpy(far, near.data(), content_used);
      is_far = true;
    }
    const uint16_t at = content_used;
    if (bytes != 0) std::memcpy((is_far ? far : near.data()) + at, from, bytes);
    content_used = static_cast<uint16_t>(end);
    return at;
  }
  void keep_locks(std::span<const Lock> locks) {
    locks_at = keep(locks.data(), locks.size_bytes());
    lock_count = static_cast<uint8_t>(locks.size());
  }
  void keep_redo(Bytes redo) {
    redo_at = keep(redo.data(), redo.size());
    redo_bytes = static_cast<uint16_t>(redo.size());
  }
};

}  // namespace txnic::commit
