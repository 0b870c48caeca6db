// SPDX-License-Identifier: BSD-3-Clause
// Two processes, one of them killed under load again and again; the other must go on. Argument: the echo_app program.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

#include "tests/unit/dataplane/process.h"

namespace txnic::dataplane {
namespace {

using test::eventually;
using test::Process;

std::string g_echo_app;

class PeersOverProcesses : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/txnic-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Process> run(const char* what, int number) {
    const bool is_node = std::string(what).starts_with("node");
    std::vector<std::string> arguments = {
        g_echo_app, "--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "--no-shconf", "--file-prefix",
        "txnic-test-" + std::to_string(getpid()) + "-" + std::to_string(++started_), "--lcores", test::two_lcores(),
        "--vdev=net_memif0,id=0,socket-abstract=no,role=" + std::string(is_node ? "server" : "client") + ",socket=" +
            directory_ + "/s",
        "--", what, "600"};
    return std::make_unique<Process>(arguments, directory_ + "/" + what + std::to_string(number));
  }
  void a_random_moment() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random_() % 150));
  }

  static constexpr int kKills = 5;
  std::string directory_;
  std::mt19937 random_{5};
  int started_ = 0;
};

TEST_F(PeersOverProcesses, TheNodeOutlivesItsClients) {
  auto node = run("node-sleep", 0);
  for (int i = 0; i < kKills; ++i) {
    auto client = run("client", i);
    ASSERT_TRUE(eventually([&] { return client->count("peer connected") != 0 || !client->is_running(); }));
    a_random_moment();
    ASSERT_EQ(client->end(SIGKILL), -SIGKILL) << client->output();
    ASSERT_TRUE(node->is_running()) << "after kill " << i << "\n" << node->output();
    ASSERT_TRUE(eventually([&] { return node->count("peer gone") == static_cast<size_t>(i + 1); })) << node->output();
  }
  EXPECT_EQ(node->end(SIGINT), 0) << node->output();
  EXPECT_EQ(node->count("unmaps under guard: " + std::to_string(kKills)), 1u)
      << "the driver unmapped without the guard\n"
      << node->output();
}

TEST_F(PeersOverProcesses, TheClientOutlivesItsNodes) {
  auto client = run("client", 0);
  for (int i = 0; i <= kKills; ++i) {
    auto node = run("node-sleep", i);
    ASSERT_TRUE(eventually([&] { return node->count("peer connected") != 0 || !node->is_running(); }));
    ASSERT_TRUE(eventually([&] { return client->count("peer connected") == static_cast<size_t>(i + 1); }))
        << client->output();
    a_random_moment();
    if (i == kKills) break;
    ASSERT_EQ(node->end(SIGKILL), -SIGKILL) << node->output();
    ASSERT_TRUE(eventually([&] { return client->count("peer gone") == static_cast<size_t>(i + 1); }));
    ASSERT_TRUE(client->is_running()) << "after kill " << i << "\n" << client->output();
  }
  EXPECT_EQ(client->end(SIGINT), 0) << client->output();
}

// ---- what a failed start says ---------------------------------------------------------------------
struct FailedStart {
  const char* description;
  std::vector<std::string> arguments;  // "@": the test's directory
  const char* says;
};

TEST_F(PeersOverProcesses, AFailedStartNamesCauseAndNextStep) {
  auto node = run("node-sleep", 0);
  ASSERT_TRUE(eventually([&] { return node->count("ready") != 0 || !node->is_running(); }));
  const std::string device = "--vdev=net_memif0,role=server,id=0,socket-abstract=no,socket=";
  const std::vector<FailedStart> rows = {
      {"no port", {"-m", "64", "--", "node", "1"}, "error: no port: give one with --vdev="},
      {"a word too many", {"-m", "64", "stray", "--", "node", "1"}, "unknown argument \"stray\" in front of \"--\""},
      {"an unknown EAL argument", {"-m", "64", "--bogus", "--", "node", "1"}, "Check the arguments in front of \"--\""},
      {"the socket is taken", {"-m", "64", device + "@/s", "--", "node", "1"}, "Another process listens on"},
      {"no such directory", {"-m", "64", device + "@/none/s", "--", "node", "1"}, "does not exist: create it"},
      {"too little memory", {"-m", "8", "--vdev=net_null0", "--", "node", "1"}, "Give the EAL more memory"},
  };
  for (const FailedStart& row : rows) {
    std::vector<std::string> arguments = {
        g_echo_app, "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "--file-prefix",
        "txnic-test-" + std::to_string(getpid()) + "-" + std::to_string(++started_), "--lcores", test::two_lcores()};
    for (std::string a : row.arguments) {
      if (const size_t at = a.find('@'); at != std::string::npos) a.replace(at, 1, directory_);
      arguments.push_back(a);
    }
    Process process(arguments, directory_ + "/failed");
    EXPECT_TRUE(eventually([&] { return !process.is_running(); })) << row.description;
    EXPECT_EQ(process.end(SIGKILL), 1) << row.description << "\n" << process.output();
    EXPECT_EQ(process.count(row.says), 1u) << row.description << "\n" << process.output();
  }
  EXPECT_EQ(node->end(SIGINT), 0) << "disturbed by the others\n" << node->output();
}

}  // namespace
}  // namespace txnic::dataplane

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s ECHO_APP\n", argv[0]);
    return 2;
  }
  txnic::dataplane::g_echo_app = argv[1];
  return RUN_ALL_TESTS();
}
