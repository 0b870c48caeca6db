// SPDX-License-Identifier: BSD-3-Clause
// The generator's loop: runs one workload after the other (loading, the run itself, surveys) over the same sessions.
//
// Closed loop: every flow begins its next transaction as soon as the last one is over. Open loop: transactions begin
// at Poisson arrivals, each on a free flow. One iteration: receive a burst, one clock read, settle, fill what is ready,
// flush. What happens rarely (timers, waiting flows, the live figures) is done in a tick of half a millisecond.
#pragma once

#include <vector>

#include "pktgen/load/arrivals.h"
#include "pktgen/load/counts.h"
#include "pktgen/load/live.h"
#include "pktgen/load/sessions.h"
#include "pktgen/load/transport.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

enum class Idle : uint8_t { kPoll, kYield, kSleep };

struct LoadSettings {
  uint32_t sessions = 0;         // 0: as many as the window needs
  uint32_t window = 512;         // transactions in flight, over all sessions
  uint32_t burst = limits::kBurstMax;
  TimeNs deadline_ns = 0;        // of each request; 0: none
  TimeNs give_up_ns = 60 * kSecondNs;
  Idle idle = Idle::kPoll;
  uint64_t seed = 1;
  Endpoint node;                 // the first node
};

struct PhaseLimits {
  TimeNs warmup_ns = 0;
  TimeNs duration_ns = 0;     // 0: until the workload has nothing left
  uint64_t transactions = 0;  // 0: any number
  double rate = 0;            // transactions a second, open loop; 0: closed loop
  uint32_t flows = 0;         // at most so many; 0: all
};

class Generator {
 public:
  Generator(const LoadSettings& settings, Transport& transport, Live& live);

  // Opens all sessions. After kFinished, facts() are known.
  PhaseEnd open(std::string* why);
  // Runs until the limits are reached and everything in flight has its outcome.
  PhaseResult run(Workload& workload, const PhaseLimits& limits);
  // Tells the node that the sessions are no longer needed; waits a moment for it.
  void close();

  Facts facts() const;
  Durability durability() { return sessions_[0].durability(); }
  uint32_t session_count() const { return sessions_.count(); }

 private:
  struct FlowRow {
    TimeNs begun_ns = 0;  // closed loop: when it was ready; open loop: when it was meant to begin
    uint32_t session = 0;
    bool is_active = false;
  };
  enum class Stage : uint8_t { kWarming, kMeasuring, kDraining, kOver };
  static constexpr TimeNs kTickNs = 500'000;
  static constexpr TimeNs kSilentNs = 2 * kSecondNs;  // said to be silent after
  static constexpr TimeNs kIdleWaitNs = 100'000;
  static constexpr uint32_t kWaitingRetriesPerSettle = 4;

  // generator.cc: the path of every request
  void step();
  void handle(const Received& received);
  void on_event(uint32_t session, const client::Event& event);
  void on_settled(uint32_t session, const client::Event& event);
  void start_ready();
  void start(uint32_t flow);
  void make_ready(uint32_t flow, TimeNs begun_ns);
  void issue_arrivals();

  // phase.cc: what happens rarely
  void begin_phase(Workload& workload, const PhaseLimits& limits);
  void tick();
  void advance_stage();
  bool is_work_done() const;
  void begin_measuring();
  void end_measuring();
  void begin_draining(PhaseEnd end, std::string why);
  void retry_waiting(uint32_t session, uint32_t most);
  void abandon();
  void publish();
  PhaseResult take_result();
  bool is_over() const { return stage_ == Stage::kOver; }

  const LoadSettings settings_;
  Transport& transport_;
  Live& live_;
  Sessions sessions_;

  // The phase.
  Workload* workload_ = nullptr;
  PhaseLimits limits_;
  Stage stage_ = Stage::kOver;
  PhaseResult result_;
  Counts counts_, counts_at_measuring_;
  client::MachineStatistics machines_at_start_, machines_at_measuring_;
  TimeNs now_ = 0;
  TimeNs next_tick_ns_ = 0;
  TimeNs stage_end_ns_ = 0;
  TimeNs measuring_since_ns_ = 0;
  TimeNs last_answer_ns_ = 0;
  std::string opening_why_;
  std::string map_error_;

  // Flows. An index is in at most one of these lists.
  std::vector<FlowRow> flows_;
  std::vector<uint32_t> ready_;                  // from ready_at_ on: to be filled, in this order
  size_t ready_at_ = 0;
  std::vector<uint32_t> free_;                   // open loop: nothing to do until the next arrival
  std::vector<uint32_t> paused_;                 // refused for the moment: again at the next tick
  std::vector<std::vector<uint32_t>> waiting_;   // by session: no slot was free
  uint32_t active_ = 0;                          // flows with a transaction in progress
  uint32_t exhausted_ = 0;                       // flows with nothing left to do

  // Open loop.
  Arrivals arrivals_;
  bool is_blocked_ = false;       // arrivals have been waiting since all flows were taken
  double late_sum_ns_ = 0;
  uint64_t late_count_ = 0;

  // The live figures' last second.
  TimeNs second_began_ns_ = 0;
  Histogram at_second_;
};

}  // namespace txnic::pktgen
