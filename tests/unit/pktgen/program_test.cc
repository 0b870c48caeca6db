// SPDX-License-Identifier: BSD-3-Clause
// The program itself: arguments, texts and exit codes, where no DPDK and no node are needed.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

namespace {

struct Ran {
  int code = -1;
  std::string text;
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = getenv("TXGEN");
    if (path == nullptr) GTEST_SKIP() << "TXGEN does not name the program";
    path_ = path;
    std::string pattern = (std::filesystem::temp_directory_path() / "txgen-program-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  Ran run(const std::string& arguments) const {
    Ran ran;
    FILE* const pipe = popen(("'" + path_ + "' " + arguments + " 2>&1 </dev/null").c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    if (pipe == nullptr) return ran;
    char part[4096];
    for (size_t n = fread(part, 1, sizeof part, pipe); n != 0; n = fread(part, 1, sizeof part, pipe)) {
      ran.text.append(part, n);
    }
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }
  std::string path_;
  std::string directory_;  // files go here and nowhere else
};

TEST_F(Program, HelpIsNoError) {
  for (const char* arguments : {"--help", "-h", "-l 0 -- --help", "--workload get --help"}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 0) << arguments;
    EXPECT_NE(ran.text.find("Exit codes"), std::string::npos) << arguments;
  }
}

TEST_F(Program, AWrongCommandLineIsExitCodeTwo) {
  const struct {
    const char* arguments;
    const char* part;
  } rows[] = {
      {"", "txgen EAL-ARGUMENTS"},
      {"--widnow 5", "did you mean --window?"},
      {"-l 0 -- --widnow 5", "did you mean --window?"},
      {"--workload nosuch", "unknown workload 'nosuch'"},
      {"--workload get", "needs EAL arguments"},
      {"stray", "unexpected argument 'stray'"},
  };
  for (const auto& row : rows) {
    const Ran ran = run(row.arguments);
    EXPECT_EQ(ran.code, 2) << row.arguments;
    EXPECT_NE(ran.text.find(row.part), std::string::npos) << row.arguments << ": " << ran.text;
  }
}

TEST_F(Program, TemplatesNeedNeitherNodeNorDpdk) {
  const std::string file = directory_ + "/requests.pcap";
  const Ran refused = run("--write-pcap '" + file + "' --workload smallbank");
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_NE(refused.text.find("templates exist for"), std::string::npos) << refused.text;
  EXPECT_FALSE(std::filesystem::exists(file));
  const Ran ran = run("--write-pcap '" + file + "' --workload rmw2 --count 100");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("wrote 100 packets"), std::string::npos) << ran.text;
  EXPECT_GT(std::filesystem::file_size(file), 100u * 100u);
}

}  // namespace
