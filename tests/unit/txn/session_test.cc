// SPDX-License-Identifier: BSD-3-Clause
#include "txn/session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace txnic::test {
namespace {

class SessionTableTest : public ::testing::Test {
 protected:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  SessionTable table_;

  void init(SessionLimits limits) {
    const size_t bytes = SessionTable::memory_bytes(limits);
    ASSERT_EQ(bytes % 64, 0u);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
    std::memset(memory_.get(), 0, bytes);
    table_.init(limits, {memory_.get(), bytes});
  }
  static SessionLimits limits(uint32_t sessions, uint32_t window = 4, uint32_t shards = 1) {
    SessionLimits limits;
    limits.sessions = sessions;
    limits.window = window;
    limits.shards = shards;
    limits.idle_expiry_ns = 1000;
    return limits;
  }
};

TEST_F(SessionTableTest, FindsWhatWasInsertedUntilItIsErased) {
  init(limits(8));
  EXPECT_EQ(table_.find(1), nullptr);
  Session* const session = table_.insert(1);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->id, 1u);
  EXPECT_EQ(session->stamp, 0u);
  EXPECT_EQ(session->watermark, 1u);
  EXPECT_FALSE(session->is_static);
  EXPECT_EQ(table_.find(1), session);
  EXPECT_EQ(table_.find(2), nullptr);
  EXPECT_EQ(table_.size(), 1u);
  table_.erase(session);
  EXPECT_EQ(table_.find(1), nullptr);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(SessionTableTest, FullIsNullAndErasingMakesRoom) {
  init(limits(3));
  for (SessionId id = 1; id <= 3; ++id) EXPECT_NE(table_.insert(id), nullptr);
  EXPECT_EQ(table_.insert(4), nullptr);
  for (SessionId id = 1; id <= 3; ++id) EXPECT_NE(table_.find(id), nullptr);
  EXPECT_EQ(table_.find(4), nullptr) << "ends although the table is full";
  table_.erase(table_.find(2));
  EXPECT_NE(table_.insert(4), nullptr);
  EXPECT_EQ(table_.insert(5), nullptr);
}

TEST_F(SessionTableTest, OneSession) {
  init(limits(1));
  for (SessionId id = 1; id < 200; ++id) {
    ASSERT_NE(table_.insert(id), nullptr);
    ASSERT_EQ(table_.insert(id + 1), nullptr);
    table_.erase(table_.find(id));
  }
}

TEST_F(SessionTableTest, WindowEntriesAreApartAndWrapAround) {
  init(limits(3, 4, 2));
  std::set<const Outcome*> entries;
  for (SessionId id = 1; id <= 3; ++id) {
    const Session* const session = table_.insert(id);
    for (uint32_t shard = 0; shard < 2; ++shard) {
      for (Sequence sequence = 5; sequence < 9; ++sequence) {
        Outcome& entry = table_.entry(session, shard, sequence);
        EXPECT_EQ(entry.key, 0u);
        entry = Outcome::make(sequence, Result::kNotFound, 7, id * 100 + shard);
        entries.insert(&entry);
      }
    }
  }
  EXPECT_EQ(entries.size(), 3u * 2 * 4);
  const Outcome& entry = table_.entry(table_.find(2), 1, 9);
  EXPECT_EQ(entry.sequence(), 5u) << "9 is a window of 4 further than 5";
  EXPECT_EQ(entry.result(), Result::kNotFound);
  EXPECT_EQ(entry.detail(), 7);
  EXPECT_EQ(entry.version, 201u);
}

TEST_F(SessionTableTest, AnErasedSessionLeavesNoOutcomesToTheNext) {
  init(limits(2, 4, 2));
  const Session* const other = table_.insert(9);
  table_.entry(other, 1, 1) = Outcome::make(1, Result::kCommitted, 0, 77);
  Session* session = table_.insert(1);
  for (uint32_t shard = 0; shard < 2; ++shard) {
    table_.entry(session, shard, 3) = Outcome::make(3, Result::kExists, 1, 5);
  }
  table_.erase(session);
  session = table_.insert(2);
  for (uint32_t shard = 0; shard < 2; ++shard) {
    for (Sequence sequence = 0; sequence < 4; ++sequence) EXPECT_EQ(table_.entry(session, shard, sequence).key, 0u);
  }
  EXPECT_EQ(table_.entry(other, 1, 1).version, 77u) << "the neighbour keeps its own";
}

TEST_F(SessionTableTest, OutcomesHoldTheLargestSequence) {
  const Outcome outcome = Outcome::make(kSequenceMax, Result::kBelowFloor, 63, ~0ull);
  EXPECT_EQ(outcome.sequence(), kSequenceMax);
  EXPECT_EQ(outcome.result(), Result::kBelowFloor);
  EXPECT_EQ(outcome.detail(), 63);
  EXPECT_EQ(outcome.version, ~0ull);
  EXPECT_NE(Outcome::make(1, Result::kCommitted, 0, 0).key, 0u) << "no outcome looks like an empty entry";
}

TEST_F(SessionTableTest, ExpiryErasesTheSilentOnly) {
  init(limits(8));
  for (SessionId id = 1; id <= 6; ++id) table_.insert(id)->last_seen_ns = id * 100;
  table_.find(2)->is_static = true;
  EXPECT_EQ(table_.expire(1100 - 1, 8), 0u);
  EXPECT_EQ(table_.expire(1300, 8), 2u);
  for (SessionId id = 1; id <= 6; ++id) EXPECT_EQ(table_.find(id) == nullptr, id == 1 || id == 3) << id;
  EXPECT_EQ(table_.expire(1'000'000, 100), 3u);
  EXPECT_EQ(table_.size(), 1u) << "static sessions stay";
}

TEST_F(SessionTableTest, ExpiryLooksAtFewSlotsAndComesRound) {
  init(limits(64));
  for (SessionId id = 1; id <= 64; ++id) table_.insert(id);
  uint32_t steps = 0;
  for (; table_.size() != 0 && steps < 100; ++steps) EXPECT_LE(table_.expire(5000, 4), 4u);
  EXPECT_EQ(steps, 16u);
}

TEST_F(SessionTableTest, ExpiryAsksFirst) {
  init(limits(4));
  for (SessionId id = 1; id <= 4; ++id) table_.insert(id);
  std::vector<SessionId> asked;
  const auto may_erase = [&asked](const Session& session) {
    asked.push_back(session.id);
    return session.id % 2 == 0;
  };
  EXPECT_EQ(table_.expire(5000, 4, may_erase), 2u);
  EXPECT_EQ(asked.size(), 4u);
  EXPECT_NE(table_.find(1), nullptr);
  EXPECT_EQ(table_.find(2), nullptr);
}

TEST_F(SessionTableTest, SlotsForCheckpoints) {
  init(limits(5));
  const Session* const session = table_.insert(42);
  EXPECT_EQ(table_.capacity(), 5u);
  uint32_t present = 0;
  for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
    if (table_.at(slot) == nullptr) continue;
    ++present;
    EXPECT_EQ(table_.at(slot), session);
    EXPECT_EQ(table_.slot_of(session), slot);
  }
  EXPECT_EQ(present, 1u);
}

