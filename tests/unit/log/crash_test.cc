// SPDX-License-Identifier: BSD-3-Clause
// Hundreds of crash points: commits, checkpoints, full disks and restarts in random order; the process or the power
// goes at a random operation; what recovery brings back is judged by LogNode::start().
#include <random>

#include "tests/support/test_disk.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

constexpr uint32_t kShards = 6;
constexpr int kStepsMax = 4000;

struct Plan {
  uint64_t seed;
  int rounds;
};

NodeConfig draw_config(std::mt19937_64& random) {
  NodeConfig config;
  config.workers = 1 + static_cast<uint32_t>(random() % 4);
  config.segment_bytes = (24 + 8 * (random() % 4)) << 10;
  config.group_bytes = (8 + 4 * static_cast<uint32_t>(random() % 2)) << 10;
  config.durability = random() % 4 == 0 ? Durability::kAsync : Durability::kSync;
  config.checkpoint_rows_per_step = 1 + static_cast<uint32_t>(random() % 5);
  config.checkpoint_log_bytes = random() % 2 == 0 ? 0 : 100'000;
  config.mark_delay_ns = random() % 2 == 0 ? 0 : 20'000;
  config.random_seed = random();
  return config;
}

// Runs until the disk dies, or a while.
void run_until_death(TestDisk& disk, LogNode& node, std::mt19937_64& random) {
  const uint32_t commits_max = 1 + static_cast<uint32_t>(random() % 12);
  for (int i = 0; i < kStepsMax && !disk.dead() && !node.failed(); ++i) {
    const uint64_t commits = random() % (commits_max + 1);
    for (uint64_t c = 0; c < commits; ++c) (void)node.commit(static_cast<uint32_t>(random() % kShards));
    if (random() % 200 == 0) (void)node.keeper().begin_checkpoint();
    if (random() % 300 == 0) disk.set_full(true);
    if (random() % 50 == 0) disk.set_full(false);
    node.step(random() % 100 == 0 ? 300'000'000 : 1000);
  }
  disk.set_full(false);
}

class CrashTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CrashTest, NothingAcknowledgedIsLost) {
  const uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  TestDisk disk(seed);
  std::vector<ShardHistory> history(kShards);
  int starts_died = 0;
  for (int round = 0; round < 25; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    disk.set_latency(1 + static_cast<uint32_t>(random() % 6));
    // Now and then it dies while it starts.
    disk.die_after(random() % 8 == 0 ? 1 + random() % 8 : 10 + random() % 400);
    LogNode node(disk, draw_config(random), &history);
    if (!node.start()) {
      ASSERT_TRUE(disk.dead()) << node.error;
      ++starts_died;
    } else {
      run_until_death(disk, node, random);
    }
    ASSERT_FALSE(HasFailure());
    // kill() keeps what is cached: the next power loss may still take it, and must not matter.
    if (random() % 3 == 0) {
      disk.kill();
    } else {
      disk.crash();
    }
  }
  LogNode last(disk, NodeConfig{}, &history);
  ASSERT_TRUE(last.start()) << last.error;
  EXPECT_LT(starts_died, 25);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CrashTest, ::testing::Range<uint64_t>(1, 41));

}  // namespace
}  // namespace txnic::test
