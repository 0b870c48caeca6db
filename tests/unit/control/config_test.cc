// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "txn/limits.h"

namespace txnic::control {
namespace {

constexpr const char* kGood = "shards: 4\ntable { id: 1 capacity: 1000 }\n";

struct BadRow {
  const char* what;
  std::string text;
  std::string expected;  // part of the error
};

std::string with(const std::string& more) { return kGood + more; }

// Line 3 is the first line after kGood.
std::vector<BadRow> bad_rows() {
  return {
      // What Protobuf's parser finds.
      {"unknown field", with("shard: 1"), "f:3:6: Message type \"txnic.config.Node\" has no field named \"shard\""},
      {"unknown nested field", with("log {\n  durable: SYNC\n}"), "f:4:10: Message type \"txnic.config.Log\" has no"},
      {"unknown enum value", with("log { durability: ALWAYS }"), "f:3:"},
      {"text for a number", with("memory_mib: \"8\""), "f:3:13: Expected integer"},
      {"number for a text", with("name: 8"), "f:3:7: Expected string"},
      {"negative number", with("memory_mib: -8"), "f:3:13: Expected integer"},
      {"number too large", with("sessions { count: 4294967296 }"), "f:3:19: Integer out of range"},
      {"fraction", with("sessions { count: 1.5 }"), "f:3:19: Expected integer"},
      {"field twice", with("name: \"a\"\nname: \"b\""), "f:4:5: Non-repeated field \"name\" is specified multiple"},
      {"message twice", with("log { }\nlog { }"), "f:4:"},
      {"unclosed message", with("log { durability: NONE"), "f:3:"},
      {"unclosed string", with("name: \"a\n"), "f:3:"},
      {"no text format", "\x01\x02\x03", "f:1:"},
      {"binary zero", std::string("shards: 4\0", 10), "f:1:10"},
      // What is missing.
      {"empty file", "", "f:1:1: table: none is declared"},
      {"no table", "shards: 2", "f:1:1: table: none is declared"},
      {"table without id", "table {\n capacity: 5\n}", "f:1:1: id: missing"},
      {"table without capacity", "\ntable { id: 5 }", "f:2:1: capacity: missing"},
      {"static session without id", with("sessions {\n static_session { }\n}"), "f:4:2: id: missing"},
      {"sync without directory", with("log { durability: SYNC }"), "f:3:1: directory: missing; durability SYNC"},
      {"async without directory", with("log { durability: ASYNC directory: \"\" }"), "f:3:25: directory: missing"},
      // Ranges.
      {"zero shards", "shards: 0 table { id: 1 capacity: 1 }", "f:1:1: shards: 0 is out of range; from 1 to 1024"},
      {"many shards", "shards: 1025 table { id: 1 capacity: 1 }", "f:1:1: shards: 1025 is out of range"},
      {"table id", "table { id: 65536 capacity: 1 }", "f:1:9: id: 65536 is out of range; from 0 to 65535"},
      {"table twice", with("table { id: 1 capacity: 9 }"), "f:3:9: id: table 1 is declared twice"},
      {"table name twice", "table { id: 1 capacity: 1 name: \"a\" }\ntable { id: 2 capacity: 1 name: \"a\" }",
       "f:2:27: name: 'a' is used twice"},
      {"table name", with("table { id: 2 capacity: 1 name: \"a b\" }"), "f:3:27: name: 'a b' may have letters"},
      {"capacity zero", "table { id: 1 capacity: 0 }", "f:1:15: capacity: 0 is out of range"},
      {"capacity huge", "table { id: 1 capacity: 18446744073709551615 }", "f:1:15: capacity:"},
      {"key bytes zero", "table { id: 1 capacity: 1 key_bytes: 0 }", "f:1:27: key_bytes: 0 is out of range"},
      {"key bytes", "table { id: 1 capacity: 1 key_bytes: 65 }", "f:1:27: key_bytes: 65 is out of range"},
      {"value bytes", "table { id: 1 capacity: 1 value_bytes: 1025 }", "f:1:27: value_bytes: 1025"},
      {"empty name", with("name: \"\""), "f:3:1: name: must have 1 to 64"},
      {"name with a slash", with("name: \"a/b\""), "f:3:1: name: 'a/b' may have letters"},
      {"segment zero", with("log { segment_mib: 0 }"), "f:3:7: segment_mib: 0 is out of range"},
      {"segment smaller than group", with("log { segment_mib: 1 }"), "f:3:7: segment_mib: a segment of 1 MiB"},
      {"group too small", with("log { group_kib: 4 }"), "f:3:7: group_kib: 4 is out of range"},
      {"group too large", with("log { group_kib: 8192 }"), "f:3:7: group_kib: 8192 is out of range"},
      {"group not in blocks", with("log { group_kib: 10 }"), "f:3:7: group_kib: 10 is not a multiple"},
      {"delay", with("log { async_delay_us: 0 }"), "f:3:7: async_delay_us: 0 is out of range"},
      {"checkpoint", with("log { checkpoint_log_mib: 1 }"), "f:3:7: checkpoint_log_mib: 1 is less than one"},
      {"session count zero", with("sessions { count: 0 }"), "f:3:12: count: 0 is out of range"},
      {"session count", with("sessions { count: 65537 }"), "f:3:12: count: 65537 is out of range"},
      {"window zero", with("sessions { window: 0 }"), "f:3:12: window: 0 is out of range"},
      {"window no power of two", with("sessions { window: 100 }"), "f:3:12: window: 100 is not a power of two"},
      {"window too large", with("sessions { window: 32768 }"), "f:3:12: window: 32768 is out of range"},
      {"expiry", with("sessions { idle_expiry_seconds: 0 }"), "f:3:12: idle_expiry_seconds: 0 is out of"},
      {"static session zero", with("sessions { static_session { id: 0 } }"), "f:3:29: id: 0 is not a session"},
      {"static session twice", with("sessions { static_session { id: 7 }\nstatic_session { id: 7 } }"),
       "f:4:18: id: session 7 is named twice"},
      {"address words", with("network { address: \"localhost\" }"), "f:3:11: address: 'localhost' is not"},
      {"address short", with("network { address: \"10.0.1\" }"), "f:3:11: address: '10.0.1' is not"},
      {"address long", with("network { address: \"10.0.0.1.5\" }"), "f:3:11: address: '10.0.0.1.5' is not"},
      {"address number", with("network { address: \"10.0.0.256\" }"), "f:3:11: address: '10.0.0.256' is not"},
      {"address v6", with("network { address: \"::1\" }"), "f:3:11: address: '::1' is not"},
      {"address multicast", with("network { address: \"224.0.0.1\" }"), "f:3:11: address: 224.0.0.1 is not"},
      {"address any", with("network { address: \"0.0.0.0\" }"), "f:3:11: address: 0.0.0.0 is not"},
      {"port zero", with("network { base_port: 0 }"), "f:3:11: base_port: 0 is out of range"},
      {"port", with("network { base_port: 65536 }"), "f:3:11: base_port: 65536 is out of range"},
      {"descriptors", with("network { rx_descriptors: 100 }"), "f:3:11: rx_descriptors: 100 is not a power"},
      {"few descriptors", with("network { tx_descriptors: 16 }"), "f:3:11: tx_descriptors: 16 is out of range"},
      {"burst zero", with("network { burst: 0 }"), "f:3:11: burst: 0 is out of range"},
      {"burst", with("network { burst: 65 }"), "f:3:11: burst: 65 is out of range"},
      {"placement", with("offload { placement: CARD }"), "f:3:27: Unknown enumeration value of \"CARD\""},
      {"cache", with("offload { cache_mib: 0 }"), "f:3:11: cache_mib: 0 is out of range"},
      {"link address", with("offload { link { nic_address: \"there\" } }"), "f:3:18: nic_address: 'there' is not"},
      {"link with one address", with("offload { link { nic_address: \"169.254.99.1\" } }"),
       "f:3:18: nic_address: both ends of the link have the address 169.254.99.1"},
      {"link port", with("offload { link { nic_port: 32 } }"), "f:3:18: nic_port: 32 is out of range; from 0 to 31"},
      {"link UDP port", with("offload { link { udp_port: 0 } }"), "f:3:18: udp_port: 0 is out of range"},
      {"memory zero", with("memory_mib: 0"), "f:3:1: memory_mib: 0 is out of range"},
  };
}

TEST(Config, EveryBadTextIsRefusedNamingThePlace) {
  for (const BadRow& row : bad_rows()) {
    SCOPED_TRACE(row.what);
    const LoadResult result = load_text(row.text, "f");
    EXPECT_FALSE(result.ok());
    EXPECT_NE(result.error.find(row.expected), std::string::npos) << "got: " << result.error;
  }
}

TEST(Config, AllProblemsAreToldAtOnce) {
  const LoadResult result = load_text("shards: 0\nmemory_mib: 0\n", "f");
  EXPECT_NE(result.error.find("f:1:1: shards"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("f:2:1: memory_mib"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("table: none"), std::string::npos) << result.error;
}

TEST(Config, TooManyTablesAndStaticSessions) {
  std::string text;
  for (uint32_t i = 0; i <= limits::kTablesMax; ++i) text += "table { id: " + std::to_string(i) + " capacity: 1 }\n";
  EXPECT_NE(load_text(text, "f").error.find("f:257:1: table: 257 tables; at most 256"), std::string::npos);
  text = kGood;
  text += "sessions {\n";
  for (uint32_t i = 1; i <= limits::kStaticSessionsMax + 1; ++i) {
    text += "static_session { id: " + std::to_string(i) + " }\n";
  }
  EXPECT_NE(load_text(text + "}", "f").error.find("f:68:1: static_session: 65 sessions; at most 64"),
            std::string::npos);
}

TEST(Config, DefaultsAreThoseOfTheSchema) {
  const LoadResult result = load_text("table { id: 9 capacity: 7 }", "f");
  ASSERT_TRUE(result.ok()) << result.error;
  const NodeConfig& config = result.config;
  EXPECT_EQ(config.name, "node");
  EXPECT_EQ(config.shards, 1u);
  ASSERT_EQ(config.tables.size(), 1u);
  EXPECT_EQ(config.tables[0].id, 9);
  EXPECT_EQ(config.tables[0].name, "table-9");
  EXPECT_EQ(config.tables[0].capacity, 7u);
  EXPECT_EQ(config.tables[0].key_bytes, 8u);
  EXPECT_EQ(config.tables[0].value_bytes, 40u);
  EXPECT_EQ(config.log.durability, Durability::kNone);
  EXPECT_EQ(config.log.segment_bytes, limits::kLogSegmentBytesDefault);
  EXPECT_EQ(config.log.group_bytes, limits::kLogGroupBytesMax);
  EXPECT_EQ(config.log.async_delay_ns, limits::kAsyncDelayMicrosecondsDefault * 1000);
  EXPECT_TRUE(config.log.io_uring);
  EXPECT_EQ(config.sessions.count, limits::kSessionsDefault);
  EXPECT_EQ(config.sessions.window, limits::kWindowDefault);
  EXPECT_EQ(config.sessions.idle_expiry_seconds, limits::kSessionIdleExpirySecondsDefault);
  EXPECT_TRUE(config.sessions.static_sessions.empty());
  EXPECT_EQ(config.network.address, 0x0a630001u);
  EXPECT_EQ(config.network.base_port, 7700);
  EXPECT_EQ(config.network.checksum, Checksum::kAuto);
  EXPECT_EQ(config.network.rx_descriptors, 1024);
  EXPECT_EQ(config.network.burst, limits::kBurstMax);
  EXPECT_EQ(config.memory_bytes, 0u);
  EXPECT_EQ(config.offload.placement, Placement::kHost);
  EXPECT_EQ(config.offload.cache_bytes, 64u << 20);
  EXPECT_TRUE(config.offload.hot_cache && config.offload.absence_filter);
  EXPECT_EQ(config.offload.link.nic_port, 1u);
  EXPECT_EQ(config.offload.link.host_port, 0u);
  EXPECT_EQ(config.offload.link.nic_address, 0xa9fe6302u);
  EXPECT_EQ(config.offload.link.host_address, 0xa9fe6301u);
  EXPECT_EQ(config.offload.link.udp_port, 7800);
}

TEST(Config, DescribeIsReadAgainAsTheSame) {
  const LoadResult first = load_text(
      with("name: \"n-1\" memory_mib: 64\n"
           "log { durability: SYNC directory: \"/tmp/ä\\\"x\" segment_mib: 8 io_uring: false }\n"
           "sessions { window: 64\n"
           "static_session { id: 18446744073709551615 replay: WINDOW } static_session { id: 2 } }\n"
           "network { address: \"192.168.1.255\" checksum: SOFTWARE burst: 32 }\n"
           "offload { placement: NIC cache_mib: 3 hot_cache: false link { host_port: 2 udp_port: 9 } }"),
      "f");
  ASSERT_TRUE(first.ok()) << first.error;
  const std::string text = describe(first.config);
  const LoadResult second = load_text(text, "again");
  ASSERT_TRUE(second.ok()) << second.error;
  EXPECT_EQ(describe(second.config), text);
  EXPECT_EQ(second.config.hash, first.config.hash);
  EXPECT_EQ(second.config.log.directory, "/tmp/ä\"x");
  ASSERT_EQ(second.config.sessions.static_sessions.size(), 2u);
  EXPECT_FALSE(second.config.sessions.static_sessions[0].execute);
  EXPECT_TRUE(second.config.sessions.static_sessions[1].execute);
  EXPECT_EQ(second.config.network.checksum, Checksum::kSoftware);
  EXPECT_EQ(second.config.offload.placement, Placement::kNic);
  EXPECT_EQ(second.config.offload.cache_bytes, 3u << 20);
  EXPECT_FALSE(second.config.offload.hot_cache);
  EXPECT_EQ(second.config.offload.link.host_port, 2u);
  EXPECT_EQ(second.config.offload.link.udp_port, 9);
}

TEST(Config, HashNamesWhatRunsAndNotWhere) {
  const auto hash = [](const std::string& text) { return load_text(text, "f").config.hash; };
  EXPECT_EQ(hash(kGood), hash(std::string("# a comment\n") + kGood));
  EXPECT_EQ(hash(kGood), hash(with("log { durability: NONE }")));
  EXPECT_EQ(hash(kGood), hash(with("log { directory: \"/a\" }")));
  EXPECT_NE(hash(kGood), hash(with("log { durability: SYNC directory: \"/a\" }")));
  EXPECT_NE(hash(kGood), hash(with("network { burst: 32 }")));
  EXPECT_NE(hash(kGood), hash(with("memory_mib: 1")));
}

TEST(Config, CommandLineOverridesTheFileAndIsCheckedWithIt) {
  Overrides overrides;
  overrides.durability = Durability::kSync;
  LoadResult result = load_text(kGood, "f", overrides);
  EXPECT_NE(result.error.find("directory: missing; durability SYNC"), std::string::npos) << result.error;
  overrides.log_directory = "/tmp/x";
  result = load_text(kGood, "f", overrides);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.config.log.durability, Durability::kSync);
  EXPECT_EQ(result.config.log.directory, "/tmp/x");
  overrides.durability = Durability::kNone;
  EXPECT_TRUE(load_text(with("log { durability: SYNC }"), "f", overrides).ok());
}

TEST(Config, Workers) {
  NodeConfig config = load_text(kGood, "f").config;
  EXPECT_EQ(check_workers(config, 1), "");
  EXPECT_EQ(check_workers(config, 4), "");
  EXPECT_NE(check_workers(config, 0), "");
  EXPECT_NE(check_workers(config, 5).find("5 workers but shards: 4"), std::string::npos);
  EXPECT_NE(check_workers(config, limits::kWorkersMax + 1), "");
  config.network.base_port = 65534;
  EXPECT_EQ(check_workers(config, 2), "");
  EXPECT_NE(check_workers(config, 3).find("base_port"), std::string::npos);
}

TEST(Config, Names) {
  for (const auto durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    EXPECT_EQ(durability_from_name(durability_name(durability)), durability);
  }
  EXPECT_FALSE(durability_from_name("SYNC"));
  EXPECT_EQ(address_text(0x0a630001), "10.99.0.1");
  EXPECT_EQ(address_from_text("255.255.255.255"), 0xffffffffu);
  for (const char* bad : {"", ".", "1", "1.2.3", "1.2.3.4.", ".1.2.3.4", "1..2.3", "1.2.3.1000", "1.2.3.-4",
                          " 1.2.3.4"}) {
    EXPECT_FALSE(address_from_text(bad)) << bad;
  }
}

TEST(Config, FileErrors) {
  const LoadResult missing = load_file("/nonexistent/node.textproto");
  EXPECT_NE(missing.error.find("/nonexistent/node.textproto: cannot be opened: No such file"), std::string::npos)
      << missing.error;
  EXPECT_FALSE(load_file("/").ok());
}

TEST(Config, ExamplesLoad) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TXNIC_CONFIGS)) {
    if (entry.path().extension() != ".textproto") continue;
    const LoadResult result = load_file(entry.path().string());
    EXPECT_TRUE(result.ok()) << result.error;
    ++count;
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace txnic::control
