// SPDX-License-Identifier: BSD-3-Clause
// The client's protocol machine: one session with one node. Pure: time is passed in, memory is the caller's,
// messages go out through a callback. The client library, the load generator and (later) the simulator share it.
//
// What it does: opens the session (cookie exchange), stamps requests, slides the watermark, sends again with
// exponential backoff, opens again when the node was restarted, and settles every request exactly once with a typed
// Outcome (COMMIT 8: an abort with an older stamp than the newest that the request was sent under is ignored; a
// window that did not survive makes what was in flight UNKNOWN_OUTCOME, and those ids are never sent again).
//
// Life of a request:
//   Slot* slot = machine.acquire();            // null: window full or session not open
//   ExecuteBuilder b(slot->buffer());  b.get(...); ...
//   machine.submit(slot, b, shard, deadline_ns, now_ns);   // emits the message
//   ... machine.on_message(now, bytes) → Event with the slot; read the reply; machine.release(slot)
//
// Where to read on: machine.cc (memory, settling), opening.cc (session), sending.cc, receiving.cc, timers.cc.
//
// Caveats first:
// - One thread. `now` is monotone. The emit callback copies the message before it returns and does not call back.
// - A refusal that the node does not record (BUSY, LOCKED, TOO_LARGE) of a request that writes is told as such only
//   if one copy of it was ever sent. After a retransmission another copy may have been executed, or still be under
//   way, so it is told as UNKNOWN_OUTCOME. (A network that itself doubles packets can do the same to a single copy.
//   Who needs certainty there sets a long deadline: then the same id is sent until the node decides.)
// - The same session id with a new machine object is refused by the node as an old opening: use a new random id.
#pragma once

#include <bit>
#include <cassert>

#include "txn/wire/build.h"
#include "txn/wire/parse.h"

namespace txnic::client {

struct MachineLimits {
  uint32_t window = limits::kWindowDefault;   // outstanding requests; never above the node's (OPENED tells)
  uint32_t slot_bytes = limits::kMessageBytesMax;  // longest request
  TimeNs retransmit_first_ns = 20'000'000;    // then doubled
  TimeNs retransmit_max_ns = 640'000'000;
  TimeNs open_retry_ns = 50'000'000;          // then doubled, four times
  TimeNs busy_retry_ns = 1'000'000;           // after BUSY or LOCKED, then doubled
};

enum class MachineState : uint8_t { kClosed, kOpening, kOpen, kReopening, kClosing };

// Two cache lines: the machine's on the first, what belongs to the caller on the second.
struct alignas(64) Slot {
  std::byte* message = nullptr;    // slot_bytes
  Sequence sequence = 0;
  Stamp stamp = 0;                 // newest stamp it was sent under
  TimeNs deadline_ns = 0;          // 0: none
  TimeNs resend_at_ns = 0;
  uint32_t next = 0, previous = 0; // the machine's timer lists
  uint32_t capacity = 0;
  uint32_t length = 0;
  ShardId shard = 0;
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

  MutableBytes buffer() { return {message, capacity}; }
};
static_assert(sizeof(Slot) == 128);

enum class EventKind : uint8_t {
  kNone,      // nothing to tell (a duplicate, a session message)
  kSettled,   // `slot` has its outcome: read `result`, `values`…, then release(slot)
  kOpened,    // the session is open (again); `detail` is 1 if the window survived
  kClosed,
  kRefused,   // the node refused to open the session (`result`, `detail`). After BUSY the machine goes on trying
              // (state() stays kOpening or kReopening); otherwise it is kClosed, and poll() settles what was left
};

struct Event {
  EventKind kind = EventKind::kNone;
  Result result = Result::kCommitted;
  uint8_t detail = 0;
  uint8_t reply_flags = 0;               // kReplyFlagDuplicate: values are not repeated
  bool timed_out = false;                // settled by its deadline
  Slot* slot = nullptr;
  Version commit_version = 0;
  const std::byte* message = nullptr;    // the reply: wire::parse_values(message, header, …) reads its values, and
                                         // does not fail for kSettled
  wire::Header header{};                 // of the reply, valid if `message` is not null
};

// Sums that always hold (checkers rely on them):
//   submitted = settled + outstanding()
//   settled = committed + aborted + unknown + refused + timed_out
//   received_messages = answers + session_messages + retryable + duplicates + stale + unmatched + malformed
struct MachineStatistics {
  uint64_t submitted = 0, settled = 0;
  uint64_t committed = 0;   // settled as kCommitted
  uint64_t aborted = 0;     // settled with a result that the node recorded (CONFLICT … BELOW_FLOOR)
  uint64_t unknown = 0;     // settled as kUnknownOutcome, for whatever reason, a passed deadline included
  uint64_t refused = 0;     // settled with a result that the node did not record (BUSY, WRONG_SHARD, …)
  uint64_t timed_out = 0;   // deadline passed, certainly without effect: read-only or never sent (settled as kBusy)
  uint64_t sent_messages = 0;     // first copies + retransmissions + session_sent
  uint64_t retransmissions = 0;   // further copies of requests, after BUSY and after a reopening too
  uint64_t session_sent = 0;      // OPEN and CLOSE
  uint64_t received_messages = 0;
  uint64_t answers = 0;           // that settled a request
  uint64_t session_messages = 0;  // CHALLENGE, OPENED, CLOSED that were used
  uint64_t retryable = 0;         // BUSY, LOCKED, BAD_SESSION that made the machine send again
  uint64_t duplicates = 0;        // answers to a request that was settled already
  uint64_t stale = 0;             // of an older opening: attempt or stamp differ
  uint64_t unmatched = 0;         // another session, a sequence never sent, a type that nobody asked for
  uint64_t malformed = 0;
  uint64_t opens = 0, reopens = 0, windows_lost = 0, busy_retries = 0;
};

// Where messages go. `worker`: the node's worker whose UDP port the message is for.
using Emit = void (*)(void* context, const std::byte* message, uint32_t length, uint32_t worker);

class SessionMachine {
 public:
  static size_t memory_bytes(const MachineLimits& limits);
  // `memory`: memory_bytes(), 64-aligned. `session`: not zero, unique among clients (random).
  void init(const MachineLimits& limits, MutableBytes memory, SessionId session, Emit emit, void* context);

