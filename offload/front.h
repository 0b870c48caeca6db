// SPDX-License-Identifier: BSD-3-Clause
// The front: decides transactions. One object per worker; one bounded step per burst. Pure: messages, time and the
// back are passed in; it has no clock, no allocation, no system call and no thread of its own.
//
// This header is the table of contents; each step has its file:
//   front/step.h      the burst: parse, prefetch in stages, execute, answer
//   front/admit.h     which session, which shard, seen before? (the exactly-once window)
//   front/park.h      transactions whose keys are not here wait for them (placement NIC only)
//   front/read.h      transactions that only read: validated and answered in place
//   front/write.h     transactions that write: evaluate, commit, answer
//   front/prepare.h   PREPARE of a transaction over several shards: evaluate, then it is the commit machine's
//   front/commit.h    what the commit machine asks for: log, store, window, messages, the client's answer
//   front/peers.h     messages between participants: from other nodes, other workers, and this one's own shards
//   front/sessions.h  OPEN and CLOSE on their round through the workers; expiry
//   front/reply.h     reply headers; answers that wait for the disk
#pragma once

#include <algorithm>
#include <array>

#include "offload/back.h"
#include "offload/outbox.h"
#include "txn/commit/machine.h"
#include "txn/cookie.h"
#include "txn/hash.h"
#include "txn/session.h"
#include "txn/shard_map.h"
#include "txn/wire/map.h"
#include "txn/wire/parse.h"

namespace txnic::offload {

struct FrontConfig {
  uint32_t worker = 0;
  ShardMap map = ShardMap::of_one_node(1, 1, {0, wire::kBasePortDefault});
  uint32_t incarnation = 1;
  Durability durability = Durability::kNone;
  CookieSecret cookie_secret{};  // random at every start
  commit::MachineConfig commit;  // its incarnation is set by the front
};

enum class Action : uint8_t {
  kDrop,     // see Request::drop
  kReply,    // reply_length bytes of `message`
  kHold,     // the front keeps `handle` and gives it back by release()
  kForward,  // to worker `to_worker` as it came
  kPass,     // to worker `to_worker`, as a session message on its round
  kTaken,    // messages between participants: the front has done all that is to be done with them
};

// One message of a burst. `message` is read, and the answer written over it (up to `room` bytes).
struct Request {
  std::byte* message = nullptr;
  void* handle = nullptr;  // the caller's, given back by release()
  Endpoint from;
  uint32_t length = 0;
  uint32_t room = 0;
  bool is_passed = false;  // came by kPass from the worker before
  bool is_own = false;     // messages between participants, from another worker of this node (Outbox)
  uint8_t times_parked = 0;  // the front's own
  // the front's answer:
  Action action = Action::kDrop;
  uint8_t to_worker = 0;
  wire::ParseError drop = wire::ParseError::kNone;  // with kDrop: why; kNone: an opening that the client gave up
  uint32_t reply_length = 0;
};

// What release() gives back: a held message that may go now.
struct Released {
  void* handle;
  uint32_t reply_length;
  Action action;  // kReply, kPass, or kDrop: a newer copy of the same PREPARE has come, or it was parked and needs no
                  // answer from here
  uint8_t to_worker;
};

// One writer; read by others at any time as plain statistics.
struct FrontCounters {
  uint64_t requests = 0;                         // EXECUTE messages judged here (not forwarded)
  std::array<uint64_t, kResultCount> results{};  // answers by result, duplicates and replays not counted
  uint64_t read_only = 0;                        // of the committed ones: without writes
  uint64_t duplicates = 0;                       // answered from the window
  uint64_t replays = 0;                          // executed for static replay sessions
  uint64_t forwarded = 0;                        // arrived at the wrong worker
  uint64_t held = 0;                             // answers that waited for the disk
  uint64_t prepares = 0;                         // PREPARE messages judged here (not forwarded)
  uint64_t decided = 0;                          // PREPARED answers with an outcome
  uint64_t superseded = 0;                       // copies of PREPARE that were never answered: a newer one came
  uint64_t peer_messages = 0;                    // between participants, delivered here
  uint64_t peer_messages_lost = 0;               // no room, or not for this worker: their senders send them again
  uint64_t parked = 0;                           // waited for keys that were not here; once more each time
  uint64_t parked_copies = 0;                    // of transactions that waited: dropped
  uint64_t echoes = 0;
  uint64_t challenges = 0, opens = 0, reopens = 0, stale_opens = 0, closes = 0, expired = 0;
  std::array<uint64_t, wire::kParseErrorCount> parse_errors{};
};

template <Back B>
class Front final : private commit::Node {
 public:
  // All outlive the front. The same session table is the back's in checkpoints. `commit_memory`: commit_memory_bytes(),
  // 64-aligned. `outbox`: null if there is only one worker, or until set_outbox().
  Front(const FrontConfig& config, B* back, SessionTable* sessions, MutableBytes commit_memory,
        Outbox* outbox = nullptr);
  static size_t commit_memory_bytes(const FrontConfig& config) { return commit::Machine::memory_bytes(config.commit); }
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // One burst of at most kBurstMax requests; fills in each one's answer.
  void step(std::span<Request> burst, TimeNs now);
  // Messages whose dependencies are durable by now. Answers how many were written to `out`.
  uint32_t release(std::span<Released> out);
  // Calls give_back(handle) for every message that the front keeps, whatever it waits for: nobody will answer it. Then
  // the front is not to be used any more. For a front that has lost its back (placement NIC).
  template <class F>
  void abandon(F&& give_back);
  // Background work in a bounded step: parked transactions whose keys have come, what became durable, timers of
  // transactions over several shards, session expiry. Answers how much was done.
  uint32_t idle(TimeNs now);

