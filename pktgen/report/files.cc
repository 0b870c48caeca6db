// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/report/files.h"

#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pktgen/result.pb.h"

namespace txnic::pktgen {

namespace {

constexpr size_t kFileBytesMax = size_t{1} << 28;

std::string print(const google::protobuf::Message& message, bool on_one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = !on_one_line;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return "{}";
  return text.empty() || text.back() == '\n' ? text : text + "\n";
}

void fill_latency(const Histogram& h, file::Latency* out) {
  out->set_count(h.count());
  out->set_mean_ns(h.mean());
  out->set_p50_ns(h.percentile(50));
  out->set_p90_ns(h.percentile(90));
  out->set_p99_ns(h.percentile(99));
  out->set_p99_9_ns(h.percentile(99.9));
  out->set_p99_99_ns(h.percentile(99.99));
  out->set_max_ns(h.max());
}

void fill_cells(const Histogram& h, file::Cells* out) {
  for (uint32_t cell = 0; cell < Histogram::kCells; ++cell) {
    if (h.in_cell(cell) == 0) continue;
    out->add_cell(cell);
    out->add_count(h.in_cell(cell));
  }
}

void fill_settings(const RunRow& row, file::Row* out) {
  out->set_name(row.name);
  out->set_workload(row.workload.name);
  out->set_config_hash(row.config_hash);
  out->set_commit(build_commit());
  out->set_seed(row.load.seed);
  for (const std::string& argument : row.arguments) out->add_arguments(argument);
  out->set_transport(row.transport);
  out->set_peer(row.peer);
  out->set_durability(row.durability);
  out->set_shards(row.shards);
  out->set_sessions(row.sessions);
  out->set_window(row.window);
  out->set_loop(row.limits.rate > 0 ? "open" : "closed");
  out->set_records(row.workload.records);
  out->set_value_bytes(row.workload.value_bytes);
  out->set_operations(row.workload.operations);
  out->set_theta(row.workload.theta);
  out->set_warmup_seconds(static_cast<double>(row.limits.warmup_ns) / 1e9);
}

void fill_measured(const RunRow& row, file::Row* out) {
  const PhaseResult& result = row.result;
  const Counts& c = result.measured;
  const double seconds = static_cast<double>(result.measured_ns) / 1e9;
  out->set_seconds(seconds);
  out->set_end(name(result.end));
  out->set_why(result.why);
  if (seconds > 0) {
    out->set_throughput_per_second(static_cast<double>(c.executed()) / seconds);
    out->set_goodput_per_second(static_cast<double>(c.good) / seconds);
  }
  out->set_executed(c.executed());
  out->set_good(c.good);
  out->set_committed(c.committed());
  out->set_aborted(c.aborted());
  out->set_refused(c.refused());
  out->set_unknown(c.unknown());
  for (uint32_t i = 0; i < kResultCount; ++i) {
    if (c.by_result[i] != 0) (*out->mutable_by_result())[txnic::name(static_cast<Result>(i))] = c.by_result[i];
  }
  fill_latency(result.latency, out->mutable_latency());
  if (row.with_cells) fill_cells(result.latency, out->mutable_latency_cells());
  for (size_t i = 0; i < row.kinds.size(); ++i) {
    file::Kind* kind = out->add_kinds();
    kind->set_name(row.kinds[i]);
    kind->set_executed(c.kinds[i].executed);
    kind->set_good(c.kinds[i].good);
    kind->set_other(c.kinds[i].other);
  }
  if (row.limits.rate > 0) {
    file::OpenLoop* open = out->mutable_open_loop();
    open->set_rate_per_second(row.limits.rate);
    open->set_arrivals(result.lag.arrivals);
    open->set_delayed(result.lag.delayed);
    open->set_late_mean_ns(result.lag.late_mean_ns);
    open->set_late_max_ns(result.lag.late_max_ns);
    open->set_lag_percent(result.lag.percent);
    open->set_valid(result.lag.percent <= kLagPercentMax);
  }
}

file::Row to_message(const RunRow& row) {
  file::Row out;
  fill_settings(row, &out);
  fill_measured(row, &out);
  const auto& machines = row.result.measured_machines;
  out.set_requests(row.result.measured.requests);
  out.set_retransmissions(machines.retransmissions);
  out.set_busy_retries(machines.busy_retries);
  out.set_reopens(machines.reopens);
  out.set_windows_lost(machines.windows_lost);
  out.set_timed_out(machines.timed_out);
  out.set_sent(row.result.total.begun);
  out.set_ended(row.result.total.ended());
  out.mutable_sums()->set_made(true);
  out.mutable_sums()->set_passed(row.sums_problem.empty());
  out.mutable_sums()->set_text(row.sums_problem);
  out.mutable_check()->set_made(row.check.made);
  out.mutable_check()->set_passed(row.check.passed);
  out.mutable_check()->set_text(row.check.text);
  out.set_load_seconds(static_cast<double>(row.load_ns) / 1e9);
  out.set_loaded_records(row.loaded_records);
  out.set_send_dropped(row.transport_statistics.send_dropped);
  return out;
}

}  // namespace

std::string to_json(const RunRow& row) { return print(to_message(row), false); }
std::string to_json_line(const RunRow& row) { return print(to_message(row), true); }

std::string to_json(const LedgerRecord& record) {
  file::Ledger out;
  out.set_workload(record.workload);
  out.set_accounts(record.accounts);
  out.set_table(record.table);
  out.set_savings_table(record.savings_table);
  out.set_checking_table(record.checking_table);
  out.set_initial_sum(record.sums.initial());
  out.set_committed_sum(record.sums.committed_sum());
  for (const int64_t amount : record.sums.unknown_amounts()) out.add_unknown_amounts(amount);
  for (const CounterEntry& entry : record.counters) {
    file::Counter* counter = out.add_counters();
    counter->set_key(entry.key);
    counter->set_initial(entry.initial);
    counter->set_acknowledged(entry.acknowledged);
    counter->set_unknown(entry.unknown);
  }
  return print(out, false);
}

bool ledger_from_json(const std::string& text, LedgerRecord* record, std::string* error) {
  file::Ledger in;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &in);
  if (!status.ok()) {
    *error = "not a ledger file: " + status.ToString();
    return false;
  }
  if (in.table() > UINT16_MAX || in.savings_table() > UINT16_MAX || in.checking_table() > UINT16_MAX) {
    *error = "not a ledger file: a table's number is above 65535";
    return false;
  }
  *record = {};
  record->workload = in.workload();
  record->accounts = in.accounts();
  record->table = static_cast<TableId>(in.table());
  record->savings_table = static_cast<TableId>(in.savings_table());
  record->checking_table = static_cast<TableId>(in.checking_table());
  record->sums.set_initial(in.initial_sum());
  record->sums.committed(in.committed_sum());
  for (const int64_t amount : in.unknown_amounts()) record->sums.unknown(amount);
  for (const file::Counter& counter : in.counters()) {
    record->counters.push_back({counter.key(), counter.initial(), counter.acknowledged(), counter.unknown()});
  }
  return true;
}

bool write_file(const std::string& path, const std::string& text, std::string* error) {
  FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && good;
  if (!good) *error = "cannot write " + path + ": " + std::strerror(errno);
  return good;
}

bool read_file(const std::string& path, std::string* text, std::string* error) {
  FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) {
    *error = "cannot read " + path + ": " + std::strerror(errno);
    return false;
  }
  char part[65536];
  text->clear();
  for (size_t count = 1; count != 0 && text->size() <= kFileBytesMax;) {
    count = std::fread(part, 1, sizeof part, file);
    text->append(part, count);
  }
  const bool good = std::ferror(file) == 0 && text->size() <= kFileBytesMax;
  std::fclose(file);
  if (!good) *error = "cannot read " + path + ": it cannot be read to its end, or is too long";
  return good;
}

}  // namespace txnic::pktgen
