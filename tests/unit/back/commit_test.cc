// SPDX-License-Identifier: BSD-3-Clause
// Transactions over two shards through crashes at every step, with checkpoints in every state: locks and memory of
// prepared ones come back, decisions are carried out on both sides, told outcomes stay, and nothing is left over.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/back/commit_rig.h"

namespace txnic::test {
namespace {

constexpr uint64_t kClasses = 3;     // transactions of one class lock one another out
constexpr uint64_t kCounter = 2000;  // and of the class: how many have committed
constexpr uint64_t kOneShard = 7000;
constexpr uint32_t kStepsMax = 20'000;

class World {
 public:
  explicit World(uint64_t seed) : disk(seed), rig(&disk, seed, [this](Sequence s, Result r) { on_told(s, r); }) {
    disk.set_latency(3);
  }

  void start(uint32_t workers) { ASSERT_TRUE(rig.start(workers, now)) << rig.error; }
  void step(uint32_t losses = 0) { rig.step(++now, losses); }
  void crash(uint32_t workers) {
    disk.crash();
    rig.die();
    start(workers);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(rig.holds_locks_of_prepared());
  }

  // In both shards: counts, writes one row, deletes another one of its class.
  static std::vector<RigWrite> writes_of(Sequence n) {
    return {{kCounter + n % kClasses, 1, false, true}, {n % 24, n}, {(n + 12) % 24, 0, true}};
  }
  static bool says_no(Sequence n) { return n % 7 == 5; }
  void send(Sequence n, ShardId shard) { rig.prepare(n, watermark(), shard, writes_of(n), says_no(n) && shard == 1); }
  Sequence watermark() const {
    Sequence lowest = next;
    for (const Sequence n : open) lowest = std::min(lowest, n);
    return lowest;
  }
  // The client sends what it has no answer for.
  void send_open() {
    for (const Sequence n : std::set<Sequence>(open)) {
      for (ShardId shard = 0; shard < kRigShards; ++shard) send(n, shard);
    }
  }
  void begin(uint32_t count) {
    for (uint32_t i = 0; i < count && next < watermark() + kRigWindow; ++i) open.insert(next++);
  }

  void on_told(Sequence n, Result result) {
    const auto [at, is_new] = told.emplace(n, result);
    EXPECT_EQ(at->second, result) << n << ": an outcome that was told has turned";
    if (is_new) committed[n % kClasses] += result == Result::kCommitted;
    open.erase(n);
  }

  // Until every client is answered and nothing is kept; then everything must be as it was told.
  void finish() {
    now += 300'000'000;  // a keeper that found no room on the disk tries again
    for (uint32_t i = 0; i < kStepsMax && !(open.empty() && rig.kept() == 0 && rig.quiet()); ++i) {
      if (i % 20 == 0) send_open();
      step();
    }
    ASSERT_TRUE(open.empty() && rig.kept() == 0) << open.size() << " open, " << rig.kept() << " kept: liveness";
    check();
  }
  void check() {
    EXPECT_EQ(rig.locks(), 0u);
    for (uint64_t c = 0; c < kClasses; ++c) {
      for (ShardId shard = 0; shard < kRigShards; ++shard) {
        const CommitRig::Rows rows = rig.rows(shard);
        const auto row = rows.find(kCounter + c);
        EXPECT_EQ(row == rows.end() ? 0 : row->second.first, committed[c]) << "class " << c << " shard " << shard;
      }
    }
    const auto values = [this](ShardId shard) {
      std::map<uint64_t, uint64_t> result;
      for (const auto& [key, row] : rig.rows(shard))
        if (key < kOneShard) result[key] = row.first;
      return result;
    };
    EXPECT_EQ(values(0), values(1)) << "a transaction was carried out on one side";
    for (ShardId shard = 0; shard < kRigShards; ++shard) {
      EXPECT_TRUE(rig.has_room_for_exactly(shard, rig.capacity - rig.rows(shard).size()))
          << "memory set aside was lost, or given back twice";
    }
  }
  // A restart of a node at rest brings back exactly what was there.
  void check_restart(uint32_t workers) {
    const CommitRig::Rows rows[] = {rig.rows(0), rig.rows(1)};
    const auto windows = {rig.window(0), rig.window(1)};
    crash(workers);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(rig.kept(), 0u);
    ShardId shard = 0;
    for (const auto& window : windows) {
      EXPECT_EQ(rig.rows(shard), rows[shard]) << shard;
      EXPECT_EQ(rig.window(shard), window) << shard;
      ++shard;
    }
  }