  uint32_t held() const { return held_tail_ - held_head_ + done_tail_ - done_head_; }
  // Transactions that wait for keys, or have their answer since and were not released yet.
  uint32_t parked() const {
    if constexpr (kMayMiss<B>) {
      return parking_.tail - parking_.head + parking_.done_tail - parking_.done_head;
    }
    return 0;
  }
  const FrontCounters& counters() const { return counters_; }
  void set_outbox(Outbox* outbox) { outbox_ = outbox; }
  // For recovery, checkpoints and the operator.
  commit::Machine& machine() { return machine_; }
  const commit::Machine& machine() const { return machine_; }

 private:
  struct Route {  // of a shard
    uint16_t local_shard = 0;
    uint8_t worker = 0;
    bool is_mine = false;
  };
  struct Copy {  // the newest copy of a PREPARE whose client waits: the answer is built in it
    void* handle;  // null: free
    std::byte* message;
    uint32_t room;
    uint32_t next_free;
  };
  struct Parked {
    Request request;
    Lsn fetched_at;
  };
  struct Parking {
    uint32_t head = 0, tail = 0, done_head = 0, done_tail = 0;
    Lsn newest_position = 0;
    std::array<Parked, limits::kParkedMax> ring;
    std::array<Released, limits::kParkedMax> done;
    std::array<uint32_t, 2 * limits::kParkedMax> newest{};  // by session and sequence: place in the ring
  };
  struct NoParking {};
  struct Parsed {  // a request of the burst between its stages
    wire::Header header;
    uint32_t first_operation = 0;
    uint16_t local_shard = 0;
    bool runs = false;  // goes on to execute
    bool writes = false;
  };
  struct Held {
    Lsn depends_on;
    Released released;
  };
  // A key that a writing transaction names, and what it is at this point of the transaction.
  struct KeyState {
    const std::byte* value;
    uint32_t value_length;
    bool present;
    bool written;
  };
  struct Verdict {
    Result result = Result::kCommitted;
    uint8_t detail = 0;
    Version newest = 0;  // the newest version that the answer depends on
  };

