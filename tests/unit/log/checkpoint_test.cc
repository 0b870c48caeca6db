// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/checkpoint.h"

#include <cerrno>

#include "host/log/format.h"
#include "tests/support/test_disk.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

constexpr uint32_t kShards = 4;

struct CheckpointTest : ::testing::Test {
  bool open(NodeConfig config = {}) {
    node = nullptr;
    node = std::make_unique<LogNode>(disk, config, &history);
    return node->start();
  }
  void commit(int count) {
    for (int i = 0; i < count; ++i) {
      while (!node->commit(static_cast<uint32_t>(i) % kShards)) node->step();
      if (i % 3 == 0) node->step();
    }
  }
  void crash() {
    disk.crash();
    node = nullptr;
  }
  size_t files(const std::string& prefix) const {
    size_t count = 0;
    for (const std::string& name : disk.names()) count += name.starts_with(prefix);
    return count;
  }

  TestDisk disk{11};
  std::vector<ShardHistory> history{kShards};
  std::unique_ptr<LogNode> node;
};

TEST_F(CheckpointTest, ReplacesTheLogBeforeIt) {
  ASSERT_TRUE(open({.workers = 2, .segment_bytes = 24 << 10, .group_bytes = 8 << 10}));
  commit(1000);
  ASSERT_TRUE(node->settle());
  crash();
  ASSERT_TRUE(open({.workers = 3, .segment_bytes = 24 << 10, .group_bytes = 8 << 10}));
  EXPECT_EQ(node->report.records, 1000u);
  commit(500);
  ASSERT_TRUE(node->checkpoint());
  EXPECT_EQ(node->keeper().statistics().checkpoints, 1u);
  EXPECT_GT(node->keeper().statistics().checkpoint_records, 0u);
  EXPECT_EQ(files("checkpoint-"), 3u);
  commit(50);
  ASSERT_TRUE(node->settle());
  const size_t segments = files("log-");
  EXPECT_LT(segments, 16u);
  crash();
  ASSERT_TRUE(open({.workers = 1}));
  EXPECT_LT(node->report.records_by_type[1], 200u);
  EXPECT_GT(node->report.records_by_type[4], 0u);
  EXPECT_GT(node->report.checkpoint_bytes, 0u);
}

TEST_F(CheckpointTest, SegmentsAreRecycledAndOldGroupsNeverCount) {
  const NodeConfig config{.segment_bytes = 24 << 10, .group_bytes = 8 << 10};
  ASSERT_TRUE(open(config));
  for (int round = 0; round < 20; ++round) {
    commit(300);
    ASSERT_TRUE(node->checkpoint());
  }
  EXPECT_GT(node->keeper().statistics().segments_recycled, 10u);
  EXPECT_LT(files("log-"), 12u);
  // The tail of a recycled segment is full of whole groups of older use.
  crash();
  ASSERT_TRUE(open(config)) << node->error;
  commit(10);
  ASSERT_TRUE(node->settle());
  crash();
  ASSERT_TRUE(open(config)) << node->error;
}

