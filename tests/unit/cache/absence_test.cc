// SPDX-License-Identifier: BSD-3-Clause
#include "offload/cache/absence.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "txn/hash.h"

namespace txnic::test {
namespace {

constexpr Version kFirst = first_version(3);

struct Rig {
  struct alignas(offload::Absence::kBlockBytes) Line {
    std::byte bytes[offload::Absence::kBlockBytes];
  };
  explicit Rig(uint64_t keys) : memory(offload::Absence::memory_bytes(keys) / sizeof(Line)) {
    absence.init({memory.front().bytes, memory.size() * sizeof(Line)}, kFirst);
  }
  std::vector<Line> memory;
  offload::Absence absence;
};

uint64_t hash_of(uint64_t key) { return table_hash(hash_key(reinterpret_cast<const std::byte*>(&key), 8), 1); }

TEST(Absence, SaysNothingBeforeItIsFilled) {
  Rig rig(100);
  EXPECT_FALSE(rig.absence.is_absent(hash_of(1)));
  rig.absence.fill_done();
  EXPECT_TRUE(rig.absence.is_absent(hash_of(1)));
}

TEST(Absence, NeverDeniesAKeyAndIsAsSharpAsItSays) {
  constexpr uint64_t kKeys = 200'000;
  Rig rig(kKeys);
  for (uint64_t key = 0; key < kKeys; ++key) rig.absence.fill(hash_of(key));
  rig.absence.fill_done();
  uint64_t denied = 0, maybe = 0;
  for (uint64_t key = 0; key < kKeys; ++key) denied += rig.absence.is_absent(hash_of(key));
  for (uint64_t key = kKeys; key < 2 * kKeys; ++key) maybe += !rig.absence.is_absent(hash_of(key));
  EXPECT_EQ(denied, 0u);
  RecordProperty("maybe_of_200000", static_cast<int>(maybe));
  EXPECT_LT(maybe, kKeys * 2 / 100);
  EXPECT_GT(maybe, kKeys / 1000) << "or the test's keys are no keys";
}

// Against a map: inserts and deletes at random, in one block, so that keys disturb each other as much as they can.
TEST(Absence, AVersionReadIsNeverReadAgainAfterAChange) {
  Rig rig(1);
  rig.absence.fill_done();
  std::mt19937_64 random(7);
  std::set<uint64_t> present;
  std::unordered_map<uint64_t, std::set<Version>> stale;  // read as the key's absence version before its last change
  std::unordered_map<uint64_t, Version> read;
  Version version = kFirst;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t key = random() % 24;
    const bool is_there = present.contains(key);
    if (!is_there) {
      const Version absent = rig.absence.version(hash_of(key));
      ASSERT_FALSE(stale[key].contains(absent)) << "step " << i;
      read[key] = absent;
    } else {
      ASSERT_FALSE(rig.absence.is_absent(hash_of(key))) << "step " << i;
    }
    if (random() % 2 == 0) continue;
    ++version;
    if (is_there) {
      present.erase(key);
    } else {
      present.insert(key);
      stale[key].insert(read[key]);
    }
    rig.absence.changed(hash_of(key), version, !is_there);
  }
  EXPECT_GT(version, kFirst + 5'000);
}

// A prepared transaction's version is taken before others that are applied first.
TEST(Absence, AnOlderVersionAppliedLateTakesNothingBack) {
  Rig rig(1);
  rig.absence.fill_done();
  rig.absence.changed(hash_of(1), kFirst + 11, true);
  rig.absence.changed(hash_of(2), kFirst + 10, true);
  EXPECT_EQ(rig.absence.version(hash_of(3)), kFirst + 11);
  EXPECT_FALSE(rig.absence.is_absent(hash_of(2)));
}

}  // namespace
}  // namespace txnic::test
