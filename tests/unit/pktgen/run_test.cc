// SPDX-License-Identifier: BSD-3-Clause
// Whole runs as txgen makes them: over kernel UDP on the loopback against the model node, with files and exit codes.
#include "pktgen/apps/run.h"

#include <arpa/inet.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "model_node.h"
#include "pktgen/load/socket_transport.h"
#include "pktgen/report/files.h"
#include "pktgen/report/progress.h"
#include "pktgen/result.pb.h"

namespace txnic::pktgen {
namespace {

// The model node behind a UDP socket. One client at a time.
class ServedNode {
 public:
  explicit ServedNode(uint32_t shards = 4) : node(shards) {
    fd_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    endpoint = {INADDR_LOOPBACK, ntohs(address.sin_port)};
    thread_ = std::thread([this] { serve(); });
  }
  ~ServedNode() {
    stop_.store(true);
    thread_.join();
    close(fd_);
  }
  Endpoint endpoint;

 private:
  void serve() {
    std::vector<std::byte> message(2048);
    while (!stop_.load()) {
      pollfd entry{fd_, POLLIN, 0};
      if (poll(&entry, 1, 10) <= 0) continue;
      sockaddr_in from{};
      socklen_t length = sizeof from;
      const ssize_t got = recvfrom(fd_, message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (got <= 0) continue;
      node.send(message.data(), static_cast<uint32_t>(got), 0, 0);
      Received replies[8];
      for (uint32_t n = node.receive(replies); n != 0; n = node.receive(replies)) {
        for (uint32_t i = 0; i < n; ++i) {
          sendto(fd_, replies[i].message, replies[i].length, 0, reinterpret_cast<sockaddr*>(&from), length);
        }
      }
    }
  }

  test::ModelNode node;
  int fd_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "txgen-run-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& name) const { return directory_ + "/" + name; }
  std::string text_of(const std::string& name) const {
    std::string text, error;
    EXPECT_TRUE(read_file(file(name), &text, &error)) << error;
    return text;
  }
  int run(const Endpoint& node, std::vector<std::string> arguments) {
    for (const char* word : {"--transport", "socket", "--quiet", "--give-up", "20"}) arguments.emplace_back(word);
    Options options;
    std::string error;
    EXPECT_TRUE(parse_options(arguments, &options, &error)) << error;
    options.node = node;
    const auto transport = SocketTransport::make(node, {}, &error);
    EXPECT_NE(transport, nullptr) << error;
    Live live;
    return run_generator(options, arguments, *transport, live);
  }

  std::string directory_;
};

TEST_F(RunTest, AResultFileHoldsTheRun) {
  ServedNode node;
  ASSERT_EQ(run(node.endpoint, {"--workload", "smallbank", "--accounts", "600", "--window", "16", "--transactions",
                                "3000", "--json", file("out.json"), "--name", "bank", "--seed", "7"}),
            kExitOk);
  file::Row row;
  const auto status = google::protobuf::util::JsonStringToMessage(text_of("out.json"), &row);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(row.name(), "bank");
  EXPECT_EQ(row.workload(), "smallbank");
  EXPECT_EQ(row.seed(), 7u);
  EXPECT_EQ(row.transport(), "socket");
  EXPECT_EQ(row.durability(), "sync");
  EXPECT_EQ(row.shards(), 4u);
  EXPECT_EQ(row.end(), "finished");
  EXPECT_EQ(row.sent(), 3000u);
  EXPECT_EQ(row.ended(), 3000u);
  EXPECT_EQ(row.committed() + row.aborted() + row.refused() + row.unknown(), 3000u);
  EXPECT_EQ(row.latency().count(), 3000u);
  EXPECT_LE(row.latency().p50_ns(), row.latency().p99_ns());
  EXPECT_LE(row.latency().p99_ns(), row.latency().max_ns());
  EXPECT_EQ(row.kinds_size(), 6);
  EXPECT_TRUE(row.sums().passed());
  EXPECT_TRUE(row.check().made());
  EXPECT_TRUE(row.check().passed()) << row.check().text();
  EXPECT_EQ(row.config_hash().size(), 16u);
  EXPECT_EQ(row.loaded_records(), 600u);
  EXPECT_GT(row.throughput_per_second(), 0);
  EXPECT_FALSE(row.commit().empty());
  EXPECT_FALSE(row.has_latency_cells());
}

TEST_F(RunTest, TheHistogramAddsUp) {
  ServedNode node;
  ASSERT_EQ(run(node.endpoint, {"--workload", "get", "--records", "100", "--window", "4", "--transactions", "500",
                                "--json", file("out.json"), "--histogram"}),
            kExitOk);
  file::Row row;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text_of("out.json"), &row).ok());
  const file::Cells& cells = row.latency_cells();
  ASSERT_EQ(cells.cell_size(), cells.count_size());
  uint64_t sum = 0;
  for (const uint64_t count : cells.count()) sum += count;
  EXPECT_EQ(sum, row.latency().count());
  EXPECT_EQ(sum, 500u);
  for (int i = 1; i < cells.cell_size(); ++i) EXPECT_GT(cells.cell(i), cells.cell(i - 1));
}

TEST_F(RunTest, ALedgerIsVerifiedByALaterRun) {
  ServedNode node;
  for (const char* workload : {"smallbank", "counter"}) {
    ASSERT_EQ(run(node.endpoint, {"--workload", workload, "--accounts", "600", "--window", "8", "--transactions", "500",
                                  "--ledger", file("ledger.json")}),
              kExitOk);
    EXPECT_EQ(run(node.endpoint, {"--verify", file("ledger.json")}), kExitOk) << workload;
  }
  // The counters' ledger no longer fits after one more run, and the check says so.
  ASSERT_EQ(run(node.endpoint, {"--workload", "counter", "--window", "8", "--transactions", "10", "--no-load"}),
            kExitOk);
  EXPECT_EQ(run(node.endpoint, {"--verify", file("ledger.json")}), kExitCheckFailed);
}

TEST_F(RunTest, GeneratorsThatShareCountersAreVerifiedTogether) {
  ServedNode node;
  const std::vector<std::string> common = {"--workload", "counter", "--window", "4", "--adds", "20", "--ledger"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = common;
    all.insert(all.end(), more.begin(), more.end());
    return run(node.endpoint, all);
  };
  ASSERT_EQ(with({file("a.json")}), kExitOk);
  ASSERT_EQ(with({file("b.json"), "--first-client", "1000"}), kExitOk);
  EXPECT_EQ(run(node.endpoint, {"--verify", file("a.json"), "--verify", file("b.json")}), kExitOk);
  EXPECT_EQ(run(node.endpoint, {"--verify", file("a.json")}), kExitCheckFailed);  // half of the truth
}

TEST_F(RunTest, WhatGoesWrongHasItsExitCode) {
  ServedNode node;
  EXPECT_EQ(run(node.endpoint, {"--verify", file("no-such-file")}), kExitUsage);
  std::string error;
  ASSERT_TRUE(write_file(file("broken.json"), "{]", &error));
  EXPECT_EQ(run(node.endpoint, {"--verify", file("broken.json")}), kExitUsage);
  EXPECT_EQ(run(node.endpoint, {"--workload", "get", "--records", "3", "--transactions", "1", "--ledger", file("x")}),
            kExitUsage);  // get keeps no ledger
  EXPECT_EQ(run(node.endpoint, {"--workload", "rmw8", "--records", "9", "--transactions", "1"}), kExitUsage);
  EXPECT_EQ(run(node.endpoint, {"--records", "20", "--transactions", "1", "--json", file("no/such/folder.json")}),
            kExitUsage);
}

TEST_F(RunTest, NoNodeIsExitCodeThree) {
  Options options;
  std::string error;
  ASSERT_TRUE(parse_options({"--transport", "socket", "--quiet", "--give-up", "0.3"}, &options, &error)) << error;
  // A socket that nobody reads, so that the port is certainly ours.
  ServedNode* const node = new ServedNode;
  const Endpoint endpoint = node->endpoint;
  delete node;
  const auto transport = SocketTransport::make(endpoint, {}, &error);
  ASSERT_NE(transport, nullptr) << error;
  Live live;
  EXPECT_EQ(run_generator(options, {}, *transport, live), kExitCannotStart);
}

TEST(Tables, SayWhatHappened) {
  RunRow row;
  row.name = "rmw2";
  row.peer = "node";
  row.transport = "port";
  row.durability = "sync";
  row.result.measured_ns = 2 * kSecondNs;
  row.result.measured.begun = 1000;
  row.result.measured.end_transaction({.done = true, .good = true});
  row.result.measured.end_transaction({.done = true, .result = Result::kConflict});
  row.result.measured.end_transaction({.done = true, .result = Result::kNotFound});
  row.result.measured.end_transaction({.done = true, .result = Result::kBusy});
  row.result.measured.end_transaction({.done = true, .result = Result::kUnknownOutcome});
  EXPECT_EQ(row.result.measured.executed(), 2u);
  EXPECT_EQ(row.result.measured.aborted(), 2u);
  EXPECT_EQ(row.result.measured.refused(), 1u);
  EXPECT_EQ(row.result.measured.unknown(), 1u);
  row.result.latency.record(1500);
  row.check = {true, false, "one cent is missing"};
  const std::string table = format_table(row);
  for (const char* part : {"rmw2", "durability sync", "CONFLICT 1", "NOT_FOUND 1 (business)", "BUSY 1", "1.5 us",
                           "FAILED: one cent is missing", "p99.99"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << table;
  }
  row.limits.rate = 1000;
  row.result.lag.percent = 2;
  EXPECT_NE(format_table(row).find("INVALID POINT"), std::string::npos);
}

TEST(Tables, NumbersAndTimes) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(format_ns(850), "850 ns");
  EXPECT_EQ(format_ns(27'300), "27.3 us");
  EXPECT_EQ(format_ns(1'200'000), "1.20 ms");
  EXPECT_EQ(format_ns(2.5e9), "2.50 s");
}

TEST(LiveLine, TellsTheSecondAndTheSilence) {
  Live live;
  live.phase = "smallbank";
  const LiveLook before = look_at(live);
  live.executed = 1'000'000;
  live.good = 900'000;
  live.p50_ns = 30'000;
  live.p99_ns = 90'000;
  std::string line = format_live(before, look_at(live), 1, 5);
  for (const char* part : {"5 s", "smallbank", "1,000,000 tx/s", "good 900,000 /s", "p99 90.0 us"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << line;
  }
  live.silent_ns = 3 * kSecondNs;
  line = format_live(before, look_at(live), 1, 6);
  EXPECT_NE(line.find("node silent for 3 s, retrying"), std::string::npos) << line;
  live.units_total = 200;
  live.units_done = 50;
  EXPECT_NE(format_live(before, look_at(live), 1, 7).find("25.0 %"), std::string::npos);
}

}  // namespace
}  // namespace txnic::pktgen
