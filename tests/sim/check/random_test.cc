// SPDX-License-Identifier: BSD-3-Clause
// Random serial executions under concurrent clients pass; spoiled ones do not. And how fast.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "tests/sim/check/edn.h"
#include "tests/sim/check/generate.h"
#include "tests/sim/check/list_append.h"

namespace {

using namespace txnic::check;

constexpr uint64_t kSeeds = 400;

#if defined(__SANITIZE_ADDRESS__)
#define TXNIC_CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TXNIC_CHECK_SANITIZED 1
#endif
#endif
#ifdef TXNIC_CHECK_SANITIZED
constexpr uint32_t kSpeedTransactions = 10'000;  // a sanitizer's speed says nothing
#else
constexpr uint32_t kSpeedTransactions = 100'000;
#endif

GenerateOptions options_of(Random& random) {
  GenerateOptions options;
  options.transactions = static_cast<uint32_t>(50 + below(random, 250));
  options.processes = static_cast<uint32_t>(1 + below(random, 12));
  options.keys = static_cast<uint32_t>(1 + below(random, 8));
  options.key_life = below(random, 2) == 0 ? 0 : 20;
  return options;
}

TEST(Random, SerialExecutionsPass) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const History history = generate(random, options_of(random));
    const Verdict verdict = check_list_append(history);
    ASSERT_TRUE(verdict.valid()) << "seed " << seed << ": " << summary(verdict) << '\n' << report(verdict);
  }
}

struct Mutation {
  const char* name;
  std::optional<History> (*spoil)(const History&, Random&);
};

class Mutations : public ::testing::TestWithParam<Mutation> {};

TEST_P(Mutations, AreCaught) {
  uint64_t spoiled = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const History history = generate(random, options_of(random));
    const std::optional<History> bad = GetParam().spoil(history, random);
    if (!bad) continue;
    ++spoiled;
    ASSERT_FALSE(check_list_append(*bad).valid()) << GetParam().name << ", seed " << seed;
  }
  EXPECT_GT(spoiled, kSeeds * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(All, Mutations,
                         ::testing::Values(Mutation{"swap_reads", swap_reads}, Mutation{"drop_append", drop_append},
                                           Mutation{"reorder_real_time", reorder_real_time},
                                           Mutation{"fail_observed", fail_observed},
                                           Mutation{"duplicate_element", duplicate_element}),
                         [](const auto& row) { return row.param.name; });

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Prints rates; asserts only verdicts.
TEST(Speed, OfManyTransactions) {
  GenerateOptions options;
  options.transactions = kSpeedTransactions;
  options.processes = 30;
  options.keys = 20;
  options.key_life = 200;
  Random random(1);
  const History history = generate(random, options);

  auto start = std::chrono::steady_clock::now();
  const Verdict verdict = check_list_append(history);
  double seconds = seconds_since(start);
  std::printf("check: %.2f s, %.0f operations/s\n", seconds, options.transactions / seconds);
  ASSERT_TRUE(verdict.valid()) << report(verdict);

  const std::string text = write_edn(history);
  start = std::chrono::steady_clock::now();
  const ReadResult read = read_edn(text, "speed");
  seconds = seconds_since(start);
  std::printf("read: %.2f s, %.0f operations/s, %.0f MB/s\n", seconds, options.transactions / seconds,
              static_cast<double>(text.size()) / 1e6 / seconds);
  ASSERT_FALSE(read.error.has_value()) << read.error->text();
  EXPECT_EQ(read.history.operations, history.operations);

  // A cycle with nearly everything in it: a read at the end sees the very first state.
  History spoiled = history;
  const Key key = spoiled.operations[0].micro_ops[0].key;
  const size_t late = spoiled.invoke(-1, {MicroOp::read(key)});
  spoiled.complete(late, Outcome::kOk);
  start = std::chrono::steady_clock::now();
  const Verdict stale = check_list_append(spoiled);
  seconds = seconds_since(start);
  std::printf("check of a wrong one: %.2f s, %s\n", seconds, summary(stale).c_str());
  ASSERT_TRUE(stale.has("G-single-realtime")) << report(stale);
  for (const Anomaly& anomaly : stale.anomalies) {
    if (anomaly.name == "G-single-realtime") {
      EXPECT_EQ(anomaly.operations.size(), 2u) << anomaly.text;
    }
  }
}

}  // namespace
