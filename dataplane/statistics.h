// SPDX-License-Identifier: BSD-3-Clause
// The dataplane's figures as text (shaped like dpdk-testpmd's, so that eyes and scripts find what they know) and as
// JSON. Reading is safe while workers run; the sums are exact once they have stopped.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/counters.h"
#include "dataplane/steering/steering.h"

namespace txnic::dataplane {

class Dataplane;

struct PortTotals {
  uint16_t port = 0;
  std::string name;
  uint64_t rx_packets = 0, rx_bytes = 0;
  uint64_t rx_missed = 0, rx_errors = 0, rx_no_buffer = 0;  // as the device tells
  uint64_t tx_packets = 0, tx_bytes = 0, tx_dropped = 0;
};

struct QueueTotals {
  uint16_t port = 0, queue = 0;
  uint32_t worker = 0;  // that polls it
  uint64_t packets = 0, misdirected = 0;
};

// What the workers' outboxes did (counters.h).
struct OutboxTotals {
  uint64_t messages = 0;
  uint64_t frames = 0, worker_frames = 0;
  std::array<uint64_t, kLostCount> lost{};  // messages, by Lost
  uint64_t arp_requests = 0, arp_unanswered = 0;
  uint32_t next_hops = 0, next_hops_known = 0;
  uint64_t lost_total() const;
};

// The host link (counters.h).
struct LinkTotals {
  uint64_t rx_frames = 0, rx_bytes = 0;
  uint64_t tx_frames = 0, tx_bytes = 0;
  uint64_t no_packet = 0;
};

struct Totals {
  uint64_t time_ns = 0;
  uint64_t tsc_hz = 0;
  uint64_t received = 0;
  uint64_t ended_total = 0;
  std::array<uint64_t, kReasonsMax> ended{};
  uint64_t forwarded = 0, passed = 0, taken = 0;
  uint64_t from_workers = 0;  // of `received`: frames of other workers' outboxes
  OutboxTotals outbox;
  LinkTotals link;
  uint64_t held_now = 0;
  uint64_t checksums_unfinished = 0;
  uint64_t back_busy_ns = 0, back_idle_ns = 0, back_busy_turns = 0;  // a back in the same worker as the front
  uint64_t busy_ns = 0, emulated_ns = 0, idle_ns = 0, busy_steps = 0, idle_steps = 0;
  uint64_t longest_step_ns = 0;
  std::array<uint64_t, kStepBuckets> step_buckets{};
  uint64_t stalls = 0;
  std::array<uint64_t, kStages> stage_samples{};  // where the housekeeping found the workers (watchdog.h)
  std::vector<PortTotals> ports;
  std::vector<QueueTotals> queues;
  std::vector<steering::RuleState> steering;
};

Totals read_totals(Dataplane& plane);
// An upper bound of the loop-step duration that this share (0–1) of the busy steps kept within.
uint64_t step_quantile_ns(const Totals& totals, double share);

std::string forward_statistics(const Totals& totals);                       // at the end, as testpmd
std::string period_statistics(const Totals& now, const Totals& before);     // each period, as testpmd --stats-period
// Rules as testpmd's `flow list` shows them, who executes each, and packets by queue. Empty with one worker and queue.
std::string steering_table(const Totals& totals);
std::string counters_table(const Totals& totals);  // every reason that is not zero, and the loop
std::string to_json(const Totals& totals);                                  // one line, one object

}  // namespace txnic::dataplane
