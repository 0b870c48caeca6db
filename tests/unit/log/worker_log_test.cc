// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/worker_log.h"

#include <cerrno>

#include "host/log/format.h"
#include "tests/support/test_disk.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

using log::LogState;

struct WorkerLogTest : ::testing::Test {
  void open(NodeConfig config = {}, uint32_t shards = 1) {
    history.resize(shards);
    node = std::make_unique<LogNode>(disk, config, &history);
    ASSERT_TRUE(node->start()) << node->error;
  }
  log::WorkerLog& log() { return node->log(0); }
  // Recovers what is on the disk now, as after a power loss.
  void crash_and_judge(NodeConfig config = {}) {
    disk.crash();
    node = nullptr;
    open(config, static_cast<uint32_t>(history.size()));
  }

  TestDisk disk{1};
  std::vector<ShardHistory> history;
  std::unique_ptr<LogNode> node;
};

TEST_F(WorkerLogTest, OneGroupIsInFlightWhileTheNextGathers) {
  open();
  disk.set_slow(true);
  ASSERT_TRUE(node->commit(0));
  node->step();
  EXPECT_EQ(log().statistics().groups, 1u);
  ASSERT_TRUE(node->commit(0));
  ASSERT_TRUE(node->commit(0));
  for (int i = 0; i < 5; ++i) node->step();
  EXPECT_EQ(log().statistics().groups, 1u);
  EXPECT_EQ(history[0].acknowledged, 0u);
  EXPECT_FALSE(log().quiet());
  disk.set_slow(false);
  node->step();  // takes the completion, and submits the next group at once
  EXPECT_EQ(history[0].acknowledged, 1u);
  EXPECT_EQ(log().statistics().groups, 2u);
  node->step();
  EXPECT_EQ(history[0].acknowledged, 3u);
  EXPECT_EQ(log().durable(), log().end());
  EXPECT_TRUE(log().quiet());
}

TEST_F(WorkerLogTest, ReserveWithoutAppendChangesNothing) {
  open();
  const Lsn before = log().end();
  ASSERT_NE(log().reserve(128), nullptr);
  ASSERT_NE(log().reserve(4096), nullptr);
  EXPECT_EQ(log().end(), before);
  node->step();
  EXPECT_EQ(log().statistics().groups, 0u);
  EXPECT_TRUE(log().quiet());
}

TEST_F(WorkerLogTest, FullBufferRefusesAndResumes) {
  open({.group_bytes = 8192});
  disk.set_slow(true);
  uint32_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    taken += node->commit(0);
    node->step();
  }
  EXPECT_LT(taken, 1000u);
  EXPECT_EQ(log().state(), LogState::kFull);
  EXPECT_GT(log().statistics().full, 0u);
  disk.set_slow(false);
  ASSERT_TRUE(node->settle());
  EXPECT_EQ(log().state(), LogState::kOpen);
  EXPECT_EQ(history[0].acknowledged, taken);
  EXPECT_TRUE(node->commit(0));
  crash_and_judge();
}

