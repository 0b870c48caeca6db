// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/recovery.h"

#include "host/log/format.h"
#include "host/log/tbb_parallel_for.h"
#include "tests/support/test_disk.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

constexpr uint32_t kShards = 5;

struct RecoveryTest : ::testing::Test {
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
  log::RecoveryReport check(log::RecoverySink* sink = nullptr) {
    log::RecoveryOptions options;
    options.shard_count = kShards;
    options.check_only = sink == nullptr;
    return log::recover(disk, options, sink);
  }
  bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  TestDisk disk{3};
  std::vector<ShardHistory> history{kShards};
  std::unique_ptr<LogNode> node;
};

TEST_F(RecoveryTest, EmptyDirectoryIsIncarnationOne) {
  uint32_t incarnation = 0;
  std::string error;
  ASSERT_TRUE(log::next_incarnation(disk, &incarnation, &error));
  EXPECT_EQ(incarnation, 1u);
  ASSERT_TRUE(open());
  EXPECT_EQ(node->report.last_incarnation, 0u);
  EXPECT_EQ(node->report.records, 0u);
}

// Incarnations that fronts were given are never given again, and what is recovered does not depend on them.
TEST_F(RecoveryTest, FrontsHaveIncarnationsOfTheirOwn) {
  ASSERT_TRUE(open({.keeps_front_incarnation = true}));
  EXPECT_EQ(node->keeper().incarnation(), 1u);
  EXPECT_EQ(node->keeper().take_front_incarnation(), 0u) << "not durable yet";
  commit(100);
  node->step();
  EXPECT_EQ(node->keeper().take_front_incarnation(), 2u);
  EXPECT_EQ(node->keeper().take_front_incarnation(), 0u) << "each is given once";
  node->step();
  EXPECT_EQ(node->keeper().take_front_incarnation(), 3u);
  node->step();  // 4 is ready, and nobody takes it
  commit(100);
  ASSERT_TRUE(node->settle());
  EXPECT_EQ(node->keeper().incarnation(), 1u);
  crash();
  ASSERT_TRUE(open({.workers = 2})) << node->error;
  EXPECT_EQ(node->report.last_incarnation, 4u);
  EXPECT_EQ(node->report.records_by_type[1], 200u);
  EXPECT_EQ(node->keeper().incarnation(), 5u);
  commit(50);
  ASSERT_TRUE(node->settle());
  EXPECT_EQ(node->keeper().take_front_incarnation(), 0u) << "not asked for";
  crash();
  ASSERT_TRUE(open());
  EXPECT_EQ(node->report.records_by_type[1], 250u);
}

TEST_F(RecoveryTest, WorkerCountsChangeBetweenIncarnations) {
  for (const uint32_t workers : {3u, 1u, 4u, 2u, 5u}) {
    ASSERT_TRUE(open({.workers = workers})) << node->error;
    commit(400);
    ASSERT_TRUE(node->settle());
    crash();
  }
  ASSERT_TRUE(open());
  EXPECT_EQ(node->report.last_incarnation, 5u);
  EXPECT_EQ(node->report.records_by_type[1], 2000u);
  EXPECT_EQ(node->report.logs.size(), 3u + 1 + 4 + 2 + 5);
}

TEST_F(RecoveryTest, SessionsGoToEveryShardOfTheirLog) {
  ASSERT_TRUE(open({.workers = 2}));
  ASSERT_TRUE(node->open_session(0, 77, make_stamp(1, 5)));
  ASSERT_TRUE(node->settle());
  crash();
  ModelSink sink(kShards);
  const log::RecoveryReport report = check(&sink);
  ASSERT_TRUE(report.ok) << report.error;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(sink.states[shard].sessions.contains(77), shard % 2 == 0) << shard;
  }
}

TEST_F(RecoveryTest, TornTailIsReportedAndCutForGood) {
  ASSERT_TRUE(open());
  commit(20);
  ASSERT_TRUE(node->settle());
  const log::LogPosition at = node->log(0).next_group();
  // A group whose second half did not arrive.
  disk.set_slow(true);
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(node->commit(0));
  node->step();
  const std::string name = log::segment_name(1, 0, 1);
  disk.set_slow(false);
  node->step();
  disk.crash();
  disk.flip(name, at.offset + 5000, std::byte{1});
  history[0].acknowledged = 4;  // the test tore it, so it was not acknowledged
  ASSERT_TRUE(open()) << node->error;
  EXPECT_EQ(node->report.torn_tail, name + " offset " + std::to_string(at.offset));
  EXPECT_EQ(node->report.torn_tail_bytes, 8192u);
  EXPECT_EQ(node->report.manifest.logs.at(0).end, at);
  commit(20);
  ASSERT_TRUE(node->settle());
  crash();
  // Later damage below the cut is damage, behind it nothing.
  const TestDisk::Snapshot snapshot = disk.snapshot();
  disk.flip(name, at.offset + 100, std::byte{1});
  ASSERT_TRUE(open()) << node->error;
  disk.restore(snapshot);
  disk.flip(name, at.offset - 4096 + 70, std::byte{1});
  EXPECT_FALSE(open());
  EXPECT_TRUE(has(node->error, name)) << node->error;
}

