// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/config.h"

#include "config.pb.h"
#include "host/control/check.h"
#include "host/control/cluster.h"
#include "host/control/place.h"
#include "host/control/text.h"
#include "txn/hash.h"
#include "txn/limits.h"

namespace txnic::control {
namespace {

constexpr uint64_t kMebibyte = 1ull << 20;

LogConfig convert(const config::Log& from) {
  LogConfig to;
  to.durability = static_cast<Durability>(from.durability());
  to.directory = from.directory();
  to.segment_bytes = from.segment_mib() * kMebibyte;
  to.group_bytes = from.group_kib() * 1024;
  to.async_delay_ns = from.async_delay_us() * 1000ull;
  to.checkpoint_log_bytes = from.checkpoint_log_mib() * kMebibyte;
  to.io_uring = from.io_uring();
  return to;
}

SessionsConfig convert(const config::Sessions& from) {
  SessionsConfig to;
  to.count = from.count();
  to.window = from.window();
  to.idle_expiry_seconds = from.idle_expiry_seconds();
  for (const auto& session : from.static_session()) {
    to.static_sessions.push_back({.id = session.id(), .execute = session.replay() == config::EXECUTE});
  }
  return to;
}

NetworkConfig convert(const config::Network& from) {
  NetworkConfig to;
  to.address = address_from_text(from.address()).value_or(0);
  to.base_port = static_cast<uint16_t>(from.base_port());
  to.checksum = static_cast<Checksum>(from.checksum());
  to.rx_descriptors = static_cast<uint16_t>(from.rx_descriptors());
  to.tx_descriptors = static_cast<uint16_t>(from.tx_descriptors());
  to.burst = static_cast<uint16_t>(from.burst());
  for (const auto& hop : from.next_hop()) {
    to.next_hops.push_back({.address = address_from_text(hop.address()).value_or(0),
                            .mac = mac_from_text(hop.mac()).value_or(std::array<uint8_t, 6>{}),
                            .port = hop.port()});
  }
  to.gateway = address_from_text(from.gateway()).value_or(0);
  to.prefix_length = from.prefix_length();
  return to;
}

ClusterConfig convert(const config::Cluster& from) {
  ClusterConfig to;
  to.epoch = from.epoch();
  to.shards = from.shards();
  for (const auto& node : from.node()) {
    std::string error;
    to.nodes.push_back(
        {.name = node.name(),
         .base = {address_from_text(node.address()).value_or(0), static_cast<uint16_t>(node.base_port())},
         .workers = static_cast<uint16_t>(node.workers()),
         .shards = shards_from_text(node.shards(), from.shards(), &error)});
  }
  return to;
}

OffloadConfig convert(const config::Offload& from) {
  OffloadConfig to;
  to.placement = static_cast<Placement>(from.placement());
  to.cache_bytes = from.cache_mib() * kMebibyte;
  to.hot_cache = from.hot_cache();
  to.absence_filter = from.absence_filter();
  const config::HostLink& link = from.link();
  to.link.nic_port = link.nic_port();
  to.link.host_port = link.host_port();
  to.link.nic_address = address_from_text(link.nic_address()).value_or(0);
  to.link.host_address = address_from_text(link.host_address()).value_or(0);
  to.link.udp_port = static_cast<uint16_t>(link.udp_port());
  return to;
}

NodeConfig convert(const config::Node& from) {
  NodeConfig to;
  to.name = from.name();
  to.shards = from.shards();
  for (const auto& table : from.table()) {
    to.tables.push_back({.id = static_cast<TableId>(table.id()),
                         .name = table.has_name() ? table.name() : "table-" + std::to_string(table.id()),
                         .capacity = table.capacity(),
                         .key_bytes = table.key_bytes(),
                         .value_bytes = table.value_bytes()});
  }
  to.log = convert(from.log());
  to.sessions = convert(from.sessions());
  to.network = convert(from.network());
  to.memory_bytes = from.memory_mib() * kMebibyte;
  if (from.has_cluster()) to.cluster = convert(from.cluster());
  to.offload = convert(from.offload());
  NodeConfig nameless = to;
  nameless.log.directory.clear();
  const std::string canonical = describe(nameless);
  to.hash = hash_key(reinterpret_cast<const std::byte*>(canonical.data()), static_cast<uint32_t>(canonical.size()));
  return to;
}

}  // namespace

LoadResult load_text(const std::string& text, const std::string& name, const Overrides& overrides) {
  LoadResult result;
  Problems problems(name);
  google::protobuf::TextFormat::ParseInfoTree tree;
  config::Node node;
  if (parse_text(text, "configs/config.proto", &node, &tree, &problems)) check(&node, overrides, &tree, &problems);
  result.error = problems.text();
  if (result.ok()) result.config = convert(node);
  return result;
}

LoadResult load_file(const std::string& path, const Overrides& overrides) {
  LoadResult result;
  std::string text;
  if (!read_text_file(path, "configs/", &text, &result.error)) return result;
  return load_text(text, path, overrides);
}

std::string check_workers(const NodeConfig& config, uint32_t workers) {
  if (workers == 0) return "no worker lcore; give the EAL at least two lcores, the first is the main one (-l 0,1)";
  if (workers > limits::kWorkersMax) {
    return std::to_string(workers) + " workers; at most " + std::to_string(limits::kWorkersMax) +
           " are allowed: give fewer lcores";
  }
  if (config.shards < workers) {
    return std::to_string(workers) + " workers but shards: " + std::to_string(config.shards) +
           "; each worker owns at least one shard: raise shards, or give fewer lcores";
  }
  if (config.network.base_port + workers - 1 > 65535) {
    return "base_port " + std::to_string(config.network.base_port) + " leaves no UDP ports for " +
           std::to_string(workers) + " workers; choose a smaller one";
  }
  const ClusterNodeConfig* const self = find_node(config.cluster, config.name);
  if (self != nullptr && self->workers != workers) {
    return std::to_string(workers) + " workers but the cluster says that node '" + config.name + "' has " +
           std::to_string(self->workers) + "; give the EAL " + std::to_string(self->workers + 1) +
           " lcores, or change workers in the file of every node (with a higher epoch)";
  }
  return {};
}

const char* placement_name(Placement placement) { return placement == Placement::kNic ? "nic" : "host"; }

std::optional<Placement> placement_from_name(const std::string& name) {
  for (const auto placement : {Placement::kHost, Placement::kNic}) {
    if (name == placement_name(placement)) return placement;
  }
  return std::nullopt;
}

const char* durability_name(Durability durability) {
  switch (durability) {
    case Durability::kNone: return "none";
    case Durability::kAsync: return "async";
    case Durability::kSync: return "sync";
  }
  return "?";
}

std::optional<Durability> durability_from_name(const std::string& name) {
  for (const auto durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    if (name == durability_name(durability)) return durability;
  }
  return std::nullopt;
}

}  // namespace txnic::control
