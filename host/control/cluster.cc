// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/cluster.h"

#include <algorithm>
#include <bitset>

#include "txn/limits.h"

namespace txnic::control {
namespace {

// A number at text[*at], of at most five digits; nothing if there is none.
std::optional<uint32_t> read_number(const std::string& text, size_t* at) {
  constexpr size_t kDigitsMax = 5;
  uint32_t number = 0;
  size_t digits = 0;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9' && digits < kDigitsMax) {
    number = number * 10 + static_cast<uint32_t>(text[(*at)++] - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  return number;
}

}  // namespace

std::vector<ShardId> shards_from_text(const std::string& text, uint32_t shard_count, std::string* error) {
  const uint32_t most = std::min(shard_count, limits::kShardsMax);
  std::bitset<limits::kShardsMax> named;
  for (size_t at = 0;;) {
    const auto first = read_number(text, &at);
    auto last = first;
    if (first && at < text.size() && text[at] == '-') last = read_number(text, &++at);
    if (!last || *last < *first || (at < text.size() && text[at] != ',')) {
      *error = "'" + text + "' is not a list of shards such as 0-3,8";
      return {};
    }
    if (*last >= most) {
      *error = "shard " + std::to_string(*last) + " is beyond the cluster's " + std::to_string(shard_count) +
               " shards, which are numbered from 0";
      return {};
    }
    for (uint32_t shard = *first; shard <= *last; ++shard) {
      if (named[shard]) {
        *error = "shard " + std::to_string(shard) + " is named twice";
        return {};
      }
      named.set(shard);
    }
    if (at++ == text.size()) break;
  }
  std::vector<ShardId> shards;
  for (uint32_t shard = 0; shard < most; ++shard) {
    if (named[shard]) shards.push_back(static_cast<ShardId>(shard));
  }
  return shards;
}

std::string shards_text(const std::vector<ShardId>& shards) {
  std::string text;
  for (size_t i = 0; i < shards.size();) {
    size_t end = i + 1;
    while (end < shards.size() && shards[end] == shards[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(shards[i]);
    if (end - i > 1) text.append(1, '-').append(std::to_string(shards[end - 1]));
    i = end;
  }
  return text;
}

const ClusterNodeConfig* find_node(const ClusterConfig& cluster, const std::string& name) {
  const auto found = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                  [&](const ClusterNodeConfig& node) { return node.name == name; });
  return found == cluster.nodes.end() ? nullptr : &*found;
}

std::string describe_map(const NodeConfig& config) {
  if (config.cluster.epoch == 0) return {};
  std::string text = "# cluster: epoch " + std::to_string(config.cluster.epoch) + ", " +
                     std::to_string(config.cluster.shards) + " shards\n";
  for (const ClusterNodeConfig& node : config.cluster.nodes) {
    text += "#   " + node.name + (node.name == config.name ? " (this node)" : "") + ": shards " +
            shards_text(node.shards) + ", " + std::to_string(node.workers) + " workers at " +
            address_text(node.base.address) + ":" + std::to_string(node.base.port) + "\n";
  }
  return text;
}

ShardMap shard_map(const NodeConfig& config, uint32_t workers) {
  const ClusterConfig& cluster = config.cluster;
  if (cluster.epoch == 0) {
    return ShardMap::of_one_node(config.shards, workers, {config.network.address, config.network.base_port});
  }
  ShardMap map;
  map.epoch = cluster.epoch;
  map.node_count = static_cast<uint32_t>(cluster.nodes.size());
  map.shard_count = 0;
  std::vector<uint32_t> owners(cluster.shards);
  for (uint32_t n = 0; n < map.node_count; ++n) {
    const ClusterNodeConfig& node = cluster.nodes[n];
    map.nodes[n] = {node.base, node.workers, 0};
    if (node.name == config.name) map.self = n;
    for (const ShardId shard : node.shards) owners[shard] = n;
  }
  for (const uint32_t owner : owners) map.add_shard(owner);
  return map;
}

}  // namespace txnic::control
