// SPDX-License-Identifier: BSD-3-Clause
// The client's protocol machine: one session with one node, or with all nodes of a shard map. Pure: time is passed in,
// memory is the caller's, messages go out through a callback. The client library, the load generator and the simulator
// share it.
//
// What it does: opens the session at each node that is needed (cookie exchange), stamps requests, slides the one
// watermark, sends again with exponential backoff, opens again where a node was restarted, splits a transaction of
// several shards into a PREPARE for each participant, and settles every request exactly once with a typed outcome
// (COMMIT 8: an abort of one shard with an older stamp than the newest that the request was sent under is ignored; what
// a coordinator has DECIDED is final; a window that did not survive makes what was in flight UNKNOWN_OUTCOME, and that
// node never sees those ids again).
//
// Life of a request:
//   Slot* slot = machine.acquire();            // null: window full or session not open
//   ExecuteBuilder b(slot->buffer());  b.get(...); ...
//   machine.submit(slot, b, shard, deadline_ns, now_ns);   // emits the message; or submit_split(): any shards
//   ... machine.on_message(now, bytes) → Event with the slot; read the reply; machine.release(slot)
//
// Where to read on: request.h (slots, events), machine.cc (memory, settling), opening.cc (session), sending.cc,
// splitting.cc (several shards), receiving.cc, prepared.cc, timers.cc, mapping.cc (the shard map).
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

#include "txn/client/node.h"
#include "txn/client/request.h"
#include "txn/shard_map.h"

namespace txnic::client {

struct MachineLimits {
  uint32_t window = limits::kWindowDefault;   // outstanding requests; never above the nodes' (OPENED tells)
  uint32_t slot_bytes = limits::kMessageBytesMax;  // longest request
  uint32_t nodes = 1;                         // of a shard map, and one more if it is learned from a node
  TimeNs retransmit_first_ns = 20'000'000;    // then doubled
  TimeNs retransmit_max_ns = 640'000'000;
  TimeNs open_retry_ns = 50'000'000;          // then doubled, four times
  TimeNs busy_retry_ns = 1'000'000;           // after BUSY or LOCKED, then doubled
};

// Sums that always hold (checkers rely on them):
//   submitted = settled + outstanding()     (what is resumed counts as submitted and settled once more)
//   settled = committed + aborted + unknown + refused + timed_out
//   received_messages = answers + session_messages + retryable + duplicates + stale + unmatched + malformed
struct MachineStatistics {
  uint64_t submitted = 0, settled = 0;
  uint64_t committed = 0;   // settled as kCommitted
  uint64_t aborted = 0;     // settled with a result that the node recorded (CONFLICT … BELOW_FLOOR, or DECIDED)
  uint64_t unknown = 0;     // settled as kUnknownOutcome, for whatever reason, a passed deadline included
  uint64_t refused = 0;     // settled with a result that the node did not record (BUSY, WRONG_SHARD, …)
  uint64_t timed_out = 0;   // deadline passed, certainly without effect: read-only or never sent (settled as kBusy)
  uint64_t sent_messages = 0;     // first copies + retransmissions + session_sent
  uint64_t retransmissions = 0;   // further copies of requests, after BUSY and after a reopening too
  uint64_t session_sent = 0;      // OPEN, CLOSE and MAP
  uint64_t prepares = 0;          // PREPAREs among sent_messages
  uint64_t received_messages = 0;
  uint64_t answers = 0;           // that settled a request
  uint64_t session_messages = 0;  // CHALLENGE, OPENED, CLOSED, MAPPED that were used
  uint64_t retryable = 0;         // BUSY, LOCKED, BAD_SESSION that made the machine send again
  uint64_t duplicates = 0;        // answers to a request that was settled already
  uint64_t stale = 0;             // of an older opening: attempt or stamp differ
  uint64_t unmatched = 0;         // another session, a sequence never sent, a type that nobody asked for
  uint64_t malformed = 0;
  uint64_t opens = 0, reopens = 0, windows_lost = 0, busy_retries = 0;
  uint64_t split = 0;             // submitted with several participants
  uint64_t resumed = 0;
};

// Where messages go: to a worker (its UDP port) of a node. `node` is the machine's number: node_base(node) is its
// address, where a map has told it; 0 is the node of a machine without a map.
using Emit = void (*)(void* context, const std::byte* message, uint32_t length, uint32_t node, uint32_t worker);

class SessionMachine {
 public:
  static size_t memory_bytes(const MachineLimits& limits);
  // `memory`: memory_bytes(), 64-aligned. `session`: not zero, unique among clients (random).
  void init(const MachineLimits& limits, MutableBytes memory, SessionId session, Emit emit, void* context);

  // From kClosed. Sends OPEN until the node answers; a caller that wants to give up calls close(). With a map it opens
  // at all nodes at once; a node that comes with a later map is opened when it is needed first.
  void open(TimeNs now);
  // What is outstanding settles through poll(): as kUnknownOutcome if it writes and was sent, else as kBadSession.
  // kClosed is reported when all nodes have answered, or after a few tries without an answer.
  void close(TimeNs now);

