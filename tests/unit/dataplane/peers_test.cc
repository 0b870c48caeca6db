// SPDX-License-Identifier: BSD-3-Clause
// Two processes, one of them killed under load again and again; the other must go on. Argument: the echo_app program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string g_echo_app;

bool eventually(const auto& condition) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(60); Clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

// Main and one worker on the first CPU that we may use.
std::string two_lcores() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int cpu = 0;
  while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed)) ++cpu;
  const std::string number = std::to_string(cpu);
  return "0@" + number + ",1@" + number;
}

class Process {
 public:
  Process(const std::vector<std::string>& arguments, std::string log) : log_(std::move(log)) {
    std::vector<char*> pointers;
    for (const std::string& a : arguments) pointers.push_back(const_cast<char*>(a.c_str()));
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing is left behind if the test dies
    const int fd = open(log_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  ~Process() { end(SIGKILL); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The exit code, or minus the signal that ended it.
  int end(int signal) {
    if (pid_ <= 0) return last_;
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    last_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return last_;
  }
  bool is_running() {
    if (pid_ <= 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == 0) return true;
    pid_ = 0;
    last_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return false;
  }
  std::string output() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t count(const std::string& text) const {
    const std::string all = output();
    size_t found = 0;
    for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++found;
    return found;
  }

 private:
  std::string log_;
  pid_t pid_ = 0;
  int last_ = 0;
};

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
        "txnic-test-" + std::to_string(getpid()) + "-" + std::to_string(++started_), "--lcores", two_lcores(),
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

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s ECHO_APP\n", argv[0]);
    return 2;
  }
  g_echo_app = argv[1];
  return RUN_ALL_TESTS();
}
