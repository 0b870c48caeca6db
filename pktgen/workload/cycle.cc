// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/cycle.h"

#include "pktgen/workload/bulk.h"

namespace txnic::pktgen {

namespace {

constexpr uint32_t kNextBytes = 8;

}  // namespace

std::span<const char* const> Cycle::kinds() const {
  static const char* const kinds[] = {"permute"};
  return kinds;
}

std::string Cycle::prepare(const Facts& facts) {
  if (facts.reflected) return "cycle needs a node that executes";
  keys_.init(settings_.keys, facts.shards);
  flows_.assign(facts.flows, {});
  for (uint32_t flow = 0; flow < facts.flows; ++flow) random_.emplace_back(facts.seed, flow);
  return {};
}

// a, b, c, d become a, c, b, d.
ShardId Cycle::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (!state.is_drawn) {
    state.is_drawn = true;
    state.read = 0;
    state.keys[0] = random_[flow].below(settings_.keys);
  }
  if (state.read < kNeighbours) {
    request.get(settings_.table, Key(state.keys[state.read]));
    return keys_.shard(state.keys[state.read]);
  }
  const auto& [a, b, c, d] = state.keys;
  request.put_if(settings_.table, Key(a), Key(c), state.versions[0]);
  request.put_if(settings_.table, Key(b), Key(d), state.versions[1]);
  request.put_if(settings_.table, Key(c), Key(b), state.versions[2]);
  const ShardId shard = keys_.shard(a);
  return keys_.shard(b) == shard && keys_.shard(c) == shard ? shard : kSeveralShards;
}

Progress Cycle::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  const bool committed = reply.result == Result::kCommitted;
  if (!committed || state.read == kNeighbours) {
    moved_ += committed;
    state.is_drawn = false;
    return finished(reply, 0, true);
  }
  if (!reply.has_values || reply.values.size() != 1) return {.done = false};  // read again
  const wire::Value& value = reply.values[0];
  const uint64_t next = value.present && value.length == kNextBytes ? load<uint64_t>(value.data) : settings_.keys;
  if (next >= settings_.keys) {
    fail("cycle: key " + std::to_string(state.keys[state.read]) + " names no next one; load the ring first");
    state.is_drawn = false;
    return {.done = true, .good = false, .result = Result::kNotFound};
  }
  state.versions[state.read] = value.version;
  state.keys[++state.read] = next;
  // Keys read at different times may form no ring; commit would find that out, if they were different keys at least.
  bool is_torn = false;
  for (uint32_t i = 0; i < state.read; ++i) is_torn |= state.keys[i] == next;
  if (!is_torn) return {.done = false};
  state.is_drawn = false;
  return {.done = true, .good = false, .result = Result::kConflict};
}

std::unique_ptr<Workload> Cycle::loader() {
  const uint64_t count = settings_.keys;
  return std::make_unique<BulkLoad>(
      keys_, std::vector<TableId>{settings_.table}, kNextBytes,
      [count](uint64_t key, MutableBytes value) { store(value.data(), (key + 1) % count); });
}

std::unique_ptr<Workload> Cycle::survey(Survey when) {
  if (when == Survey::kBefore) return nullptr;
  is_surveyed_ = true;
  next_.assign(settings_.keys, settings_.keys);
  return std::make_unique<BulkRead>(keys_, std::vector<TableId>{settings_.table}, kNextBytes,
                                    [this](uint32_t, uint64_t key, bool present, Bytes value) {
                                      if (present && value.size() == kNextBytes) {
                                        next_[key] = load<uint64_t>(value.data());
                                      }
                                    });
}

Check Cycle::check() const {
  if (!is_surveyed_) return {};
  uint64_t at = 0, steps = 0;
  do {
    at = next_[at];
    ++steps;
  } while (at != 0 && at < settings_.keys && steps < settings_.keys);
  Check check{.made = true, .passed = at == 0 && steps == settings_.keys, .text = {}};
  check.text = std::string("the ring ") + (check.passed ? "holds: " : "FAILED: ") + std::to_string(steps) + " of " +
               std::to_string(settings_.keys) + " keys" +
               (at == 0 ? "" : at < settings_.keys ? ", and the first one is not met again" : ", then one is missing") +
               ", " + std::to_string(moved_) + " acknowledged changes";
  return check;
}

}  // namespace txnic::pktgen