  // step.h
  void parse(Request& request, Parsed& parsed);
  void parse_execute(Request& request, Parsed& parsed);
  void take_operations(Request& request, Parsed& parsed);
  bool is_here(Request& request, Parsed& parsed);
  void prefetch_records(const Parsed& parsed);
  void execute(Request& request, Parsed& parsed, TimeNs now);
  // admit.h
  Session* admit(Request& request, const Parsed& parsed, TimeNs now);
  bool answer_from_window(Request& request, const Parsed& parsed, const Outcome& outcome);
  // park.h
  bool has_keys(Request& request, const Parsed& parsed);
  void park(Request& request, const Parsed& parsed, Lsn fetched_at);
  uint32_t resume(TimeNs now);
  // read.h
  void execute_read(Request& request, const Parsed& parsed, const Session& session);
  // write.h
  void execute_write(Request& request, const Parsed& parsed, Session& session);
  void look_up(const Parsed& parsed);
  Verdict evaluate(const Parsed& parsed, uint32_t room);
  Verdict validate(const wire::Operation& operation, const Found& found) const;
  Verdict apply_operation(const wire::Operation& operation, uint32_t i);
  bool emit_value(const wire::Operation& operation, uint32_t i, uint32_t room);
  uint32_t collect_writes(const Parsed& parsed);
  void answer_commit(Request& request, const Parsed& parsed, const Session& session, Version version);
  // prepare.h
  void parse_prepare(Request& request, Parsed& parsed);
  void execute_prepare(Request& request, const Parsed& parsed, const Participants& participants, TimeNs now);
  commit::PrepareAnswer prepare(const Parsed& parsed, const Participants& participants, const commit::Client& client,
                                TimeNs now, BusyReason* busy);
  Verdict evaluate_prepare(const Parsed& parsed, const Participants& participants);
  uint32_t collect_locks(const Parsed& parsed);
  void settle_prepare(Request& request, const Parsed& parsed, commit::PrepareAnswer answer, BusyReason busy,
                      const commit::Client& client);
  bool is_locked(const Parsed& parsed, uint32_t* operation) const;
  // commit.h
  bool append(commit::Record record, const commit::Transaction& t, Lsn* lsn) override;
  void send(const wire::CommitMessage& m) override;
  void answer(const commit::Transaction& t) override;
  void let_go(const commit::Client& client) override;
  void apply(const commit::Transaction& t) override;
  void give_back(const commit::Transaction& t) override;
  bool remember(const commit::Transaction& t) override;
  commit::Past past(const TransactionId& id, ShardId shard) const override;
  Session* session_of(const TransactionId& id) const;
  void* keep_copy(const Request& request);
  void free_copy(void* copy);
  void give_copy(void* copy, uint32_t reply_length, Action action);
  // peers.h
  bool is_from_peer(const Request& request) const;
  void take_peer_messages(Request& request, TimeNs now);
  void prefetch_peers(uint32_t count);
  void deliver(const wire::CommitMessage& m, Bytes message, TimeNs now);
  uint32_t deliver_own(TimeNs now);
  // sessions.h
  void open(Request& request, const wire::Header& header, TimeNs now);
  void install(Request& request, wire::Header header, TimeNs now);
  void close(Request& request, const wire::Header& header);
  void pass_on(Request& request, Lsn depends_on, const wire::Header& header, wire::Type reply_type);
  void reply_opened(Request& request, wire::Header header);
  bool speaks_for(Request& request, const wire::Header& header, const Session* session);
  void send_map(Request& request, const wire::Header& header);
  uint32_t expire(TimeNs now);
  // reply.h
  void refuse(Request& request, const wire::Header& header, Result result, uint8_t detail);
  void answer(Request& request, Lsn depends_on);
  void hold(Request& request, Lsn depends_on, Action action);
  static wire::Type reply_type(uint8_t request_type);
  uint32_t reply_room(const Request& request) const { return std::min(request.room, limits::kMessageBytesMax); }

  const FrontConfig config_;
  const uint32_t worker_count_;
  B* const back_;
  SessionTable* const sessions_;
  Outbox* outbox_;
  commit::Machine machine_;
  FrontCounters counters_;
  uint32_t opening_number_ = 0;
  Lsn expiry_lsn_ = 0;  // expiry waits until everything up to here is durable (COMMIT 9)
  TimeNs next_expiry_ns_ = 0;

