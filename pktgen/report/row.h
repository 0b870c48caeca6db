// SPDX-License-Identifier: BSD-3-Clause
// Everything that is known about one finished run: what the table prints and the result file holds.
#pragma once

#include <string>
#include <vector>

#include "pktgen/load/counts.h"
#include "pktgen/load/generator.h"
#include "pktgen/workload/settings.h"

namespace txnic::pktgen {

struct RunRow {
  std::string name;
  std::string config_hash;
  std::vector<std::string> arguments;
  std::string transport, peer, durability;
  WorkloadSettings workload;
  std::vector<std::string> kinds;
  LoadSettings load;
  PhaseLimits limits;
  uint32_t shards = 1, sessions = 0, window = 0;
  PhaseResult result;
  std::string sums_problem;  // empty: the sums are right
  Check check;
  TimeNs load_ns = 0;
  uint64_t loaded_records = 0;
  TransportStatistics transport_statistics;
  bool with_cells = false;  // the latency histogram itself, for those who merge several runs
};

const char* name(PhaseEnd end);
const char* name(Durability durability);
inline constexpr double kLagPercentMax = 1;
const char* build_commit();

// For people, many lines.
std::string format_table(const RunRow& row);
// "1,234,567"
std::string with_commas(uint64_t number);
// "850 ns", "27.3 us", "1.20 ms"
std::string format_ns(double ns);

}  // namespace txnic::pktgen
