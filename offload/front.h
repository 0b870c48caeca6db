// SPDX-License-Identifier: BSD-3-Clause
// The front: decides transactions. One object per worker; one bounded step per burst. Pure: messages, time and the
// back are passed in; it has no clock, no allocation, no system call and no thread of its own.
//
// This header is the table of contents; each step has its file:
//   front/step.h      the burst: parse, prefetch in stages, execute, answer
//   front/admit.h     which session, which shard, seen before? (the exactly-once window)
//   front/read.h      transactions that only read: validated and answered in place
//   front/write.h     transactions that write: evaluate, commit, answer
//   front/sessions.h  OPEN and CLOSE on their round through the workers; expiry
//   front/reply.h     reply headers; answers that wait for the disk
#pragma once

#include <algorithm>
#include <array>

#include "offload/back.h"
#include "txn/cookie.h"
#include "txn/hash.h"
#include "txn/session.h"
#include "txn/wire/parse.h"

namespace txnic::offload {

struct FrontConfig {
  uint32_t worker = 0;
  uint32_t worker_count = 1;
  uint32_t shard_count = 1;  // of the node; shard s belongs to worker s % worker_count
  uint32_t incarnation = 1;
  uint16_t base_port = wire::kBasePortDefault;
  Durability durability = Durability::kNone;
  CookieSecret cookie_secret{};  // random at every start
};

enum class Action : uint8_t {
  kDrop,     // see Request::drop
  kReply,    // reply_length bytes of `message`
  kHold,     // the front keeps `handle` and gives it back by release()
  kForward,  // to worker `to_worker` as it came
  kPass,     // to worker `to_worker`, as a session message on its round
};

// One message of a burst. `message` is read, and the answer written over it (up to `room` bytes).
struct Request {
  std::byte* message = nullptr;
  void* handle = nullptr;  // the caller's, given back by release()
  Endpoint from;
  uint32_t length = 0;
  uint32_t room = 0;
  bool is_passed = false;  // came by kPass from the worker before
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
  Action action;  // kReply or kPass
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
  uint64_t echoes = 0;
  uint64_t challenges = 0, opens = 0, reopens = 0, stale_opens = 0, closes = 0, expired = 0;
  std::array<uint64_t, wire::kParseErrorCount> parse_errors{};
};

template <Back B>
class Front {
 public:
  // `back` and `sessions` outlive the front. The same session table is the back's in checkpoints.
  Front(const FrontConfig& config, B* back, SessionTable* sessions)
      : config_(config), back_(back), sessions_(sessions) {}

  // One burst of at most kBurstMax requests; fills in each one's answer.
  void step(std::span<Request> burst, TimeNs now);
  // Messages whose dependencies are durable by now. Answers how many were written to `out`.
  uint32_t release(std::span<Released> out);
  // Background work in a bounded step: session expiry. Answers how much was done.
  uint32_t idle(TimeNs now);

  uint32_t held() const { return held_tail_ - held_head_; }
  const FrontCounters& counters() const { return counters_; }

 private:
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
  void prefetch_records(const Parsed& parsed);
  void execute(Request& request, Parsed& parsed, TimeNs now);
  // admit.h
  Session* admit(Request& request, const Parsed& parsed, TimeNs now);
  bool answer_from_window(Request& request, const Parsed& parsed, const Outcome& outcome);
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
  // sessions.h
  void open(Request& request, const wire::Header& header, TimeNs now);
  void install(Request& request, wire::Header header, TimeNs now);
  void close(Request& request, const wire::Header& header);
  void pass_on(Request& request, Lsn depends_on, const wire::Header& header, wire::Type reply_type);
  void reply_opened(Request& request, wire::Header header);
  // reply.h
  void refuse(Request& request, const wire::Header& header, Result result, uint8_t detail);
  void answer(Request& request, Lsn depends_on);
  void hold(Request& request, Lsn depends_on, Action action);
  static wire::Type reply_type(uint8_t request_type);
  uint32_t reply_room(const Request& request) const { return std::min(request.room, limits::kMessageBytesMax); }

  const FrontConfig config_;
  B* const back_;
  SessionTable* const sessions_;
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

  uint32_t held_head_ = 0, held_tail_ = 0;
  static constexpr uint32_t kHeldAhead = 8;  // entries of held_ that are asked for before they are written
  std::array<Held, limits::kHeldRepliesMax> held_;
};

}  // namespace txnic::offload

#include "offload/front/admit.h"
#include "offload/front/read.h"
#include "offload/front/reply.h"
#include "offload/front/sessions.h"
#include "offload/front/step.h"
#include "offload/front/write.h"
