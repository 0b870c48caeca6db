// SPDX-License-Identifier: BSD-3-Clause
// txnode's own command line, the part behind `--`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/options.h"
#include "host/control/config.h"
#include "txn/transaction.h"

namespace txnic::apps {

// The operator's decision of a transaction that is in doubt here (COMMIT 24).
struct Resolution {
  TransactionId id;
  ShardId shard = 0;  // as the cluster numbers it
  bool commit = false;
};

// What this process is. Placement NIC has two processes, or one that is both.
enum class Role : uint8_t {
  kNode,  // the whole node, whatever the placement
  kNic,   // the front, before a host link
  kHost,  // the back behind it
};

struct Options {
  std::string config_file;
  std::string mode = "txn";
  dataplane::Idle idle = dataplane::Idle::kPoll;
  uint32_t stats_period_seconds = 0;
  std::optional<Durability> durability;
  std::optional<std::string> log_directory;
  std::optional<std::string> name;
  std::optional<control::Placement> placement;
  Role role = Role::kNode;
  std::string profile_file;  // empty: nothing is emulated
  std::string json_file;
  std::string check_log_directory;
  std::vector<Resolution> resolutions;
  uint32_t queues = 0;             // of each port; 0: by what it can do
  bool software_steering = false;  // ask no port for rules
  bool preflight_bluefield = false;
  bool dry_run = false;
  bool help = false;
  bool version = false;
};

// What to do after reading the command line.
struct ParsedOptions {
  Options options;
  std::string error;  // one line, with what to do; empty: good
};

// `argv` without the program's name.
ParsedOptions parse_options(int argc, char** argv);
std::string help_text();

// Exit codes of txnode (docs/OPERATING.md).
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;     // it ran and something failed (a port, the disk)
inline constexpr int kExitUsage = 2;      // command line or configuration
inline constexpr int kExitPreflight = 3;  // the machine lacks something: ports, memory, permissions
inline constexpr int kExitLog = 4;        // the log is damaged, locked or of another format

}  // namespace txnic::apps
