// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/rmw.h"

namespace txnic::pktgen {

std::span<const char* const> Rmw::kinds() const {
  static const char* const kinds[] = {"rmw", "rmw_after_read"};
  return kinds;
}

std::string Rmw::prepare(const Facts& facts) {
  const std::string problem = MicroWorkload::prepare(facts);
  if (!problem.empty()) return problem;
  flows_.assign(facts.flows, {});
  // Where nobody executes, versions do not matter, but the frames have to be as long as the real ones.
  versions_.assign(settings_.records, facts.reflected ? 1 : 0);
  if (settings_.remote_percent > 0 && (facts.shards == 1 || count_ == 1)) {
    return "--remote needs several shards, and transactions of several keys";
  }
  return check_shards(keys_, count_, settings_.records);
}

// Records are drawn ahead, when the flow's last transaction is over, so that their versions are on their way to the
// cache while the rest of the burst is looked at.
void Rmw::draw(uint32_t flow) {
  FlowState& state = flows_[flow];
  uint64_t records[kOperationsPerTransactionMax];
  Random& random = random_[flow];
  const bool is_remote = settings_.remote_percent > 0 && random.unit() * 100 < settings_.remote_percent;
  if (is_remote) {
    draw_over_shards(keys_, random, records, count_);
  } else {
    draw_distinct(keys_, random, records, count_);
  }
  state.shard = is_remote ? kSeveralShards : keys_.shard(records[0]);
  for (uint32_t i = 0; i < count_; ++i) {
    state.rows[i].record = records[i];
    __builtin_prefetch(&versions_[records[i]], 1);
  }
  state.is_drawn = true;
  state.is_reading = false;
  state.kind = kKnown;
  state.absent = 0;
}

bool Rmw::know_all(FlowState& state) const {
  bool all = true;
  for (uint32_t i = 0; i < count_; ++i) {
    state.rows[i].version = versions_[state.rows[i].record];
    all &= state.rows[i].version != 0;
  }
  return all;
}

ShardId Rmw::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (!state.is_drawn) draw(flow);
  // After a read, what was read counts: the table may have moved on meanwhile, and then this is a conflict.
  if (state.kind == kKnown && !know_all(state)) {
    state.kind = kReread;
    state.is_reading = true;
  }
  for (uint32_t i = 0; i < count_; ++i) {
    const Key key(state.rows[i].record);
    if (state.is_reading) {
      request.get(settings_.table, key);
    } else {
      const bool absent = (state.absent >> i & 1) != 0;
      const uint16_t flags = absent ? wire::kExpectVersion | wire::kExpectAbsent : wire::kExpectVersion;
      request.add_operation(wire::Code::kPut, settings_.table, key, values_.make(state.rows[i].record), flags,
                            state.rows[i].version);
    }
  }
  return state.shard;
}

Progress Rmw::settled_read(FlowState& state, const Reply& reply) {
  if (reply.result != Result::kCommitted) {
    state.is_drawn = false;
    return finished(reply, state.kind, false);
  }
  if (!reply.has_values || reply.values.size() != count_) return {.done = false, .kind = state.kind};  // read again
  for (uint32_t i = 0; i < count_; ++i) {
    state.rows[i].version = reply.values[i].version;
    if (!inspect(state.rows[i].record, reply.values[i])) state.absent |= 1ull << i;
  }
  state.is_reading = false;
  return {.done = false, .kind = state.kind};
}

Progress Rmw::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  if (state.is_reading) return settled_read(state, reply);
  const Progress progress = finished(reply, state.kind, true);
  if (reply.result == Result::kCommitted) {
    for (uint32_t i = 0; i < count_; ++i) {
      const uint64_t record = state.rows[i].record;
      versions_[record] = reply.version_at(keys_.shard(record), state.shard == kSeveralShards);
    }
    draw(flow);
  } else if (reply.result == Result::kConflict || reply.result == Result::kUnknownOutcome) {
    // The flow's next transaction is the same one, with a read in front.
    for (uint32_t i = 0; i < count_; ++i) versions_[state.rows[i].record] = 0;
    state.kind = kKnown;
    state.absent = 0;
  } else {
    draw(flow);
  }
  return progress;
}

}  // namespace txnic::pktgen
