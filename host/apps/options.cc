// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/options.h"

#include <getopt.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>


namespace txnic::apps {
namespace {

enum : int {
  kConfig = 256,
  kMode,
  kIdle,
  kStatsPeriod,
  kDurability,
  kLogDirectory,
  kName,
  kPlacement,
  kRole,
  kProfile,
  kJson,
  kCheckLog,
  kResolve,
  kQueues,
  kSteering,
  kPreflight,
  kDryRun,
  kHelp,
  kVersion
};

constexpr option kLongOptions[] = {
    {"config", required_argument, nullptr, kConfig},
    {"mode", required_argument, nullptr, kMode},
    {"idle", required_argument, nullptr, kIdle},
    {"stats-period", required_argument, nullptr, kStatsPeriod},
    {"durability", required_argument, nullptr, kDurability},
    {"log-directory", required_argument, nullptr, kLogDirectory},
    {"name", required_argument, nullptr, kName},
    {"placement", required_argument, nullptr, kPlacement},
    {"role", required_argument, nullptr, kRole},
    {"profile", required_argument, nullptr, kProfile},
    {"json", required_argument, nullptr, kJson},
    {"check-log", required_argument, nullptr, kCheckLog},
    {"resolve", required_argument, nullptr, kResolve},
    {"queues", required_argument, nullptr, kQueues},
    {"steering", required_argument, nullptr, kSteering},
    {"preflight", required_argument, nullptr, kPreflight},
    {"dry-run", no_argument, nullptr, kDryRun},
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {nullptr, 0, nullptr, 0},
};

std::string bad_value(const char* option, const std::string& value, const char* allowed) {
  return std::string(option) + " " + value + ": not known; use " + allowed;
}

// SESSION:SEQUENCE:SHARD=commit|abort
bool parse_resolution(const std::string& text, Resolution* out) {
  unsigned long long session = 0, sequence = 0;
  unsigned shard = 0;
  char decision[8] = {};
  int end = 0;
  if (std::sscanf(text.c_str(), "%llu:%llu:%u=%6[a-z]%n", &session, &sequence, &shard, decision, &end) != 4 ||
      static_cast<size_t>(end) != text.size() || shard >= limits::kShardsMax) {
    return false;
  }
  *out = {{session, sequence}, static_cast<ShardId>(shard), std::string(decision) == "commit"};
  return out->commit || std::string(decision) == "abort";
}

// A number of at most `most`; false for anything else.
bool parse_number(const std::string& value, long most, uint32_t* out) {
  errno = 0;
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (errno != 0 || end == value.c_str() || *end != '\0' || number < 0 || number > most) return false;
  *out = static_cast<uint32_t>(number);
  return true;
}

// One option with its argument. An error text, or empty.
std::string take(int code, Options& options) {
  const std::string value = optarg == nullptr ? "" : optarg;
  switch (code) {
    case kConfig:
      options.config_file = value;
      return {};
    case kMode:
      options.mode = value;
      if (value == "txn" || value == "echo" || value == "drop") return {};
      return bad_value("--mode", value, "txn, echo or drop");
    case kIdle:
      return dataplane::parse_idle(value.c_str(), &options.idle) ? ""
                                                                 : bad_value("--idle", value, "poll, yield or sleep");
    case kStatsPeriod:
      return parse_number(value, 86400, &options.stats_period_seconds)
                 ? ""
                 : "--stats-period " + value + ": give a number of seconds from 0 (off) to 86400";
    case kDurability:
      options.durability = control::durability_from_name(value);
      return options.durability ? "" : bad_value("--durability", value, "none, async or sync");
    case kLogDirectory:
      options.log_directory = value;
      return {};
    case kName:
      options.name = value;
      return {};
    case kPlacement:
      options.placement = control::placement_from_name(value);
      return options.placement ? "" : bad_value("--placement", value, "host or nic");
    case kRole:
      options.role = value == "nic" ? Role::kNic : Role::kHost;
      return value == "nic" || value == "host" ? "" : bad_value("--role", value, "nic or host");
    case kProfile:
      options.profile_file = value;
      return {};
    case kJson:
      options.json_file = value;
      return {};
    case kCheckLog:
      options.check_log_directory = value;
      return {};
    case kResolve: {
      Resolution resolution;
      if (!parse_resolution(value, &resolution)) {
        return "--resolve " + value + ": give SESSION:SEQUENCE:SHARD=commit or =abort, as the statistics and " +
               "--check-log name what is in doubt";
      }
      options.resolutions.push_back(resolution);
      return {};
    }
    case kQueues:
      return parse_number(value, limits::kWorkersMax, &options.queues)
                 ? ""
                 : "--queues " + value + ": give a number from 0 (by the port) to " +
                       std::to_string(limits::kWorkersMax);
    case kSteering:
      options.software_steering = value == "software";
      return value == "auto" || value == "software" ? "" : bad_value("--steering", value, "auto or software");
    case kPreflight:
      options.preflight_bluefield = true;
      return value == "bluefield" ? "" : bad_value("--preflight", value, "bluefield");
    case kDryRun:
      options.dry_run = true;
      return {};
    case kHelp:
      options.help = true;
      return {};
    case kVersion:
      options.version = true;
      return {};
    default:
      return "internal: option without a handler";
  }
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv) {
  ParsedOptions parsed;
  std::string program = "txnode";
  std::vector<char*> arguments{program.data()};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  const int count = argc + 1;
  optind = 0;  // glibc: start anew
  opterr = 0;
  for (;;) {
    const int before = optind == 0 ? 1 : optind;
    const int code = getopt_long(count, arguments.data(), "+:", kLongOptions, nullptr);
    if (code == -1) break;
    if (code == '?' || code == ':') {
      const char* const word = arguments[static_cast<size_t>(before)];
      parsed.error = std::string(word) + (code == '?' ? ": unknown option" : ": needs a value") +
                     "; txnode --help lists the options (EAL options go in front of `--`)";
      return parsed;
    }
    parsed.error = take(code, parsed.options);
    if (!parsed.error.empty()) return parsed;
  }
  if (optind < count) {
    parsed.error = std::string(arguments[static_cast<size_t>(optind)]) +
                   ": unexpected word; options start with `--`, see txnode --help";
  }
  return parsed;
}

std::string help_text() {
  return R"(txnode: the transaction engine's node

usage: txnode [EAL options] -- --config FILE [options]

EAL options choose cores and ports, as for dpdk-testpmd, for example
  -l 0,1 --no-pci --vdev=net_memif0,role=server,socket=/run/txnic.sock,socket-abstract=no
Core one of the list runs the housekeeping, every further one a worker.

options
  --config FILE           the node's configuration (configs/*.textproto are examples)
  --mode txn|echo|drop    what to do with packets for the node's UDP ports (default txn)
  --idle poll|yield|sleep what a worker does when there is nothing to do (default poll);
                          yield or sleep when processes share cores
  --durability none|async|sync
                          instead of the configuration's
  --log-directory DIR     instead of the configuration's
  --name NAME             instead of the configuration's; says which node of the cluster this is
  --placement host|nic    instead of the configuration's; nic: the front stands before a host link,
                          in this process, or with --role in one of its own
  --role nic|host         with placement nic: this process is the front, or the back behind the link;
                          start the other one with the same configuration
  --profile FILE          emulate a SmartNIC's slower core and its link (configs/profiles); what was
                          emulated is told with the results
  --queues N              receive and send queues of each port (default: by what the port can do);
                          shared-memory links need the same number at both ends
  --steering auto|software
                          auto (default): the port is asked to bring each packet to its worker's
                          queue, and what it refuses is done in software; software: it is not asked
  --stats-period S        port and engine statistics every S seconds (0: only at the end)
  --json FILE             final statistics as JSON (- for standard output)
  --preflight bluefield   what this machine lacks to be the ARM side of a BlueField; start nothing
  --dry-run               show the configuration with all defaults, sizes and ports; start nothing
  --check-log DIR         verify a log directory and summarise it; start nothing
  --resolve SESSION:SEQUENCE:SHARD=commit|abort
                          decide a transaction that this node holds in doubt because the other
                          nodes are gone for good. It may contradict what they know or what a client
                          was told: the last resort. Logged, and said loudly; may be given again
  --version               version and build
  --help                  this text

Ctrl-C or SIGTERM: finishes what is in flight, closes the log cleanly, prints the final statistics.

exit codes: 0 ended well, 1 failed while running, 2 command line or configuration wrong,
3 the machine lacks something (ports, memory, permissions), 4 log damaged, in use or of another format
)";
}

}  // namespace txnic::apps
