// SPDX-License-Identifier: BSD-3-Clause
// What is counted of requests and transactions, and what a phase answers.
#pragma once

#include <array>
#include <string>

#include "pktgen/load/clock.h"
#include "pktgen/load/transport.h"
#include "pktgen/report/histogram.h"
#include "pktgen/workload/workload.h"
#include "txn/client/machine.h"

namespace txnic::pktgen {

// Nothing was executed and nothing recorded: the node said no for the moment, or for good. (LOCKED is the abort of a
// transaction over several shards; of one shard, the protocol machine sends it again.)
inline constexpr bool is_refusal(Result r) {
  return !is_recorded(r) && r != Result::kUnknownOutcome && r != Result::kLocked;
}

struct KindCounts {
  uint64_t executed = 0;  // committed, or brought to its business end
  uint64_t good = 0;      // did its work
  uint64_t other = 0;     // aborted, refused, unknown
};

struct Counts {
  uint64_t begun = 0;  // transactions
  uint64_t good = 0;
  std::array<uint64_t, kResultCount> by_result{};           // transactions that ended
  uint64_t requests = 0;
  std::array<uint64_t, kResultCount> requests_by_result{};  // requests that the protocol machine settled
  std::array<KindCounts, Workload::kKindsMax> kinds{};

  uint64_t committed() const { return by_result[static_cast<size_t>(Result::kCommitted)]; }
  uint64_t unknown() const { return by_result[static_cast<size_t>(Result::kUnknownOutcome)]; }
  // Aborted with an outcome that the node recorded, business outcomes included.
  uint64_t aborted() const {
    uint64_t sum = by_result[static_cast<size_t>(Result::kLocked)];
    for (size_t i = 1; i < kResultCount; ++i) sum += is_recorded(static_cast<Result>(i)) ? by_result[i] : 0;
    return sum;
  }
  uint64_t business() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < kResultCount; ++i) sum += is_business(static_cast<Result>(i)) ? by_result[i] : 0;
    return sum;
  }
  uint64_t executed() const { return committed() + business(); }
  uint64_t refused() const { return ended() - committed() - aborted() - unknown(); }
  uint64_t ended() const { return sum(by_result); }
  uint64_t requests_ended() const { return sum(requests_by_result); }

  void end_transaction(const Progress& progress) {
    ++by_result[static_cast<size_t>(progress.result)];
    good += progress.good;
    KindCounts& kind = kinds[progress.kind];
    if (progress.result == Result::kCommitted || is_business(progress.result)) {
      ++kind.executed;
      kind.good += progress.good;
    } else {
      ++kind.other;
    }
  }
  Counts since(const Counts& earlier) const;

 private:
  static uint64_t sum(const std::array<uint64_t, kResultCount>& values) {
    uint64_t total = 0;
    for (const uint64_t value : values) total += value;
    return total;
  }
};

client::MachineStatistics difference(const client::MachineStatistics& later, const client::MachineStatistics& earlier);
void add_to(client::MachineStatistics* sum, const client::MachineStatistics& more);

enum class PhaseEnd : uint8_t {
  kFinished,    // time, count or work is over
  kStopped,     // the user asked
  kNodeSilent,  // no answer for longer than --give-up
  kRefused,     // the node refused the sessions
  kFailed,      // the workload cannot go on
};

struct OpenLoopLag {
  uint64_t arrivals = 0;         // due in the measured time
  uint64_t delayed = 0;          // found all places taken: the node's doing, in their latency
  double late_mean_ns = 0;       // the generator's own lateness
  uint64_t late_max_ns = 0;
  double percent = 0;            // late_max_ns of the measured time; above 1 the point is invalid
};

struct PhaseResult {
  PhaseEnd end = PhaseEnd::kFinished;
  std::string why;
  TimeNs measured_ns = 0;
  Counts measured, total;                  // within the measured time; over the whole phase
  client::MachineStatistics measured_machines, total_machines;
  Histogram latency;                       // of transactions that ended within the measured time
  OpenLoopLag lag;
};

// sent = committed + aborted + unknown + refused, of transactions and of requests, and the protocol machine agrees.
// Empty, or what does not add up.
std::string check_sums(const PhaseResult& result);

}  // namespace txnic::pktgen
