// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/connection.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "host/client/describe.h"
#include "txn/wire/map.h"

namespace txnic {
namespace {

constexpr uint32_t kMessagesPerStep = 64;
constexpr TimeNs kMs = 1'000'000;
constexpr TimeNs kCloseWaitNs = 100 * kMs;
constexpr TimeNs kForeverStepNs = 1000 * kMs;
constexpr uint32_t kHeldMax = 16;           // unknown outcomes that can be asked for later
constexpr uint32_t kRetryPauseUs = 500;     // before the first new attempt of what found a lock; then doubled
constexpr uint32_t kRetryPauseMaxUs = 16'000;

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
  c->addresses_ = {node->address};

  client::MachineLimits limits;
  limits.window = options.window;
  limits.nodes = limits::kNodesMax + 1;
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
    if (c->is_ready()) return c;
    if (c->machine_.state() == client::MachineState::kClosed) break;
    c->poll(end - now);
  }
  if (c->is_ready()) return c;
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

void Connection::emit(void* context, const std::byte* message, uint32_t length, uint32_t node,
                      uint32_t worker) {
  auto* self = static_cast<Connection*>(context);
  Endpoint to = self->machine_.node_base(node);
  if (to.port != 0) {
    to.port = static_cast<uint16_t>(to.port + worker);
  } else {  // no map has named it: it is the one that we connected to. Before OPENED any of its ports will do
    to = self->node_;
    if (self->is_open_) to.port = static_cast<uint16_t>(self->machine_.base_port() + worker);
  }
  self->socket_.send(to, message, length);
}

// ---- waiting and receiving ----------------------------------------------------------------------

uint32_t Connection::poll(TimeNs wait_ns) {
  const TimeNs start = clock_ns();
  const TimeNs end = wait_ns > kForeverStepNs ? start + kForeverStepNs : start + wait_ns;
  const client::MachineState state = machine_.state();
  const bool awaits_map = machine_.awaits_map();
  const auto is_unchanged = [&] { return machine_.state() == state && machine_.awaits_map() == awaits_map; };
  uint32_t done = step(start);
  // Until a callback has run, the session has opened or closed, or a map has come. Each round waits for the next timer
  // or message.
  for (TimeNs now = start; now < end && done == 0 && is_unchanged(); now = clock_ns()) {
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
    const uint32_t length = socket_.receive(addresses_, message);
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
    case client::EventKind::kNone: return 0;
    case client::EventKind::kMapped: learn(event); return 0;
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

// What does not parse, or has more nodes than any map, is not believed: the machine asks again when it is needed.
void Connection::learn(const client::Event& event) {
  ShardMap& map = maps_[next_map_];
  if (wire::parse_mapped(event.message, event.header, &map) != wire::ParseError::kNone) return;
  const Endpoint here{node_.address, machine_.base_port()};
  if (!machine_.use_map(&map, map.node_at(here), clock_ns())) return;
  next_map_ ^= 1;
  addresses_ = {node_.address};
  for (uint32_t n = 0; n < map.node_count; ++n) addresses_.push_back(map.nodes[n].base.address);
}

void Connection::pause(uint32_t microseconds) {
  const auto random = random_number();
  const TimeNs length = (random ? *random % microseconds : microseconds) * 1000ull;
  const TimeNs end = clock_ns() + length;
  for (TimeNs now = clock_ns(); now < end; now = clock_ns()) poll(end - now);
}

// ---- requests -----------------------------------------------------------------------------------

TimeNs Connection::limit() const {
  return options_.request_timeout_ms == 0 ? ~TimeNs{0} : clock_ns() + options_.request_timeout_ms * kMs;
}

// A free slot; what was held for outcome() makes room for it.
client::Slot* Connection::acquire() {
  if (free_pending_.empty()) return nullptr;
  client::Slot* slot = machine_.acquire();
  while (slot == nullptr && !held_.empty() && machine_.state() == client::MachineState::kOpen) {
    machine_.release(held_.front().slot);
    held_.erase(held_.begin());
    slot = machine_.acquire();
  }
  return slot;
}

Status Connection::submit(const Batch& batch, Client::Callback callback) {
  if (batch.error()) return *batch.error();
  if (batch.size() == 0) {
    return Error{ErrorKind::kInvalid, Result::kBadRequest, 0, "the batch is empty: give it an operation"};
  }
  return try_submit(batch, std::move(callback));
}

Status Connection::try_submit(const Batch& batch, Client::Callback callback) {
  // With nothing outstanding this runs no callback; it opens a session that may have expired first.
  if (machine_.outstanding() == 0) handle(machine_.poll(clock_ns()));
  client::Slot* slot = acquire();
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
  const TimeNs now = clock_ns();
  const TimeNs deadline = options_.request_timeout_ms == 0 ? 0 : limit();
  slot->user = free_pending_.back();
  if (!machine_.submit_split(slot, builder, deadline, now)) {
    machine_.release(slot);
    return Error{ErrorKind::kInvalid, Result::kTooLarge, 0,
                 "a transaction has at most " + std::to_string(limits::kParticipantsMax) +
                     " shards, and its keys and values must fit one message of " +
                     std::to_string(limits::kMessageBytesMax) + " bytes beside the list of them; make several"};
  }
  pending_[slot->user] = std::move(pending);
  free_pending_.pop_back();
  return {};
}

// Nothing was done, and another attempt may fare better: a lock of a transaction over several shards, or a shard that
// has moved, or a node that was restarted while a read was under way.
bool Connection::is_worth_a_retry(const Error& error) const {
  if (error.kind != ErrorKind::kAborted && error.kind != ErrorKind::kRefused) return false;
  if (error.result == Result::kWrongShard) return machine_.map() != nullptr;
  return error.result == Result::kLocked || error.result == Result::kBadSession;
}

Expected<Committed> Connection::execute(const Batch& batch) {
  if (in_callback_) {
    return Error{ErrorKind::kInvalid, Result::kBadRequest, 0,
                 "a callback must not wait for an answer: use submit() there"};
  }
  const TimeNs end = limit();
  for (uint32_t pause_us = kRetryPauseUs;; pause_us = std::min(pause_us * 2, kRetryPauseMaxUs)) {
    Expected<Committed> answer = std::move(execute_all({batch}).front());
    if (answer || !is_worth_a_retry(answer.error()) || clock_ns() + pause_us * 1000ull >= end) return answer;
    pause(pause_us);
  }
}

std::vector<Expected<Committed>> Connection::execute_all(const std::vector<Batch>& batches) {
  std::vector<std::optional<Expected<Committed>>> answers(batches.size());
  const TimeNs end = limit();
  // The machine settles what was submitted at its deadline; what cannot be submitted ends at `end`.
  for (size_t next = 0;;) {
    while (next < batches.size()) {
      Status submitted =
          submit(batches[next], [&answer = answers[next]](const Expected<Committed>& result) { answer = result; });
      if (!submitted.ok()) {
        const Error& error = submitted.error();
        if (error.result == Result::kBusy && clock_ns() < end) break;
        answers[next] = error.kind != ErrorKind::kRefused
                            ? error
                            : Error{ErrorKind::kTimeout, Result::kBusy, error.detail,
                                    silence("no answer from ") + " within " +
                                        std::to_string(options_.request_timeout_ms) +
                                        " ms, nothing was sent: " + error.text + network_hint()};
      }
      ++next;
    }
    bool all = next == batches.size();
    for (size_t i = 0; all && i < next; ++i) all = answers[i].has_value();
    if (all) break;
    const TimeNs now = clock_ns();
    poll(end > now ? end - now : kMs);
  }
  std::vector<Expected<Committed>> results;
  for (auto& answer : answers) results.push_back(std::move(*answer));
  return results;
}

Expected<Committed> Connection::outcome(const TransactionId& id) {
  const auto lost = [] {
    return Error{ErrorKind::kUnknownOutcome, Result::kUnknownOutcome, 0,
                 "the outcome of this transaction cannot be asked for (any more): the node has lost it, or newer "
                 "transactions have taken its place; read what it should have changed"};
  };
  size_t at = 0;
  while (at < held_.size() && held_[at].slot->sequence != id.sequence) ++at;
  if (id.session != machine_.session() || at == held_.size() || in_callback_) return lost();
  Held held = std::move(held_[at]);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
  const TimeNs now = clock_ns();
  if (free_pending_.empty() || !machine_.resume(held.slot, options_.request_timeout_ms == 0 ? 0 : limit(), now)) {
    machine_.release(held.slot);
    return lost();
  }
  std::optional<Expected<Committed>> answer;
  held.pending.callback = [&answer](const Expected<Committed>& result) { answer = result; };
  held.slot->user = free_pending_.back();
  free_pending_.pop_back();
  pending_[held.slot->user] = std::move(held.pending);
  while (!answer) poll(kForeverStepNs);
  return *answer;
}

void Connection::finish(const client::Event& event) {
  const auto index = static_cast<uint32_t>(event.slot->user);
  Pending pending = std::move(pending_[index]);
  pending_[index] = Pending{};
  free_pending_.push_back(index);
  const Expected<Committed> result = told(event, pending);
  const Client::Callback callback = std::move(pending.callback);
  if (event.slot->resumable) {
    if (held_.size() == kHeldMax) {
      machine_.release(held_.front().slot);
      held_.erase(held_.begin());
    }
    held_.push_back({event.slot, std::move(pending)});
  } else {
    machine_.release(event.slot);
  }
  in_callback_ = true;
  if (callback) callback(result);
  in_callback_ = false;
}

Expected<Committed> Connection::told(const client::Event& event, const Pending& pending) const {
  if (event.result != Result::kCommitted) return failure(event);
  Committed committed;
  committed.version = event.commit_version;
  committed.values.resize(pending.operations);
  client::Values values;
  machine_.read_values(event, &values);
  for (uint32_t i = 0; values.participants > 1 && i < values.participants; ++i) {
    committed.versions.emplace_back(values.shards[i], values.versions[i]);
  }
  // A correct node answers exactly what was asked, or nothing in a duplicate. Anything else is not believed.
  committed.values_known = values.count == pending.reads.size();
  for (size_t i = 0; committed.values_known && i < pending.reads.size(); ++i) {
    if (values.values[i].operation != pending.reads[i]) committed.values_known = false;
  }
  for (size_t i = 0; committed.values_known && i < pending.reads.size(); ++i) {
    const wire::Value& v = values.values[i];
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
            text + "; the write may or may not have happened: ask by outcome(), or read before you repeat it",
            event.slot->resumable ? TransactionId{machine_.session(), event.slot->sequence} : TransactionId{}};
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
  if ((event.reply_flags & wire::kReplyFlagDecided) != 0 && !is_recorded(result)) {
    return {ErrorKind::kAborted, result, event.detail, refusal_text(result, event.detail)};
  }
  if (is_recorded(result)) {
    return {ErrorKind::kAborted, result, event.detail,
            std::string(name(result)) + ": " + abort_text(result) + " (operation " + std::to_string(event.detail) +
                ")"};
  }
  if (result == Result::kBadSession && machine_.state() != client::MachineState::kClosed &&
      machine_.state() != client::MachineState::kClosing) {
    return {ErrorKind::kRefused, result, event.detail,
            "a node was restarted and has lost the session; nothing was changed: try again"};
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
