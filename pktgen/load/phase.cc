// SPDX-License-Identifier: BSD-3-Clause
// Phases: opening, warming up, measuring, draining, and what a tick does.
#include <algorithm>

#include "pktgen/load/generator.h"

namespace txnic::pktgen {

namespace {

// Half of a session's window stays free, so that one lost message does not stop the session until it is sent again.
constexpr uint32_t kFlowsPerSession = limits::kWindowDefault / 2;

uint32_t sessions_for(const LoadSettings& s) {
  if (s.sessions != 0) return s.sessions;
  return std::clamp((s.window + kFlowsPerSession - 1) / kFlowsPerSession, 1u, kSessionsMax);
}

uint32_t session_window(const LoadSettings& s) {
  const uint32_t flows = (s.window + sessions_for(s) - 1) / sessions_for(s);
  return std::clamp(std::bit_ceil(2 * flows), 64u, limits::kWindowMax);
}

std::string silence_text(TimeNs silent_ns) {
  return "no answer from the node for " + std::to_string(silent_ns / kSecondNs) + " s";
}

}  // namespace

Generator::Generator(const LoadSettings& settings, Transport& transport, Live& live)
    : settings_(settings),
      transport_(transport),
      live_(live),
      sessions_(transport, sessions_for(settings), session_window(settings), settings.node),
      waiting_(sessions_.count()) {}

PhaseEnd Generator::open(std::string* why) {
  now_ = clock_now();
  const TimeNs limit = now_ + settings_.give_up_ns;
  live_.phase.store("connect", std::memory_order_relaxed);
  last_answer_ns_ = now_;
  sessions_.open_all(now_);
  while (!sessions_.all_open()) {
    step();
    if (!map_error_.empty()) {
      *why = map_error_;
      return PhaseEnd::kRefused;
    }
    const bool stopped = live_.stop_requests.load(std::memory_order_relaxed) != 0;
    bool closed = false;
    for (uint32_t i = 0; i < sessions_.count(); ++i) closed |= sessions_[i].state() == client::MachineState::kClosed;
    if (!stopped && !closed && now_ < limit) continue;
    *why = opening_why_.empty() ? silence_text(now_ - last_answer_ns_) : opening_why_;
    if (stopped) return PhaseEnd::kStopped;
    return opening_why_.empty() ? PhaseEnd::kNodeSilent : PhaseEnd::kRefused;
  }
  opening_why_.clear();
  // Not more flows than the sessions have places, should the node's window be smaller than ours.
  const auto flows = static_cast<uint32_t>(
      std::min<uint64_t>(settings_.window, uint64_t{sessions_.count()} * sessions_.window()));
  flows_.assign(flows, {});
  for (uint32_t i = 0; i < flows; ++i) flows_[i].session = i % sessions_.count();
  ready_.reserve(2 * size_t{flows});
  free_.reserve(flows);
  paused_.reserve(flows);
  for (auto& list : waiting_) list.reserve(flows / sessions_.count() + 1);
  return PhaseEnd::kFinished;
}

Facts Generator::facts() const {
  Facts facts;
  facts.shards = sessions_[0].shard_count();
  facts.flows = static_cast<uint32_t>(flows_.size());
  facts.seed = settings_.seed;
  return facts;
}

PhaseResult Generator::run(Workload& workload, const PhaseLimits& limits) {
  begin_phase(workload, limits);
  while (!is_over()) step();
  return take_result();
}

void Generator::begin_phase(Workload& workload, const PhaseLimits& limits) {
  workload_ = &workload;
  limits_ = limits;
  result_ = {};
  counts_ = counts_at_measuring_ = {};
  machines_at_start_ = machines_at_measuring_ = sessions_.statistics();
  ready_.clear();
  ready_at_ = 0;
  free_.clear();
  paused_.clear();
  for (auto& list : waiting_) list.clear();
  active_ = exhausted_ = 0;
  is_blocked_ = false;
  late_sum_ns_ = 0;
  late_count_ = 0;
  now_ = last_answer_ns_ = second_began_ns_ = clock_now();
  next_tick_ns_ = now_;
  at_second_.clear();
  live_.phase.store(workload.name(), std::memory_order_relaxed);
  live_.p50_ns.store(0, std::memory_order_relaxed);
  live_.p99_ns.store(0, std::memory_order_relaxed);
  const auto flows = static_cast<uint32_t>(flows_.size());
  const uint32_t used = limits.flows == 0 ? flows : std::min(flows, limits.flows);
  for (uint32_t i = used; i-- > 0;) {
    flows_[i].is_active = false;
    if (limits.rate > 0) {
      free_.push_back(i);
    } else {
      make_ready(i, now_);
    }
  }
  exhausted_ = flows - used;
  if (limits.rate > 0) arrivals_ = Arrivals(limits.rate, settings_.seed, now_);
  stage_ = Stage::kWarming;
  stage_end_ns_ = now_ + limits.warmup_ns;
  if (limits.warmup_ns == 0) begin_measuring();
}

void Generator::begin_measuring() {
  stage_ = Stage::kMeasuring;
  measuring_since_ns_ = now_;
  stage_end_ns_ = limits_.duration_ns == 0 ? ~TimeNs{0} : now_ + limits_.duration_ns;
  counts_at_measuring_ = counts_;
  machines_at_measuring_ = sessions_.statistics();
  live_.is_warm.store(true, std::memory_order_relaxed);
}

void Generator::end_measuring() {
  result_.measured_ns = now_ - measuring_since_ns_;
  result_.measured = counts_.since(counts_at_measuring_);
  result_.measured_machines = difference(sessions_.statistics(), machines_at_measuring_);
  OpenLoopLag& lag = result_.lag;
  if (limits_.rate > 0 && !is_blocked_ && arrivals_.next() < now_) {
    lag.late_max_ns = std::max(lag.late_max_ns, now_ - arrivals_.next());
  }
  lag.late_mean_ns = late_count_ == 0 ? 0 : late_sum_ns_ / static_cast<double>(late_count_);
  if (result_.measured_ns != 0) {
    lag.percent = 100 * static_cast<double>(lag.late_max_ns) / static_cast<double>(result_.measured_ns);
  }
  live_.is_warm.store(false, std::memory_order_relaxed);
}

void Generator::begin_draining(PhaseEnd end, std::string why) {
  if (stage_ == Stage::kWarming) begin_measuring();
  if (stage_ == Stage::kMeasuring) {
    end_measuring();
    stage_ = Stage::kDraining;
  }
  if (result_.end != PhaseEnd::kFinished) return;  // the first reason stands
  result_.end = end;
  result_.why = std::move(why);
}

void Generator::tick() {
  next_tick_ns_ = now_ + kTickNs;
  for (uint32_t i = 0; i < sessions_.count(); ++i) {
    for (;;) {
      const client::Event event = sessions_[i].poll(now_);
      if (event.kind == client::EventKind::kNone) break;
      on_event(i, event);
    }
  }
  if (stage_ == Stage::kOver) return;  // opening or closing sessions
  for (uint32_t i = 0; i < sessions_.count(); ++i) retry_waiting(i, ~0u);
  for (const uint32_t flow : paused_) make_ready(flow, now_);
  paused_.clear();
  advance_stage();
  publish();
}

void Generator::advance_stage() {
  const bool running = stage_ == Stage::kWarming || stage_ == Stage::kMeasuring;
  if (running && stage_ == Stage::kWarming && now_ >= stage_end_ns_) begin_measuring();
  const int stops = live_.stop_requests.load(std::memory_order_relaxed);
  const TimeNs silent = active_ != 0 && now_ > last_answer_ns_ ? now_ - last_answer_ns_ : 0;
  if (!workload_->failure().empty()) {
    begin_draining(PhaseEnd::kFailed, workload_->failure());
  } else if (running && stops > 0) {
    begin_draining(PhaseEnd::kStopped, "stopped by the user");
  } else if (running && is_work_done()) {
    begin_draining(PhaseEnd::kFinished, {});
  }
  bool refused = false;
  for (uint32_t i = 0; i < sessions_.count(); ++i) refused |= sessions_[i].state() == client::MachineState::kClosed;
  if (refused) {
    begin_draining(PhaseEnd::kRefused, opening_why_);
    abandon();
  } else if (silent > settings_.give_up_ns) {
    begin_draining(PhaseEnd::kNodeSilent, silence_text(silent));
    abandon();
  } else if (stops > 1 && stage_ == Stage::kDraining) {
    abandon();
  }
  if (stage_ == Stage::kDraining && active_ == 0) stage_ = Stage::kOver;
}

// Time ends the measuring with transactions in flight; a count or the workload's end only after the last of them.
bool Generator::is_work_done() const {
  if (stage_ == Stage::kMeasuring && now_ >= stage_end_ns_) return true;
  if (active_ != 0) return false;
  if (limits_.transactions != 0 && counts_.begun >= limits_.transactions) return true;
  return limits_.rate <= 0 && exhausted_ == flows_.size();
}

// Gives up what is in flight: its outcome is unknown, and the workload is told so. The sessions are closed after this.
void Generator::abandon() {
  if (stage_ != Stage::kDraining) return;
  for (uint32_t i = 0; i < sessions_.count(); ++i) {
    sessions_[i].close(now_);
    for (;;) {
      const client::Event event = sessions_[i].poll(now_);
      if (event.kind != client::EventKind::kSettled) break;
      on_event(i, event);
    }
  }
  // What waited for a slot, or was about to go on with its next request, ends here: its commit was never sent.
  for (FlowRow& row : flows_) {
    if (!row.is_active) continue;
    row.is_active = false;
    --active_;
    counts_.end_transaction({.done = true, .result = Result::kBadSession});
  }
  ready_.clear();
  ready_at_ = 0;
}

void Generator::retry_waiting(uint32_t session, uint32_t most) {
  std::vector<uint32_t>& list = waiting_[session];
  for (; most != 0 && !list.empty(); --most) {
    ready_.push_back(list.back());
    list.pop_back();
  }
}

void Generator::publish() {
  const auto set = [](auto& target, uint64_t value) { target.store(value, std::memory_order_relaxed); };
  set(live_.executed, counts_.executed());
  set(live_.good, counts_.good);
  set(live_.aborted, counts_.aborted() - counts_.business());
  set(live_.unknown, counts_.unknown());
  set(live_.refused, counts_.refused());
  set(live_.units_total, workload_->units_total());
  set(live_.units_done, workload_->units_done());
  const TimeNs silent = active_ != 0 && now_ > last_answer_ns_ ? now_ - last_answer_ns_ : 0;
  set(live_.silent_ns, silent >= kSilentNs ? silent : 0);
  if (now_ - second_began_ns_ < kSecondNs) return;
  second_began_ns_ = now_;
  const client::MachineStatistics machines = difference(sessions_.statistics(), machines_at_start_);
  set(live_.retransmissions, machines.retransmissions);
  set(live_.reopens, machines.reopens);
  const Histogram second = result_.latency.since(at_second_);
  at_second_ = result_.latency;
  set(live_.p50_ns, second.percentile(50));
  set(live_.p99_ns, second.percentile(99));
}

PhaseResult Generator::take_result() {
  publish();
  result_.total = counts_;
  result_.total_machines = difference(sessions_.statistics(), machines_at_start_);
  workload_ = nullptr;
  return std::move(result_);
}

void Generator::close() {
  now_ = clock_now();
  const TimeNs limit = now_ + kSecondNs;
  for (uint32_t i = 0; i < sessions_.count(); ++i) sessions_[i].close(now_);
  bool all_closed = false;
  while (!all_closed && now_ < limit) {
    step();
    all_closed = true;
    for (uint32_t i = 0; i < sessions_.count(); ++i) {
      all_closed &= sessions_[i].state() == client::MachineState::kClosed;
    }
  }
}

}  // namespace txnic::pktgen
