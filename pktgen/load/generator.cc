// SPDX-License-Identifier: BSD-3-Clause
// The path of every request.
#include "pktgen/load/generator.h"

#include <sched.h>

namespace txnic::pktgen {

// One iteration of the loop.
void Generator::step() {
  Received received[limits::kBurstMax];
  const uint32_t count = transport_.receive({received, settings_.burst});
  now_ = clock_now();
  for (uint32_t i = 0; i < count; ++i) {
    if (i + 1 < count) __builtin_prefetch(received[i + 1].message);
    handle(received[i]);
  }
  if (count != 0) last_answer_ns_ = now_;
  if (now_ >= next_tick_ns_) tick();
  if (limits_.rate > 0 && (stage_ == Stage::kWarming || stage_ == Stage::kMeasuring)) issue_arrivals();
  const bool has_work = ready_at_ < ready_.size();
  start_ready();
  transport_.flush();
  if (count != 0 || has_work || settings_.idle == Idle::kPoll) return;
  if (settings_.idle == Idle::kYield) {
    sched_yield();
  } else {
    transport_.wait(kIdleWaitNs);
  }
}

void Generator::handle(const Received& received) {
  const uint32_t session = sessions_.index_of(received.message, received.length);
  if (session == sessions_.count()) [[unlikely]] {
    return;  // of an earlier run from this address, or not ours at all
  }
  on_event(session, sessions_[session].on_message(now_, received.message, received.length));
}

void Generator::on_event(uint32_t session, const client::Event& event) {
  if (event.kind == client::EventKind::kSettled) [[likely]] {
    on_settled(session, event);
    return;
  }
  if (event.kind == client::EventKind::kMapped) map_error_ = sessions_.use_map(event, now_);
  if (event.kind == client::EventKind::kOpened) {
    opening_why_.clear();
    retry_waiting(session, ~0u);
  }
  if (event.kind == client::EventKind::kRefused) {
    opening_why_ = std::string("the node refused a session: ") + name(event.result) + ", detail " +
                   std::to_string(event.detail);
    if (event.result == Result::kBusy && event.detail == static_cast<uint8_t>(BusyReason::kSessions)) {
      opening_why_ +=
          " (its session table is full: use fewer --sessions, or raise sessions.count in its configuration)";
    }
    if (event.result == Result::kBusy && event.detail == static_cast<uint8_t>(BusyReason::kNotReady)) {
      opening_why_ += " (it is still recovering)";
    }
  }
}

void Generator::on_settled(uint32_t session, const client::Event& event) {
  wire::Value values[limits::kOperationsMax];
  Reply reply;
  reply.result = event.result;
  reply.detail = event.detail;
  reply.commit_version = event.commit_version;
  reply.has_values = (event.reply_flags & wire::kReplyFlagDuplicate) == 0;
  client::Values several;
  if (event.slot->participants != 0) [[unlikely]] {
    sessions_[session].read_values(event, &several);
    reply.values = {several.values.data(), several.count};
    if (several.participants > 1) {
      reply.shards = {several.shards.data(), several.participants};
      reply.versions = {several.versions.data(), several.participants};
    }
  } else if (event.message != nullptr && event.header.operation_count != 0) {
    Version commit_version = 0;
    wire::parse_values(event.message, event.header, &commit_version, values);
    reply.values = {values, event.header.operation_count};
  }
  const auto flow = static_cast<uint32_t>(event.slot->user);
  const Progress progress = workload_->settled(flow, reply);
  sessions_[session].release(event.slot);
  ++counts_.requests_by_result[static_cast<size_t>(event.result)];
  if (!waiting_[session].empty()) [[unlikely]] retry_waiting(session, kWaitingRetriesPerSettle);

  FlowRow& row = flows_[flow];
  if (!progress.done) {
    ready_.push_back(flow);
    return;
  }
  counts_.end_transaction(progress);
  if (stage_ == Stage::kMeasuring && !is_refusal(progress.result)) {
    result_.latency.record(now_ > row.begun_ns ? now_ - row.begun_ns : 0);
  }
  row.is_active = false;
  --active_;
  if (limits_.rate > 0) {
    free_.push_back(flow);
  } else if (is_refusal(progress.result)) {
    paused_.push_back(flow);  // asking again at once would only keep the node busy with refusing
  } else if (stage_ == Stage::kWarming || stage_ == Stage::kMeasuring) {
    make_ready(flow, now_);
  }
}

void Generator::make_ready(uint32_t flow, TimeNs begun_ns) {
  flows_[flow].begun_ns = begun_ns;
  ready_.push_back(flow);
}

void Generator::start_ready() {
  // Filling makes nothing ready, but a slot that is not free may move the flow to `waiting_`.
  while (ready_at_ < ready_.size() && transport_.can_send()) start(ready_[ready_at_++]);
  if (2 * ready_at_ < ready_.size()) return;  // moving the rest to the front is worth it only now and then
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready_at_));
  ready_at_ = 0;
}

// Sends the flow's next request; if no slot is free, the flow waits for one.
void Generator::start(uint32_t flow) {
  FlowRow& row = flows_[flow];
  if (!row.is_active) {
    if (stage_ != Stage::kWarming && stage_ != Stage::kMeasuring) return;
    if (limits_.transactions != 0 && counts_.begun == limits_.transactions) return;
  }
  client::SessionMachine& machine = sessions_[row.session];
  client::Slot* const slot = machine.acquire();
  if (slot == nullptr) [[unlikely]] {
    waiting_[row.session].push_back(flow);
    return;
  }
  wire::ExecuteBuilder request(slot->buffer());
  const ShardId shard = workload_->fill(flow, request);
  if (shard == wire::kNoShard) [[unlikely]] {
    machine.release(slot);
    ++exhausted_;
    return;
  }
  if (!row.is_active) {
    row.is_active = true;
    ++active_;
    ++counts_.begun;
  }
  ++counts_.requests;
  slot->user = flow;
  const TimeNs deadline = settings_.deadline_ns == 0 ? 0 : now_ + settings_.deadline_ns;
  if (shard != kSeveralShards) [[likely]] {
    machine.submit(slot, request, shard, deadline, now_);
    return;
  }
  const bool fits = machine.submit_split(slot, request, deadline, now_);
  assert(fits && "the catalogue has looked: few enough shards, and room for the list of them");
  (void)fits;
}

void Generator::issue_arrivals() {
  for (uint32_t budget = settings_.burst; budget != 0 && arrivals_.next() <= now_; --budget) {
    if (free_.empty()) {
      is_blocked_ = true;
      return;
    }
    const TimeNs late = now_ - arrivals_.next();
    if (stage_ == Stage::kMeasuring) {
      ++result_.lag.arrivals;
      if (is_blocked_) {
        ++result_.lag.delayed;
      } else {
        late_sum_ns_ += static_cast<double>(late);
        ++late_count_;
        result_.lag.late_max_ns = std::max(result_.lag.late_max_ns, late);
      }
    }
    const uint32_t flow = free_.back();
    free_.pop_back();
    make_ready(flow, arrivals_.next());
    arrivals_.advance();
  }
  if (arrivals_.next() > now_) is_blocked_ = false;
}

}  // namespace txnic::pktgen