TEST_F(WorkerLogTest, FullDiskRefusesAndResumesByItself) {
  open();
  disk.set_full(true);
  uint32_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    refused += !node->commit(0);
    node->step();
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(log().state(), LogState::kFull);
  EXPECT_TRUE(node->keeper().statistics().disk_full);
  EXPECT_FALSE(node->failed());
  disk.set_full(false);
  node->step(1'000'000'000);  // past the retry time
  ASSERT_TRUE(node->settle());
  EXPECT_TRUE(node->commit(0));
  EXPECT_EQ(log().state(), LogState::kOpen);
  EXPECT_FALSE(node->keeper().statistics().disk_full);
  ASSERT_TRUE(node->settle());
  EXPECT_EQ(history[0].acknowledged, history[0].appended);
  crash_and_judge();
}

TEST_F(WorkerLogTest, FailedSyncIsForGood) {
  open();
  ASSERT_TRUE(node->commit(0));
  ASSERT_TRUE(node->settle());
  disk.fail_syncs(EIO);
  ASSERT_TRUE(node->commit(0));
  for (int i = 0; i < 3; ++i) node->step();
  EXPECT_EQ(log().state(), LogState::kFailed);
  EXPECT_EQ(log().last_error(), EIO);
  EXPECT_EQ(history[0].acknowledged, 1u);
  disk.fail_syncs(0);
  EXPECT_FALSE(node->commit(0));
  for (int i = 0; i < 10; ++i) node->step();
  EXPECT_EQ(log().state(), LogState::kFailed);
  EXPECT_EQ(history[0].acknowledged, 1u);
  crash_and_judge();
}

TEST_F(WorkerLogTest, KeeperThatFailsStopsTheLog) {
  open();
  disk.fail_operations(EIO);
  for (int i = 0; i < 2000 && !node->failed(); ++i) {
    (void)node->commit(0);
    node->step();
  }
  EXPECT_TRUE(node->keeper().failed());
  (void)node->commit(0);
  node->step();
  EXPECT_EQ(log().state(), LogState::kFailed);
  EXPECT_NE(node->keeper().statistics().last_error, "");
}

TEST_F(WorkerLogTest, AsyncGathersForItsDelay) {
  open({.durability = Durability::kAsync});
  ASSERT_TRUE(node->commit(0));
  node->step(1000);
  node->step(500'000);
  EXPECT_EQ(log().statistics().groups, 0u);
  node->step(600'000);
  EXPECT_EQ(log().statistics().groups, 1u);
  node->step(1000);
  EXPECT_EQ(history[0].acknowledged, 1u);
}

TEST_F(WorkerLogTest, AsyncGoesWhenHalfFull) {
  open({.group_bytes = 8192, .durability = Durability::kAsync});
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(node->commit(0));
  node->step(1);
  EXPECT_EQ(log().statistics().groups, 1u);
}

TEST_F(WorkerLogTest, VersionsBecomeDurableGroupByGroup) {
  open({}, 2);
  std::vector<Version> current{10, 20}, durable{10, 20};
  log().track_versions(current, durable);
  disk.set_slow(true);
  ASSERT_TRUE(node->commit(0));
  current[0] = 11;
  node->step();
  ASSERT_TRUE(node->commit(1));
  current[1] = 21;
  node->step();
  EXPECT_EQ(durable, (std::vector<Version>{10, 20}));
  disk.set_slow(false);
  node->step();
  EXPECT_EQ(durable, (std::vector<Version>{11, 20}));
  node->step();
  EXPECT_EQ(durable, (std::vector<Version>{11, 21}));
}

TEST_F(WorkerLogTest, SegmentsFollowEachOtherAndGroupsDoNotSpan) {
  open({.segment_bytes = 32 << 10, .group_bytes = 16 << 10});
  for (int i = 0; i < 2000; ++i) {
    (void)node->commit(0);
    if (i % 20 == 0) node->step();
  }
  ASSERT_TRUE(node->settle());
  EXPECT_GT(node->keeper().statistics().segments_created, 5u);
  EXPECT_EQ(history[0].acknowledged, history[0].appended);
  crash_and_judge();
  EXPECT_EQ(node->report.logs.at(0).records, history[0].acknowledged);
}

TEST_F(WorkerLogTest, IdleLogMarksItsLastGroup) {
  open();
  ASSERT_TRUE(node->commit(0));
  ASSERT_TRUE(node->settle());
  EXPECT_EQ(log().statistics().groups, 1u);
  node->step(200'000'000);
  node->step();
  EXPECT_EQ(log().statistics().groups, 2u);
  for (int i = 0; i < 10; ++i) node->step(1'000'000'000);
  EXPECT_EQ(log().statistics().groups, 2u);
  crash_and_judge();
  EXPECT_EQ(node->report.logs.at(0).groups, 2u);
  EXPECT_FALSE(node->report.clean_stop);
}

TEST_F(WorkerLogTest, CleanStopIsSeenByRecovery) {
  open({.workers = 2}, 2);
  ASSERT_TRUE(node->commit(0));
  ASSERT_TRUE(node->commit(1));
  ASSERT_TRUE(node->close());
  EXPECT_EQ(log().reserve(64), nullptr);
  crash_and_judge();
  EXPECT_TRUE(node->report.clean_stop);
  EXPECT_EQ(node->report.torn_tail, "");
  crash_and_judge();
  EXPECT_FALSE(node->report.clean_stop);
}

TEST_F(WorkerLogTest, CloseWaitsForAFullDisk) {
  open();
  disk.set_full(true);
  for (int i = 0; i < 2000; ++i) {
    (void)node->commit(0);
    node->step();
  }
  EXPECT_FALSE(node->close(50));
  disk.set_full(false);
  node->step(1'000'000'000);
  EXPECT_TRUE(node->close(50));
  crash_and_judge();
  EXPECT_TRUE(node->report.clean_stop);
}

}  // namespace
}  // namespace txnic::test
