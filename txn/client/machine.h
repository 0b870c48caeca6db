// SPDX-License-Identifier: BSD-3-Clause
// The client's protocol machine: one session with one node. Pure: time is passed in, memory is the caller's,
// messages go out through a callback. The client library, the load generator and (later) the simulator share it.
//
// What it does: opens the session (cookie exchange), stamps requests, slides the watermark, sends again with
// exponential backoff, opens again when the node was restarted, and settles every request exactly once with a typed
// Outcome (COMMIT 8: an abort with an older stamp than the newest that the request was sent under is ignored; a
// window that did not survive makes what was in flight UNKNOWN_OUTCOME, and those ids are never sent again). To open
// again it sends OPEN with the stamp it holds; OPENED with BAD_SESSION says that the window is lost, and then it opens
// anew: next attempt, stamp 0, sequences going on (docs/PROTOCOL.md, "Opening again").
//
// Life of a request:
//   Slot* slot = machine.acquire();            // null: window full or session not open
//   ExecuteBuilder b(slot->buffer());  b.get(...); ...
//   machine.submit(slot, b, shard, deadline_ns, now_ns);   // emits the message
//   ... machine.on_message(now, bytes) → Event with the slot; read the reply; machine.release(slot)
#pragma once

#include "txn/wire/build.h"
#include "txn/wire/parse.h"

namespace txnic::client {

struct MachineLimits {
  uint32_t window = limits::kWindowDefault;   // outstanding requests; never above the node's (OPENED tells)
  uint32_t slot_bytes = limits::kMessageBytesMax;  // longest request
  TimeNs retransmit_first_ns = 20'000'000;    // then doubled
  TimeNs retransmit_max_ns = 640'000'000;
  TimeNs open_retry_ns = 50'000'000;
};

enum class MachineState : uint8_t { kClosed, kOpening, kOpen, kReopening, kClosing };

struct Slot {
  std::byte* message = nullptr;    // slot_bytes
  uint32_t capacity = 0;
  uint32_t length = 0;
  Sequence sequence = 0;
  Stamp stamp = 0;                 // newest stamp it was sent under
  TimeNs first_sent_ns = 0;
  TimeNs deadline_ns = 0;          // 0: none
  TimeNs resend_at_ns = 0;
  uint64_t user = 0;               // the caller's
  ShardId shard = 0;
  uint16_t sends = 0;
  uint8_t backoff = 0;
  uint8_t state = 0;               // the machine's
  bool read_only = false;
  uint32_t next = 0, previous = 0; // the machine's timer lists

  MutableBytes buffer() { return {message, capacity}; }
};

enum class EventKind : uint8_t {
  kNone,      // nothing to tell (a duplicate, a session message)
  kSettled,   // `slot` has its outcome: read `result`, `values`…, then release(slot)
  kOpened,    // the session is open (again)
  kClosed,
  kRefused,   // the session cannot be opened (`result`, `detail`)
};

struct Event {
  EventKind kind = EventKind::kNone;
  Slot* slot = nullptr;
  Result result = Result::kCommitted;
  uint8_t detail = 0;
  uint8_t reply_flags = 0;               // kReplyFlagDuplicate: values are not repeated
  Version commit_version = 0;
  wire::Header header{};                 // of the reply, valid if `message` is not null
  const std::byte* message = nullptr;    // the reply: wire::parse_values(message, header, …) reads its values
};

struct MachineStatistics {
  uint64_t submitted = 0, settled = 0;
  uint64_t committed = 0, aborted = 0, unknown = 0, refused = 0, timed_out = 0;
  uint64_t sent_messages = 0, retransmissions = 0, received_messages = 0, duplicates = 0, malformed = 0;
  uint64_t opens = 0, reopens = 0, busy_retries = 0;
};

// Where messages go. `worker`: the node's worker whose UDP port the message is for.
using Emit = void (*)(void* context, const std::byte* message, uint32_t length, uint32_t worker);

class SessionMachine {
 public:
  static size_t memory_bytes(const MachineLimits& limits);
  // `memory`: memory_bytes(), 64-aligned. `session`: not zero, unique among clients (random).
  void init(const MachineLimits& limits, MutableBytes memory, SessionId session, Emit emit, void* context);

  void open(TimeNs now);
  void close(TimeNs now);

  MachineState state() const { return state_; }
  // Facts from OPENED; valid from the first kOpened on.
  uint32_t shard_count() const { return opened_.shard_count; }
  uint32_t worker_count() const { return opened_.worker_count; }
  uint16_t base_port() const { return opened_.base_port; }
  uint32_t window() const { return window_; }
  Durability durability() const { return static_cast<Durability>(opened_.durability); }
  uint32_t outstanding() const { return outstanding_; }

  Slot* acquire();
  // `deadline_ns`: absolute; at it an unanswered request settles as kUnknownOutcome if it writes (it may or may not
  // have been executed), as kBusy if it is read-only. 0: none.
  void submit(Slot* slot, wire::ExecuteBuilder& builder, ShardId shard, TimeNs deadline_ns, TimeNs now);
  void release(Slot* slot);

  // One received message. BUSY, LOCKED: sent again with backoff until the deadline when there is one, else settled.
  Event on_message(TimeNs now, const std::byte* message, uint32_t length);
  // Retransmissions, deadlines, session keep-alive. Bounded work; call again while the answer has a kind other than
  // kNone. Call at least every retransmit_first_ns / 4.
  Event poll(TimeNs now);

  const MachineStatistics& statistics() const { return statistics_; }

 private:
  MachineState state_ = MachineState::kClosed;
  wire::OpenedBody opened_{};
  uint32_t window_ = 0;
  uint32_t outstanding_ = 0;
  MachineStatistics statistics_;
  // … the rest is the implementer's
};

}  // namespace txnic::client