// A long random history against std::map: inserts, erases, finds and outcomes; deleted marks are cleaned up in
// between, and ids that fall on one another are as welcome as others.
TEST_F(SessionTableTest, AgainstAMap) {
  for (const uint32_t capacity : {200u, 64u, 7u, 2u, 1u}) {
    init(limits(capacity, 8, 2));
    std::mt19937_64 random(capacity);
    std::map<SessionId, std::map<std::pair<uint32_t, Sequence>, Version>> model;
    const auto some_id = [&] { return 1 + random() % (capacity * 3); };
    for (uint32_t step = 0; step < 30'000; ++step) {
      const SessionId id = some_id();
      Session* const session = table_.find(id);
      const auto expected = model.find(id);
      ASSERT_EQ(session != nullptr, expected != model.end()) << "step " << step;
      ASSERT_EQ(table_.size(), model.size());
      switch (random() % 4) {
        case 0:
          if (session == nullptr) {
            ASSERT_EQ(table_.insert(id) != nullptr, model.size() < capacity);
            if (model.size() < capacity) model[id];
          }
          break;
        case 1:
          if (session != nullptr && random() % 2 == 0) {
            table_.erase(session);
            model.erase(expected);
          }
          break;
        default:
          if (session == nullptr) break;
          const auto shard = static_cast<uint32_t>(random() % 2);
          const Sequence sequence = 1 + random() % 20;
          Version& version = expected->second[{shard, sequence % 8}];
          ASSERT_EQ(table_.entry(session, shard, sequence).version, version);
          version = random();
          table_.entry(session, shard, sequence) = Outcome::make(sequence, Result::kCommitted, 0, version);
      }
    }
  }
}

}  // namespace
}  // namespace txnic::test
