// SPDX-License-Identifier: BSD-3-Clause
// What all parts of a run share: time, dice, faults, trace, figures, and the first violation.
#pragma once

#include <string>

#include "tests/sim/event_queue.h"
#include "tests/sim/fault_rates.h"
#include "tests/sim/options.h"
#include "tests/sim/trace.h"

namespace txnic::sim {

// Plain numbers only: they go through a pipe.
struct Statistics {
  uint64_t over_several = 0;  // transactions submitted over several shards
  uint64_t committed = 0, aborted = 0, unknown = 0, refused = 0;  // transactions, as clients were told
  uint64_t messages = 0, between_nodes = 0, dropped = 0, duplicated = 0, late = 0, corrupted = 0;
  uint64_t crashes = 0, restarts = 0, recoveries = 0, failed_starts = 0;
  uint64_t recovered_records = 0, torn_tails = 0, sectors_lost = 0, checkpoints = 0;
  uint64_t sync_errors = 0, slow_disks = 0, full_disks = 0, clock_jumps = 0, partitions = 0, client_deaths = 0,
           session_closes = 0;
  // Over several shards, of nodes: prepared; recovered in doubt; asked for a vote; asked about; promised never to.
  uint64_t prepared = 0, in_doubt = 0, asked = 0, inquired = 0, promises = 0, contradictions = 0, orphaned = 0;
  uint64_t duplicates_answered = 0, compared_recoveries = 0;
  uint64_t simulated_ns = 0, events = 0, trace_hash = 0;

  void add(const Statistics& other) {
    auto* const to = reinterpret_cast<uint64_t*>(this);
    const auto* const from = reinterpret_cast<const uint64_t*>(&other);
    for (size_t i = 0; i < sizeof *this / sizeof(uint64_t); ++i) to[i] += from[i];
  }
};

struct Context {
  explicit Context(const Options& chosen) : options(chosen), random(chosen.seed), trace(chosen.trace) {}

  const Options options;
  Durability durability = Durability::kSync;  // of all nodes
  std::vector<TimeNs> started;                // when each node was started last
  Random random;
  EventQueue queue;
  Trace trace;
  FaultRates rates;  // none() outside the load
  Statistics statistics;
  std::string violation;  // the first; empty: none

  // What was acknowledged survives everything; else see docs/PROTOCOL.md, section 14.
  bool is_sync() const { return durability == Durability::kSync; }
  TimeNs now() const { return queue.now(); }
  void fail(const std::string& what) {
    if (!violation.empty()) return;
    violation = what;
    trace.note(now(), "VIOLATION", 0, 0, 0, "%s", what.c_str());
  }
};

}  // namespace txnic::sim
