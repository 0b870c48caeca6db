// SPDX-License-Identifier: BSD-3-Clause
// txgen's command line, behind the EAL's "--".
#pragma once

#include <string>
#include <vector>

#include "dataplane/frame.h"
#include "pktgen/load/generator.h"
#include "pktgen/workload/settings.h"

namespace txnic::pktgen {

enum class TransportKind : uint8_t { kPort, kSocket };

// UDP checksums. Auto: none towards a port that is a software device, else the port's or software's.
enum class Checksums : uint8_t { kAuto, kOff, kOn };

struct Options {
  // Where.
  Endpoint node{0x0a630001, wire::kBasePortDefault};  // 10.99.0.1
  std::vector<Endpoint> more_nodes;                   // each behind a port of its own
  bool has_node = false;
  Endpoint local{0x0a630002, 0};                      // 10.99.0.2; port 0: chosen
  bool has_local_address = false;
  bool has_node_mac = false;
  dataplane::Mac node_mac{};
  uint16_t port_id = 0;
  uint32_t queues = 1;
  uint32_t descriptors = 1024;
  Checksums checksums = Checksums::kAuto;
  TransportKind transport = TransportKind::kPort;
  bool raw = false;

  // What and how much.
  WorkloadSettings workload;
  LoadSettings load;
  bool has_window = false;
  bool do_load = true;
  bool load_only = false;
  double rate = 0;
  double warmup_seconds = 0.5;
  double duration_seconds = 10;
  bool has_duration = false;
  uint64_t transactions = 0;

  // Results.
  std::string row_name;
  std::string json_path;
  bool progress = false;
  bool quiet = false;
  bool histogram = false;
  bool do_check = true;
  std::string ledger_path;
  std::vector<std::string> verify_paths;

  // Templates.
  std::string pcap_path;
  uint64_t template_count = 10'000;
  SessionId static_session = 1;
  uint32_t template_shards = 1, template_workers = 1;

  bool help = false;
  std::string config_hash;
  std::vector<std::string> notes;
};

// False with *error set: what is wrong and what to do.
bool parse_options(const std::vector<std::string>& arguments, Options* options, std::string* error);
std::string help_text();

}  // namespace txnic::pktgen
