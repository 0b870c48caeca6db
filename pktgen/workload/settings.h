// SPDX-License-Identifier: BSD-3-Clause
// What a workload can be told. Defaults are those of WORKLOADS.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "txn/types.h"

namespace txnic::pktgen {

class Workload;

inline constexpr uint64_t kRecordsDefault = 1'000'000;
inline constexpr uint64_t kRecordsMax = 1ull << 32;
inline constexpr uint32_t kOperationsPerTransactionMax = 16;
inline constexpr uint32_t kContendedKeysMax = 1 << 20;  // --keys

struct WorkloadSettings {
  std::string name = "get";
  uint64_t records = kRecordsDefault;
  uint32_t value_bytes = 0;        // 0: the workload's own default
  uint32_t operations = 0;         // ycsb: operations in one transaction; 0: one, the plain form
  double theta = -1;               // ycsb, retwis: Zipf constant; below zero: 0.99, 0.5
  TableId table = 1;               // micro, ycsb, retwis, counter, append, cycle
  TableId savings_table = 2;
  TableId checking_table = 3;
  TableId tatp_table = 11;         // the first of five
  int64_t initial_balance_cents = 1'000'000;
  double hot_accounts_percent = 4;
  double hot_transactions_percent = 90;
  double remote_percent = 0;  // smallbank, rmw, ycsb, retwis: of those with several keys, how many use several shards
  uint32_t keys = 512;             // append: lists in use at a time; cycle: keys of the ring
  std::string history_path;        // append; empty: none
  uint64_t adds = 0;               // counter: each client's additions; 0: until the time is over
  uint64_t first_client = 0;       // counter: number of this generator's first client
};

// Null with `*error` set for an unknown name or settings that do not fit it.
std::unique_ptr<Workload> make_workload(const WorkloadSettings& settings, std::string* error);
// Names and one line about each, for --help.
struct WorkloadEntry {
  const char* name;
  const char* about;
};
const std::vector<WorkloadEntry>& workload_catalogue();

}  // namespace txnic::pktgen
