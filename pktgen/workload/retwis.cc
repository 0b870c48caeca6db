// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/retwis.h"

#include <algorithm>

namespace txnic::pktgen {

std::span<const char* const> Retwis::kinds() const {
  static const char* const kinds[kKinds] = {"add_user", "follow", "post_tweet", "get_timeline"};
  return kinds;
}

std::string Retwis::prepare(const Facts& facts) {
  if (facts.reflected) return "retwis reads before it writes: it needs a node that executes";
  const std::string problem = MicroWorkload::prepare(facts);
  if (!problem.empty()) return problem;
  zipf_ = Zipf(settings_.records, settings_.theta < 0 ? kThetaDefault : settings_.theta);
  scramble_ = Scramble(settings_.records);
  flows_.assign(facts.flows, {});
  if (settings_.remote_percent > 0 && facts.shards == 1) return "--remote needs a node or nodes with several shards";
  return check_shards(keys_, kTimelineMax, settings_.records);
}

void Retwis::draw(uint32_t flow) {
  FlowState& state = flows_[flow];
  Random& random = random_[flow];
  const uint8_t kind = draw_kind(random, kMixPercent);
  state.kind = static_cast<Kind>(kind);
  state.gets = state.kind == kGetTimeline ? 1 + static_cast<uint32_t>(random.below(kTimelineMax)) : kGets[kind];
  state.keys = std::max(state.gets, kPuts[kind]);
  if (settings_.remote_percent > 0 && random.unit() * 100 < settings_.remote_percent) {
    draw_zipf_anywhere(zipf_, scramble_, random, state.records.data(), state.keys);
  } else {
    draw_zipf_distinct(keys_, zipf_, scramble_, random, state.records.data(), state.keys);
  }
  std::sort(state.records.begin(), state.records.begin() + state.keys);
  state.step = Step::kReading;
}

// The reads are validated: by the write of the same key, or by a check.
void Retwis::fill_commit(const FlowState& state, wire::ExecuteBuilder& request) {
  const uint32_t puts = kPuts[state.kind];
  for (uint32_t i = 0; i < state.keys; ++i) {
    const Key key(state.records[i]);
    const uint16_t absent = i < state.gets && !state.present[i] ? wire::kExpectAbsent : uint16_t{0};
    if (i >= puts) {
      request.check(settings_.table, key, state.versions[i], static_cast<uint16_t>(wire::kReadSet | absent));
    } else if (i < state.gets) {
      request.add_operation(wire::Code::kPut, settings_.table, key, values_.make(state.records[i]),
                            static_cast<uint16_t>(wire::kExpectVersion | absent), state.versions[i]);
    } else {
      request.put(settings_.table, key, values_.make(state.records[i]));
    }
  }
}

ShardId Retwis::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (state.step == Step::kDraw) draw(flow);
  if (state.step == Step::kCommitting) {
    fill_commit(state, request);
  } else {
    for (uint32_t i = 0; i < state.gets; ++i) request.get(settings_.table, Key(state.records[i]));
  }
  const uint32_t used = state.step == Step::kCommitting ? state.keys : state.gets;
  const ShardId shard = keys_.shard(state.records[0]);
  for (uint32_t i = 1; i < used; ++i) {
    if (keys_.shard(state.records[i]) != shard) return kSeveralShards;
  }
  return shard;
}

Progress Retwis::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  if (reply.result == Result::kCommitted && state.step == Step::kReading) {
    if (!reply.has_values || reply.values.size() != state.gets) return {.done = false, .kind = state.kind};  // again
    bool all_present = true;
    for (uint32_t i = 0; i < state.gets; ++i) {
      state.versions[i] = reply.values[i].version;
      state.present[i] = inspect(state.records[i], reply.values[i]);
      all_present &= state.present[i];
    }
    if (state.kind == kGetTimeline) {
      state.step = Step::kDraw;
      return finished(reply, state.kind, all_present);
    }
    state.step = Step::kCommitting;
    return {.done = false, .kind = state.kind};
  }
  state.step = Step::kDraw;
  return finished(reply, state.kind, true);
}

}  // namespace txnic::pktgen
