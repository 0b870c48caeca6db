// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/connection.h"

#include <sys/random.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "host/client/describe.h"

namespace txnic {
namespace {

constexpr uint32_t kMessagesPerStep = 64;
constexpr TimeNs kMs = 1'000'000;
constexpr TimeNs kCloseWaitNs = 100 * kMs;
constexpr TimeNs kForeverStepNs = 1000 * kMs;

TimeNs clock_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<TimeNs>(now.tv_sec) * 1'000'000'000 + static_cast<TimeNs>(now.tv_nsec);
}

Expected<uint64_t> random_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    return Error{ErrorKind::kSystem, Result::kBusy, 0,
                 std::string("the kernel gives no random number: ") + std::strerror(errno) +
                     "; a session id must be random, so nothing was opened"};
  }
  return number != 0 ? number : 1;
}

}  // namespace

void Connection::FreeAligned::operator()(std::byte* memory) const { std::free(memory); }

Expected<std::unique_ptr<Connection>> Connection::open(const std::string& address, const ClientOptions& options) {
  const auto node = parse_endpoint(address);
  if (!node) return node.error();
  const auto session = random_number();
  if (!session) return session.error();
  if (options.window == 0 || options.window > limits::kWindowMax || options.retransmit_first_ms == 0) {
    return Error{ErrorKind::kInvalid, Result::kBadRequest, 0,
                 "ClientOptions: window must be 1 to " + std::to_string(limits::kWindowMax) +
                     ", and retransmit_first_ms above 0"};
  }
  std::unique_ptr<Connection> c(new Connection);
  const Status socket = c->socket_.open();
  if (!socket) return socket.error();
  c->options_ = options;
  c->node_ = *node;

  client::MachineLimits limits;
  limits.window = options.window;
  limits.retransmit_first_ns = options.retransmit_first_ms * kMs;
  if (limits.retransmit_max_ns < limits.retransmit_first_ns) limits.retransmit_max_ns = limits.retransmit_first_ns;
  const size_t bytes = client::SessionMachine::memory_bytes(limits);
  c->memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
  if (c->memory_ == nullptr) {
    return Error{ErrorKind::kSystem, Result::kBusy, 0,
                 "no memory for the session's window: needs " + std::to_string(bytes) +
                     " bytes; choose a smaller ClientOptions::window"};
  }
  c->machine_.init(limits, {c->memory_.get(), bytes}, *session, &Connection::emit, c.get());
  c->pending_.resize(options.window);
  for (uint32_t i = options.window; i != 0; --i) c->free_pending_.push_back(i - 1);

  const TimeNs start = clock_ns();
  const TimeNs end = start + options.open_timeout_ms * kMs;
  c->machine_.open(start);
  for (TimeNs now = start; now < end; now = clock_ns()) {
    if (c->machine_.state() == client::MachineState::kOpen) return c;
    if (c->machine_.state() == client::MachineState::kClosed) break;
    c->poll(end - now);
  }
  if (c->machine_.state() == client::MachineState::kOpen) return c;
  if (c->refusal_) return *c->refusal_;
  return Error{ErrorKind::kTimeout, Result::kBusy, 0,
               c->silence("no answer from ") + " within " + std::to_string(options.open_timeout_ms) +
                   " ms; is txnode running, and is the address right?" + c->network_hint()};
}

Connection::~Connection() {
  if (memory_ == nullptr || in_callback_) return;
  const TimeNs end = clock_ns() + kCloseWaitNs;
  machine_.close(clock_ns());
  for (TimeNs now = clock_ns(); now < end; now = clock_ns()) {
    if (machine_.state() == client::MachineState::kClosed && machine_.outstanding() == 0) break;
    poll(end - now);
  }
}

void Connection::emit(void* context, const std::byte* message, uint32_t length, uint32_t, uint32_t worker) {
  auto* self = static_cast<Connection*>(context);
  Endpoint to = self->node_;
  // Before OPENED any port of the node will do.
  if (self->is_open_) to.port = static_cast<uint16_t>(self->machine_.base_port() + worker);
  self->socket_.send(to, message, length);
}

// ---- waiting and receiving ----------------------------------------------------------------------

uint32_t Connection::poll(TimeNs wait_ns) {
  const TimeNs start = clock_ns();
  const TimeNs end = wait_ns > kForeverStepNs ? start + kForeverStepNs : start + wait_ns;
  const client::MachineState state = machine_.state();
  uint32_t done = step(start);
  // Until a callback has run or the session has opened or closed. Each round waits for the next timer or message.
  for (TimeNs now = start; now < end && done == 0 && machine_.state() == state; now = clock_ns()) {
    const TimeNs timer = machine_.next_poll();
    const TimeNs until = timer < end ? timer : end;
    if (until > now) socket_.wait(until - now);
    done = step(clock_ns());
  }
  return done;
}

