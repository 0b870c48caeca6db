// SPDX-License-Identifier: BSD-3-Clause
// One transaction at one shard: what the participant there knows, and if the shard is the first in the list, what the
// coordinator knows.
#pragma once

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

struct Transaction {
  TransactionId id;
  Participants participants;
  Client client;
  ShardId shard = 0;
  uint8_t place = 0;  // of `shard` in the list; 0: it coordinates

  State state = State::kUnknown;
  bool durable = false;    // the record of `state` is
  bool recovered = false;  // as prepared, by a restart: plain no votes are from before it (COMMIT 4)
  bool refused = false;    // we have said no; remembered while the node lives (COMMIT 5)
  bool forced = false;     // by the operator, not by the coordinator
  bool ended = false;      // coordinator: the END record is appended
  Result result = Result::kCommitted;  // of an abort: why
  uint8_t detail = 0;

  // The coordinator's: one bit a participant.
  uint32_t yes = 0, no = 0, acknowledged = 0;

  TimeNs since = 0;  // it is known here
  TimeNs due = 0;    // of the next timer
  uint8_t attempts = 0;

  // What was prepared here.
  uint8_t lock_count = 0;
  uint16_t payload_bytes = 0;
  // Values that the client will get: each participant's as it sent them; the coordinator has everybody's.
  uint16_t values_used = 0;
  std::array<uint16_t, limits::kParticipantsMax> values_at{}, values_bytes{};
  std::array<uint8_t, limits::kParticipantsMax> value_counts{};
  std::array<Version, limits::kParticipantsMax> versions{};  // reserved for each one's writes; 0: it writes nothing

  uint32_t next = 0;        // in the table's chain
  uint32_t generation = 0;  // of the slot
  bool in_use = false;

  std::array<Lock, limits::kOperationsMax> locks;
  std::array<std::byte, limits::kPreparedBytesMax> payload;  // the node's own redo; opaque here
  std::array<std::byte, limits::kMessageBytesMax> values;

  bool coordinates() const { return place == 0; }
  bool decided() const { return state == State::kCommitted || state == State::kAborted; }
  std::span<const Lock> held_locks() const { return {locks.data(), lock_count}; }
  Bytes redo() const { return {payload.data(), payload_bytes}; }
  Bytes values_of(uint32_t participant) const {
    return {values.data() + values_at[participant], values_bytes[participant]};
  }
  Version version() const { return versions[place]; }
  uint32_t value_count() const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < participants.count; ++i) count += value_counts[i];
    return count;
  }
};

}  // namespace txnic::commit
