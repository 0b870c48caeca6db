// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/check_log.h"

#include "host/log/format.h"
#include "tests/support/test_disk.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

struct CheckLogTest : ::testing::Test {
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
  TestDisk disk{2};
  std::vector<ShardHistory> history{2};
  std::string text;
};

TEST_F(CheckLogTest, EmptyDirectory) {
  EXPECT_TRUE(log::check_log(disk, &text));
  EXPECT_TRUE(has("no log has been written")) << text;
}

TEST_F(CheckLogTest, SummaryOfACrashedLogWithACheckpoint) {
  {
    LogNode node(disk, {.workers = 2}, &history);
    ASSERT_TRUE(node.start());
    for (uint64_t session = 1; session <= 3; ++session) ASSERT_TRUE(node.open_session(0, session, 1));
    for (uint32_t i = 0; i < 60; ++i) ASSERT_TRUE(node.commit(i % 2));
    ASSERT_TRUE(node.settle());
    disk.crash();
  }
  ASSERT_TRUE(log::check_log(disk, &text)) << text;
  EXPECT_TRUE(has("commits 60")) << text;
  EXPECT_TRUE(has("sessions open at the end: 3")) << text;
  EXPECT_TRUE(has("worker 1 of 2")) << text;
  EXPECT_TRUE(has("not stopped cleanly")) << text;
  EXPECT_TRUE(has("torn tail: none")) << text;
  EXPECT_TRUE(has("checkpoint: none")) << text;
  {
    LogNode node(disk, {}, &history);
    ASSERT_TRUE(node.start());
    ASSERT_TRUE(node.checkpoint());
    ASSERT_TRUE(node.close());
    disk.crash();
  }
  text.clear();
  ASSERT_TRUE(log::check_log(disk, &text)) << text;
  EXPECT_TRUE(has("checkpoint: generation 1")) << text;
  EXPECT_TRUE(has("stopped cleanly")) << text;
  EXPECT_TRUE(has("rows ")) << text;
}

TEST_F(CheckLogTest, TransactionsThatAreNotOver) {
  {
    using enum log::RecordType;
    LogNode node(disk, {}, &history);
    ASSERT_TRUE(node.start());
    for (uint32_t shard = 0; shard < 2; ++shard) {
      for (Sequence n = 1; n <= 8; ++n) ASSERT_TRUE(node.transact(shard, kPrepare, n));
      ASSERT_TRUE(node.transact(shard, kAbort, 7));
      ASSERT_TRUE(node.transact(shard, kPreparedCommit, 8));
    }
    ASSERT_TRUE(node.transact(1, kEnd, 8));
    ASSERT_TRUE(node.settle());
    disk.crash();
  }
  ASSERT_TRUE(log::check_log(disk, &text)) << text;
  EXPECT_TRUE(has("prepares 16, prepared commits 2, aborts 2, ends 1")) << text;
  EXPECT_TRUE(has("prepared and undecided 12; decisions not acknowledged by all 3; promises 1")) << text;
  EXPECT_TRUE(has("in doubt: session 9 sequence 6, shard 0, participant 1 of 2, 1 locks")) << text;
  EXPECT_TRUE(has("in doubt: 2 more")) << text;
}

TEST_F(CheckLogTest, DamageIsNamed) {
  {
    LogNode node(disk, {}, &history);
    ASSERT_TRUE(node.start());
    for (uint32_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(node.commit(i % 2));
      node.step();
    }
    disk.crash();
  }
  disk.flip(log::segment_name(1, 0, 1), 4096 + 90, std::byte{1});
  EXPECT_FALSE(log::check_log(disk, &text));
  EXPECT_TRUE(has("DAMAGED: " + log::segment_name(1, 0, 1) + " offset 4096")) << text;
}

TEST(CheckLogDirectory, MustExist) {
  std::string text;
  EXPECT_FALSE(log::check_log("/no/such/folder", &text));
  EXPECT_NE(text.find("/no/such/folder is not a directory"), std::string::npos);
}

}  // namespace
}  // namespace txnic::test
