// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/check.h"

#include <bit>
#include <set>
#include <string>

#include "txn/limits.h"

namespace txnic::control {

void check_name(const Place& place, const std::string& name) {
  constexpr size_t kNameBytesMax = 64;
  if (name.empty() || name.size() > kNameBytesMax) {
    place.problem("name", "must have 1 to " + std::to_string(kNameBytesMax) + " characters");
    return;
  }
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '-' || c == '.';
    if (!good) {
      place.problem("name", "'" + name + "' may have letters, digits, '_', '-' and '.' only");
      return;
    }
  }
}

std::optional<uint32_t> check_address(const Place& place, const char* field, const std::string& text) {
  const auto address = address_from_text(text);
  if (!address) {
    place.problem(field, "'" + text + "' is not an IPv4 address such as 10.99.0.1");
  } else if (*address >> 24 == 0 || *address >> 24 >= 224) {
    place.problem(field, text + " is not an address that a host can have");
    return std::nullopt;
  }
  return address;
}

namespace {

constexpr uint64_t kCapacityMax = 1ull << 40;
constexpr uint32_t kSegmentMibMax = 16384;
constexpr uint32_t kDescriptorsMin = 32;
constexpr uint32_t kDescriptorsMax = 32768;
constexpr uint32_t kAsyncDelayMax_us = 10'000'000;
constexpr uint32_t kMemoryMibMax = 1u << 24;

void check_tables(const config::Node& node, const Place& root) {
  if (node.table_size() == 0) {
    root.problem("table", "none is declared; add for example  table { id: 1 capacity: 1000000 }");
  }
  if (static_cast<uint32_t>(node.table_size()) > limits::kTablesMax) {
    root.problem("table",
                 std::to_string(node.table_size()) + " tables; at most " + std::to_string(limits::kTablesMax) +
                     " are allowed",
                 static_cast<int>(limits::kTablesMax));
  }
  std::set<uint32_t> ids;
  std::set<std::string> names;
  for (int i = 0; i < node.table_size(); ++i) {
    const config::Table& table = node.table(i);
    const Place place = root.nested(table, "table", i);
    place.require("id");
    place.require("capacity");
    if (table.has_id()) {
      place.range("id", table.id(), 0, 65535);
      if (!ids.insert(table.id()).second) {
        place.problem("id", "table " + std::to_string(table.id()) + " is declared twice; ids are distinct");
      }
    }
    if (table.has_capacity()) place.range("capacity", table.capacity(), 1, kCapacityMax);
    if (table.has_name()) {
      check_name(place, table.name());
      if (!names.insert(table.name()).second) place.problem("name", "'" + table.name() + "' is used twice");
    }
    place.range("key_bytes", table.key_bytes(), 1, limits::kKeyBytesMax);
    place.range("value_bytes", table.value_bytes(), 0, limits::kValueBytesMax);
  }
}

void check_log(const config::Log& log, const Place& place) {
  place.range("segment_mib", log.segment_mib(), 1, kSegmentMibMax);
  place.range("group_kib", log.group_kib(), 2 * limits::kLogRecordBytesMax / 1024, limits::kLogGroupBytesMax / 1024);
  if (log.group_kib() * 1024ull % limits::kLogBlockBytes != 0) {
    place.problem("group_kib", std::to_string(log.group_kib()) + " is not a multiple of the log's block, " +
                                   std::to_string(limits::kLogBlockBytes / 1024) + " KiB");
  }
  if (log.group_kib() * 1024ull >= log.segment_mib() * 1024ull * 1024) {
    place.problem("segment_mib", "a segment of " + std::to_string(log.segment_mib()) +
                                     " MiB must be larger than a group (group_kib: " +
                                     std::to_string(log.group_kib()) + ")");
  }
  place.range("async_delay_us", log.async_delay_us(), 1, kAsyncDelayMax_us);
  if (log.checkpoint_log_mib() != 0 && log.checkpoint_log_mib() < log.segment_mib()) {
    place.problem("checkpoint_log_mib", std::to_string(log.checkpoint_log_mib()) +
                                            " is less than one segment; use at least segment_mib (" +
                                            std::to_string(log.segment_mib()) + "), or 0 for never");
  }
  if (log.durability() != config::NONE && log.directory().empty()) {
    place.problem("directory", "missing; durability " + config::DurabilityMode_Name(log.durability()) +
                                   " needs one (directory: \"…\", or --log-directory)");
  }
}

void check_sessions(const config::Sessions& sessions, const Place& place) {
  place.range("count", sessions.count(), 1, limits::kSessionsMax);
  place.range("window", sessions.window(), 1, limits::kWindowMax);
  if (!std::has_single_bit(sessions.window())) {
    place.problem("window", std::to_string(sessions.window()) + " is not a power of two");
  }
  place.range("idle_expiry_seconds", sessions.idle_expiry_seconds(), 1, 7 * 86400);
  if (static_cast<uint32_t>(sessions.static_session_size()) > limits::kStaticSessionsMax) {
    place.problem("static_session",
                  std::to_string(sessions.static_session_size()) + " sessions; at most " +
                      std::to_string(limits::kStaticSessionsMax) + " are allowed",
                  static_cast<int>(limits::kStaticSessionsMax));
  }
  std::set<uint64_t> ids;
  for (int i = 0; i < sessions.static_session_size(); ++i) {
    const config::StaticSession& session = sessions.static_session(i);
    const Place at = place.nested(session, "static_session", i);
    at.require("id");
    if (!session.has_id()) continue;
    if (session.id() == 0) at.problem("id", "0 is not a session id; choose any other number");
    if (!ids.insert(session.id()).second) {
      at.problem("id", "session " + std::to_string(session.id()) + " is named twice; ids are distinct");
    }
  }
}

void check_descriptors(const Place& place, const char* field, uint32_t value) {
  place.range(field, value, kDescriptorsMin, kDescriptorsMax);
  if (!std::has_single_bit(value)) place.problem(field, std::to_string(value) + " is not a power of two");
}

void check_network(const config::Network& network, const Place& place) {
  check_address(place, "address", network.address());
  place.range("base_port", network.base_port(), 1, 65535);
  check_descriptors(place, "rx_descriptors", network.rx_descriptors());
  check_descriptors(place, "tx_descriptors", network.tx_descriptors());
  place.range("burst", network.burst(), 1, limits::kBurstMax);
}

}  // namespace

void check(config::Node* node, const Overrides& overrides, const Place::Tree* tree, Problems* problems) {
  if (overrides.durability) {
    node->mutable_log()->set_durability(static_cast<config::DurabilityMode>(*overrides.durability));
  }
  if (overrides.log_directory) node->mutable_log()->set_directory(*overrides.log_directory);
  if (overrides.name) node->set_name(*overrides.name);
  if (overrides.placement) {
    node->mutable_offload()->set_placement(static_cast<config::Placement>(*overrides.placement));
  }
  const Place root(*node, tree, 0, 0, problems);
  check_name(root, node->name());
  if (node->has_cluster()) check_cluster(node, root);
  root.range("shards", node->shards(), 1, limits::kShardsMax);
  check_tables(*node, root);
  check_log(node->log(), root.nested(node->log(), "log"));
  check_sessions(node->sessions(), root.nested(node->sessions(), "sessions"));
  const Place network = root.nested(node->network(), "network");
  check_network(node->network(), network);
  check_next_hops(*node, network);
  check_offload(node->offload(), root.nested(node->offload(), "offload"));
  if (node->has_memory_mib()) root.range("memory_mib", node->memory_mib(), 1, kMemoryMibMax);
}

}  // namespace txnic::control
