// SPDX-License-Identifier: BSD-3-Clause
// Damage: every file of a small log flipped and cut at many places. Never a crash; never a silent loss of a group
// that is known to have been synced.
#include <random>

#include "host/log/format.h"
#include "tests/support/test_disk.h"
#include "tests/unit/log/log_node.h"

namespace txnic::test {
namespace {

constexpr uint32_t kShards = 2;
constexpr NodeConfig kConfig{.workers = 1, .segment_bytes = 20 << 10, .group_bytes = 8 << 10};

struct Outcome {
  log::RecoveryReport report;
  std::vector<ShardState> states;
};

Outcome recover_now(TestDisk& disk) {
  ModelSink sink(kShards);
  log::RecoveryOptions options;
  options.shard_count = kShards;
  Outcome outcome;
  outcome.report = log::recover(disk, options, &sink);
  outcome.states = std::move(sink.states);
  return outcome;
}

// A log of two incarnations and a checkpoint between them, whose last group is proven by a mark behind it.
struct DamageTest : ::testing::Test {
  void SetUp() override {
    LogNode first(disk, kConfig, &history);
    ASSERT_TRUE(first.start());
    write(first, 40);
    disk.crash();
    LogNode second(disk, kConfig, &history);
    ASSERT_TRUE(second.start());
    write(second, 30);
    ASSERT_TRUE(second.checkpoint());
    write(second, 30);
    disk.crash();
    LogNode third(disk, kConfig, &history);
    ASSERT_TRUE(third.start());
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      using enum log::RecordType;
      for (Sequence n = 1; n <= 3; ++n) ASSERT_TRUE(third.transact(shard, kPrepare, n));
      ASSERT_TRUE(third.transact(shard, kAbort, 2));
      ASSERT_TRUE(third.transact(shard, kPreparedCommit, 3));
      ASSERT_TRUE(third.settle());
    }
    write(third, 23);           // so that there is room for a mark in the last group's segment
    third.step(1'000'000'000);  // the mark
    third.step();
    mark = third.log(0).next_group();
    mark.offset -= log::kBlockBytes;
    mark_name = log::segment_name(third.keeper().incarnation(), 0, mark.segment);
    disk.crash();
    snapshot = disk.snapshot();
    const Outcome whole = recover_now(disk);
    ASSERT_TRUE(whole.report.ok) << whole.report.error;
    expected = whole.states;
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(rows_of(whole.states, shard), history[shard].appended);
      EXPECT_EQ(kept_of(whole.states, shard), "1:8 2:10 3:9 ");
    }
  }

  static uint64_t rows_of(const std::vector<ShardState>& states, uint32_t shard) {
    const auto found = states[shard].rows.find(kLast);
    return found == states[shard].rows.end() ? 0 : found->second;
  }
  static std::string kept_of(const std::vector<ShardState>& states, uint32_t shard) {
    std::string text;
    states[shard].kept.for_each([&](const log::KeptTransaction& kept) {
      text += std::to_string(kept.id.sequence) + ":" + std::to_string(static_cast<int>(kept.type)) + " ";
    });
    return text;
  }
  void write(LogNode& node, int commits) {
    for (int i = 0; i < commits; ++i) {
      ASSERT_TRUE(node.commit(static_cast<uint32_t>(i) % kShards));
      if (i % 4 == 0) node.step();
    }
    ASSERT_TRUE(node.settle());
  }
  // Either the start is refused with a reason that names a file, or everything is there.
  void expect_no_silent_loss(const std::string& name, const std::string& what) {
    const Outcome outcome = recover_now(disk);
    if (!outcome.report.ok) {
      ++refused;
      EXPECT_TRUE(outcome.report.error.find(name) != std::string::npos ||
                  outcome.report.error.find("log-") != std::string::npos ||
                  outcome.report.error.find("checkpoint-") != std::string::npos)
          << what << ": " << outcome.report.error;
      return;
    }
    ++accepted;
    for (uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(outcome.states[shard].rows, expected[shard].rows) << what;
      EXPECT_EQ(outcome.states[shard].outcome, expected[shard].outcome) << what;
      EXPECT_EQ(kept_of(outcome.states, shard), kept_of(expected, shard)) << what;
    }
  }

  TestDisk disk{9};
  std::vector<ShardHistory> history{kShards};
  TestDisk::Snapshot snapshot;
  std::vector<ShardState> expected;
  log::LogPosition mark;
  std::string mark_name;
  int refused = 0, accepted = 0;
};

TEST_F(DamageTest, FlippedBytes) {
  std::mt19937_64 random(5);
  for (const auto& [name, contents] : snapshot.files) {
    // All of the first bytes of every block (heads and headers), and a sample of the rest.
    for (uint64_t offset = 0; offset < contents.size(); ++offset) {
      const uint64_t in_block = offset % log::kBlockBytes;
      if (in_block >= 72 && random() % 97 != 0) continue;
      const std::byte mask{static_cast<unsigned char>(1 + random() % 255)};
      disk.flip(name, offset, mask);
      expect_no_silent_loss(name, name + " offset " + std::to_string(offset));
      disk.flip(name, offset, mask);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(accepted, 500);  // padding, unused space, cut-off tails, the mark itself
}

TEST_F(DamageTest, CutFiles) {
  for (const auto& [name, contents] : snapshot.files) {
    for (uint64_t length = 0; length < contents.size(); length += length < 128 ? 1 : 509) {
      disk.restore(snapshot);
      disk.cut(name, length);
      expect_no_silent_loss(name, name + " cut at " + std::to_string(length));
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(DamageTest, LostBlocks) {
  for (const auto& [name, contents] : snapshot.files) {
    for (uint64_t block = 0; block + log::kBlockBytes <= contents.size(); block += log::kBlockBytes) {
      disk.restore(snapshot);
      for (uint64_t i = 0; i < log::kBlockBytes; ++i) disk.flip(name, block + i, contents[block + i]);  // zeros
      expect_no_silent_loss(name, name + " without block " + std::to_string(block));
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(DamageTest, RemovedFiles) {
  for (const auto& [name, contents] : snapshot.files) {
    disk.restore(snapshot);
    ASSERT_EQ(disk.remove(name), 0);
    expect_no_silent_loss(name, name + " removed");
  }
}

TEST_F(DamageTest, DamagedMarkIsAReportedTail) {
  disk.flip(mark_name, mark.offset + 20, std::byte{1});
  const Outcome outcome = recover_now(disk);
  ASSERT_TRUE(outcome.report.ok) << outcome.report.error;
  const std::string place = mark_name + " offset " + std::to_string(mark.offset);
  EXPECT_EQ(outcome.report.torn_tail.substr(0, place.size()), place);
}

// Groups exchanged between files and places carry whole checksums, and are still not taken.
TEST_F(DamageTest, GroupsInAnotherPlaceDoNotCount) {
  const std::vector<std::byte> contents = snapshot.files[mark_name];
  for (uint64_t from = log::kBlockBytes; from < contents.size(); from += log::kBlockBytes) {
    for (uint64_t to = log::kBlockBytes; to < contents.size(); to += log::kBlockBytes) {
      if (from == to) continue;
      for (uint64_t i = 0; i < log::kBlockBytes; ++i)
        disk.flip(mark_name, to + i, contents[to + i] ^ contents[from + i]);
      expect_no_silent_loss(mark_name, "block " + std::to_string(from) + " over block " + std::to_string(to));
      disk.restore(snapshot);
    }
  }
}

}  // namespace
}  // namespace txnic::test