// What has arrived, and what is due. Answers how many callbacks ran.
uint32_t Connection::step(TimeNs now) {
  uint32_t callbacks = 0;
  std::byte message[limits::kMessageBytesMax + 1];
  for (uint32_t i = 0; i < kMessagesPerStep; ++i) {
    const uint32_t length = socket_.receive(node_.address, message);
    if (length == 0) break;
    callbacks += handle(machine_.on_message(now, message, length));
  }
  const uint32_t events_max = 2 * options_.window + kMessagesPerStep;
  for (uint32_t i = 0; i < events_max; ++i) {
    const client::Event event = machine_.poll(now);
    if (event.kind == client::EventKind::kNone) break;
    callbacks += handle(event);
  }
  return callbacks;
}

uint32_t Connection::handle(const client::Event& event) {
  switch (event.kind) {
    case client::EventKind::kNone:
    case client::EventKind::kMapped: return 0;
    case client::EventKind::kOpened:
      is_open_ = true;
      refusal_.reset();
      return 0;
    case client::EventKind::kClosed: return 0;
    case client::EventKind::kRefused:
      refusal_ = Error{ErrorKind::kRefused, event.result, event.detail,
                       silence("") + " does not open a session: " + refusal_text(event.result, event.detail)};
      return 0;
    case client::EventKind::kSettled: finish(event); return 1;
  }
  return 0;
}

void Connection::pause(uint32_t microseconds) {
  const auto random = random_number();
  const TimeNs length = (random ? *random % microseconds : microseconds) * 1000ull;
  const TimeNs end = clock_ns() + length;
  for (TimeNs now = clock_ns(); now < end; now = clock_ns()) poll(end - now);
}

// ---- requests -----------------------------------------------------------------------------------

Error Connection::cross_shard(const Key& first, const Key& other) const {
  const uint32_t shards = machine_.shard_count();
  return {ErrorKind::kInvalid, Result::kCrossShard, 0,
          "key " + other.text() + " belongs to shard " + std::to_string(txnic::shard_of(other.hash(), shards)) +
              ", but key " + first.text() + " to shard " + std::to_string(txnic::shard_of(first.hash(), shards)) +
              ": a transaction must stay within one shard; make two transactions, or give rows that belong together "
              "one key in several tables"};
}

Expected<ShardId> Connection::shard_of(const Batch& batch) const {
  if (batch.error()) return *batch.error();
  if (batch.size() == 0) {
    return Error{ErrorKind::kInvalid, Result::kBadRequest, 0, "the batch is empty: give it an operation"};
  }
  const Key& first = batch.operations().front().key;
  const ShardId shard = txnic::shard_of(first.hash(), machine_.shard_count());
  for (const Batch::Operation& op : batch.operations()) {
    if (txnic::shard_of(op.key.hash(), machine_.shard_count()) != shard) return cross_shard(first, op.key);
  }
  return shard;
}

Status Connection::submit(const Batch& batch, Client::Callback callback) {
  const auto shard = shard_of(batch);
  if (!shard) return shard.error();
  // With nothing outstanding this runs no callback; it opens a session that may have expired first.
  if (machine_.outstanding() == 0) handle(machine_.poll(clock_ns()));
  client::Slot* slot = free_pending_.empty() ? nullptr : machine_.acquire();
  if (slot == nullptr) {
    if (machine_.state() == client::MachineState::kClosed) return no_session();
    const bool full = machine_.state() == client::MachineState::kOpen;
    return Error{ErrorKind::kRefused, Result::kBusy, static_cast<uint8_t>(BusyReason::kWindow),
                 full ? "the window is full (" + std::to_string(machine_.window()) +
                            " requests since the oldest unanswered one): call poll(), or open more clients"
                      : "the session with " + endpoint_text(node_) + " is being opened again: call poll()"};
  }
  wire::ExecuteBuilder builder(slot->buffer());
  Pending pending;
  pending.callback = std::move(callback);
  for (const Batch::Operation& op : batch.operations()) {
    const Bytes value{reinterpret_cast<const std::byte*>(op.value.data()), op.value.size()};
    const bool fits = builder.add_operation(op.code, op.table, op.key.bytes(), value, op.flags, op.expected);
    assert(fits);  // Batch has counted the bytes
    (void)fits;
    if (wire::code_returns_value(static_cast<uint8_t>(op.code))) {
      pending.reads.push_back(static_cast<uint8_t>(pending.operations));
    }
    ++pending.operations;
  }
  slot->user = free_pending_.back();
  free_pending_.pop_back();
  pending_[slot->user] = std::move(pending);
  const TimeNs now = clock_ns();
  machine_.submit(slot, builder, *shard, options_.request_timeout_ms == 0 ? 0 : now + options_.request_timeout_ms * kMs,
                  now);
  return {};
}

