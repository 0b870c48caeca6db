// SPDX-License-Identifier: BSD-3-Clause
// Names of workloads, and what fits them.
#include <charconv>

#include "pktgen/workload/append.h"
#include "pktgen/workload/counter.h"
#include "pktgen/workload/cycle.h"
#include "pktgen/workload/get.h"
#include "pktgen/workload/put.h"
#include "pktgen/workload/retwis.h"
#include "pktgen/workload/rmw.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/smallbank.h"
#include "pktgen/workload/tatp.h"
#include "pktgen/workload/ycsb.h"

namespace txnic::pktgen {

namespace {

constexpr uint32_t kMicroValueBytes = 40;
constexpr uint32_t kYcsbValueBytes = 1000;
constexpr uint32_t kYcsbTransactionalValueBytes = 100;
constexpr double kThetaDefault = 0.99;

// "rmw12" with the prefix "rmw" → 12; 0 if it is not of that form.
uint32_t number_after(const std::string& name, const std::string& prefix) {
  if (name.rfind(prefix, 0) != 0) return 0;
  uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && stop == end ? number : 0;
}

// Requests (a validated write of each row) and replies (each row's value) have to fit one message.
std::string check_fit(uint32_t rows, uint32_t value_bytes, bool is_remote = false) {
  if (rows > kOperationsPerTransactionMax) {
    return "at most " + std::to_string(kOperationsPerTransactionMax) + " operations in a transaction";
  }
  const uint32_t row = static_cast<uint32_t>(sizeof(wire::OperationHeader)) + 8 + 8 + value_bytes;
  // Of several shards: the answer has a version for each of them and the list of them.
  const uint32_t fixed = is_remote ? wire::prepared_fixed_bytes(rows) : wire::kExecutedFixedBytes;
  if (value_bytes > limits::kValueBytesMax || fixed + rows * row > limits::kMessageBytesMax) {
    const uint32_t room = (limits::kMessageBytesMax - fixed) / rows - (row - value_bytes);
    return std::to_string(rows) + " values of " + std::to_string(value_bytes) +
           " bytes do not fit one message: --value-size at most " +
           std::to_string(std::min(room, limits::kValueBytesMax));
  }
  return {};
}

std::string check_settings(const WorkloadSettings& s) {
  if (s.records < 2 || s.records > kRecordsMax) return "--records, --accounts: 2 to 2^32";
  if (s.theta >= 1) return "--theta: at least 0 and below 1 (Gray's method)";
  if (s.hot_accounts_percent <= 0 || s.hot_accounts_percent > 100 || s.hot_transactions_percent < 0 ||
      s.hot_transactions_percent > 100) {
    return "--hot-accounts, --hot-transactions: percent, 0 to 100";
  }
  if (!s.history_path.empty() && s.name != "append") return "--history is of workload append";
  return {};
}

std::unique_ptr<Workload> make_micro(WorkloadSettings s, uint32_t put, uint32_t rmw, std::string* error) {
  if (s.name != "echo" && s.value_bytes == 0) s.value_bytes = kMicroValueBytes;
  *error = check_fit(std::max({put, rmw, 1u}), s.value_bytes, rmw != 0 && s.remote_percent > 0);
  if (!error->empty()) return nullptr;
  if (put != 0) return std::make_unique<Put>(s, put);
  if (rmw != 0) return std::make_unique<Rmw>(s, rmw);
  if (s.name == "echo") return std::make_unique<Echo>(s);
  return std::make_unique<Get>(s);
}

std::unique_ptr<Workload> make_ycsb(WorkloadSettings s, const YcsbMix& mix, std::string* error) {
  if (s.value_bytes == 0) s.value_bytes = s.operations > 1 ? kYcsbTransactionalValueBytes : kYcsbValueBytes;
  if (s.theta < 0) s.theta = kThetaDefault;
  *error = check_fit(std::max(1u, s.operations), s.value_bytes, s.remote_percent > 0);
  return error->empty() ? std::make_unique<Ycsb>(s, mix) : nullptr;
}

std::unique_ptr<Workload> make_retwis(WorkloadSettings s, std::string* error) {
  if (s.value_bytes == 0) s.value_bytes = Retwis::kValueBytes;
  *error = check_fit(Retwis::kTimelineMax, s.value_bytes, s.remote_percent > 0);
  return error->empty() ? std::make_unique<Retwis>(s) : nullptr;
}

std::unique_ptr<Workload> make_tatp(const WorkloadSettings& s, std::string* error) {
  if (s.tatp_table > UINT16_MAX - 4) *error = "--tatp-table: the first of five tables, at most 65531";
  return error->empty() ? std::make_unique<Tatp>(s) : nullptr;
}

std::unique_ptr<Workload> make_append(const WorkloadSettings& s, std::string* error) {
  if (s.value_bytes % 4 != 0 || (s.value_bytes != 0 && s.value_bytes < 8 * Append::kOperationsMax)) {
    *error = "append: --value-size is the longest list, 4 bytes an element: a multiple of 4, from 32 on";
  }
  return error->empty() ? std::make_unique<Append>(s) : nullptr;
}

}  // namespace

const std::vector<WorkloadEntry>& workload_catalogue() {
  static const std::vector<WorkloadEntry> entries = {
      {"echo", "answered by the node's dataplane without the engine: the floor (--value-size makes it longer)"},
      {"get", "one-shot GET of one uniform key, 40-byte values"},
      {"putK", "K distinct uniform keys overwritten (put1, put2, ...)"},
      {"rmwK", "K distinct uniform keys, each validated against its last known version and rewritten"},
      {"ycsb-a", "50 % reads, 50 % updates, Zipf 0.99; --operations K for the transactional form"},
      {"ycsb-b", "95 % reads, 5 % updates"},
      {"ycsb-c", "reads only"},
      {"ycsb-f", "50 % reads, 50 % read-modify-writes"},
      {"smallbank", "six bank transactions, hot set; checks that money is conserved"},
      {"tatp", "seven telephone transactions over five tables; checks the share of each that succeeds"},
      {"retwis", "a Twitter clone's four transactions, 64-byte values, Zipf 0.5"},
      {"counter", "every client adds 1 to its own and to a shared counter; checks that all are exact"},
      {"append", "reads of and appends to lists of all shards; checks that none is lost; --history for a checker"},
      {"cycle", "three neighbours of a ring of keys change places; checks that it is one ring at the end"},
  };
  return entries;
}

std::unique_ptr<Workload> make_workload(const WorkloadSettings& settings, std::string* error) {
  *error = check_settings(settings);
  if (!error->empty()) return nullptr;
  const std::string& name = settings.name;
  const uint32_t put = number_after(name, "put"), rmw = number_after(name, "rmw");
  if (name == "echo" || name == "get" || put != 0 || rmw != 0) return make_micro(settings, put, rmw, error);
  if (name.size() == 6 && name.rfind("ycsb-", 0) == 0) {
    if (const YcsbMix* mix = Ycsb::find(name[5])) return make_ycsb(settings, *mix, error);
  }
  if (name == "smallbank") return std::make_unique<SmallBank>(settings);
  if (name == "tatp") return make_tatp(settings, error);
  if (name == "retwis") return make_retwis(settings, error);
  if (name == "append") return make_append(settings, error);
  if (name == "cycle") return std::make_unique<Cycle>(settings);
  if (name == "counter") return std::make_unique<Counter>(settings);
  *error = "unknown workload '" + name + "'; there are:";
  for (const WorkloadEntry& entry : workload_catalogue()) *error += std::string(" ") + entry.name;
  return nullptr;
}

}  // namespace txnic::pktgen
