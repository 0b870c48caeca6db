// SPDX-License-Identifier: BSD-3-Clause
// A configuration back to text. Canonical: every field, in the schema's order, so that its hash names the
// experiment.
#include <google/protobuf/text_format.h>

#include "config.pb.h"
#include "host/control/cluster.h"
#include "host/control/config.h"

namespace txnic::control {
namespace {

constexpr uint64_t kMebibyte = 1ull << 20;

void to_message(const ClusterConfig& from, config::Cluster* to) {
  to->set_epoch(from.epoch);
  to->set_shards(from.shards);
  for (const ClusterNodeConfig& node : from.nodes) {
    config::ClusterNode* member = to->add_node();
    member->set_name(node.name);
    member->set_address(address_text(node.base.address));
    member->set_base_port(node.base.port);
    member->set_workers(node.workers);
    member->set_shards(shards_text(node.shards));
  }
}

config::Node to_message(const NodeConfig& from) {
  config::Node node;
  node.set_name(from.name);
  node.set_shards(from.shards);
  for (const TableConfig& table : from.tables) {
    config::Table* to = node.add_table();
    to->set_id(table.id);
    to->set_name(table.name);
    to->set_capacity(table.capacity);
    to->set_key_bytes(table.key_bytes);
    to->set_value_bytes(table.value_bytes);
  }
  config::Log* log = node.mutable_log();
  log->set_durability(static_cast<config::DurabilityMode>(from.log.durability));
  if (!from.log.directory.empty()) log->set_directory(from.log.directory);
  log->set_segment_mib(static_cast<uint32_t>(from.log.segment_bytes / kMebibyte));
  log->set_group_kib(from.log.group_bytes / 1024);
  log->set_async_delay_us(static_cast<uint32_t>(from.log.async_delay_ns / 1000));
  log->set_checkpoint_log_mib(static_cast<uint32_t>(from.log.checkpoint_log_bytes / kMebibyte));
  log->set_io_uring(from.log.io_uring);
  config::Sessions* sessions = node.mutable_sessions();
  sessions->set_count(from.sessions.count);
  sessions->set_window(from.sessions.window);
  sessions->set_idle_expiry_seconds(from.sessions.idle_expiry_seconds);
  for (const StaticSessionConfig& session : from.sessions.static_sessions) {
    config::StaticSession* to = sessions->add_static_session();
    to->set_id(session.id);
    to->set_replay(session.execute ? config::EXECUTE : config::WINDOW);
  }
  config::Network* network = node.mutable_network();
  network->set_address(address_text(from.network.address));
  network->set_base_port(from.network.base_port);
  network->set_checksum(static_cast<config::Checksum>(from.network.checksum));
  network->set_rx_descriptors(from.network.rx_descriptors);
  network->set_tx_descriptors(from.network.tx_descriptors);
  network->set_burst(from.network.burst);
  for (const NextHopConfig& hop : from.network.next_hops) {
    config::NextHop* to = network->add_next_hop();
    to->set_address(address_text(hop.address));
    to->set_mac(mac_text(hop.mac));
    to->set_port(hop.port);
  }
  if (from.network.gateway != 0) network->set_gateway(address_text(from.network.gateway));
  if (from.network.prefix_length != 0) network->set_prefix_length(from.network.prefix_length);
  if (from.memory_bytes != 0) node.set_memory_mib(from.memory_bytes / kMebibyte);
  config::Offload* offload = node.mutable_offload();
  offload->set_placement(static_cast<config::Placement>(from.offload.placement));
  offload->set_cache_mib(static_cast<uint32_t>(from.offload.cache_bytes / kMebibyte));
  offload->set_hot_cache(from.offload.hot_cache);
  offload->set_absence_filter(from.offload.absence_filter);
  config::HostLink* link = offload->mutable_link();
  link->set_nic_port(from.offload.link.nic_port);
  link->set_host_port(from.offload.link.host_port);
  link->set_nic_address(address_text(from.offload.link.nic_address));
  link->set_host_address(address_text(from.offload.link.host_address));
  link->set_udp_port(from.offload.link.udp_port);
  if (from.cluster.epoch != 0) to_message(from.cluster, node.mutable_cluster());
  return node;
}

}  // namespace

std::string describe(const NodeConfig& config) {
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.PrintToString(to_message(config), &text);
  return text;
}

}  // namespace txnic::control
