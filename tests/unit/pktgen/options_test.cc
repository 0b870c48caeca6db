// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/apps/options.h"

#include <gtest/gtest.h>

#include "pktgen/apps/values.h"
#include "pktgen/workload/random.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {
namespace {

bool parse(std::vector<std::string> arguments, Options* options, std::string* error) {
  return parse_options(arguments, options, error);
}

TEST(Options, TheDefaultsAreComplete) {
  Options options;
  std::string error;
  ASSERT_TRUE(parse({}, &options, &error)) << error;
  EXPECT_EQ(options.row_name, "get");
  EXPECT_EQ(options.load.window, 512u);
  EXPECT_EQ(options.config_hash.size(), 16u);
}

TEST(Options, TheIssuesExampleIsTaken) {
  Options options;
  std::string error;
  ASSERT_TRUE(parse({"--node", "10.99.0.1:7700", "--address", "10.99.0.2", "--workload", "smallbank", "--accounts",
                     "1000000", "--sessions", "16", "--window", "512", "--duration", "10", "--json", "out.json"},
                    &options, &error))
      << error;
  EXPECT_EQ(options.node, (Endpoint{0x0a630001, 7700}));
  EXPECT_EQ(options.local.address, 0x0a630002u);
  EXPECT_EQ(options.workload.name, "smallbank");
  EXPECT_EQ(options.workload.records, 1'000'000u);
  EXPECT_EQ(options.load.sessions, 16u);
  EXPECT_EQ(options.json_path, "out.json");
}

TEST(Options, ValuesMayFollowAnEqualsSign) {
  Options options;
  std::string error;
  ASSERT_TRUE(parse({"--window=64", "--rate=2.5e6"}, &options, &error)) << error;
  EXPECT_EQ(options.load.window, 64u);
  EXPECT_EQ(options.rate, 2.5e6);
}

TEST(Options, WhatIsWrongIsNamed) {
  const struct {
    std::vector<std::string> arguments;
    const char* part;  // of the error
  } rows[] = {
      {{"--widnow", "5"}, "did you mean --window?"},
      {{"--frobnicate"}, "see --help"},
      {{"window"}, "begin with '--'"},
      {{"--"}, "begin with '--'"},
      {{"--window"}, "needs a value"},
      {{"--window", "0"}, "not a valid"},
      {{"--window", "-1"}, "not a valid"},
      {{"--window", "12x"}, "not a valid"},
      {{"--window", ""}, "not a valid"},
      {{"--window", "99999999999999999999"}, "not a valid"},
      {{"--raw=yes"}, "takes no value"},
      {{"--theta", "1"}, "not a valid"},
      {{"--theta", "nan"}, "not a valid"},
      {{"--rate", "inf"}, "not a valid"},
      {{"--duration", "-1"}, "not a valid"},
      {{"--node", "10.99.0"}, "not a valid"},
      {{"--node", "10.99.0.1:0"}, "not a valid"},
      {{"--node", "10.99.0.256"}, "not a valid"},
      {{"--node-mac", "02:00:00:00:00"}, "not a valid"},
      {{"--idle", "doze"}, "not a valid"},
      {{"--transport", "pigeon"}, "not a valid"},
      {{"--json", ""}, "not a valid"},
      {{"--duration", "0"}, "would never end"},
      {{"--raw", "--transport", "socket"}, "needs a DPDK port"},
      {{"--verify", "a", "--ledger", "b"}, "makes no run"},
  };
  for (const auto& row : rows) {
    Options options;
    std::string error;
    EXPECT_FALSE(parse(row.arguments, &options, &error)) << row.arguments[0];
    EXPECT_NE(error.find(row.part), std::string::npos) << row.arguments[0] << ": " << error;
  }
}

TEST(Options, GarbageNeverDoesMoreThanFail) {
  const std::string alphabet("-=.:0123456789abcxyz\0\xff /", 24);
  Random random(2);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::vector<std::string> arguments;
    const uint64_t words = random.below(4);
    for (uint64_t w = 0; w < words; ++w) {
      std::string word = random.below(2) == 0 ? "--" : "";
      const uint64_t length = random.below(12);
      for (uint64_t i = 0; i < length; ++i) word += alphabet[random.below(alphabet.size())];
      arguments.push_back(word);
    }
    Options options;
    std::string error;
    const bool good = parse(arguments, &options, &error);
    EXPECT_EQ(good, error.empty());
  }
}

TEST(Options, HelpNamesEveryWorkloadAndExitCode) {
  const std::string help = help_text();
  for (const WorkloadEntry& entry : workload_catalogue()) EXPECT_NE(help.find(entry.name), std::string::npos);
  for (const char* part : {"Exit codes", "--json", "--raw", "--write-pcap", "--ledger", "--verify"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part;
  }
  size_t longest = 0, length = 0;
  for (const char c : help) {
    length = c == '\n' ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  EXPECT_LE(longest, 132u);
}

TEST(Options, TheHashFollowsWhatShapesTheRun) {
  const auto hash = [](std::vector<std::string> arguments) {
    Options options;
    std::string error;
    EXPECT_TRUE(parse(arguments, &options, &error)) << error;
    return options.config_hash;
  };
  EXPECT_EQ(hash({}), hash({"--workload", "get"}));
  EXPECT_EQ(hash({}), hash({"--json", "x", "--progress"}));
  EXPECT_NE(hash({}), hash({"--workload", "rmw2"}));
  EXPECT_NE(hash({}), hash({"--seed", "2"}));
  EXPECT_NE(hash({}), hash({"--window", "513"}));
}

TEST(MakeWorkload, NamesAndLimits) {
  const struct {
    const char* name;
    uint32_t value_bytes, operations;
    bool good;
  } rows[] = {
      {"echo", 0, 0, true},        {"get", 0, 0, true},      {"put1", 0, 0, true},     {"put16", 40, 0, true},
      {"put17", 40, 0, false},     {"rmw2", 0, 0, true},     {"rmw0", 0, 0, false},    {"rmw", 0, 0, false},
      {"rmw2x", 0, 0, false},      {"rmw16", 200, 0, false}, {"ycsb-a", 0, 0, true},   {"ycsb-f", 0, 10, true},
      {"ycsb-a", 1000, 10, false}, {"ycsb-d", 0, 0, false},  {"ycsb-", 0, 0, false},   {"smallbank", 0, 0, true},
      {"counter", 0, 0, true},     {"", 0, 0, false},        {"GET", 0, 0, false},     {"get", 1024, 0, true},
  };
  for (const auto& row : rows) {
    WorkloadSettings settings;
    settings.name = row.name;
    settings.value_bytes = row.value_bytes;
    settings.operations = row.operations;
    std::string error;
    const auto workload = make_workload(settings, &error);
    EXPECT_EQ(workload != nullptr, row.good) << row.name << ": " << error;
    EXPECT_EQ(error.empty(), row.good) << row.name << ": " << error;
    if (workload != nullptr) {
      EXPECT_LE(workload->kinds().size(), size_t{Workload::kKindsMax});
    }
  }
}

TEST(Values, EditDistance) {
  EXPECT_EQ(edit_distance("window", "window"), 0u);
  EXPECT_EQ(edit_distance("widnow", "window"), 2u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("sessions", "session"), 1u);
}

}  // namespace
}  // namespace txnic::pktgen
