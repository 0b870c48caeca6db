// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/ycsb.h"

namespace txnic::pktgen {

const YcsbMix* Ycsb::find(char letter) {
  static const YcsbMix mixes[] = {{"ycsb-a", 50, 50}, {"ycsb-b", 95, 5}, {"ycsb-c", 100, 0}, {"ycsb-f", 50, 0}};
  for (const YcsbMix& mix : mixes) {
    if (mix.name[5] == letter) return &mix;
  }
  return nullptr;
}

std::span<const char* const> Ycsb::kinds() const {
  static const char* const kinds[] = {"read", "update", "read_modify_write"};
  return kinds;
}

std::string Ycsb::prepare(const Facts& facts) {
  const std::string problem = MicroWorkload::prepare(facts);
  if (!problem.empty()) return problem;
  if (facts.reflected && mix_.read_percent + mix_.update_percent < 100) {
    return "ycsb-f reads before it writes: it needs a node that executes";
  }
  zipf_ = Zipf(settings_.records, settings_.theta);
  scramble_ = Scramble(settings_.records);
  flows_.assign(facts.flows, {});
  if (settings_.remote_percent > 0 && (facts.shards == 1 || count_ == 1)) {
    return "--remote needs several shards, and --operations above 1";
  }
  return check_shards(keys_, count_, settings_.records);
}

Ycsb::Action Ycsb::draw_action(Random& random) const {
  const uint64_t percent = random.below(100);
  if (percent < mix_.read_percent) return Action::kRead;
  return percent < mix_.read_percent + mix_.update_percent ? Action::kUpdate : Action::kModify;
}

void Ycsb::draw(uint32_t flow) {
  FlowState& state = flows_[flow];
  Random& random = random_[flow];
  state.kind = kReads;
  uint64_t records[kOperationsPerTransactionMax];
  records[0] = 0;
  if (settings_.remote_percent > 0 && random.unit() * 100 < settings_.remote_percent) {
    draw_zipf_anywhere(zipf_, scramble_, random, records, count_);
  } else {
    draw_zipf_distinct(keys_, zipf_, scramble_, random, records, count_);
  }
  state.shard = keys_.shard(records[0]);
  for (uint32_t i = 0; i < count_; ++i) {
    const Action action = draw_action(random);
    if (action == Action::kUpdate) state.kind = std::max(state.kind, kUpdates);
    if (action == Action::kModify) state.kind = kModifies;
    state.rows[i] = {records[i], 0, action, true};
    if (keys_.shard(records[i]) != state.shard) state.shard = kSeveralShards;
  }
  state.step = state.kind == kModifies ? Step::kReading : Step::kOneShot;
}

void Ycsb::fill_one_shot(FlowState& state, wire::ExecuteBuilder& request) {
  for (uint32_t i = 0; i < count_; ++i) {
    const auto& row = state.rows[i];
    if (row.action == Action::kUpdate) {
      request.put(settings_.table, Key(row.record), values_.make(row.record));
    } else {
      request.get(settings_.table, Key(row.record));
    }
  }
}

void Ycsb::fill_commit(FlowState& state, wire::ExecuteBuilder& request) {
  for (uint32_t i = 0; i < count_; ++i) {
    const auto& row = state.rows[i];
    const uint16_t absent = row.present ? uint16_t{0} : wire::kExpectAbsent;
    if (row.action == Action::kModify) {
      request.add_operation(wire::Code::kPut, settings_.table, Key(row.record), values_.make(row.record),
                            static_cast<uint16_t>(wire::kExpectVersion | absent), row.version);
    } else {
      request.check(settings_.table, Key(row.record), row.version, static_cast<uint16_t>(wire::kReadSet | absent));
    }
  }
}

ShardId Ycsb::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (state.step == Step::kDraw) draw(flow);
  if (state.step == Step::kCommitting) {
    fill_commit(state, request);
  } else if (state.step == Step::kReading) {
    for (uint32_t i = 0; i < count_; ++i) request.get(settings_.table, Key(state.rows[i].record));
  } else {
    fill_one_shot(state, request);
  }
  return state.shard;
}

// Takes over what was read, in the order of the rows that were read. False if one was absent.
bool Ycsb::inspect_reads(FlowState& state, const Reply& reply) {
  bool all_present = true;
  size_t at = 0;
  for (uint32_t i = 0; i < count_ && at < reply.values.size(); ++i) {
    auto& row = state.rows[i];
    if (state.step == Step::kOneShot && row.action == Action::kUpdate) continue;
    row.version = reply.values[at].version;
    row.present = inspect(row.record, reply.values[at]);
    all_present &= row.present;
    ++at;
  }
  return all_present;
}

Progress Ycsb::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  const Step step = state.step;
  bool good = reply.result == Result::kCommitted;
  if (good && step != Step::kCommitting) {
    if (step == Step::kReading && (!reply.has_values || reply.values.size() != count_)) {
      return {.done = false, .kind = state.kind};  // values are not repeated: read again
    }
    good = inspect_reads(state, reply);
    if (step == Step::kReading) {
      state.step = Step::kCommitting;
      return {.done = false, .kind = state.kind};
    }
  }
  state.step = Step::kDraw;
  return finished(reply, state.kind, good);
}

}  // namespace txnic::pktgen
