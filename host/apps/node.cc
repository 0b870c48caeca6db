// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/node.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <vector>

#include "dataplane/bluefield.h"
#include "dataplane/dataplane.h"
#include "dataplane/eal.h"
#include "dataplane/json.h"
#include "dataplane/lcores.h"
#include "dataplane/modes/registry.h"
#include "dataplane/preflight.h"
#include "dataplane/statistics.h"
#include "host/apps/back_core.h"
#include "host/apps/nic_core.h"
#include "host/apps/node_core.h"
#include "host/apps/options.h"
#include "host/apps/version.h"
#include "host/control/config.h"
#include "host/control/profile.h"
#include "host/log/check_log.h"
#include "host/log/disk.h"

namespace txnic::apps {
namespace {

using dataplane::json_string;

std::atomic<int> g_stop{0};
std::atomic<uint32_t> g_snapshots{0};  // asked for by SIGUSR1

void on_signal(int) {
  // The second one means it: the default action ends the process at once.
  if (g_stop.fetch_add(1) > 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
  }
}

void on_snapshot(int) { g_snapshots.fetch_add(1); }

void say(const std::string& line) {
  std::printf("txnic: %s\n", line.c_str());
  std::fflush(stdout);
}

int fail(int code, const std::string& text) {
  std::fprintf(stderr, "txnode: %s\n", text.c_str());
  return code;
}

void nap_milliseconds(long milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

offload::HardwareProfile hardware_of(const control::ProfileConfig& profile) {
  return {profile.soc_slowdown_milli, profile.link_latency_ns, profile.link_bits_per_second,
          profile.link_message_cost_ns};
}

// Options that do not go together. An error, or empty.
std::string check_role(const Options& options, const control::NodeConfig& config) {
  const bool is_nic = config.offload.placement == control::Placement::kNic;
  if (!is_nic && options.role != Role::kNode) {
    return "--role is for placement NIC; add --placement nic, or placement: NIC to the configuration";
  }
  if (!is_nic && !options.profile_file.empty()) {
    return "--profile emulates a SmartNIC and its link, which placement HOST does not use; add --placement nic";
  }
  if (is_nic && options.mode != "txn") return "--mode " + options.mode + " has no host link; use --placement host";
  if (is_nic && !options.resolutions.empty()) {
    return "--resolve decides in the node's own log; start once with --placement host";
  }
  return {};
}

// One node's process, from the configuration to the last statistics.
class Node {
 public:
  Node(const Options& options, const control::NodeConfig& config, const control::ProfileConfig& profile)
      : options_(options), config_(config), profile_(profile) {}
  int run(const dataplane::CommandLine& line);

 private:
  dataplane::DataplaneOptions dataplane_options(uint32_t workers) const;
  int preflight(const dataplane::DataplaneOptions& plane) const;
  bool is_nic() const { return config_.offload.placement == control::Placement::kNic; }
  std::unique_ptr<Core> make_core(uint32_t workers) const;
  void set_link(dataplane::DataplaneOptions* plane) const;
  int open(const dataplane::CommandLine& line);
  int make_modes();
  int serve();
  int stop(int code);
  void print_period();
  void print_statistics() const;
  bool write_json() const;
  void write_snapshots();
  std::string json() const;

  const Options& options_;
  const control::NodeConfig& config_;
  const control::ProfileConfig& profile_;
  std::unique_ptr<Core> core_;  // null in the modes that need none
  std::unique_ptr<dataplane::Dataplane> plane_;
  std::vector<std::unique_ptr<dataplane::Mode>> modes_;
  dataplane::Totals last_period_;
  uint32_t snapshots_ = 0;  // written
};

dataplane::DataplaneOptions Node::dataplane_options(uint32_t workers) const {
  dataplane::DataplaneOptions plane;
  plane.address = config_.network.address;
  plane.base_port = config_.network.base_port;
  plane.workers = workers;
  plane.rx_descriptors = config_.network.rx_descriptors;
  plane.tx_descriptors = config_.network.tx_descriptors;
  plane.burst = config_.network.burst;
  switch (config_.network.checksum) {
    case control::Checksum::kAuto:
      plane.checksum = dataplane::ChecksumPolicy::kAuto;
      break;
    case control::Checksum::kOff:
      plane.checksum = dataplane::ChecksumPolicy::kOff;
      break;
    case control::Checksum::kSoftware:
      plane.checksum = dataplane::ChecksumPolicy::kSoftware;
      break;
  }
  plane.map = control::shard_map(config_, workers);
  for (const control::NextHopConfig& hop : config_.network.next_hops) {
    plane.next_hops.fixed.push_back({hop.address, hop.mac, hop.port});
  }
  plane.next_hops.gateway = config_.network.gateway;
  plane.next_hops.prefix_length = config_.network.prefix_length;
  plane.idle = options_.idle;
  plane.queues = options_.queues;
  plane.steering.software_only = options_.software_steering;
  if (is_nic() && options_.role != Role::kNode) set_link(&plane);
  return plane;
}

std::unique_ptr<Core> Node::make_core(uint32_t workers) const {
  if (!is_nic()) return std::make_unique<NodeCore>(options_, config_, workers);
  switch (options_.role) {
    case Role::kNic: return std::make_unique<NicCore>(config_, workers);
    case Role::kHost: return std::make_unique<BackCore>(config_, workers);
    case Role::kNode: break;
  }
  return std::make_unique<PairCore>(config_, hardware_of(profile_), workers);
}

int Node::preflight(const dataplane::DataplaneOptions& plane) const {
  dataplane::Needs needs;
  needs.workers = plane.workers;
  needs.region_bytes = core_ == nullptr ? 0 : core_->region_bytes();
  needs.packet_bytes = dataplane::Dataplane::packet_bytes(plane);
  const std::vector<dataplane::Problem> problems = dataplane::preflight(needs);
  for (const dataplane::Problem& problem : problems) {
    std::fprintf(stderr, "txnode: %s\n", dataplane::format(problem).c_str());
  }
  return dataplane::has_errors(problems) ? kExitPreflight : kExitOk;
}

// One of two processes: which port is the link, and what of the hardware profile this side emulates.
void Node::set_link(dataplane::DataplaneOptions* plane) const {
  const control::HostLinkConfig& link = config_.offload.link;
  const bool is_front = options_.role == Role::kNic;
  plane->link = dataplane::LinkOptions{is_front ? link.nic_port : link.host_port,
                                       is_front ? link.nic_address : link.host_address,
                                       is_front ? link.host_address : link.nic_address, link.udp_port};
  plane->emulation.profile = hardware_of(profile_);
  plane->emulation.is_soc = is_front;
  plane->emulation.link_port_index = plane->link->port_index;
}

int Node::open(const dataplane::CommandLine& line) {
  const dataplane::EalStart eal = dataplane::start_eal(line);
  for (const std::string& note : eal.notes) say(note);
  if (!eal.ok) return fail(kExitPreflight, eal.error);
  const uint32_t workers = dataplane::worker_lcore_count();
  const std::string problem = control::check_workers(config_, workers);
  if (!problem.empty()) return fail(kExitUsage, problem);
  if (is_nic() && workers > 1) {
    return fail(kExitUsage, "placement NIC has one worker so far, not " + std::to_string(workers) +
                                "; give the EAL two lcores (-l 0,1)");
  }
  if (options_.mode == "txn") core_ = make_core(workers);
  const dataplane::DataplaneOptions plane = dataplane_options(workers);
  const int code = preflight(plane);
  if (code != kExitOk) return code;
  std::string error;
  plane_ = dataplane::Dataplane::open(plane, &error);
  if (plane_ == nullptr) return fail(kExitPreflight, error);
  for (const dataplane::Port& port : plane_->ports()) say(port.summary);
  if (core_ == nullptr) return kExitOk;
  const StartError failed = core_->start(plane_->clock().now(), say);
  return failed.text.empty() ? kExitOk : fail(failed.exit_code, failed.text);
}

int Node::make_modes() {
  std::string error;
  for (uint32_t w = 0; w < plane_->worker_count(); ++w) {
    const dataplane::ModeContext context{w, plane_->worker_count(), &plane_->counters(w)};
    modes_.push_back(core_ != nullptr ? core_->make_mode(w, plane_.get(), &error)
                                      : dataplane::make_mode(options_.mode, context, &error));
    if (modes_.back() == nullptr) return fail(core_ != nullptr ? kExitLog : kExitUsage, error);
    plane_->set_mode(w, modes_.back().get());
  }
  return kExitOk;
}

int Node::serve() {
  std::string ports;
  for (const dataplane::Port& port : plane_->ports()) ports += (ports.empty() ? "" : " ") + port.name;
  say("ready: " + std::to_string(plane_->worker_count()) + " workers, " + std::to_string(config_.shards) +
      " shards, ports " + ports + ", incarnation " + std::to_string(core_ == nullptr ? 0 : core_->incarnation()));
  TimeNs next_statistics = plane_->clock().now() + options_.stats_period_seconds * 1'000'000'000ull;
  while (g_stop.load() == 0) {
    for (const std::string& note : plane_->housekeep()) say(note);
    if (core_ != nullptr) {
      const std::string failure = core_->failure();
      if (!failure.empty()) return fail(kExitFailed, failure);
      const std::string alarm = core_->alarm();
      if (!alarm.empty()) say(alarm);
    }
    if (options_.stats_period_seconds != 0 && plane_->clock().now() >= next_statistics) {
      next_statistics += options_.stats_period_seconds * 1'000'000'000ull;
      print_period();
    }
    write_snapshots();
    nap_milliseconds(10);
  }
  return kExitOk;
}

int Node::stop(int code) {
  std::string error;
  const bool stopped = plane_->stop(&error);
  if (!stopped) {
    fail(kExitFailed, error);
    std::fflush(stdout);
    _exit(kExitFailed);  // a worker may still be inside the engine: nothing can be taken down safely
  }
  if (core_ != nullptr && code == kExitOk && !core_->close()) {
    code = fail(kExitFailed, "the log did not close in time; the next start recovers it");
  }
  print_statistics();
  if (!options_.json_file.empty() && !write_json()) code = kExitFailed;
  return code;
}

void Node::print_period() {
  const dataplane::Totals now = dataplane::read_totals(*plane_);
  std::fputs(dataplane::period_statistics(now, last_period_).c_str(), stdout);
  last_period_ = now;
  if (core_ != nullptr) std::fputs(core_->text(plane_->clock().now()).c_str(), stdout);
  std::fflush(stdout);
}

void Node::print_statistics() const {
  const dataplane::Totals totals = dataplane::read_totals(*plane_);
  std::fputs(dataplane::forward_statistics(totals).c_str(), stdout);
  std::fputs(dataplane::steering_table(totals).c_str(), stdout);
  std::fputs(dataplane::counters_table(totals).c_str(), stdout);
  if (core_ != nullptr) std::fputs(core_->text(plane_->clock().now()).c_str(), stdout);
  std::fflush(stdout);
}

std::string Node::json() const {
  char hash[24];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(config_.hash));
  std::string out = "{\"node\": " + json_string(config_.name) + ", \"version\": " + json_string(kVersion) +
                    ", \"commit\": " + json_string(kCommit) + ", \"config_hash\": \"" + hash +
                    "\", \"mode\": " + json_string(options_.mode) +
                    ", \"placement\": " + json_string(control::placement_name(config_.offload.placement)) +
                    ", \"profile\": " + json_string(profile_.name.empty() ? "none" : profile_.name) +
                    ", \"durability\": " + json_string(control::durability_name(config_.log.durability)) +
                    ", \"dataplane\": " + dataplane::to_json(dataplane::read_totals(*plane_));
  if (core_ != nullptr) {
    out += ", \"incarnation\": " + std::to_string(core_->incarnation()) + core_->json(plane_->clock().now());
  }
  return out + "}\n";
}

bool Node::write_json() const {
  const std::string text = json();
  FILE* const file = options_.json_file == "-" ? stdout : std::fopen(options_.json_file.c_str(), "w");
  const bool ok = file != nullptr && std::fputs(text.c_str(), file) >= 0 && std::fflush(file) == 0;
  if (file != nullptr && file != stdout) std::fclose(file);
  if (!ok) fail(kExitFailed, options_.json_file + ": cannot write the statistics; is the folder there and writable?");
  return ok;
}

// A line of statistics for each SIGUSR1, behind those that are there, so that two of them tell what lies between.
void Node::write_snapshots() {
  for (const uint32_t asked = g_snapshots.load(); snapshots_ != asked; ++snapshots_) {
    const std::string path = options_.json_file + ".snapshots";
    FILE* const file = options_.json_file.empty() ? nullptr : std::fopen(path.c_str(), "a");
    const bool ok = file != nullptr && std::fputs(json().c_str(), file) >= 0;
    if (file != nullptr) std::fclose(file);
    say(ok ? "snapshot " + std::to_string(snapshots_ + 1) : "no snapshot: --json FILE says where it goes");
  }
}

int Node::run(const dataplane::CommandLine& line) {
  int code = open(line);
  if (code == kExitOk) code = make_modes();
  if (code != kExitOk) return code;
  std::string error;
  if (!plane_->start(&error)) return fail(kExitFailed, error);
  return stop(serve());
}

int preflight_bluefield() {
  const std::vector<dataplane::Problem> problems = dataplane::preflight_bluefield("");
  for (const dataplane::Problem& problem : problems) std::printf("%s\n", dataplane::format(problem).c_str());
  if (dataplane::has_errors(problems)) return kExitPreflight;
  std::puts("ready to be a BlueField's ARM side, as far as can be seen from here");
  return kExitOk;
}

int check_log(const std::string& directory) {
  std::string text;
  const bool good = log::check_log(directory, &text);
  std::fputs(text.c_str(), stdout);
  return good ? kExitOk : kExitLog;
}

int dry_run(const control::NodeConfig& config, const Options& options, const dataplane::CommandLine& line) {
  std::fputs(control::describe(config).c_str(), stdout);
  const control::ClusterNodeConfig* const self = control::find_node(config.cluster, config.name);
  const uint32_t workers = self == nullptr ? 1 : self->workers;
  const Engine engine(config, workers);
  std::string eal;
  for (const std::string& word : line.eal) eal += (eal.empty() ? "" : " ") + word;
  std::printf(
      "\n# mode %s; configuration hash %016llx; memory for store and sessions %llu MiB (workers: %u)\n# EAL: %s\n",
      options.mode.c_str(), static_cast<unsigned long long>(config.hash),
      static_cast<unsigned long long>((engine.region_bytes() >> 20) + 1), workers, eal.c_str());
  std::fputs(control::describe_map(config).c_str(), stdout);
  return kExitOk;
}

}  // namespace

int run_node(int argc, char** argv) {
  const dataplane::CommandLine line = dataplane::split_command_line(argc, argv);
  std::vector<std::string> words = line.ours;
  // `txnode --help` without a `--` is what people type first.
  if (words.empty()) {
    for (const std::string& word : line.eal) {
      if (word == "--help" || word == "-h" || word == "--version") words.push_back(word == "-h" ? "--help" : word);
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const ParsedOptions parsed = parse_options(static_cast<int>(arguments.size()), arguments.data());
  if (!parsed.error.empty()) return fail(kExitUsage, parsed.error);
  const Options& options = parsed.options;
  if (options.help) return std::fputs(help_text().c_str(), stdout) < 0 ? kExitFailed : kExitOk;
  if (options.version) {
    std::printf("txnode %s (%s)\n", kVersion, kCommit);
    return kExitOk;
  }
  if (!options.check_log_directory.empty()) return check_log(options.check_log_directory);
  if (options.preflight_bluefield) return preflight_bluefield();
  if (options.config_file.empty()) {
    return fail(kExitUsage,
                "no --config FILE; behind `--` goes at least that (configs/ has examples, --help tells more)");
  }
  const control::LoadResult loaded =
      control::load_file(
          options.config_file, {options.durability, options.log_directory, options.name, options.placement});
  if (!loaded.ok()) return fail(kExitUsage, loaded.error);
  const std::string misused = check_role(options, loaded.config);
  if (!misused.empty()) return fail(kExitUsage, misused);
  control::ProfileResult profile;
  if (!options.profile_file.empty()) profile = control::load_profile(options.profile_file);
  if (!profile.ok()) return fail(kExitUsage, profile.error);
  if (options.dry_run) return dry_run(loaded.config, options, line);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_snapshot;
  sigaction(SIGUSR1, &action, nullptr);
  Node node(options, loaded.config, profile.profile);
  return node.run(line);
}

}  // namespace txnic::apps