  // From kClosed. Sends OPEN until the node answers; a caller that wants to give up calls close().
  void open(TimeNs now);
  // What is outstanding settles through poll(): as kUnknownOutcome if it writes and was sent, else as kBadSession.
  // kClosed is reported when the node has answered, or after a few tries without an answer.
  void close(TimeNs now);

  MachineState state() const { return state_; }
  SessionId session() const { return session_; }
  // Facts from OPENED; valid from the first kOpened on.
  uint32_t shard_count() const { return opened_.shard_count; }
  uint32_t worker_count() const { return opened_.worker_count; }
  uint16_t base_port() const { return opened_.base_port; }
  uint32_t window() const { return window_; }  // the smaller one of ours and the node's
  Durability durability() const { return static_cast<Durability>(opened_.durability); }
  uint32_t outstanding() const { return outstanding_; }  // submitted and not settled
  Stamp stamp() const { return stamp_; }
  Sequence watermark() const { return watermark_; }      // the lowest sequence that is not settled

  // Null: window full (the lowest unsettled request, or a slot that was not released, is in the way) or not kOpen.
  Slot* acquire() {
    if (next_sequence_ >= sequence_limit_) return nullptr;
    Slot& slot = slots_[next_sequence_ & mask_];
    if (slot.state != kFree) return nullptr;
    slot.sequence = next_sequence_++;
    slot.state = kAcquired;
    return &slot;
  }
  // `deadline_ns`: absolute; at it an unanswered request settles as kUnknownOutcome if it writes (it may or may not
  // have been executed), as kBusy if it is read-only. 0: none.
  // Allowed in every state: what is submitted while the session opens again is sent when it is open.
  void submit(Slot* slot, wire::ExecuteBuilder& builder, ShardId shard, TimeNs deadline_ns, TimeNs now);
  // After kSettled, or instead of submit().
  void release(Slot* slot) {
    assert(slot->state == kSettled || slot->state == kAcquired);
    if (slot->state == kAcquired) mark_settled(slot->sequence);
    slot->state = kFree;
  }

  // One received message. BUSY, LOCKED: sent again with backoff until the deadline when there is one, else settled
  // (BUSY with kWindow or kNotReady is always sent again).
  Event on_message(TimeNs now, const std::byte* message, uint32_t length);
  // Retransmissions, deadlines, session keep-alive. Bounded work; call again while the answer has a kind other than
  // kNone. Call at least every retransmit_first_ns / 4, or at next_poll(). A caller that was silent for long calls it
  // before acquire(), so that a session that may have expired is opened before a write meets that.
  Event poll(TimeNs now) {
    if (now < next_due_) [[likely]] return {};
    return poll_due(now);
  }
  // No later than when poll() next has something to do (it may be earlier); UINT64_MAX: nothing is waited for.
  TimeNs next_poll() const { return next_due_; }

  const MachineStatistics& statistics() const { return statistics_; }

 private:
  enum SlotState : uint8_t { kFree, kAcquired, kQueued /* submitted, never sent */, kInFlight, kSettled };

