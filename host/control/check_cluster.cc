// SPDX-License-Identifier: BSD-3-Clause
// What a cluster and the ways to its nodes must satisfy.
#include <algorithm>
#include <set>
#include <string>

#include "host/control/check.h"
#include "host/control/cluster.h"
#include "txn/limits.h"

namespace txnic::control {
namespace {

constexpr uint32_t kPrefixLengthMax = 30;  // a subnet with room for two hosts

// Nodes and shards so far.
struct Seen {
  std::set<std::string> names;
  std::set<uint32_t> addresses;
  std::vector<std::string> owners;  // of each shard: its node's name; empty: nobody yet
};

void check_shards(const config::ClusterNode& node, const Place& place, Seen* seen) {
  std::string error;
  const auto shard_count = static_cast<uint32_t>(seen->owners.size());
  const std::vector<ShardId> shards = shards_from_text(node.shards(), shard_count, &error);
  if (!error.empty()) return place.problem("shards", error);
  for (const ShardId shard : shards) {
    std::string& owner = seen->owners[shard];
    if (!owner.empty()) {
      return place.problem("shards", "shard " + std::to_string(shard) + " belongs to node '" + owner +
                                         "' already; each shard has exactly one node");
    }
    owner = node.name();
  }
  if (shards.size() < node.workers()) {
    place.problem("shards", std::to_string(shards.size()) + " shards for " + std::to_string(node.workers()) +
                                " workers; each worker owns at least one shard");
  }
}

void check_node(const config::ClusterNode& node, const Place& place, Seen* seen) {
  place.require("name");
  place.require("address");
  place.require("shards");
  if (node.has_name()) {
    check_name(place, node.name());
    if (!seen->names.insert(node.name()).second) place.problem("name", "'" + node.name() + "' is used twice");
  }
  const auto address = node.has_address() ? check_address(place, "address", node.address()) : std::nullopt;
  if (address && !seen->addresses.insert(*address).second) {
    place.problem("address", node.address() + " belongs to another node already; each answers for its own address");
  }
  place.range("workers", node.workers(), 1, limits::kWorkersMax);
  place.range("base_port", node.base_port(), 1, 65536 - std::clamp(node.workers(), 1u, limits::kWorkersMax));
  if (node.has_shards()) check_shards(node, place, seen);
}

void check_all_owned(const Place& place, const Seen& seen) {
  std::vector<ShardId> orphans;
  for (size_t shard = 0; shard < seen.owners.size(); ++shard) {
    if (seen.owners[shard].empty()) orphans.push_back(static_cast<ShardId>(shard));
  }
  if (!orphans.empty()) {
    place.problem("shards", "nobody has " + shards_text(orphans) + "; each shard has exactly one node");
  }
}

// What the node takes from the cluster where it does not say it itself.
void adopt(const config::ClusterNode& self, config::Node* node, const Place& root) {
  std::string error;
  const auto own = static_cast<uint32_t>(shards_from_text(self.shards(), node->cluster().shards(), &error).size());
  if (!error.empty()) return;  // told already
  if (!node->has_shards()) {
    node->set_shards(own);
  } else if (node->shards() != own) {
    root.problem("shards", std::to_string(node->shards()) + " but the cluster gives node '" + self.name() + "' " +
                               std::to_string(own) + "; leave it out here");
  }
  config::Network* const network = node->mutable_network();
  const Place place = root.nested(*network, "network");
  if (!network->has_address()) {
    network->set_address(self.address());
  } else if (address_from_text(network->address()) != address_from_text(self.address())) {
    place.problem("address", network->address() + " but the cluster says " + self.address() + " for node '" +
                                 self.name() + "'; leave it out here");
  }
  if (!network->has_base_port()) {
    network->set_base_port(self.base_port());
  } else if (network->base_port() != self.base_port()) {
    place.problem("base_port", std::to_string(network->base_port()) + " but the cluster says " +
                                   std::to_string(self.base_port()) + " for node '" + self.name() +
                                   "'; leave it out here");
  }
}

// Bits that all addresses of a subnet share.
uint32_t subnet_mask(uint32_t prefix_length) { return ~uint32_t{0} << (32 - prefix_length); }

void check_gateway(const config::Network& network, const Place& place) {
  if (!network.has_gateway() && !network.has_prefix_length()) return;
  if (!network.has_gateway()) return place.problem("prefix_length", "does nothing without a gateway");
  if (!network.has_prefix_length()) return place.problem("gateway", "needs prefix_length, the bits of our subnet");
  place.range("prefix_length", network.prefix_length(), 1, kPrefixLengthMax);
  const auto gateway = check_address(place, "gateway", network.gateway());
  const auto own = address_from_text(network.address());
  if (!gateway || !own || network.prefix_length() < 1 || network.prefix_length() > kPrefixLengthMax) return;
  if (*gateway == *own) {
    place.problem("gateway", network.gateway() + " is this node's own address");
  } else if (((*gateway ^ *own) & subnet_mask(network.prefix_length())) != 0) {
    place.problem("gateway", network.gateway() + " is outside our subnet " + network.address() + "/" +
                                 std::to_string(network.prefix_length()));
  }
}

bool is_node(const config::Cluster& cluster, uint32_t address) {
  return std::any_of(cluster.node().begin(), cluster.node().end(),
                     [&](const auto& node) { return address_from_text(node.address()) == address; });
}

}  // namespace

void check_cluster(config::Node* node, const Place& root) {
  const config::Cluster& cluster = node->cluster();
  const Place place = root.nested(cluster, "cluster");
  place.require("epoch");
  place.require("shards");
  if (cluster.has_epoch()) place.range("epoch", cluster.epoch(), 1, ~uint32_t{0});
  if (cluster.has_shards()) place.range("shards", cluster.shards(), 1, limits::kShardsMax);
  if (static_cast<uint32_t>(cluster.node_size()) > limits::kNodesMax) {
    place.problem("node",
                  std::to_string(cluster.node_size()) + " nodes; at most " + std::to_string(limits::kNodesMax) +
                      " are allowed",
                  static_cast<int>(limits::kNodesMax));
  }
  Seen seen;
  seen.owners.resize(std::min(cluster.shards(), limits::kShardsMax));
  const config::ClusterNode* self = nullptr;
  for (int i = 0; i < cluster.node_size(); ++i) {
    check_node(cluster.node(i), place.nested(cluster.node(i), "node", i), &seen);
    if (self == nullptr && cluster.node(i).name() == node->name()) self = &cluster.node(i);
  }
  check_all_owned(place, seen);
  if (self == nullptr) {
    place.problem("node", "none is called '" + node->name() +
                              "', as this node is; say which one it is with name, or --name");
    return;
  }
  adopt(*self, node, root);
}

void check_next_hops(const config::Node& node, const Place& place) {
  const config::Network& network = node.network();
  check_gateway(network, place);
  std::set<uint32_t> addresses;
  for (int i = 0; i < network.next_hop_size(); ++i) {
    const config::NextHop& hop = network.next_hop(i);
    const Place at = place.nested(hop, "next_hop", i);
    at.require("address");
    at.require("mac");
    const auto address = hop.has_address() ? check_address(at, "address", hop.address()) : std::nullopt;
    if (address) {
      if (!addresses.insert(*address).second) at.problem("address", hop.address() + " is named twice");
      if (*address == address_from_text(network.address())) {
        at.problem("address", hop.address() + " is this node's own address");
      } else if (!is_node(node.cluster(), *address) && *address != address_from_text(network.gateway())) {
        at.problem("address", hop.address() + " is neither another node of the cluster nor the gateway");
      }
    }
    if (!hop.has_mac()) continue;
    const auto mac = mac_from_text(hop.mac());
    if (!mac) {
      at.problem("mac", "'" + hop.mac() + "' is not a MAC address such as 02:00:00:00:00:01");
    } else if (((*mac)[0] & 1) != 0 || *mac == std::array<uint8_t, 6>{}) {
      at.problem("mac", hop.mac() + " is not the address of one host");
    }
  }
}

}  // namespace txnic::control