TEST_F(RecoveryTest, DamageBelowALaterGroupStopsTheStart) {
  ASSERT_TRUE(open());
  commit(100);
  ASSERT_TRUE(node->settle());
  crash();
  const std::string name = log::segment_name(1, 0, 1);
  disk.flip(name, 8192 + 80, std::byte{4});
  const log::RecoveryReport report = check();
  EXPECT_FALSE(report.ok);
  EXPECT_TRUE(has(report.error, name + " offset 8192")) << report.error;
  EXPECT_TRUE(has(report.error, "restore")) << report.error;
}

TEST_F(RecoveryTest, DamageInTheLastGroupOfASegmentIsProvenByTheNextSegment) {
  ASSERT_TRUE(open({.segment_bytes = 24 << 10, .group_bytes = 8 << 10}));
  commit(600);
  ASSERT_TRUE(node->settle());
  crash();
  // Destroy every group of segment 2: segment 3 proves that they were there.
  const std::string name = log::segment_name(1, 0, 2);
  for (uint64_t at = 4096; at < (24 << 10); at += 4096) disk.flip(name, at, std::byte{1});
  const log::RecoveryReport report = check();
  EXPECT_FALSE(report.ok);
  EXPECT_TRUE(has(report.error, "damaged")) << report.error;
}

TEST_F(RecoveryTest, MissingSegmentIsNamed) {
  ASSERT_TRUE(open({.segment_bytes = 24 << 10, .group_bytes = 8 << 10}));
  commit(300);
  ASSERT_TRUE(node->settle());
  crash();
  for (const uint64_t number : {1u, 2u}) {
    const TestDisk::Snapshot snapshot = disk.snapshot();
    ASSERT_EQ(disk.remove(log::segment_name(1, 0, number)), 0);
    const log::RecoveryReport report = check();
    EXPECT_FALSE(report.ok);
    EXPECT_TRUE(has(report.error, log::segment_name(1, 0, number) + " is missing")) << report.error;
    disk.restore(snapshot);
  }
}

TEST_F(RecoveryTest, MissingManifestIsRefused) {
  ASSERT_TRUE(open());
  commit(10);
  crash();
  ASSERT_EQ(disk.remove(log::kManifestName), 0);
  const log::RecoveryReport report = check();
  EXPECT_FALSE(report.ok);
  EXPECT_TRUE(has(report.error, "MANIFEST is missing")) << report.error;
}

TEST_F(RecoveryTest, OtherShardCountIsRefused) {
  ASSERT_TRUE(open());
  crash();
  log::RecoveryOptions options;
  options.shard_count = kShards + 1;
  options.check_only = true;
  const log::RecoveryReport report = log::recover(disk, options, nullptr);
  EXPECT_FALSE(report.ok);
  EXPECT_TRUE(has(report.error, "shards: 5")) << report.error;
}

TEST_F(RecoveryTest, SinkWithoutMemoryEndsRecovery) {
  ASSERT_TRUE(open());
  commit(10);
  ASSERT_TRUE(node->settle());
  crash();
  ModelSink sink(kShards);
  sink.out_of_memory = true;
  const log::RecoveryReport report = check(&sink);
  EXPECT_FALSE(report.ok);
  EXPECT_TRUE(has(report.error, "memory")) << report.error;
}

TEST_F(RecoveryTest, KilledProcessThenPowerLoss) {
  ASSERT_TRUE(open());
  commit(30);
  ASSERT_TRUE(node->settle());
  ASSERT_TRUE(node->commit(0));
  disk.set_slow(true);
  node->step();
  // The write reaches the cache, unsynced; what the next start reads there it must make durable.
  for (int i = 0; i < 20; ++i) {
    const TestDisk::Snapshot before = disk.snapshot();
    disk.kill();
    node = nullptr;
    ASSERT_TRUE(open()) << node->error;
    const uint64_t survived = history[0].acknowledged;
    crash();
    ASSERT_TRUE(open()) << node->error;
    EXPECT_GE(history[0].acknowledged, survived);
    ASSERT_TRUE(node->commit(0));
    disk.set_slow(true);
    node->step();
  }
}

TEST_F(RecoveryTest, SmallWindowsAndManyLogsInParallel) {
  ASSERT_TRUE(open({.workers = 5, .segment_bytes = 5 << 20, .group_bytes = 1 << 20, .value_bytes = 1000}));
  for (int i = 0; i < 20000; ++i) {
    while (!node->commit(static_cast<uint32_t>(i) % kShards)) node->step();
    if (i % 200 == 0) node->step();
  }
  ASSERT_TRUE(node->settle());
  crash();
  ModelSink sink(kShards);
  log::RecoveryOptions options;
  options.shard_count = kShards;
  options.memory_bytes = 1;  // the least possible: windows of 4 MiB
  options.parallel_for = log::tbb_parallel_for(3);
  uint64_t calls = 0, last = 0;
  options.progress = [&](const log::RecoveryProgress& progress) {
    ++calls;
    EXPECT_GE(progress.records, last);
    last = progress.records;
    EXPECT_LE(progress.bytes_read, progress.bytes_total);
  };
  const log::RecoveryReport report = log::recover(disk, options, &sink);
  ASSERT_TRUE(report.ok) << report.error;
  EXPECT_EQ(report.records, 20000u);
  EXPECT_EQ(last, 20000u);
  EXPECT_GT(calls, 5u);
  EXPECT_EQ(report.rows, 40000u);
  for (const ShardState& state : sink.states) EXPECT_EQ(state.replayed, 8000u);
  ASSERT_TRUE(open()) << node->error;
}

}  // namespace
}  // namespace txnic::test
