// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/client.h"

#include <algorithm>
#include <cassert>

namespace txnic::sim {
namespace {

constexpr TimeNs kUs = 1000, kMs = 1'000'000, kSecond = 1'000'000'000;

client::MachineLimits machine_limits(uint32_t nodes) {
  client::MachineLimits limits;
  limits.window = 16;
  limits.nodes = nodes;
  return limits;
}

}  // namespace

Client::Client(Context* context, Network* network, const Routing* routing, uint32_t place, NextTask next_task)
    : context_(*context), network_(*network), routing_(*routing), place_(place), next_task_(std::move(next_task)) {}

void Client::be_born(uint64_t first_process) {
  assert(!alive_);
  alive_ = true;
  ++life_;
  clock_offset_ = kSecond + context_.random.below(1000 * kSecond);
  context_.trace.note(context_.now(), "client", place_, life_, 0, "client %u life %u", place_, life_);
  open();
  const uint32_t count = 1 + context_.random.below32(context_.options.processes_max);
  for (uint32_t i = 0; i < count; ++i) {
    processes_.emplace_back().number = first_process + i;
    processes_.back().act_at = context_.now() + think();
  }
  plan_next_wake();
}

void Client::die() {
  context_.trace.note(context_.now(), "client dies", place_, life_, 0, "client %u life %u", place_, life_);
  ++context_.statistics.client_deaths;
  for (Process& process : processes_) {
    if (process.task != nullptr) process.task->abandon();
  }
  processes_.clear();
  alive_ = false;
  wake_at_ = kNever;
}

void Client::open() {
  const client::MachineLimits limits = machine_limits(context_.options.nodes);
  memory_.assign(client::SessionMachine::memory_bytes(limits) / sizeof(Line) + 1, Line{});
  newest_sequence_ = 0;
  const SessionId id = context_.random.next() | 1;
  machine_ = {};
  machine_.init(limits, {memory_.front().bytes, memory_.size() * sizeof(Line)}, id, &emit, this);
  machine_.use_map(&routing_.map(), context_.options.nodes, clock());
  machine_.open(clock());
}

void Client::close_session() {
  if (machine_.state() != client::MachineState::kOpen) return;
  ++context_.statistics.session_closes;
  context_.trace.note(context_.now(), "close", place_, life_, machine_.outstanding(),
                      "client %u life %u closes, %u under way", place_, life_, machine_.outstanding());
  machine_.close(clock());
  plan_next_wake();
}

// ---- messages -------------------------------------------------------------------------------------------------------

void Client::emit(void* context, const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) {
  Client& client = *static_cast<Client*>(context);
  std::vector<std::byte> bytes(message, message + length);
  wire::Header header = wire::read_header(message);
  if (client.context_.options.switches.client.renumbers_copies &&
      header.type == static_cast<uint8_t>(wire::Type::kExecute)) {
    if (header.sequence <= client.newest_sequence_) {  // a further copy
      header.sequence += 5;
      wire::write_header(bytes.data(), header);
    } else {
      client.newest_sequence_ = header.sequence;
    }
  }
  if (client.context_.options.switches.client.rotates_participants &&
      header.type == static_cast<uint8_t>(wire::Type::kPrepare) && client.context_.random.below(8) == 0) {
    std::byte* const shards = bytes.data() + wire::kHeaderBytes + sizeof(wire::ParticipantsHeader);
    const auto count = load<wire::ParticipantsHeader>(bytes.data() + wire::kHeaderBytes).count;
    std::rotate(shards, shards + sizeof(ShardId), shards + count * sizeof(ShardId));
  }
  client.network_.send({.bytes = std::move(bytes),
                        .client = client.place_,
                        .life = client.life_,
                        .node = client.machine_.node_base(node).address - kNodeAddress,
                        .worker = worker,
                        .to_node = true});
}

void Client::on_message(const Message& message) {
  if (!alive_ || message.life != life_) return;
  std::vector<std::byte> bytes = message.bytes;
  if (context_.options.switches.client.accepts_stale_aborts && bytes.size() >= wire::kHeaderBytes) {
    wire::Header header = wire::read_header(bytes.data());
    uint32_t node = 0;
    while (machine_.node_base(node).address != kNodeAddress + message.node) ++node;
    header.stamp = header.type == static_cast<uint8_t>(wire::Type::kExecuted) ? machine_.stamp(node) : header.stamp;
    wire::write_header(bytes.data(), header);
  }
  handle(machine_.on_message(clock(), bytes.data(), static_cast<uint32_t>(bytes.size())));
  drain();
  plan_next_wake();
}

void Client::drain() {
  for (;;) {
    const client::Event event = machine_.poll(clock());
    if (event.kind == client::EventKind::kNone) break;
    handle(event);
  }
  // Refused for good and settled: another session id.
  if (machine_.state() == client::MachineState::kClosed && machine_.outstanding() == 0) open();
}

void Client::wake() {
  wake_at_ = kNever;
  if (!alive_) return;
  drain();
  for (uint32_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].act_at <= context_.now()) act(i);
  }
  plan_next_wake();
}