  // The shard map by which requests are routed from now on; it is not copied, and must live until the next one. What is
  // in flight keeps its id and participants and goes to where the new map has them. `opened_at`: for the first map of a
  // session that was opened without one: which of its nodes that was (node_count: none of them). False: more nodes than
  // MachineLimits::nodes; nothing has changed.
  bool use_map(const ShardMap* map, uint32_t opened_at, TimeNs now);
  // Asks the nodes for their map until one has answered: Event kMapped if it is another one. The machine does so itself
  // after WRONG_SHARD, and when a node names another epoch.
  void ask_map(TimeNs now);
  bool awaits_map() const { return wants_map_; }
  const ShardMap* map() const { return map_; }
  const Endpoint& node_base(uint32_t node) const { return nodes_[node].base; }

  // kOpen: at one node at least. With one node: its state.
  MachineState state() const;
  bool is_open_everywhere() const;
  SessionId session() const { return session_; }
  // Facts from OPENED, or from the map; valid from the first kOpened on.
  uint32_t shard_count() const { return map_ != nullptr ? map_->shard_count : nodes_[0].opened.shard_count; }
  uint32_t worker_count() const { return nodes_[0].opened.worker_count; }  // of the first node
  uint16_t base_port() const { return nodes_[0].opened.base_port; }        // of the first node
  uint32_t window() const { return window_; }  // the smallest of ours and the nodes'
  Durability durability() const { return static_cast<Durability>(nodes_[0].opened.durability); }
  uint32_t outstanding() const { return outstanding_; }  // submitted and not settled
  Stamp stamp(uint32_t node = 0) const { return nodes_[node].stamp; }
  Sequence watermark() const { return watermark_; }      // the lowest sequence whose answer is still wanted

  // Null: window full (the lowest unsettled request, or a slot that was not released, is in the way) or not kOpen.
  Slot* acquire() {
    if (next_sequence_ >= sequence_limit_) return nullptr;
    Slot& slot = slots_[next_sequence_ & mask_];
    if (slot.state != kFree) return nullptr;
    slot.sequence = next_sequence_++;
    slot.state = kAcquired;
    return &slot;
  }
  // All operations are of `shard`. `deadline_ns`: absolute; at it an unanswered request settles as kUnknownOutcome if
  // it writes (it may or may not have been executed), as kBusy if it is read-only. 0: none.
  // Allowed in every state: what is submitted while the session opens again is sent when it is open.
  void submit(Slot* slot, wire::ExecuteBuilder& builder, ShardId shard, TimeNs deadline_ns, TimeNs now);
  // Operations of any shards: several of them are sent as a PREPARE to each, the first operation's coordinates. False:
  // more than kParticipantsMax of them, or a participant's operations do not fit beside their list. The slot is then
  // still acquired.
  bool submit_split(Slot* slot, wire::ExecuteBuilder& builder, TimeNs deadline_ns, TimeNs now);
  // After kSettled, or instead of submit().
  void release(Slot* slot) {
    assert(slot->state == kSettled || slot->state == kAcquired || slot->state == kHeld);
    if (slot->state != kSettled) mark_settled(slot->sequence);
    slot->state = kFree;
  }
  // A request whose deadline has passed (slot->resumable) and that was not released asks on for its outcome, until it
  // is settled again. Until it is released it holds the watermark, and so the window. Of several shards only the
  // coordinator is asked. False: its node has lost its window meanwhile, or the session is closed: nobody knows.
  bool resume(Slot* slot, TimeNs deadline_ns, TimeNs now);

  // The values and versions of a kSettled event with kCommitted. Values are missing in a duplicate.
  void read_values(const Event& event, Values* out) const;

  // One received message. BUSY, LOCKED: sent again with backoff until the deadline when there is one, else settled
  // (BUSY with kWindow or kNotReady, and all of a PREPARE that was not DECIDED, is always sent again).
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
  enum SlotState : uint8_t {
    kFree,
    kAcquired,
    kQueued,    // submitted, never sent
    kInFlight,
    kSettled,
    kHeld,      // settled, but the watermark does not pass it until it is released
  };

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
  static constexpr uint32_t kSendsPerPoll = limits::kBurstMax;
  static constexpr uint32_t kCloseTriesMax = 4;
  static constexpr uint32_t kCookieTriesMax = 3;  // then a new cookie is asked for
  static constexpr uint32_t kStaleStampRetries = 16;
  struct List { uint32_t head = kNil, tail = kNil; };
  struct Route { uint32_t node, worker; };