  TestDisk disk;
  CommitRig rig;
  TimeNs now = 1;
  Sequence next = 1;
  std::set<Sequence> open;
  std::map<Sequence, Result> told;
  std::map<uint64_t, uint64_t> committed;
};

void settle(World& world, uint32_t steps, uint32_t losses) {
  for (uint32_t i = 0; i < steps; ++i) world.step(losses);
}

void run_checkpoint(World& world, uint32_t losses) {
  ASSERT_TRUE(world.rig.begin_checkpoint());
  const uint64_t before = world.rig.checkpoints();
  for (uint32_t i = 0; i < 500 && world.rig.checkpoints() == before; ++i) world.step(losses);
  ASSERT_EQ(world.rig.checkpoints(), before + 1);
}

TEST(BackCommit, PreparedOnesComeBackWithLocksAndMemory) {
  for (const uint32_t workers : {1u, 2u}) {
    for (const bool checkpoint : {false, true}) {
      World world(workers);
      world.start(workers);
      world.begin(1);
      world.send_open();
      settle(world, 30, 100);  // no message arrives
      ASSERT_EQ(world.rig.prepared(), 2u);
      if (checkpoint) run_checkpoint(world, 100);
      world.crash(3 - workers);
      ASSERT_EQ(world.rig.restored_prepared, 2u);
      EXPECT_EQ(world.rig.locks(), 6u);
      EXPECT_EQ(world.rig.write_one(0, {1, 99}), 0u) << "the key is locked";
      EXPECT_TRUE(world.rig.rows(0).empty());
      EXPECT_TRUE(world.rig.has_room_for_exactly(0, world.rig.capacity - 2)) << "two inserts are set aside";
      world.finish();
      EXPECT_EQ(world.told[1], Result::kCommitted);
      EXPECT_EQ(world.rig.rows(1)[1].first, 1u);
      world.check_restart(workers);
    }
  }
}

// Each worker may keep so many; one that takes over the shards of several brings room for all of theirs.
TEST(BackCommit, FewerWorkersTakeOverWhatMoreHaveKept) {
  World world(5);
  world.rig.transactions_max = 2;
  world.rig.locks_max = 6;
  world.start(2);
  world.begin(2);
  world.send_open();
  settle(world, 30, 100);  // no message arrives
  ASSERT_EQ(world.rig.prepared(), 4u) << "both workers are full";
  world.crash(1);
  EXPECT_EQ(world.rig.restored_prepared, 4u);
  EXPECT_EQ(world.rig.locks(), 12u);
  world.begin(1);
  world.send_open();
  EXPECT_EQ(world.rig.prepared(), 6u) << "and there is room for as many new ones as a worker may keep";
  world.finish();
  EXPECT_EQ(world.told.size(), 3u);
  world.check_restart(2);
}

TEST(BackCommit, ADecisionIsCarriedOutAfterTheCrash) {
  for (uint32_t steps = 1; steps < 40; ++steps) {
    World world(steps);
    world.start(2);
    world.begin(1);
    world.send_open();
    for (uint32_t i = 0; i < 200 && world.told.empty(); ++i) world.step();
    settle(world, steps % 8, 100);  // the coordinator's record may become durable; no decision arrives
    world.crash(2);
    world.finish();
    EXPECT_EQ(world.told[1], Result::kCommitted);
    for (ShardId shard = 0; shard < kRigShards; ++shard)
      EXPECT_EQ(world.rig.window(shard)[1].second, world.rig.rows(shard)[1].second) << "the version that it reserved";
  }
}

// A row that a decided transaction wrote, and that was deleted before the checkpoint, stays deleted.
TEST(BackCommit, ACheckpointDoesNotBringBackWhatWasDeleted) {
  World world(3);
  world.start(1);
  world.begin(1);
  world.send_open();
  for (uint32_t i = 0; i < 200 && world.told.empty(); ++i) world.step();
  settle(world, 20, 100);
  ASSERT_EQ(world.rig.kept(), 2u) << "decided here, prepared there";
  ASSERT_NE(world.rig.write_one(0, {1, 0, true}), 0u);
  settle(world, 20, 100);
  ASSERT_FALSE(world.rig.rows(0).contains(1));
  run_checkpoint(world, 100);
  world.crash(1);
  EXPECT_FALSE(world.rig.rows(0).contains(1));
  EXPECT_EQ(world.rig.restored_prepared, 1u);
  EXPECT_EQ(world.rig.restored_decided, 1u);
}

TEST(BackCommit, APromiseOutlivesTheCrash) {
  for (const bool checkpoint : {false, true}) {
    World world(4);
    world.start(2);
    world.begin(1);
    world.send(1, 0);  // the participant never hears of it
    for (uint32_t i = 0; i < 500 && world.told.empty(); ++i) world.step();
    ASSERT_EQ(world.told[1], Result::kConflict);
    if (checkpoint) run_checkpoint(world, 0);
    world.crash(1);
    world.open.insert(1);  // copies of its PREPARE come late
    world.send_open();
    EXPECT_EQ(world.rig.prepared(), 0u);
    world.finish();
    EXPECT_TRUE(world.rig.rows(0).empty());
  }
}

// Some transactions, of which some abort; at step `crash_at` the power fails. With a checkpoint that begins at
// `checkpoint_at`, and messages that get lost from there on, so that every state is in some checkpoint.
void run_script(uint32_t crash_at, uint32_t checkpoint_at, uint32_t workers) {
  World world(crash_at * 131 + checkpoint_at);
  world.start(workers);
  uint32_t one_shard = 0;
  for (uint32_t i = 0; i < crash_at; ++i) {
    if (i % 12 == 0) world.begin(3);
    if (i % 6 == 0) world.send_open();
    if (i % 9 == 0) world.rig.write_one(static_cast<ShardId>(i % 2), {kOneShard + i % 3, ++one_shard});
    if (i == checkpoint_at) {
      ASSERT_TRUE(world.rig.begin_checkpoint());
    }
    world.step(i >= checkpoint_at ? 70 : 10);
  }
  world.crash(crash_at % 2 + 1);
  if (::testing::Test::HasFatalFailure()) return;
  world.finish();
  if (::testing::Test::HasFatalFailure()) return;
  world.check_restart(crash_at % 3 % 2 + 1);
}

TEST(BackCommit, ACrashAtEveryStep) {
  for (uint32_t crash_at = 0; crash_at < 160; ++crash_at) {
    run_script(crash_at, ~0u, crash_at % 2 + 1);
    ASSERT_FALSE(HasFailure()) << "crash at step " << crash_at;
  }
}

TEST(BackCommit, ACheckpointAtEveryStepThenACrash) {
  for (uint32_t checkpoint_at = 0; checkpoint_at < 160; ++checkpoint_at) {
    for (const uint32_t later : {8u, 25u, 60u}) {
      run_script(checkpoint_at + later, checkpoint_at, checkpoint_at % 2 + 1);
      ASSERT_FALSE(HasFailure()) << "checkpoint at step " << checkpoint_at << ", crash " << later << " steps later";
    }
  }
}

// In mode async, transactions over several shards are as durable as in sync (COMMIT 18).
void run_many(Durability durability) {
  uint64_t commits = 0, prepared = 0, decided = 0, checkpoints = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(seed);
    std::mt19937_64 random(seed);
    world.rig.durability = durability;
    world.start(1 + seed % 2);
    for (uint32_t i = 0; i < 1500; ++i) {
      if (random() % 10 == 0) world.begin(1 + random() % 3 % 2);
      if (random() % 8 == 0) world.send_open();
      if (random() % 150 == 0) (void)world.rig.begin_checkpoint();
      // The disk is full, or slow, for a while: what cannot be logged is not said, and tried again.
      if (i % 100 == 0) world.disk.set_slow(random() % 6 == 0);
      if (i % 200 == 0) {
        world.disk.set_full(random() % 4 == 0);
        world.now += 300'000'000;  // the keeper tries again
      }
      world.step(20);
      if (random() % 200 != 0) continue;
      checkpoints += world.rig.checkpoints();
      refused += world.rig.refused_appends();
      world.disk.set_slow(false);
      world.disk.set_full(false);
      world.crash(1 + random() % 2);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
    }
    prepared += world.rig.restored_prepared;
    decided += world.rig.restored_decided;
    world.disk.set_slow(false);
    world.disk.set_full(false);
    world.finish();
    world.check_restart(1);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    for (const auto& [n, result] : world.told) commits += result == Result::kCommitted;
  }
  EXPECT_GT(commits, 1000u);
  EXPECT_GT(prepared, 100u);
  EXPECT_GT(decided, 20u);
  EXPECT_GT(checkpoints, 50u);
  EXPECT_GT(refused, 50u);
}

TEST(BackCommit, ManyCrashesAndCheckpoints) { run_many(Durability::kSync); }
TEST(BackCommit, ManyCrashesAndCheckpointsInModeAsync) { run_many(Durability::kAsync); }

// ---- sessions that open and close around a transaction that is over

struct RecoveredTest : ::testing::Test {
  RecoveredTest() : memory(1 << 13), state({&shard}, kRigWindow) {
    const storage::Table table{kRigTable, 10};
    EXPECT_TRUE(shard.init({memory[0].bytes, memory.size() * 64}, {&table, 1}, 0, first_version(1)));
  }
  bool replay(log::RecordType type, bool in_window, TableId table = kRigTable) {
    const uint64_t key = 5;
    std::array<std::byte, 16> redo{};
    (void)log::lay_write(redo.data(), table, true, reinterpret_cast<const std::byte*>(&key), 8, nullptr, 0);
    log::TransactionEntry entry;
    entry.type = type;
    entry.id = {kRigSession, 20};
    entry.participants.count = 2;
    entry.place = 1;
    entry.in_window = in_window;
    entry.watermark = 20;
    if (type == log::RecordType::kPrepare) entry.redo = redo;
    if (type == log::RecordType::kAbort) entry.result = Result::kConflict;
    return state.on_transaction(0, entry);
  }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
  storage::Shard shard;
  back::RecoveredState state;
};

TEST_F(RecoveredTest, APromiseGoesIntoTheWindowWhenItsSessionOpens) {
  ASSERT_TRUE(replay(log::RecordType::kAbort, false));
  EXPECT_EQ(state.transactions(), 1u);
  ASSERT_TRUE(state.on_session_open(0, kRigSession, {}, 1, 1, 1));
  EXPECT_EQ(state.transactions(), 0u);
  SessionTable table;
  const SessionLimits limits{.sessions = 4, .window = kRigWindow, .shards = 1};
  std::vector<Line> lines(SessionTable::memory_bytes(limits) / 64 + 1);
  table.init(limits, {lines[0].bytes, lines.size() * 64});
  ASSERT_EQ(state.fill(0, 1, 1, &table), "");
  const Session* const session = table.find(kRigSession);
  EXPECT_EQ(table.entry(session, 0, 20).sequence(), 20u);
  EXPECT_EQ(table.entry(session, 0, 20).result(), Result::kConflict);
  EXPECT_EQ(session->watermark, 20u);
}

// Outcomes below it may be nowhere any more: without it they would look as if they had never been.
TEST_F(RecoveredTest, TheWatermarkOfACheckpointComesBackWithoutAnOutcome) {
  ASSERT_TRUE(state.on_session_open(0, kRigSession, {}, 1, 1, 9));
  ASSERT_TRUE(state.on_session_open(0, kRigSession, {}, 2, 2, 0)) << "opened again, behind the checkpoint";
  SessionTable table;
  const SessionLimits limits{.sessions = 4, .window = kRigWindow, .shards = 1};
  std::vector<Line> lines(SessionTable::memory_bytes(limits) / 64 + 1);
  table.init(limits, {lines[0].bytes, lines.size() * 64});
  ASSERT_EQ(state.fill(0, 1, 1, &table), "");
  EXPECT_EQ(table.find(kRigSession)->watermark, 9u);
}

TEST_F(RecoveredTest, APromiseGoesWithItsSessionAndAPreparedOneStays) {
  ASSERT_TRUE(replay(log::RecordType::kAbort, false));
  ASSERT_TRUE(state.on_session_close(0, kRigSession));
  EXPECT_EQ(state.transactions(), 0u);
  ASSERT_TRUE(replay(log::RecordType::kPrepare, true));
  ASSERT_TRUE(state.on_session_close(0, kRigSession));
  EXPECT_EQ(state.transactions(), 1u);
}

TEST_F(RecoveredTest, AWriteOfAnUndeclaredTableStopsTheStart) {
  EXPECT_FALSE(replay(log::RecordType::kPrepare, true, 99));
  EXPECT_NE(state.why_stopped().find("table 99"), std::string::npos);
}

// ---- what cannot be restored is said

std::string error_of(void (*change)(CommitRig*)) {
  World world(8);
  world.start(1);
  world.begin(2);
  world.send_open();
  settle(world, 30, 100);
  world.disk.crash();
  world.rig.die();
  change(&world.rig);
  EXPECT_FALSE(world.rig.start(1, world.now));
  return world.rig.error;
}

TEST(BackCommit, WhatDoesNotFitIsSaid) {
  EXPECT_NE(error_of([](CommitRig* rig) { rig->capacity = 1; }).find("do not fit the store"), std::string::npos);
}

}  // namespace
}  // namespace txnic::test
