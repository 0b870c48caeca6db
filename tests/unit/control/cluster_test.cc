// SPDX-License-Identifier: BSD-3-Clause
// The cluster section and the ways to its nodes.
#include "host/control/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "txn/limits.h"

namespace txnic::control {
namespace {

constexpr const char* kTable = "table { id: 1 capacity: 1000 }\n";
constexpr const char* kNodes =
    "node { name: \"a\" address: \"10.0.0.1\" shards: \"0-3,8\" workers: 2 }\n"
    "node { name: \"b\" address: \"10.0.0.2\" shards: \"4,5\" base_port: 9000 }\n"
    "node { name: \"c\" address: \"10.0.0.3\" shards: \"9,6-7\" workers: 3 }\n";

// Line 1: the table, 2: the name, 3: `cluster {`, 4–6: the nodes, 7 and on: `more`.
std::string cluster(const std::string& name, const std::string& nodes = kNodes, const std::string& more = "",
                    const std::string& head = "epoch: 7 shards: 10") {
  return std::string(kTable) + "name: \"" + name + "\"\ncluster { " + head + "\n" + nodes + "}\n" + more;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(Cluster, ANodeTakesItsPlaceFromIt) {
  for (const auto& [name, shards, address, port] :
       {std::tuple{"a", 5u, "10.0.0.1", 7700}, std::tuple{"b", 2u, "10.0.0.2", 9000},
        std::tuple{"c", 3u, "10.0.0.3", 7700}}) {
    const LoadResult result = load_text(cluster(name), "f");
    ASSERT_TRUE(result.ok()) << result.error;
    EXPECT_EQ(result.config.shards, shards) << name;
    EXPECT_EQ(address_text(result.config.network.address), address);
    EXPECT_EQ(result.config.network.base_port, port);
  }
}

TEST(Cluster, TheMapNumbersShardsOfANodeInTheirOrder) {
  const LoadResult result = load_text(cluster("c"), "f");
  ASSERT_TRUE(result.ok()) << result.error;
  const ShardMap map = shard_map(result.config, 3);
  EXPECT_EQ(map.epoch, 7u);
  EXPECT_EQ(map.self, 2u);
  EXPECT_EQ(map.node_count, 3u);
  EXPECT_EQ(map.shard_count, 10u);
  EXPECT_EQ(map.own_shards(), 3u);
  const uint32_t owners[] = {0, 0, 0, 0, 1, 1, 2, 2, 0, 2};
  const uint32_t numbers[] = {0, 1, 2, 3, 0, 1, 0, 1, 4, 2};
  for (ShardId shard = 0; shard < 10; ++shard) {
    EXPECT_EQ(map.places[shard].node, owners[shard]) << shard;
    EXPECT_EQ(map.places[shard].number, numbers[shard]) << shard;
    EXPECT_EQ(map.is_mine(shard), owners[shard] == 2) << shard;
  }
  EXPECT_FALSE(map.is_mine(10));
  EXPECT_EQ(map.endpoint_of(3), (Endpoint{0x0a000001, 7701}));
  EXPECT_EQ(map.endpoint_of(5), (Endpoint{0x0a000002, 9000}));
  EXPECT_EQ(map.endpoint_of(9), (Endpoint{0x0a000003, 7702}));
  EXPECT_EQ(map.node_at({0x0a000001, 7701}), 0u);
  EXPECT_EQ(map.node_at({0x0a000001, 7702}), 3u) << "node a has two workers";
}

TEST(Cluster, WithoutItANodeIsAlone) {
  const LoadResult result = load_text(std::string(kTable) + "shards: 4 network { base_port: 8000 }", "f");
  ASSERT_TRUE(result.ok()) << result.error;
  const ShardMap map = shard_map(result.config, 2);
  EXPECT_EQ(map.epoch, 0u);
  EXPECT_EQ(map.node_count, 1u);
  EXPECT_EQ(map.shard_count, 4u);
  EXPECT_EQ(map.endpoint_of(3), (Endpoint{0x0a630001, 8001}));
  EXPECT_EQ(describe_map(result.config), "");
}

TEST(Cluster, OneFileForAllNodes) {
  Overrides overrides;
  overrides.name = "b";
  const LoadResult result = load_text(cluster("a"), "f", overrides);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.config.name, "b");
  EXPECT_EQ(result.config.shards, 2u);
  EXPECT_NE(describe_map(result.config).find("b (this node): shards 4-5, 1 workers at 10.0.0.2:9000"),
            std::string::npos);
}

TEST(Cluster, DescribedAndReadAgainItIsTheSame) {
  const LoadResult first =
      load_text(cluster("a", kNodes,
                        "network { gateway: \"10.0.0.254\" prefix_length: 24\n"
                        "next_hop { address: \"10.0.0.3\" mac: \"02:0A:ff:00:00:01\" } }"),
                "f");
  ASSERT_TRUE(first.ok()) << first.error;
  const std::string text = describe(first.config);
  const LoadResult second = load_text(text, "again");
  ASSERT_TRUE(second.ok()) << second.error;
  EXPECT_EQ(describe(second.config), text);
  EXPECT_EQ(second.config.network.gateway, 0x0a0000feu);
  EXPECT_EQ(second.config.network.prefix_length, 24u);
  ASSERT_EQ(second.config.network.next_hops.size(), 1u);
  EXPECT_EQ(second.config.network.next_hops[0].mac, (std::array<uint8_t, 6>{2, 10, 255, 0, 0, 1}));
  EXPECT_EQ(second.config.cluster.nodes[2].shards, (std::vector<ShardId>{6, 7, 9}));
  EXPECT_NE(second.config.hash, load_text(cluster("a"), "f").config.hash);
}

TEST(Cluster, Workers) {
  const NodeConfig config = load_text(cluster("a"), "f").config;
  EXPECT_EQ(check_workers(config, 2), "");
  EXPECT_NE(check_workers(config, 1).find("1 workers but the cluster says that node 'a' has 2"), std::string::npos);
}

struct BadRow {
  const char* what;
  std::string text;
  std::string expected;  // part of the error
};

std::vector<BadRow> bad_clusters() {
  const auto nodes = [](const std::string& what, const std::string& with) {
    return cluster("a", replaced(kNodes, what, with));
  };
  const std::string many(40, '1');
  return {
      {"no epoch", cluster("a", kNodes, "", "shards: 10"), "f:3:1: epoch: missing"},
      {"epoch zero", cluster("a", kNodes, "", "epoch: 0 shards: 10"), "f:3:11: epoch: 0 is out of range"},
      {"no shards", cluster("a", kNodes, "", "epoch: 1"), "f:3:1: shards: missing"},
      {"too many shards", cluster("a", kNodes, "", "epoch: 1 shards: 1025"), "f:3:20: shards: 1025 is out of range"},
      {"huge number of shards", cluster("a", kNodes, "", "epoch: 1 shards: 4294967295"), "shards: 4294967295 is out"},
      {"nobody is us", cluster("d"), "f:3:1: node: none is called 'd'"},
      {"no node", cluster("a", ""), "f:3:1: node: none is called 'a'"},
      {"an orphan", cluster("a", kNodes, "", "epoch: 1 shards: 12"), "f:3:20: shards: nobody has 10-11"},
      {"two owners", nodes("\"4,5\"", "\"3-5\""), "f:5:38: shards: shard 3 belongs to node 'a' already"},
      {"shard named twice", nodes("\"4,5\"", "\"4-5,5\""), "f:5:38: shards: shard 5 is named twice"},
      {"shard beyond", nodes("\"4,5\"", "\"4,5,10\""), "f:5:38: shards: shard 10 is beyond the cluster's 10"},
      {"shard far beyond", nodes("\"4,5\"", "\"4,5,0-99999\""), "shard 99999 is beyond"},
      {"number too long", nodes("\"4,5\"", "\"4," + many + "\""), "is not a list of shards such as 0-3,8"},
      {"range backwards", nodes("\"4,5\"", "\"5-4\""), "f:5:38: shards: '5-4' is not a list"},
      {"range open", nodes("\"4,5\"", "\"4-\""), "'4-' is not a list"},
      {"comma at the end", nodes("\"4,5\"", "\"4,5,\""), "'4,5,' is not a list"},
      {"empty list", nodes("\"4,5\"", "\"\""), "'' is not a list"},
      {"blank", nodes("\"4,5\"", "\"4, 5\""), "'4, 5' is not a list"},
      {"no name", nodes("name: \"b\"", ""), "f:5:1: name: missing"},
      {"no address", nodes("address: \"10.0.0.2\"", ""), "f:5:1: address: missing"},
      {"no list", nodes("shards: \"4,5\"", ""), "f:5:1: shards: missing"},
      {"name twice", nodes("\"b\"", "\"a\""), "f:5:8: name: 'a' is used twice"},
      {"bad name", nodes("\"b\"", "\"b b\""), "f:5:8: name: 'b b' may have"},
      {"bad address", nodes("10.0.0.2", "nowhere"), "f:5:18: address: 'nowhere' is not an IPv4"},
      {"group address", nodes("10.0.0.2", "224.0.0.2"), "f:5:18: address: 224.0.0.2 is not an address"},
      {"address twice", nodes("10.0.0.2", "10.0.0.1"), "f:5:18: address: 10.0.0.1 belongs to another node"},
      {"no ports left", nodes("workers: 3", "workers: 3 base_port: 65534"), "base_port: 65534 is out of range"},
      {"no workers", nodes("workers: 3", "workers: 0"), "workers: 0 is out of range"},
      {"workers without shards", nodes("workers: 3", "workers: 4"), "f:6:38: shards: 3 shards for 4 workers"},
      {"own shards differ", cluster("a", kNodes, "shards: 4"), "f:8:1: shards: 4 but the cluster gives node 'a' 5"},
      {"own address differs", cluster("a", kNodes, "network { address: \"10.0.0.9\" }"),
       "f:8:11: address: 10.0.0.9 but the cluster says 10.0.0.1"},
      {"own port differs", cluster("b", kNodes, "network { base_port: 7700 }"),
       "f:8:11: base_port: 7700 but the cluster says 9000"},
  };
}

std::vector<BadRow> bad_next_hops() {
  const auto network = [](const std::string& text) { return cluster("a", kNodes, "network { " + text + " }"); };
  const auto hop = [&](const std::string& text) { return network("next_hop { " + text + " }"); };
  return {
      {"no address", hop("mac: \"02:00:00:00:00:01\""), "f:8:11: address: missing"},
      {"no mac", hop("address: \"10.0.0.2\""), "f:8:11: mac: missing"},
      {"short mac", hop("address: \"10.0.0.2\" mac: \"02:00:00:00:00\""), "f:8:42: mac: '02:00:00:00:00' is not a"},
      {"words", hop("address: \"10.0.0.2\" mac: \"02:00:00:00:00:xx\""), "is not a MAC address such as"},
      {"dashes", hop("address: \"10.0.0.2\" mac: \"02-00-00-00-00-01\""), "is not a MAC address such as"},
      {"group", hop("address: \"10.0.0.2\" mac: \"ff:ff:ff:ff:ff:ff\""), "is not the address of one host"},
      {"zero", hop("address: \"10.0.0.2\" mac: \"00:00:00:00:00:00\""), "is not the address of one host"},
      {"ourselves", hop("address: \"10.0.0.1\" mac: \"02:00:00:00:00:01\""), "10.0.0.1 is this node's own"},
      {"a stranger", hop("address: \"10.0.0.7\" mac: \"02:00:00:00:00:01\""), "10.0.0.7 is neither another node"},
      {"twice",
       network("next_hop { address: \"10.0.0.2\" mac: \"02:00:00:00:00:01\" }\n"
               "next_hop { address: \"10.0.0.2\" mac: \"02:00:00:00:00:02\" }"),
       "f:9:12: address: 10.0.0.2 is named twice"},
      {"gateway without subnet", network("gateway: \"10.0.0.254\""), "f:8:11: gateway: needs prefix_length"},
      {"subnet without gateway", network("prefix_length: 24"), "f:8:11: prefix_length: does nothing"},
      {"gateway outside", network("gateway: \"10.0.1.254\" prefix_length: 24"), "10.0.1.254 is outside our subnet"},
      {"gateway is us", network("gateway: \"10.0.0.1\" prefix_length: 24"), "10.0.0.1 is this node's own"},
      {"no gateway", network("gateway: \"door\" prefix_length: 24"), "gateway: 'door' is not an IPv4"},
      {"prefix zero", network("gateway: \"10.0.0.254\" prefix_length: 0"), "prefix_length: 0 is out of range"},
      {"prefix 31", network("gateway: \"10.0.0.254\" prefix_length: 31"), "prefix_length: 31 is out of range"},
      {"without a cluster",
       std::string(kTable) + "network { next_hop { address: \"10.0.0.2\" mac: \"02:00:00:00:00:01\" } }",
       "f:2:22: address: 10.0.0.2 is neither another node"},
  };
}

TEST(Cluster, EveryBadTextIsRefusedNamingThePlace) {
  std::vector<BadRow> rows = bad_clusters();
  const std::vector<BadRow> hops = bad_next_hops();
  rows.insert(rows.end(), hops.begin(), hops.end());
  for (const BadRow& row : rows) {
    SCOPED_TRACE(row.what);
    const LoadResult result = load_text(row.text, "f");
    EXPECT_FALSE(result.ok());
    EXPECT_NE(result.error.find(row.expected), std::string::npos) << "got: " << result.error;
  }
}

TEST(Cluster, TooManyNodes) {
  std::string nodes;
  for (uint32_t i = 0; i <= limits::kNodesMax; ++i) {
    const std::string n = std::to_string(i);
    nodes.append("node { name: \"n").append(n).append("\" address: \"10.0.0.").append(std::to_string(i + 1));
    nodes.append("\" shards: \"").append(n).append("\" }\n");
  }
  const std::string head = "epoch: 1 shards: " + std::to_string(limits::kNodesMax + 1);
  EXPECT_NE(load_text(cluster("n0", nodes, "", head), "f").error.find("f:36:1: node: 33 nodes; at most 32"),
            std::string::npos);
  nodes.erase(nodes.rfind("node"));
  const LoadResult most = load_text(cluster("n0", nodes, "", "epoch: 1 shards: 32"), "f");
  EXPECT_TRUE(most.ok()) << most.error;
}

TEST(Cluster, ListsOfShards) {
  std::string error;
  for (const char* text : {"0", "5", "0-3", "0-3,8", "0,2,4", "0-1023"}) {
    EXPECT_EQ(shards_text(shards_from_text(text, 1024, &error)), text) << error;
  }
  EXPECT_EQ(shards_text(shards_from_text("8,0-1,2-3", 9, &error)), "0-3,8");
  EXPECT_EQ(error, "");
}

TEST(Cluster, MacAddresses) {
  EXPECT_EQ(mac_text({2, 0, 171, 0, 0, 255}), "02:00:ab:00:00:ff");
  EXPECT_EQ(mac_from_text("02:00:ab:00:00:FF"), (std::array<uint8_t, 6>{2, 0, 171, 0, 0, 255}));
}

}  // namespace
}  // namespace txnic::control
