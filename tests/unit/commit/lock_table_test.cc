// SPDX-License-Identifier: BSD-3-Clause
#include "txn/commit/lock_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace txnic::test {
namespace {

using commit::Lock;
using commit::LockTable;

class Locks : public ::testing::Test {
 protected:
  explicit Locks(uint32_t count = 8) : memory_(LockTable::memory_bytes(count)) { table_.init(count, memory_); }
  LockTable::Taken acquire(std::vector<Lock> locks) { return table_.acquire(locks); }
  void release(std::vector<Lock> locks) { table_.release(locks); }
  std::vector<std::byte> memory_;
  LockTable table_;
};

TEST_F(Locks, ConflictsAreThoseOfReadersAndWriters) {
  EXPECT_FALSE(table_.any());
  EXPECT_EQ(acquire({{1, false}, {2, true}}), LockTable::Taken::kYes);
  EXPECT_TRUE(table_.any());
  EXPECT_TRUE(table_.is_locked(1));
  EXPECT_FALSE(table_.is_write_locked(1));
  EXPECT_TRUE(table_.is_write_locked(2));
  EXPECT_EQ(acquire({{1, false}}), LockTable::Taken::kYes);
  EXPECT_EQ(acquire({{1, true}}), LockTable::Taken::kConflict);
  EXPECT_EQ(acquire({{2, false}}), LockTable::Taken::kConflict);
  release({{1, false}});
  EXPECT_EQ(acquire({{1, true}}), LockTable::Taken::kConflict) << "another reader is there";
  release({{1, false}, {2, true}});
  EXPECT_FALSE(table_.any());
  EXPECT_EQ(acquire({{1, true}}), LockTable::Taken::kYes);
}

TEST_F(Locks, AllOrNone) {
  EXPECT_EQ(acquire({{3, true}}), LockTable::Taken::kYes);
  EXPECT_EQ(acquire({{1, true}, {2, false}, {3, false}}), LockTable::Taken::kConflict);
  EXPECT_FALSE(table_.is_locked(1));
  EXPECT_FALSE(table_.is_locked(2));
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(Locks, FullIsAnAnswer) {
  std::vector<Lock> eight, two{{100, true}, {101, true}};
  for (uint64_t key = 0; key < 7; ++key) eight.push_back({key, true});
  EXPECT_EQ(table_.acquire(eight), LockTable::Taken::kYes);
  EXPECT_EQ(table_.acquire(two), LockTable::Taken::kFull);
  EXPECT_EQ(table_.size(), 7u);
  EXPECT_FALSE(table_.is_locked(100));
}

// Against a plain map; keys that share their place in the table are closed up when one goes.
TEST(LocksRandom, AgreesWithAMap) {
  constexpr uint32_t kLocks = 64;
  std::vector<std::byte> memory(LockTable::memory_bytes(kLocks));
  LockTable table;
  table.init(kLocks, memory);
  std::mt19937_64 random(7);
  std::map<uint64_t, std::pair<uint32_t, bool>> model;  // holders, exclusive
  std::vector<std::vector<Lock>> held;
  uint32_t conflicts = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 && !held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      table.release(held.back());
      for (const Lock& lock : held.back()) {
        if (--model[lock.key].first == 0) model.erase(lock.key);
      }
      held.pop_back();
    } else {
      std::map<uint64_t, bool> wanted;
      for (uint64_t i = 0; i <= random() % 4; ++i) wanted[random() % 90] = random() % 2 == 0;
      std::vector<Lock> locks;
      bool free = true;
      for (const auto& [key, exclusive] : wanted) {
        locks.push_back({key, exclusive});
        const auto there = model.find(key);
        free = free && (there == model.end() || (!there->second.second && !exclusive));
      }
      const LockTable::Taken taken = table.acquire(locks);
      if (taken == LockTable::Taken::kFull) continue;
      ASSERT_EQ(taken == LockTable::Taken::kYes, free);
      conflicts += free ? 0 : 1;
      if (!free) continue;
      for (const Lock& lock : locks) {
        ++model[lock.key].first;
        model[lock.key].second = lock.exclusive;
      }
      held.push_back(locks);
    }
    ASSERT_EQ(table.size(), model.size());
    const uint64_t key = random() % 90;
    ASSERT_EQ(table.is_locked(key), model.contains(key));
    ASSERT_EQ(table.is_write_locked(key), model.contains(key) && model[key].second);
  }
  EXPECT_GT(conflicts, 1000u);
}

}  // namespace
}  // namespace txnic::test
