// SPDX-License-Identifier: BSD-3-Clause
// The configuration of a node as the rest of the program sees it: plain values, checked, with defaults applied.
// Read from Protobuf text format (configs/config.proto). Every error names file, line and column.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "txn/shard_map.h"
#include "txn/types.h"

namespace txnic::control {

struct TableConfig {
  TableId id = 0;
  std::string name;           // "table-ID" where the file gives none
  uint64_t capacity = 0;      // records in the whole node
  uint32_t key_bytes = 0;     // typical, for sizing memory only
  uint32_t value_bytes = 0;   // typical, for sizing memory only
};

struct LogConfig {
  Durability durability = Durability::kNone;
  std::string directory;
  uint64_t segment_bytes = 0;
  uint32_t group_bytes = 0;
  TimeNs async_delay_ns = 0;
  uint64_t checkpoint_log_bytes = 0;  // 0: never by itself
  bool io_uring = true;
};

struct StaticSessionConfig {
  SessionId id = 0;
  bool execute = true;  // replay: EXECUTE
};

struct SessionsConfig {
  uint32_t count = 0;
  uint32_t window = 0;
  uint32_t idle_expiry_seconds = 0;
  std::vector<StaticSessionConfig> static_sessions;
};

enum class Checksum : uint8_t { kAuto, kOff, kSoftware };

struct NextHopConfig {
  uint32_t address = 0;  // IPv4, host byte order
  std::array<uint8_t, 6> mac{};
  uint32_t port = 0;  // which of our ports leads there
};

struct NetworkConfig {
  uint32_t address = 0;    // IPv4, host byte order
  uint16_t base_port = 0;  // worker w listens on base_port + w
  Checksum checksum = Checksum::kAuto;
  uint16_t rx_descriptors = 0;
  uint16_t tx_descriptors = 0;
  uint16_t burst = 0;
  std::vector<NextHopConfig> next_hops;  // of nodes, or of the gateway
  uint32_t gateway = 0;                  // 0: none, every node is in our subnet
  uint32_t prefix_length = 0;            // of our subnet, where there is a gateway
};

struct ClusterNodeConfig {
  std::string name;
  Endpoint base;  // worker w is reached at port + w
  uint16_t workers = 0;
  std::vector<ShardId> shards;  // as the cluster numbers them, ascending
};

struct ClusterConfig {
  uint32_t epoch = 0;   // 0: this node is alone
  uint32_t shards = 0;  // of all nodes
  std::vector<ClusterNodeConfig> nodes;
};

enum class Placement : uint8_t { kHost, kNic };

struct HostLinkConfig {
  uint32_t nic_port = 0, host_port = 0;        // of the NIC's process and of the host's
  uint32_t nic_address = 0, host_address = 0;  // IPv4, host byte order
  uint16_t udp_port = 0;                       // worker w uses udp_port + w
};

struct OffloadConfig {
  Placement placement = Placement::kHost;
  uint64_t cache_bytes = 0;  // of all workers together
  bool hot_cache = true;
  bool absence_filter = true;
  HostLinkConfig link;
};

struct NodeConfig {
  std::string name;
  uint32_t shards = 0;  // of this node
  std::vector<TableConfig> tables;
  LogConfig log;
  SessionsConfig sessions;
  NetworkConfig network;
  uint64_t memory_bytes = 0;  // of the store; 0: from the tables' capacities
  ClusterConfig cluster;
  OffloadConfig offload;
  // Of the canonical text without log.directory, which says where and not what: two runs in different temporary
  // directories are the same experiment.
  uint64_t hash = 0;
};

// What the command line says instead of the file. Checked together with it.
struct Overrides {
  std::optional<Durability> durability;
  std::optional<std::string> log_directory;
  std::optional<std::string> name;  // which node of the cluster: one file for all of them
  std::optional<Placement> placement;
};

struct LoadResult {
  NodeConfig config;
  std::string error;  // one line a problem, "file:line:column: what, and what to do"; empty: the config is good
  bool ok() const { return error.empty(); }
};

LoadResult load_file(const std::string& path, const Overrides& overrides = {});
// `name` stands for the file in errors.
LoadResult load_text(const std::string& text, const std::string& name, const Overrides& overrides = {});

// What only the number of workers decides: each needs a UDP port and a shard, and a cluster says how many there are. An
// error, or empty.
std::string check_workers(const NodeConfig& config, uint32_t workers);

// Null if no node of the cluster has this name, as when there is no cluster.
const ClusterNodeConfig* find_node(const ClusterConfig& cluster, const std::string& name);
// The cluster's map as this node sees it, or that of a node that is alone with this many workers.
ShardMap shard_map(const NodeConfig& config, uint32_t workers);

// The whole configuration, defaults too, as text format that load_text() reads again. For --dry-run.
std::string describe(const NodeConfig& config);

// The cluster as lines of comments, one a node: who has which shard, and which is this one. Empty without one.
std::string describe_map(const NodeConfig& config);

const char* placement_name(Placement placement);  // "host", "nic"
std::optional<Placement> placement_from_name(const std::string& name);
const char* durability_name(Durability durability);  // "none", "async", "sync"
// The reverse, for command lines; nothing if it is none of them.
std::optional<Durability> durability_from_name(const std::string& name);
// "10.99.0.1", and back; nothing for anything but four decimal numbers.
std::string address_text(uint32_t address);
std::optional<uint32_t> address_from_text(const std::string& text);
// "02:00:00:00:00:01", and back; nothing for anything but six pairs of hexadecimal digits.
std::string mac_text(const std::array<uint8_t, 6>& mac);
std::optional<std::array<uint8_t, 6>> mac_from_text(const std::string& text);

}  // namespace txnic::control