  // The burst in work.
  std::array<Parsed, limits::kBurstMax> parsed_;
  uint32_t operations_used_ = 0;
  std::array<wire::Operation, limits::kBurstMax * limits::kOperationsMax> operations_;
  std::array<uint64_t, limits::kBurstMax * limits::kOperationsMax> hashes_;  // table_hash of each operation
  // The transaction in work.
  std::array<Found, limits::kOperationsMax> found_;
  std::array<uint8_t, limits::kOperationsMax> key_of_;  // operation → the first operation that names its key
  std::array<KeyState, limits::kOperationsMax> keys_;
  std::array<int64_t, limits::kOperationsMax> sums_;
  std::array<Write, limits::kOperationsMax> writes_;
  std::array<uint16_t, limits::kOperationsMax> own_versions_;  // offsets in scratch_ that take the commit version
  uint32_t own_version_count_ = 0;
  uint32_t value_count_ = 0;
  uint32_t scratch_used_ = 0;
  std::array<std::byte, limits::kMessageBytesMax> scratch_;  // values of a writing transaction's reply

  // PREPARE.
  std::array<Participants, limits::kBurstMax> participants_;  // of the burst's
  std::array<commit::Lock, limits::kOperationsMax> locks_;
  std::array<std::byte, limits::kPreparedBytesMax> redo_;
  uint8_t value_place_ = 0;  // of the participant, in values

  // Copies of PREPAREs that wait: at most one a transaction, and one that takes the place of another. Without room for
  // one more the client is told BUSY. Those that are done wait in a ring for release().
  std::array<Copy, limits::kWaitingCopiesMax> copies_;
  uint32_t free_copy_ = 0, copies_used_ = 0;
  std::array<Released, limits::kWaitingCopiesMax> done_;
  uint32_t done_head_ = 0, done_tail_ = 0;

  // Messages of other participants, a group in work.
  struct PeerMessage {
    wire::CommitMessage message;
    Bytes bytes;
    const commit::Transaction* ends;
  };
  std::array<PeerMessage, limits::kPeerGroup> peers_;

  // Messages from shards of this worker to others of it: length (u32), message, padded to 8.
  uint32_t own_read_ = 0, own_used_ = 0;
  std::array<std::byte, limits::kOwnMessagesBytes> own_messages_;

  std::array<Route, limits::kShardsMax> routes_{};

  [[no_unique_address]] std::conditional_t<kMayMiss<B>, Parking, NoParking> parking_;

  uint32_t held_head_ = 0, held_tail_ = 0;
  static constexpr uint32_t kHeldAhead = 8;  // entries of held_ that are asked for before they are written
  std::array<Held, limits::kHeldRepliesMax> held_;
};

template <Back B>
Front<B>::Front(const FrontConfig& config, B* back, SessionTable* sessions, MutableBytes commit_memory, Outbox* outbox)
    : config_(config),
      worker_count_(config.map.nodes[config.map.self].workers),
      back_(back),
      sessions_(sessions),
      outbox_(outbox) {
  commit::MachineConfig commit = config.commit;
  commit.incarnation = config.incarnation;
  commit.forgets = config.durability == Durability::kNone;
  machine_.init(commit, commit_memory, this);
  for (uint32_t shard = 0; shard < config_.map.shard_count; ++shard) {
    const auto id = static_cast<ShardId>(shard);
    if (!config_.map.is_mine(id)) continue;
    routes_[shard] = {static_cast<uint16_t>(config_.map.local_shard(id)),
                      static_cast<uint8_t>(config_.map.worker_of(id)), true};
  }
  for (uint32_t i = 0; i < copies_.size(); ++i) copies_[i] = {nullptr, nullptr, 0, i + 1};
}

}  // namespace txnic::offload

#include "offload/front/admit.h"
#include "offload/front/commit.h"
#include "offload/front/park.h"
#include "offload/front/peers.h"
#include "offload/front/prepare.h"
#include "offload/front/read.h"
#include "offload/front/reply.h"
#include "offload/front/sessions.h"
#include "offload/front/step.h"
#include "offload/front/write.h"
