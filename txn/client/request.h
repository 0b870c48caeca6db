// SPDX-License-Identifier: BSD-3-Clause
// What the machine keeps of a request, and what it tells of it.
#pragma once

#include "txn/transaction.h"
#include "txn/wire/build.h"
#include "txn/wire/parse.h"

namespace txnic::client {

// Two cache lines: the machine's on the first, what belongs to the caller on the second.
struct alignas(64) Slot {
  std::byte* message = nullptr;    // slot_bytes: header and operations, in the caller's order
  Sequence sequence = 0;
  Stamp stamp = 0;                 // newest stamp it was sent under; of several shards: the coordinator's
  TimeNs deadline_ns = 0;          // 0: none
  TimeNs resend_at_ns = 0;
  uint32_t next = 0, previous = 0; // the machine's timer lists
  uint32_t capacity = 0;
  uint32_t length = 0;
  ShardId shard = 0;               // of several: the coordinator's
  uint16_t sends = 0;              // copies sent so far
  uint8_t backoff = 0;
  uint8_t state = 0;               // the machine's
  uint8_t list = 0;                // the machine's
  bool read_only = false;

  uint64_t user = 0;               // the caller's; the machine never touches it
  TimeNs first_sent_ns = 0;        // 0: never sent
  Result refusal = Result::kCommitted;  // the newest unrecorded refusal (kCommitted: none), for error texts
  uint8_t refusal_detail = 0;
  uint8_t busy_backoff = 0;
  bool restamped = false;          // copies went out under more than one stamp
  bool resumable = false;          // settled as unknown, and its node still knows: SessionMachine::resume()
  uint8_t node = 0;                // the machine's number of the node that has the shard
  uint8_t participants = 0;        // 0: one shard, an EXECUTE; else that many, a PREPARE to each

  MutableBytes buffer() { return {message, capacity}; }
};
static_assert(sizeof(Slot) == 128);

// Beside a slot whose transaction has several participants. One line.
struct alignas(64) FanOut {
  std::array<ShardId, limits::kParticipantsMax> shards;  // in the order of their first operation
  std::array<uint8_t, limits::kParticipantsMax> nodes;   // the machine's numbers of the nodes that have them
  uint32_t map_epoch;
  uint16_t shard_count;  // of the map by which the operations were split
  uint16_t current;      // a bit a participant: its newest copy went under its node's newest stamp
  uint16_t lost;         // its node has lost the window: it must never see this id again
};
static_assert(sizeof(FanOut) == 64);
static_assert(limits::kParticipantsMax <= 16, "a bit a participant");

enum class EventKind : uint8_t {
  kNone,      // nothing to tell (a duplicate, a session message)
  kSettled,   // `slot` has its outcome: read `result`, `values`…, then release(slot)
  kOpened,    // the session is open (again) at a node; `detail` is 1 if the window survived there
  kClosed,
  kRefused,   // a node refused to open the session (`result`, `detail`). After BUSY the machine goes on trying
              // (it stays kOpening or kReopening there); otherwise it is kClosed, and poll() settles what was left
  kMapped,    // a node has told another shard map: wire::parse_mapped(message, header, …), then use_map()
};

struct Event {
  EventKind kind = EventKind::kNone;
  Result result = Result::kCommitted;
  uint8_t detail = 0;
  uint8_t reply_flags = 0;               // kReplyFlagDuplicate: values are not repeated. kReplyFlagDecided: the outcome
                                         // of a transaction over several shards, whatever `result` is
  bool timed_out = false;                // settled by its deadline
  uint8_t node = 0;                      // kOpened, kRefused: the machine's number of the node
  Slot* slot = nullptr;
  Version commit_version = 0;            // several shards: of the first participant that wrote
  const std::byte* message = nullptr;    // the reply: SessionMachine::read_values() reads its values
  wire::Header header{};                 // of the reply, valid if `message` is not null
};

// What was committed, in the order of the caller's operations.
struct Values {
  uint32_t count = 0;         // of `values`; `operation` is the index in the request, `participant` is 0
  uint32_t participants = 0;  // 1, or as many as there are versions
  std::array<wire::Value, limits::kOperationsMax> values;
  std::array<ShardId, limits::kParticipantsMax> shards;
  std::array<Version, limits::kParticipantsMax> versions;  // commit version at each of the shards; 0: nothing written
};

}  // namespace txnic::client