void Client::plan_next_wake() {
  TimeNs at = kNever;
  for (const Process& process : processes_) at = std::min(at, process.act_at);
  const TimeNs due = machine_.next_poll();
  if (due != kNever) at = std::min(at, context_.now() + (due > clock() ? due - clock() : 1));
  if (at >= wake_at_) return;
  wake_at_ = at;
  context_.queue.plan(at, EventKind::kWakeClient, place_);
}

// ---- processes ------------------------------------------------------------------------------------------------------

TimeNs Client::think() {
  Random& random = context_.random;
  if (context_.options.harsh && random.below(4) == 0) return random.below(600 * kMs);
  return random.between(50 * kUs, random.below(8) == 0 ? 200 * kMs : 30 * kMs);
}

void Client::stir() {
  for (Process& process : processes_) {
    if (process.task == nullptr) process.act_at = std::min(process.act_at, context_.now() + context_.random.below(kMs));
  }
  plan_next_wake();
}

void Client::act(uint32_t index) {
  Process& process = processes_[index];
  process.act_at = kNever;
  if (process.under_way) return;
  if (process.task == nullptr) {
    process.task = next_task_(process.number);
    if (process.task == nullptr) return;  // until it is stirred
    advance(process, nullptr);
    if (!process.is_wanted) return;
    process.act_at = kNever;
  }
  if (!submit(index)) process.act_at = context_.now() + context_.random.between(kMs, 5 * kMs);
}

// On to the task's next transaction, or to the end of the task.
void Client::advance(Process& process, const Outcome* outcome) {
  process.is_wanted = process.task->next(outcome, &process.transaction);
  if (!process.is_wanted) process.task.reset();
  process.act_at = context_.now() + think();
}

bool Client::submit(uint32_t index) {
  Process& process = processes_[index];
  const Transaction& transaction = process.transaction;
  client::Slot* const slot = machine_.acquire();
  if (slot == nullptr) return false;
  slot->user = index;
  wire::ExecuteBuilder builder(slot->buffer());
  for (const Part& part : transaction.parts) {
    for (const Operation& operation : part.operations) {
      const Bytes key = std::as_bytes(std::span(&operation.key, 1));
      const bool fits = builder.add_operation(operation.code, operation.table, key, operation.value, operation.flags,
                                              operation.expected);
      assert(fits && "a workload's transaction fits a message");
      (void)fits;
    }
  }
  // Most wait as long as it takes; some give up, and then do not know.
  const bool has_deadline = context_.random.below(5) == 0;
  const TimeNs deadline = has_deadline ? clock() + context_.random.between(10 * kMs, 2 * kSecond) : 0;
  process.is_wanted = false;
  process.under_way = true;
  const Place first = transaction.parts.front().place;
  context_.trace.note(context_.now(), "submit", process.number, first.node, slot->sequence,
                      "process %lu: node %u shard %u and %zu more places, %zu operations, sequence %lu", process.number,
                      first.node, first.shard, transaction.parts.size() - 1, transaction.operations(), slot->sequence);
  if (transaction.parts.size() == 1) {
    machine_.submit(slot, builder, static_cast<ShardId>(routing_.number(first)), deadline, clock());
    return true;
  }
  ++context_.statistics.over_several;
  const bool fits = machine_.submit_split(slot, builder, deadline, clock());
  assert(fits && "a workload's transaction has few enough participants");
  (void)fits;
  return true;
}