Expected<Committed> Connection::execute(const Batch& batch) {
  if (in_callback_) {
    return Error{ErrorKind::kInvalid, Result::kBadRequest, 0,
                 "a callback must not wait for an answer: use submit() there"};
  }
  std::optional<Expected<Committed>> answer;
  const TimeNs start = clock_ns();
  const TimeNs limit = options_.request_timeout_ms == 0 ? ~TimeNs{0} : start + options_.request_timeout_ms * kMs;
  bool is_submitted = false;
  // The machine settles what was submitted at its deadline; what cannot be submitted ends at `limit`.
  while (true) {
    if (!is_submitted) {
      Status submitted = submit(batch, [&answer](const Expected<Committed>& result) { answer = result; });
      is_submitted = submitted.ok();
      if (!is_submitted && (submitted.error().result != Result::kBusy || clock_ns() >= limit)) {
        if (submitted.error().kind != ErrorKind::kRefused) return submitted.error();
        return Error{ErrorKind::kTimeout, Result::kBusy, submitted.error().detail,
                     silence("no answer from ") + " within " + std::to_string(options_.request_timeout_ms) +
                         " ms, nothing was sent: " + submitted.error().text + network_hint()};
      }
    }
    if (answer) return *answer;
    const TimeNs now = clock_ns();
    poll(limit > now ? limit - now : kMs);
    if (answer) return *answer;
  }
}

void Connection::finish(const client::Event& event) {
  const auto index = static_cast<uint32_t>(event.slot->user);
  Pending pending = std::move(pending_[index]);
  pending_[index] = Pending{};
  free_pending_.push_back(index);
  const Expected<Committed> result = outcome(event, pending);
  machine_.release(event.slot);
  in_callback_ = true;
  if (pending.callback) pending.callback(result);
  in_callback_ = false;
}

Expected<Committed> Connection::outcome(const client::Event& event, const Pending& pending) const {
  if (event.result != Result::kCommitted) return failure(event);
  Committed committed;
  committed.version = event.commit_version;
  committed.values.resize(pending.operations);
  wire::Value values[limits::kOperationsMax];
  Version version = 0;
  const wire::ParseError error = wire::parse_values(event.message, event.header, &version, values);
  assert(error == wire::ParseError::kNone);  // the machine has looked
  (void)error;
  // A correct node answers exactly what was asked, or nothing in a duplicate. Anything else is not believed.
  committed.values_known = event.header.operation_count == pending.reads.size();
  for (size_t i = 0; committed.values_known && i < pending.reads.size(); ++i) {
    if (values[i].operation != pending.reads[i]) committed.values_known = false;
  }
  for (size_t i = 0; committed.values_known && i < pending.reads.size(); ++i) {
    const wire::Value& v = values[i];
    committed.values[v.operation] =
        Value{v.present, std::string(reinterpret_cast<const char*>(v.data), v.length), v.version};
  }
  return committed;
}

// ---- error texts --------------------------------------------------------------------------------

Error Connection::failure(const client::Event& event) const {
  const Result result = event.result;
  if (event.timed_out) {
    std::string text = silence("no answer from ") + " within " + std::to_string(options_.request_timeout_ms) + " ms";
    if (event.slot->refusal != Result::kCommitted) {
      text += " but \"" + refusal_text(event.slot->refusal, event.slot->refusal_detail) + "\"";
    }
    text += network_hint();
    if (result != Result::kUnknownOutcome) {
      return {ErrorKind::kTimeout, result, event.detail, text + "; nothing was changed; is txnode running?"};
    }
    return {ErrorKind::kUnknownOutcome, result, event.detail,
            text + "; the write may or may not have happened: read before you repeat it"};
  }
  if (result == Result::kUnknownOutcome) {
    const bool closed = machine_.state() == client::MachineState::kClosing ||
                        machine_.state() == client::MachineState::kClosed;
    return {ErrorKind::kUnknownOutcome, result, event.detail,
            std::string(closed ? "the session was closed before the answer came"
                               : "the node was restarted, or refused a second copy, and cannot tell what became of the "
                                 "request") +
                ": the write may or may not have happened; read before you repeat it"};
  }
  if (is_recorded(result)) {
    return {ErrorKind::kAborted, result, event.detail,
            std::string(name(result)) + ": " + abort_text(result) + " (operation " + std::to_string(event.detail) +
                ")"};
  }
  if (result == Result::kBadSession) return no_session();
  return {ErrorKind::kRefused, result, event.detail, refusal_text(result, event.detail)};
}

Error Connection::no_session() const {
  if (refusal_) return {ErrorKind::kClosed, refusal_->result, refusal_->detail, refusal_->text};
  return {ErrorKind::kClosed, Result::kBadSession, 0, "the session is closed: connect again"};
}

std::string Connection::silence(const char* what) const { return what + endpoint_text(node_); }

std::string Connection::network_hint() const {
  if (socket_.last_error() == 0) return "";
  return std::string(" (the network says: ") + std::strerror(socket_.last_error()) + ")";
}

}  // namespace txnic
