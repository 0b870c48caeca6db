// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/world.h"

#include <algorithm>

#include "tests/sim/bank.h"
#include "tests/sim/counters.h"
#include "tests/sim/tokens.h"

namespace txnic::sim {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kQuietMost = 180 * kSecond;  // after the faults, every request has its outcome by then
constexpr double kLoadLeastNs = 1e9;

FaultRates rates_of(const Options& options, Random& random) {
  FaultRates rates = FaultRates::draw(random);
  if (!options.harsh) return rates;
  rates.drop = 0.05;
  rates.duplicate = 0.05;
  rates.late = 0.2;
  rates.late_seconds = random.below(2) == 0 ? 0.5 : 5;  // across a restart; across several
  rates.reorder = 0.2;
  rates.power_loss = 30;
  rates.kill = 3;
  rates.sync_error = 5;
  rates.partition = 2;
  rates.checkpoint = 60;
  rates.client_death = 1;
  // Faults that aim keep the load low: half of the seeds go without.
  const bool aims = random.below(2) == 0;
  rates.at_restart = aims ? 0.2 : 0;
  rates.die_after = aims ? 0.1 : 0;
  rates.hold = aims ? 0.2 : 0;
  // Half of these hold what a client or a coordinator must not believe too late, and little else dies.
  if (aims && random.below(2) == 0) {
    rates.words = 1u << static_cast<uint32_t>(random.below(2) == 0 ? Word::kVoteNo : Word::kAbort);
    rates.hold = 0.5;
    rates.power_loss = rates.kill = rates.sync_error = 2;
  }
  return rates;
}

// Most seeds are for the mode that promises most.
Durability durability_of(const Options& options, Random& random) {
  const uint64_t drawn = random.below(8);
  if (options.durability) return *options.durability;
  return drawn == 0 ? Durability::kNone : drawn == 1 ? Durability::kAsync : Durability::kSync;
}

}  // namespace

World::World(const Options& options)
    : context_(options),
      routing_(options.nodes, options.shards),
      drawn_(rates_of(options, context_.random)),
      network_(&context_),
      faults_(&context_, &network_, &nodes_, &clients_) {
  context_.durability = durability_of(options, context_.random);
  context_.started.resize(options.nodes);
  // Without a log nothing survives that the others could count on.
  const bool keeps = context_.durability != Durability::kNone;
  if (keeps) {
    workloads_.push_back(std::make_unique<Counters>(&context_, &routing_));
    workloads_.push_back(std::make_unique<Bank>(&context_, &routing_));
  }
  auto append = std::make_unique<Append>(&context_, &routing_);
  append_ = append.get();
  workloads_.push_back(std::move(append));
  if (keeps) workloads_.push_back(std::make_unique<Tokens>(&context_, &routing_));
  for (const auto& workload : workloads_) {
    for (auto& task : workload->setup()) tasks_.push_back(std::move(task));
  }
  for (uint32_t i = 0; i < options.nodes; ++i) nodes_.emplace_back(&context_, &network_, &routing_, i);
  for (uint32_t i = 0; i < options.clients; ++i) {
    clients_.emplace_back(&context_, &network_, &routing_, i,
                          [this, i](uint64_t process) { return next_task(i, process); });
  }
}

void World::run() {
  if (context_.trace.prints()) std::printf("%12s  rates: %s\n", "", drawn_.describe().c_str());
  for (Node& node : nodes_) node.start();
  for (uint32_t i = 0; i < clients_.size(); ++i) context_.queue.plan(0, EventKind::kNewClient, i);
  context_.queue.plan(kQuietMost, EventKind::kGiveUp, static_cast<uint32_t>(Phase::kSetup));
  while (phase_ != Phase::kOver && context_.violation.empty()) {
    handle(context_.queue.next());
    look_at_phase();
  }
  context_.statistics.simulated_ns = context_.now();
  context_.statistics.events = context_.trace.events();
  context_.statistics.trace_hash = context_.trace.hash();
}

void World::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kToNode:
    case EventKind::kToClient:
      deliver(event);
      break;
    case EventKind::kWakeNode:
      if (nodes_[event.who].is_awaited(event.at)) nodes_[event.who].wake();
      break;
    case EventKind::kWakeClient:
      if (clients_[event.who].is_awaited(event.at)) clients_[event.who].wake();
      break;
    case EventKind::kDice:
      if (phase_ == Phase::kLoad) faults_.throw_dice();
      break;
    case EventKind::kDie:
      if (nodes_[event.who].deaths() == event.detail && nodes_[event.who].up()) nodes_[event.who].crash(true);
      break;
    case EventKind::kStartNode:
      if (nodes_[event.who].deaths() == event.detail) nodes_[event.who].start();
      break;
    case EventKind::kEndFault:
      faults_.end(event.detail);
      break;
    case EventKind::kNewClient:
      clients_[event.who].be_born(processes_ + 1);
      processes_ += clients_[event.who].process_count();
      break;
    case EventKind::kEndOfLoad:
      begin_quiet();
      break;
    case EventKind::kGiveUp:
      if (static_cast<uint32_t>(phase_) == event.who) give_up();
      break;
  }
}