  uint32_t index_of(const Slot* slot) const { return static_cast<uint32_t>(slot - slots_); }
  uint32_t number_of(const Node& node) const { return static_cast<uint32_t>(&node - nodes_); }
  FanOut& fan_of(const Slot* slot) { return fans_[index_of(slot)]; }
  const FanOut& fan_of(const Slot* slot) const { return fans_[index_of(slot)]; }
  std::span<Node> nodes() { return {nodes_, node_count_}; }
  std::span<const Node> nodes() const { return {nodes_, node_count_}; }
  void wake_at(TimeNs due) { if (due < next_due_) next_due_ = due; }
  Route route(ShardId shard) const {
    if (map_ == nullptr) [[likely]] return {0, wire::worker_of(shard, nodes_[0].workers)};
    if (shard >= map_->shard_count) return {0, 0};  // of an older map; will be refused
    return {node_numbers_[map_->places[shard].node], map_->worker_of(shard)};
  }
  // The slot that an answer is for; null, and counted, if nobody waits for it.
  Slot* awaiting(const wire::Header& h) {
    Slot* const slot = &slots_[h.sequence & mask_];
    if (slot->sequence == h.sequence && slot->state == kInFlight) [[likely]] return slot;
    ++(h.sequence < next_sequence_ && h.sequence != 0 ? statistics_.duplicates : statistics_.unmatched);
    return nullptr;
  }

  // machine.cc
  void append(Slot* slot, uint8_t list);
  void unlink(Slot* slot);
  void mark_settled(Sequence sequence);
  void update_limit();
  void settle(Slot* slot, Result result, Event* event);
  void give_up(Slot* slot, Event* event);
  void doom(Slot* slot);
  void doom_outstanding();
  // sending.cc
  void prepare_slot(Slot* slot, uint32_t operation_count, ShardId shard, TimeNs deadline_ns);
  void queue(Slot* slot, TimeNs now);
  bool can_send(const Slot* slot) const;
  void transmit(Slot* slot, TimeNs now);
  void arm(Slot* slot, uint8_t list, TimeNs now);
  void insert_by_deadline(Slot* slot);
  void open_where_needed(const Slot* slot, TimeNs now);
  // splitting.cc
  bool split(const Slot* slot, uint32_t operation_count, FanOut* fan, uint32_t* participants) const;
  bool can_send_fan(const Slot* slot) const;
  void transmit_fan(Slot* slot, TimeNs now);
  // opening.cc
  void set_state(Node& node, MachineState state);
  Node* node_by_attempt(Sequence attempt);
  void begin_opening(Node& node, MachineState state, TimeNs now);
  void keep_alive(Node& node, TimeNs now);
  void send_open(Node& node, TimeNs now);
  void delay_open(Node& node, TimeNs now);
  void send_close(Node& node, TimeNs now);
  void on_challenge(const Event& event, TimeNs now);
  void on_opened(Event* event, TimeNs now);
  void on_closed(Event* event);
  void accept_opening(Node& node, Stamp stamp, const wire::OpenedBody& body, TimeNs now);
  void refuse_opening(Node& node, Event* event, TimeNs now);
  // losing.cc
  bool involves(const Slot& slot, uint32_t node) const;
  void lose_window(Node& node);
  void forsake(uint32_t node, bool is_gone);
  // receiving.cc
  void on_executed(Event* event, TimeNs now);
  void on_refusal(Event* event, Slot* slot, TimeNs now);
  void retry_later(Slot* slot, TimeNs now);
  void on_bad_session(const Event& event, Node& node, bool is_current, TimeNs now);
  // prepared.cc
  void on_prepared(Event* event, TimeNs now);
  void on_prepare_refused(Event* event, Slot* slot, TimeNs now);
  // mapping.cc
  void send_map(TimeNs now);
  void on_mapped(Event* event);
  void move_outstanding(TimeNs now);
  // timers.cc
  Event poll_due(TimeNs now);
  bool poll_session(Node& node, TimeNs now, Event* event);
  bool fire(Slot* slot, TimeNs now, Event* event);
  void refresh_next_due(TimeNs now);
  void keep_session(Node& node, TimeNs now);

  // Hot: read or written by every request.
  Slot* slots_ = nullptr;
  uint64_t* settled_bits_ = nullptr;  // bit s & mask_: sequence s in [watermark_, next_sequence_) is settled
  Sequence next_sequence_ = 1;
  Sequence sequence_limit_ = 0;       // acquire() stays below it; 0 unless open somewhere
  Sequence watermark_ = 1;
  uint64_t mask_ = 0;                 // slots - 1
  TimeNs next_due_ = kNever;
  Node* nodes_ = nullptr;
  const ShardMap* map_ = nullptr;
  SessionId session_ = 0;
  Emit emit_ = nullptr;
  void* context_ = nullptr;
  uint32_t outstanding_ = 0;
  uint32_t window_ = 0;
  uint32_t node_count_ = 1;
  bool is_active_ = false;            // between open() and close(), unless the only node has refused
  bool is_usable_ = false;            // open at one node at least
  bool wants_map_ = false;
  List lists_[kListCount];
  MachineStatistics statistics_;

  // Cold: sessions and settings.
  FanOut* fans_ = nullptr;            // one beside each slot
  TimeNs wait_ns_[kListCount] = {};   // how long a member of each timer list waits
  TimeNs map_due_ = kNever;           // the next MAP
  Sequence attempts_ = 0;             // openings so far, of all nodes
  uint32_t map_asked_ = 0;            // MAPs sent so far
  uint8_t node_numbers_[limits::kNodesMax] = {};  // our number of each node of the map
  MachineLimits limits_;
};

}  // namespace txnic::client