void Client::handle(const client::Event& event) {
  if (event.kind != client::EventKind::kSettled) return;
  Process& process = processes_[event.slot->user];
  assert(process.under_way && process.task != nullptr);
  const Outcome outcome = outcome_of(event);
  count(outcome);
  context_.trace.note(context_.now(), "outcome", process.number, static_cast<uint64_t>(event.result),
                      event.commit_version, "process %lu: %s%s%s detail %u", process.number, name(event.result),
                      outcome.is_duplicate ? " (duplicate)" : "", outcome.is_unknown ? " (unknown)" : "", event.detail);
  machine_.release(event.slot);
  process.under_way = false;
  advance(process, &outcome);
}

Outcome Client::outcome_of(const client::Event& event) {
  Outcome outcome;
  outcome.result = event.result;
  if (event.result != Result::kCommitted) {
    // What the window does not record is no outcome: in a network that doubles messages, another copy of a request that
    // was refused may still be executed.
    outcome.is_decided =
        is_recorded(event.result) || (event.reply_flags & wire::kReplyFlagDecided) != 0;
    const ClientSwitches& switches = context_.options.switches.client;
    const bool is_unknown = event.result == Result::kUnknownOutcome;
    outcome.is_decided |= is_unknown ? switches.unknown_is_abort : switches.believes_refusals;
    const bool may_have_run = !outcome.is_decided && !event.slot->read_only && event.slot->sends != 0;
    outcome.is_unknown = (is_unknown && !switches.unknown_is_abort) || may_have_run;
    const bool is_our_fault = event.result == Result::kWrongShard || event.result == Result::kUnknownTable ||
                              event.result == Result::kCrossShard || event.result == Result::kBadRequest ||
                              event.result == Result::kBadVersion;
    if (is_our_fault) context_.fail(std::string("a sound request was answered ") + name(event.result));
    return outcome;
  }
  outcome.is_duplicate = (event.reply_flags & wire::kReplyFlagDuplicate) != 0;
  if (outcome.is_duplicate) return outcome;
  client::Values values;
  machine_.read_values(event, &values);
  for (uint32_t i = 0; i < values.count; ++i) {
    const wire::Value& value = values.values[i];
    outcome.values.push_back({value.version, value.present, value.operation, {value.data, value.data + value.length}});
  }
  return outcome;
}

void Client::count(const Outcome& outcome) {
  Statistics& statistics = context_.statistics;
  if (outcome.committed()) {
    ++statistics.committed;
  } else if (outcome.is_unknown) {
    ++statistics.unknown;
  } else if (outcome.is_decided) {
    ++statistics.aborted;
  } else {
    ++statistics.refused;
  }
}

bool Client::is_idle() const {
  for (const Process& process : processes_) {
    if (process.task != nullptr) return false;
  }
  return true;
}

std::string Client::describe() const {
  std::string text;
  for (const Process& process : processes_) {
    if (process.task == nullptr) continue;
    text += " process " + std::to_string(process.number) + (process.under_way ? " waits" : " wants to send") +
            " (session state " + std::to_string(static_cast<int>(machine_.state())) + ")";
  }
  return text;
}

}  // namespace txnic::sim