void World::deliver(const Event& event) {
  Message message;
  if (!network_.receive(event.detail, &message)) return;
  context_.trace.fold_bytes(message.bytes);
  network_.note("deliver", message);
  if (message.to_node) {
    const uint32_t node = message.node;
    nodes_[node].on_message(std::move(message));
  } else {
    clients_[message.client].on_message(message);
  }
}

std::unique_ptr<Task> World::next_task(uint32_t client, uint64_t process) {
  if (phase_ == Phase::kLoad) return workloads_[context_.random.below(workloads_.size())]->begin(process);
  // Setup and closing are the first client's.
  if (phase_ == Phase::kQuiet || client != 0 || tasks_.empty()) return nullptr;
  std::unique_ptr<Task> task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

// ---- phases ---------------------------------------------------------------------------------------------------------

bool World::clients_idle() const {
  for (const Client& client : clients_) {
    if (!client.alive() || !client.is_idle()) return false;
  }
  return true;
}

bool World::nodes_quiet() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.is_quiet(); });
}

void World::look_at_phase() {
  if (phase_ == Phase::kLoad || !clients_idle()) return;
  switch (phase_) {
    case Phase::kSetup:
      if (tasks_.empty() && nodes_quiet()) begin_load();
      break;
    case Phase::kQuiet:
      if (nodes_quiet()) begin_closing();
      break;
    case Phase::kClosing:
      if (!tasks_.empty()) break;
      check();
      phase_ = Phase::kOver;
      break;
    case Phase::kLoad:
    case Phase::kOver:
      break;
  }
}

void World::begin_load() {
  phase_ = Phase::kLoad;
  context_.trace.note(context_.now(), "load", 0, 0, 0, "faults and load begin");
  context_.rates = drawn_;
  const auto length = static_cast<TimeNs>(std::max(context_.options.minutes * 60e9, kLoadLeastNs));
  context_.queue.plan(context_.now() + length, EventKind::kEndOfLoad, 0);
  faults_.throw_dice();
  for (Client& client : clients_) client.stir();
}

void World::begin_quiet() {
  phase_ = Phase::kQuiet;
  context_.trace.note(context_.now(), "quiet", 0, 0, 0, "faults and load end");
  context_.rates = FaultRates::none();
  faults_.end_all();
  context_.queue.plan(context_.now() + kQuietMost, EventKind::kGiveUp, static_cast<uint32_t>(Phase::kQuiet));
}

void World::begin_closing() {
  phase_ = Phase::kClosing;
  context_.trace.note(context_.now(), "closing", 0, 0, 0, "every node loses power and recovers");
  for (Node& node : nodes_) {
    if (context_.durability != Durability::kNone) node.restart_and_compare();
  }
  for (const auto& workload : workloads_) {
    for (auto& task : workload->closing()) tasks_.push_back(std::move(task));
  }
  for (Client& client : clients_) client.stir();
  context_.queue.plan(context_.now() + kQuietMost, EventKind::kGiveUp, static_cast<uint32_t>(Phase::kClosing));
}

void World::check() {
  FinalState state;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].take_figures();
    for (auto& row : nodes_[i].rows()) {
      const auto key = load<uint64_t>(row.key.data());
      const Place place{i, row.shard};
      if (routing_.place_of(key) != place) context_.fail("key " + std::to_string(key) + " is where it does not belong");
      if (!state.try_emplace({row.table, key}, std::move(row.value)).second) {
        context_.fail("key " + std::to_string(key) + " is there twice");
      }
    }
  }
  for (const auto& workload : workloads_) workload->check(state);
}

void World::give_up() {
  std::string text = "liveness: some time after the faults ended";
  for (uint32_t i = 0; i < clients_.size(); ++i) {
    const std::string waits = clients_[i].describe();
    if (!waits.empty()) text += "; client " + std::to_string(i) + waits;
  }
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].is_quiet()) text += "; node " + std::to_string(i) + (nodes_[i].up() ? " is not quiet" : " is down");
  }
  context_.fail(text);
}

}  // namespace txnic::sim
