// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/node.h"

#include <cerrno>
#include <cstring>

#include "tests/sim/tables.h"

namespace txnic::sim {
namespace {

constexpr TimeNs kUs = 1000, kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr TimeNs kDieWithin = 500 * kUs;
constexpr TimeNs kDieUnheardWithin = 15 * kMs;
constexpr double kDieContrary = 0.5;
constexpr TimeNs kNever = ~TimeNs{0};
constexpr TimeNs kWriteLeast = 100 * kUs, kWriteMost = 4 * kMs;  // one write with its sync
constexpr TimeNs kTickLeast = 5 * kMs, kTickMost = 15 * kMs;     // nothing to do: marks, expiry, the keeper

test::RigConfig rig_config(const Context& context, const Routing& routing, uint32_t index) {
  test::RigConfig config;
  config.durability = context.durability;
  config.map = &routing.map();
  config.place = index;
  config.shards = context.options.shards;
  config.sessions = 128;
  config.window = 16;
  config.shard_bytes = 512u << 10;
  config.segment_bytes = 64u << 10;
  config.checkpoint_log_bytes = 512u << 10;
  config.idle_expiry_ns = 60 * kSecond;
  config.seed = context.options.seed * 64 + index;
  config.tables = tables();
  config.switches = context.options.switches.node;
  return config;
}

}  // namespace

Node::Node(Context* context, Network* network, const Routing* routing, uint32_t index)
    : context_(*context),
      network_(*network),
      index_(index),
      disk_(context->random.next()),
      rig_(
          rig_config(*context, *routing, index), &disk_,
          [this](Endpoint to, std::vector<std::byte> bytes) {
            context_.trace.fold_bytes(bytes);
            const Word word = word_to_client(bytes);
            say({.bytes = std::move(bytes),
                 .client = client_of(to),
                 .life = life_of(to),
                 .node = index_,
                 .to_node = false,
                 .word = word});
          },
          [this](uint32_t node, ShardId, std::vector<std::byte> bytes) {
            context_.trace.fold_bytes(bytes);
            const Word word = word_between(bytes);
            say({.bytes = std::move(bytes), .node = node, .sender = index_, .to_node = true, .word = word});
          }) {
  disk_.set_clock(context->queue.clock(), kWriteLeast, kWriteMost);
  disk_.set_lies(context->options.switches.disk);
}

// ---- life and death -------------------------------------------------------------------------------------------------

void Node::start() {
  if (up()) return;
  if (context_.random.below(8) == 0 && deaths_ != 0) {
    restart_and_compare();
    return;
  }
  workers_ = 1 + context_.random.below32(context_.options.workers_max);
  clock_offset_ = context_.random.below(1000 * kSecond) + kSecond;  // a clock that starts with the machine
  if (!try_start()) return;
  plan_wake(0);
}

bool Node::try_start() {
  const bool ok = rig_.start(workers_, clock());
  context_.trace.note(context_.now(), ok ? "start" : "no start", index_, rig_.incarnation(), workers_,
                      "node %u incarnation %u, %u workers%s%s", index_, rig_.incarnation(), workers_, ok ? "" : ": ",
                      ok ? "" : rig_.error.c_str());
  if (ok) {
    ++context_.statistics.restarts;
    context_.started[index_] = context_.now();
    if (rig_.report().records != 0) ++context_.statistics.recoveries;
    context_.statistics.in_doubt += rig_.undecided();
    context_.statistics.recovered_records += rig_.report().records;
    if (!rig_.report().torn_tail.empty()) ++context_.statistics.torn_tails;
    if (disk_.dead()) crash(true);
    if (up()) network_.on_start(index_);
    return up();
  }
  ++context_.statistics.failed_starts;
  rig_.die();
  if (disk_.dead()) {
    crash(true);
  } else if (is_full_ && rig_.error.find(std::strerror(ENOSPC)) != std::string::npos) {  // only for a while
    disk_.kill();
    plan_start(200 * kMs);
  } else {
    context_.fail("node " + std::to_string(index_) + " does not start: " + rig_.error);
  }
  return false;
}

void Node::crash(bool power_loss) {
  ++context_.statistics.crashes;
  ++deaths_;
  context_.trace.note(context_.now(), "crash", index_, power_loss, rig_.held(), "node %u %s, %u answers held", index_,
                      power_loss ? "loses power" : "is killed", rig_.held());
  take_figures();
  if (power_loss) {
    disk_.crash();
  } else {
    disk_.kill();
  }
  rig_.die();
  wake_at_ = kNever;
  is_slow_ = false;
  plan_start(context_.random.between(5 * kMs, context_.random.below(4) == 0 ? 5 * kSecond : 300 * kMs));
}

// It is in the middle of a step: death comes a little later, mostly before what it has just written is on the disk; of
// a word that nobody has heard, after others have had time to change what it was about.
void Node::say(Message message) {
  const FaultRates& rates = context_.rates;
  const Word word = message.word;
  const bool is_contrary = rates.hold > 0 && word == Word::kCommit && network_.holds_for(index_, message.bytes);
  const bool is_drawn = (rates.words >> static_cast<uint32_t>(word) & 1) != 0;
  const bool is_held = !network_.send(std::move(message));
  if (!context_.random.chance(is_contrary || is_held ? kDieContrary : is_drawn ? rates.die_after : 0)) return;
  const TimeNs within = is_held && context_.random.below(2) == 0 ? kDieUnheardWithin : kDieWithin;
  context_.queue.plan(context_.now() + context_.random.below(within), EventKind::kDie, index_, deaths_);
}

void Node::take_figures() {
  if (!up()) return;
  context_.statistics.duplicates_answered += rig_.counters().duplicates;
  context_.statistics.checkpoints += rig_.checkpoints();
  const commit::MachineCounters counters = rig_.commit_counters();
  context_.statistics.prepared += counters.prepared;
  context_.statistics.asked += counters.asked;
  context_.statistics.inquired += counters.inquired;
  context_.statistics.promises += counters.promises;
  context_.statistics.orphaned += counters.orphaned;
  context_.statistics.contradictions += counters.contradictions;
  if (counters.contradictions != 0) context_.fail("a node was told a decision that contradicts what it has logged");
}

void Node::plan_start(TimeNs delay) {
  context_.queue.plan(context_.now() + delay, EventKind::kStartNode, index_, deaths_);
}

void Node::restart_and_compare() {
  if (up()) {
    ++deaths_;
    take_figures();
    disk_.crash();
    rig_.die();
  }
  ++context_.statistics.compared_recoveries;
  const test::TestDisk::Snapshot before = disk_.snapshot();
  workers_ = 1 + context_.random.below32(context_.options.workers_max);
  clock_offset_ = context_.random.below(1000 * kSecond) + kSecond;
  if (!try_start()) return;
  const auto rows = rig_.rows();
  const auto windows = rig_.windows();
  rig_.die();
  disk_.restore(before);
  if (!try_start()) return;
  if (rows != rig_.rows()) context_.fail("recovering one disk twice: the rows differ");
  if (windows != rig_.windows()) context_.fail("recovering one disk twice: the windows differ");
  plan_wake(0);
}

// ---- work -----------------------------------------------------------------------------------------------------------

void Node::on_message(Message message) {
  if (!up()) return;
  const Endpoint from = message.sender != kClientSends
                            ? Endpoint{kNodeAddress + message.sender, wire::kBasePortDefault}
                            : endpoint_of(message.client, message.life);
  rig_.deliver(message.worker, from, std::move(message.bytes));
  plan_wake(context_.random.between(kUs, 20 * kUs));
}

void Node::wake() {
  wake_at_ = kNever;
  if (!up()) return;
  // Workers and keeper are independent: in any order, and not all of them each time.
  const uint32_t first = context_.random.below32(workers_);
  for (uint32_t i = 0; i < workers_; ++i) {
    if (context_.random.below(8) != 0) rig_.step_worker((first + i) % workers_, clock());
  }
  if (context_.random.below(2) == 0) rig_.step_keeper(clock());
  if (disk_.dead()) return crash(true);
  if (rig_.log_failed() && !context_.options.switches.node.goes_on_after_failure) {
    context_.trace.note(context_.now(), "log failed", index_, 0, 0, "node %u stops", index_);
    return crash(context_.random.below(2) == 0);
  }
  plan_next_wake();
}

void Node::plan_wake(TimeNs delay) {
  const TimeNs at = context_.now() + delay;
  if (at >= wake_at_) return;
  wake_at_ = at;
  context_.queue.plan(at, EventKind::kWakeNode, index_);
}

void Node::plan_next_wake() {
  Random& random = context_.random;
  const TimeNs due = disk_.next_due();
  if (due <= context_.now() || rig_.has_messages()) {
    plan_wake(random.between(kUs, 10 * kUs));
  } else if (rig_.checkpoint_running() && !is_slow_) {
    plan_wake(random.between(20 * kUs, 200 * kUs));
  } else if (due != kNever) {
    plan_wake(due - context_.now() + random.below(20 * kUs));
  } else if (rig_.has_records() && !is_slow_) {
    plan_wake(random.between(10 * kUs, 100 * kUs));
  } else {
    plan_wake(random.between(kTickLeast, kTickMost));
  }
}

// ---- faults ---------------------------------------------------------------------------------------------------------

void Node::set_full(bool full) {
  is_full_ = full;
  disk_.set_full(full);
}

void Node::set_slow(bool slow) {
  is_slow_ = slow;
  disk_.set_slow(slow);
  if (up() && !slow) plan_wake(0);
}

void Node::fail_syncs() {
  if (up()) disk_.fail_syncs(EIO);
}

void Node::begin_checkpoint() {
  if (rig_.begin_checkpoint()) plan_wake(0);
}

}  // namespace txnic::sim
