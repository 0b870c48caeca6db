// SPDX-License-Identifier: BSD-3-Clause
// The examples, run as programs against the model node. Arguments: their paths.
#include <spawn.h>
#include <sys/wait.h>

#include "tests/unit/client/model_server.h"

extern char** environ;

namespace txnic::client::test {
namespace {

std::vector<std::string> examples;

int run(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(Examples, SucceedAgainstANode) {
  ASSERT_EQ(examples.size(), 3u);
  ModelServer server;
  for (const std::string& example : examples) {
    EXPECT_EQ(run(example, {server.address()}), 0) << example;
    EXPECT_EQ(run(example, {server.address()}), 0) << example << ", the second time";
    EXPECT_EQ(run(example, {}), 2) << example;
    EXPECT_EQ(run(example, {"nonsense"}), 1) << example;
  }
}

TEST(Examples, TheBankIsRightOverTwoShards) {
  ASSERT_EQ(examples.size(), 3u);
  ModelServer server;
  EXPECT_EQ(run(examples[1], {server.address(), "far"}), 0);
  EXPECT_EQ(run(examples[1], {server.address(), "away"}), 2);
}

TEST(Examples, CounterIsExactOverABadNetwork) {
  ASSERT_EQ(examples.size(), 3u);
  ModelServer server({.busy_per_mille = 50}, {.drop_per_mille = 100, .double_per_mille = 100});
  EXPECT_EQ(run(examples[2], {server.address(), "300"}), 0);
}

}  // namespace
}  // namespace txnic::client::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) txnic::client::test::examples.emplace_back(argv[i]);
  return RUN_ALL_TESTS();
}