  // Every submitted slot is in one list until it settles. Inside a timer list the due times rise, because all of its
  // members wait equally long; the deadline list is kept sorted; the last two are plain queues.
  static constexpr uint32_t kLevels = 8;
  static constexpr uint8_t kNoList = 0;
  static constexpr uint8_t kRetransmitLists = 1;                    // one per backoff level
  static constexpr uint8_t kBusyLists = kRetransmitLists + kLevels;
  static constexpr uint8_t kDeadlineList = kBusyLists + kLevels;    // deadline before the next retransmission
  static constexpr uint8_t kResendList = kDeadlineList + 1;         // to send as soon as possible
  static constexpr uint8_t kDoomedList = kResendList + 1;           // to settle without an answer
  static constexpr uint32_t kListCount = kDoomedList + 1;
  static constexpr uint32_t kNil = 0xffffffff;
  static constexpr TimeNs kNever = ~TimeNs{0};
  static constexpr uint32_t kSendsPerPoll = limits::kBurstMax;
  static constexpr uint32_t kCloseTriesMax = 4;
  static constexpr uint32_t kCookieTriesMax = 3;  // then a new cookie is asked for
  static constexpr uint32_t kStaleStampRetries = 16;
  struct List { uint32_t head = kNil, tail = kNil; };

  uint32_t index_of(const Slot* slot) const { return static_cast<uint32_t>(slot - slots_); }
  void wake_at(TimeNs due) { if (due < next_due_) next_due_ = due; }

  // machine.cc
  void append(Slot* slot, uint8_t list);
  void unlink(Slot* slot);
  void mark_settled(Sequence sequence);
  void update_limit();
  void settle(Slot* slot, Result result, Event* event);
  void give_up(Slot* slot, Event* event);
  void doom_outstanding();
  // sending.cc
  void transmit(Slot* slot, TimeNs now);
  void arm(Slot* slot, uint8_t list, TimeNs now);
  void insert_by_deadline(Slot* slot);
  // opening.cc
  bool is_opening() const { return state_ == MachineState::kOpening || state_ == MachineState::kReopening; }
  bool awaits_opened() const { return is_opening() || keeps_alive_; }
  void begin_opening(MachineState state, TimeNs now);
  void keep_alive(TimeNs now);
  void send_open(TimeNs now);
  void delay_open(TimeNs now);
  void send_close(TimeNs now);
  void on_challenge(const Event& event, TimeNs now);
  void on_opened(Event* event, TimeNs now);
  void on_closed(Event* event);
  void accept_opening(Stamp stamp, const wire::OpenedBody& body, TimeNs now);
  void refuse_opening(Event* event, TimeNs now);
  void lose_window();
  // receiving.cc
  void on_executed(Event* event, TimeNs now);
  void on_refusal(Event* event, Slot* slot, TimeNs now);
  void on_bad_session(const Event& event, Slot* slot, TimeNs now);
  // timers.cc
  Event poll_due(TimeNs now);
  bool poll_session(TimeNs now, Event* event);
  bool fire(Slot* slot, TimeNs now, Event* event);
  void refresh_next_due(TimeNs now);
  void keep_session(TimeNs now);
  TimeNs keep_alive_due() const;
  TimeNs oldest_contact() const;

  // Hot: read or written by every request.
  Slot* slots_ = nullptr;
  uint64_t* settled_bits_ = nullptr;  // bit s & mask_: sequence s in [watermark_, next_sequence_) is settled
  Sequence next_sequence_ = 1;
  Sequence sequence_limit_ = 0;       // acquire() stays below it; 0 unless kOpen
  Sequence watermark_ = 1;
  uint64_t mask_ = 0;                 // slots - 1
  TimeNs next_due_ = kNever;
  Stamp stamp_ = 0;
  SessionId session_ = 0;
  Emit emit_ = nullptr;
  void* context_ = nullptr;
  uint32_t outstanding_ = 0;
  uint32_t window_ = 0;
  uint32_t workers_ = 1;
  MachineState state_ = MachineState::kClosed;
  bool has_cookie_ = false;
  bool keeps_alive_ = false;          // kOpen, and an OPEN that says so is under way
  List lists_[kListCount];
  MachineStatistics statistics_;

  // Cold: sessions and settings.
  TimeNs wait_ns_[kListCount] = {};   // how long a member of each timer list waits
  TimeNs session_due_ = kNever;       // the next OPEN or CLOSE
  TimeNs opened_at_ = 0;
  TimeNs worker_sent_[limits::kWorkersMax] = {};  // newest message to each worker, for keep-alive
  Sequence attempt_ = 0;
  uint32_t session_tries_ = 0;
  uint32_t cookie_tries_ = 0;
  uint8_t cookie_[wire::kCookieBytes] = {};
  wire::OpenedBody opened_{};
  MachineLimits limits_;
};

}  // namespace txnic::client