TEST_F(CheckpointTest, ByItselfAfterSoMuchLog) {
  ASSERT_TRUE(open({.checkpoint_log_bytes = 200'000}));
  commit(3000);
  for (int i = 0; i < 2000; ++i) node->step();
  EXPECT_GE(node->keeper().statistics().checkpoints, 2u);
  EXPECT_LT(node->keeper().statistics().log_bytes, 400'000u);
}

TEST_F(CheckpointTest, DoesNotCountBeforeTheLogIsDurable) {
  ASSERT_TRUE(open());
  commit(100);
  ASSERT_TRUE(node->settle());
  ASSERT_TRUE(node->keeper().begin_checkpoint());
  // Everything is written while the log's own write hangs: the part holds effects that are not durable.
  ASSERT_TRUE(node->commit(0));
  node->keeper().step(node->now());
  disk.set_latency(1);
  log::CheckpointWriter* part = node->keeper().start_part(0, node->log(0));
  ASSERT_NE(part, nullptr);
  part->finish(node->log(0).end());
  for (int i = 0; i < 10 && !part->done(); ++i) part->poll();
  EXPECT_TRUE(part->done());
  EXPECT_FALSE(part->failed());
  node->keeper().step(node->now());
  EXPECT_TRUE(node->keeper().checkpoint_running());
  EXPECT_EQ(node->keeper().statistics().checkpoints, 0u);
  ASSERT_TRUE(node->settle());
  node->keeper().step(node->now());
  EXPECT_EQ(node->keeper().statistics().checkpoints, 1u);
}

TEST_F(CheckpointTest, OfANodeThatHasWrittenNothing) {
  ASSERT_TRUE(open({.workers = 2}));
  ASSERT_TRUE(node->checkpoint());
  EXPECT_EQ(node->keeper().statistics().checkpoints, 1u);
  crash();
  ASSERT_TRUE(open()) << node->error;
}

TEST_F(CheckpointTest, FailedWriteGivesItUpAndTheLogGoesOn) {
  ASSERT_TRUE(open());
  commit(100);
  ASSERT_TRUE(node->settle());
  ASSERT_TRUE(node->keeper().begin_checkpoint());
  node->keeper().step(node->now());
  disk.fail_syncs(EIO);  // nothing of the log is in flight
  for (int i = 0; i < 100 && node->keeper().checkpoint_running(); ++i) node->step();
  EXPECT_FALSE(node->keeper().checkpoint_running());
  disk.fail_syncs(0);
  EXPECT_EQ(node->keeper().statistics().checkpoints_failed, 1u);
  EXPECT_EQ(files("checkpoint-"), 0u);
  EXPECT_FALSE(node->failed());
  commit(10);
  node->step(2'000'000'000);
  ASSERT_TRUE(node->checkpoint());
  crash();
  ASSERT_TRUE(open()) << node->error;
}

TEST_F(CheckpointTest, FullDiskGivesItUp) {
  ASSERT_TRUE(open());
  commit(100);
  ASSERT_TRUE(node->settle());
  disk.set_full(true);
  ASSERT_TRUE(node->keeper().begin_checkpoint());
  for (int i = 0; i < 100; ++i) node->step();
  EXPECT_FALSE(node->keeper().checkpoint_running());
  EXPECT_FALSE(node->failed());
  disk.set_full(false);
  node->step(2'000'000'000);
  ASSERT_TRUE(node->checkpoint());
}

TEST_F(CheckpointTest, OneAtATimeAndUnstartedPartsAreWithdrawn) {
  ASSERT_TRUE(open({.workers = 2}));
  ASSERT_TRUE(node->keeper().begin_checkpoint());
  EXPECT_FALSE(node->keeper().begin_checkpoint());
  node->keeper().step(node->now());
  EXPECT_FALSE(node->keeper().begin_checkpoint());
  // Worker 0 writes and fails, worker 1 has not begun.
  log::CheckpointWriter* part = node->keeper().start_part(0, node->log(0));
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(node->keeper().part(0), part);
  EXPECT_EQ(node->keeper().part(1), nullptr);
  EXPECT_TRUE(node->keeper().part_offered(1));
  std::byte* at = part->reserve(sizeof(log::RecordHeader));
  ASSERT_NE(at, nullptr);
  part->append(write_record(at, log::RecordType::kShardState, 0, 1, 0, 0, {}));
  disk.fail_syncs(EIO);
  part->finish(node->log(0).end());
  for (int i = 0; i < 5; ++i) part->poll();
  EXPECT_TRUE(part->failed());
  EXPECT_TRUE(part->done());
  EXPECT_EQ(part->reserve(sizeof(log::RecordHeader)), nullptr);
  EXPECT_EQ(node->keeper().part(0), nullptr);
  for (int i = 0; i < 5; ++i) node->keeper().step(node->now());
  EXPECT_FALSE(node->keeper().part_offered(1));
  EXPECT_EQ(node->keeper().start_part(1, node->log(1)), nullptr);
  EXPECT_FALSE(node->keeper().checkpoint_running());
}

TEST_F(CheckpointTest, DamagedPartStopsTheStart) {
  ASSERT_TRUE(open());
  commit(100);
  ASSERT_TRUE(node->checkpoint());
  crash();
  const std::string name = log::part_name(1, 0);
  for (const uint64_t offset : {10ull, 4096ull + 8, 4096ull + 200}) {
    disk.flip(name, offset, std::byte{1});
    EXPECT_FALSE(open());
    EXPECT_NE(node->error.find(name), std::string::npos) << node->error;
    disk.flip(name, offset, std::byte{1});
  }
  EXPECT_TRUE(open()) << node->error;
}

}  // namespace
}  // namespace txnic::test
