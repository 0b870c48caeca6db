// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/link_identity.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "host/apps/version.h"
#include "txn/hash.h"

namespace txnic::apps {

// Of what changes what the two say to each other means: shards, tables, windows, durability. Cache and link may differ.
uint64_t link_configuration_hash(const control::NodeConfig& config, uint32_t workers) {
  std::string text = std::to_string(workers) + " " + std::to_string(config.shards) + " " +
                     std::to_string(config.sessions.window) + " " + std::to_string(config.sessions.count) + " " +
                     control::durability_name(config.log.durability) + " " + control::describe_map(config);
  for (const control::TableConfig& table : config.tables) {
    text += ' ';
    text += std::to_string(table.id);
  }
  return hash_key(reinterpret_cast<const std::byte*>(text.data()), static_cast<uint32_t>(text.size()));
}

link::Name link_build() {
  link::Name name{};
  const std::string text = std::string(kVersion) + " " + kCommit;
  std::memcpy(name.data(), text.data(), std::min(text.size(), name.size()));
  return name;
}

}  // namespace txnic::apps
