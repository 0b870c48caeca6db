// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/apps/run.h"

#include <unistd.h>

#include <cstdio>
#include <optional>

#include "pktgen/load/reflection.h"
#include "pktgen/report/files.h"
#include "pktgen/report/progress.h"
#include "pktgen/report/row.h"
#include "pktgen/templates/pcap.h"
#include "pktgen/workload/ledger.h"

namespace txnic::pktgen {

namespace {

// Loading and surveys use long messages: fewer of them fill a receive ring.
constexpr uint32_t kBulkFlowsMax = 128;

class Run {
 public:
  Run(const Options& options, const std::vector<std::string>& arguments, Transport& transport, Live& live)
      : options_(options), live_(live), transport_(transport), generator_(options.load, transport, live) {
    row_.arguments = arguments;
  }

  int all();

 private:
  bool is_reflected() const { return options_.raw || options_.workload.name == "echo"; }
  bool read_ledgers();
  int open();
  int verify();
  int load();
  // A phase that has to reach its end. kExitOk, or what became of it (said already).
  int bulk(Workload& workload, PhaseResult* result);
  void measure();
  void check();
  int report();
  bool write_ledger();

  Options options_;
  Live& live_;
  Transport& transport_;
  Generator generator_;
  std::unique_ptr<Workload> workload_;
  std::vector<LedgerRecord> ledgers_;  // --verify
  RunRow row_;
};

// The ledger says what it is a ledger of.
bool Run::read_ledgers() {
  for (const std::string& path : options_.verify_paths) {
    std::string text, error;
    LedgerRecord record;
    if (!read_file(path, &text, &error) || !ledger_from_json(text, &record, &error)) {
      complain("--verify " + path + ": " + error);
      return false;
    }
    ledgers_.push_back(record);
  }
  if (ledgers_.empty()) return true;
  WorkloadSettings& settings = options_.workload;
  settings.name = ledgers_[0].workload;
  if (ledgers_[0].accounts != 0) settings.records = ledgers_[0].accounts;
  if (ledgers_[0].table != 0) settings.table = ledgers_[0].table;
  if (ledgers_[0].savings_table != 0) settings.savings_table = ledgers_[0].savings_table;
  if (ledgers_[0].checking_table != 0) settings.checking_table = ledgers_[0].checking_table;
  return true;
}

int Run::open() {
  std::string error;
  if (!read_ledgers()) return kExitUsage;
  workload_ = make_workload(options_.workload, &error);
  if (workload_ == nullptr) {
    complain(error);
    return kExitUsage;
  }
  const PhaseEnd end = generator_.open(&error);
  if (end != PhaseEnd::kFinished) {
    if (end == PhaseEnd::kStopped) {
      remark("stopped before the node answered");
    } else if (end == PhaseEnd::kRefused) {
      complain(error);
    } else {
      complain("no session with the node: " + error +
               ". Is it running, and are --node, --address and the port's other end right?");
    }
    return kExitCannotStart;
  }
  Facts facts = generator_.facts();
  facts.reflected = is_reflected();
  error = workload_->prepare(facts);
  if (error.empty()) return kExitOk;
  complain(error);
  return kExitUsage;
}

int Run::bulk(Workload& workload, PhaseResult* result) {
  const std::string problem = workload.prepare(generator_.facts());
  if (!problem.empty()) {
    complain(problem);
    return kExitUsage;
  }
  PhaseLimits limits;
  limits.flows = kBulkFlowsMax;
  *result = generator_.run(workload, limits);
  const std::string sums = check_sums(*result);
  if (!sums.empty()) {
    complain(std::string(workload.name()) + ": " + sums);
    return kExitCheckFailed;
  }
  if (result->end == PhaseEnd::kFinished && workload.failure().empty() && workload_->failure().empty()) return kExitOk;
  complain(std::string(workload.name()) + " did not finish: " +
           (!workload_->failure().empty() ? workload_->failure() : result->why));
  return kExitCannotGoOn;
}

int Run::verify() {
  for (size_t i = 0; i < ledgers_.size(); ++i) {
    const std::string error = workload_->adopt(ledgers_[i]);
    if (error.empty()) continue;
    complain("--verify " + options_.verify_paths[i] + ": " + error);
    return kExitUsage;
  }
  const auto survey = workload_->survey(Workload::Survey::kAfter);
  PhaseResult result;
  if (const int code = bulk(*survey, &result); code != kExitOk) return code;
  const Check check = workload_->check();
  std::printf("verify: %s\n", check.text.c_str());
  return check.passed ? kExitOk : kExitCheckFailed;
}

int Run::load() {
  PhaseResult result;
  if (!options_.do_load) {
    const auto survey = workload_->survey(Workload::Survey::kBefore);
    return survey == nullptr ? kExitOk : bulk(*survey, &result);
  }
  const auto loader = is_reflected() ? nullptr : workload_->loader();
  if (loader == nullptr) return kExitOk;
  const int code = bulk(*loader, &result);
  row_.load_ns = result.measured_ns;
  row_.loaded_records = loader->units_done();
  if (code == kExitOk && !options_.quiet) {
    remark("loaded " + with_commas(row_.loaded_records) + " records in " +
           format_ns(static_cast<double>(row_.load_ns)));
  }
  return code;
}

void Run::measure() {
  PhaseLimits& limits = row_.limits;
  limits.rate = options_.rate;
  limits.transactions = options_.transactions;
  limits.warmup_ns = static_cast<TimeNs>(options_.warmup_seconds * 1e9);
  limits.duration_ns = static_cast<TimeNs>(options_.duration_seconds * 1e9);
  row_.result = generator_.run(*workload_, limits);
  row_.sums_problem = check_sums(row_.result);
}

void Run::check() {
  const PhaseEnd end = row_.result.end;
  const bool can_ask = end == PhaseEnd::kFinished || end == PhaseEnd::kStopped;
  const bool in_a_hurry = live_.stop_requests.load(std::memory_order_relaxed) > 1;
  row_.check = workload_->check();  // what the run itself noticed
  if (!options_.do_check || in_a_hurry || is_reflected()) return;
  const auto survey = workload_->survey(Workload::Survey::kAfter);
  if (survey == nullptr) return;
  if (!can_ask) {
    row_.check = {true, false, "could not be made, because the run ended early; with --ledger it can be made later"};
    return;
  }
  live_.stop_requests.store(0, std::memory_order_relaxed);  // the first Ctrl-C ended the run, not its check
  PhaseResult result;
  if (bulk(*survey, &result) == kExitOk) {
    row_.check = workload_->check();
  } else {
    row_.check = {true, false, "the survey did not finish"};
  }
}

bool Run::write_ledger() {
  if (options_.ledger_path.empty()) return true;
  LedgerRecord record;
  std::string error = "workload " + options_.workload.name + " keeps no ledger";
  if (workload_->write_ledger(&record) && pktgen::write_file(options_.ledger_path, to_json(record), &error))
    return true;
  complain("--ledger: " + error);
  return false;
}

int Run::report() {
  row_.name = options_.row_name;
  row_.config_hash = options_.config_hash;
  row_.transport = options_.transport == TransportKind::kPort ? "port" : "socket";
  row_.peer = options_.raw ? "raw" : options_.workload.name == "echo" ? "echo" : "node";
  row_.durability = is_reflected() ? "none" : name(generator_.durability());
  row_.workload = options_.workload;
  for (const char* kind : workload_->kinds()) row_.kinds.emplace_back(kind);
  row_.load = options_.load;
  const Facts facts = generator_.facts();
  row_.shards = facts.shards;
  row_.sessions = generator_.session_count();
  row_.window = facts.flows;
  row_.transport_statistics = transport_.statistics();
  row_.with_cells = options_.histogram;
  if (!options_.quiet) {
    FILE* const out = options_.json_path == "-" ? stderr : stdout;
    std::fputs(format_table(row_).c_str(), out);
    std::fflush(out);
  }
  bool written = write_ledger();
  std::string error = workload_->finish();
  if (!error.empty()) {
    complain("--history: " + error);
    written = false;
  }
  if (!options_.json_path.empty() && !write_file(options_.json_path, to_json(row_), &error)) {
    complain("--json: " + error);
    written = false;
  }
  const PhaseEnd end = row_.result.end;
  if (!row_.sums_problem.empty()) complain("the sums do not add up: " + row_.sums_problem);
  const bool ended_early = end != PhaseEnd::kFinished && end != PhaseEnd::kStopped;
  if (row_.check.made && !row_.check.passed && !ended_early) complain(row_.check.text);
  if (ended_early) {
    complain(row_.result.why);
    return kExitCannotGoOn;
  }
  if (!row_.sums_problem.empty() || !row_.check.passed) return kExitCheckFailed;
  return written ? kExitOk : kExitUsage;
}

int Run::all() {
  std::optional<ProgressPrinter> progress;
  const bool on_terminal = isatty(STDERR_FILENO) != 0;
  if (!options_.quiet && (on_terminal || options_.progress)) progress.emplace(live_, on_terminal);
  if (const int code = open(); code != kExitOk) return code;
  if (!options_.verify_paths.empty()) {
    const int code = verify();
    generator_.close();
    return code;
  }
  if (const int code = load(); code != kExitOk) return code;
  if (options_.load_only) {
    generator_.close();
    return write_ledger() ? kExitOk : kExitUsage;
  }
  measure();
  check();
  generator_.close();
  progress.reset();
  return report();
}

}  // namespace

int run_generator(const Options& options, const std::vector<std::string>& arguments, Transport& transport,
                  Live& live) {
  std::optional<ReflectingTransport> reflecting;
  if (options.raw) {
    reflecting.emplace(transport, ReflectingTransport::Peer::kRaw);
  } else if (options.workload.name == "echo") {
    reflecting.emplace(transport, ReflectingTransport::Peer::kEcho);
  }
  Transport& used = reflecting.has_value() ? static_cast<Transport&>(*reflecting) : transport;
  return std::make_unique<Run>(options, arguments, used, live)->all();
}

int write_templates(const Options& options) {
  TemplateSettings settings;
  settings.workload = options.workload.name;
  settings.count = options.template_count;
  settings.records = options.workload.records;
  if (options.workload.value_bytes != 0) settings.value_bytes = options.workload.value_bytes;
  settings.table = options.workload.table;
  settings.session = options.static_session;
  settings.seed = options.load.seed;
  settings.node = options.node;
  settings.local = options.local;
  if (settings.local.port == 0) settings.local.port = 40000;
  settings.node_mac = options.has_node_mac ? options.node_mac : dataplane::Mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  settings.local_mac = {0x02, 0, 0, 0, 0, 0x02};
  settings.shards = options.template_shards;
  settings.workers = options.template_workers;
  std::string error;
  if (!write_pcap(options.pcap_path, settings, &error)) {
    complain(error);
    return kExitUsage;
  }
  if (!options.quiet) remark("wrote " + with_commas(settings.count) + " packets to " + options.pcap_path);
  return kExitOk;
}

void complain(const std::string& text) { std::fprintf(stderr, "txgen: error: %s\n", text.c_str()); }
void remark(const std::string& text) { std::fprintf(stderr, "txgen: %s\n", text.c_str()); }

}  // namespace txnic::pktgen
