// SPDX-License-Identifier: BSD-3-Clause
// The cache against two maps: the host's store, and what the front must find. Random transactions, prepared ones,
// misses, evictions and acknowledgements over few keys of all lengths, in so little memory that the log goes round.
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/cache/cache_rig.h"

namespace txnic::test {
namespace {

class RandomCache : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint32_t kKeys = 1500;
  struct Row {
    std::string value;
    Version version;
  };
  struct Prepared {
    std::vector<std::pair<uint32_t, std::string>> writes;
    Version version;
  };

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string any_value() {
    const uint32_t most = below(10) == 0 ? 1025 : below(3) == 0 ? 300 : 60;
    return std::string(below(most), static_cast<char>('a' + below(26)));
  }

  // True if the key is here (asks and fetches it at once if not); false: there was no room.
  bool want(uint32_t number) {
    CacheEntry* entry = nullptr;
    if (rig_.cache.has(rig_.key(number), rig_.taken, &entry)) return true;
    if (dirty_.contains(number) && dirty_[number] > rig_.taken) ADD_FAILURE() << "a dirty key was lost: " << number;
    if (locked_.contains(number)) ADD_FAILURE() << "a locked key was lost: " << number;
    entry = rig_.cache.ask(rig_.key(number), 1);
    if (entry == nullptr) return false;
    const auto row = rows_.find(number);
    if (row == rows_.end()) {
      rig_.cache.fill_absent(entry);
    } else if (rig_.cache.fill(entry, row->second.version, bytes_of(row->second.value), rig_.taken) == nullptr) {
      return false;
    }
    return rig_.cache.has(rig_.key(number), rig_.taken, &entry);
  }
  void check(uint32_t number) {
    const CacheEntry* const entry = rig_.find(number);
    if (entry == nullptr) return;
    const auto row = rows_.find(number);
    ASSERT_EQ(entry->state, row == rows_.end() ? State::kAbsent : State::kPresent) << number;
    if (row == rows_.end()) return;
    ASSERT_EQ(rig_.value(number), row->second.value) << number;
    ASSERT_EQ(entry->version, row->second.version) << number;
  }
  void write(uint32_t number, const std::string* value, Version version) {
    const CacheKey key = rig_.key(number);
    if (value == nullptr) {
      rig_.cache.erase(key, rig_.cache.find(key), position_);
      rows_.erase(number);
    } else {
      rig_.cache.put(key, rig_.cache.find(key), version, bytes_of(*value), position_);
      rows_[number] = {*value, version};
    }
    dirty_[number] = position_;
  }

  void transact() {
    std::map<uint32_t, std::string> writes;
    for (uint32_t i = below(6); i != ~0u; --i) writes[below(kKeys)] = any_value();
    uint64_t units = 0;
    for (const auto& [number, value] : writes) {
      if (locked_.contains(number) || !want(number)) return;
      units += Cache::put_units(rig_.find(number), rig_.key(number).length, static_cast<uint32_t>(value.size()));
    }
    if (!rig_.cache.can_take(units)) {
      ++refusals_;
      return;
    }
    ++position_;
    ++version_;
    for (const auto& [number, value] : writes) write(number, below(5) == 0 ? nullptr : &value, version_);
    for (const auto& [number, value] : writes) check(number);
    ++commits_;
  }
  void prepare() {
    const uint32_t number = below(kKeys);
    if (locked_.contains(number) || !want(number)) return;
    const std::string value = any_value();
    if (!rig_.cache.set_aside(rig_.find(number), rig_.key(number).length, static_cast<uint32_t>(value.size()))) return;
    prepared_.push_back({{{number, value}}, ++version_});
    locked_.insert(number);
  }
  void decide() {
    if (prepared_.empty()) return;
    const size_t i = below(static_cast<uint32_t>(prepared_.size()));
    const Prepared p = prepared_[i];
    prepared_.erase(prepared_.begin() + static_cast<std::ptrdiff_t>(i));
    const bool commits = below(4) != 0;
    ++position_;
    for (const auto& [number, value] : p.writes) {
      rig_.cache.give_back(rig_.find(number), rig_.key(number).length, static_cast<uint32_t>(value.size()));
      if (commits) write(number, &value, p.version);
      locked_.erase(number);
    }
  }

  std::mt19937_64 random_{GetParam()};
  CacheRig rig_{Cache::kMinimumBytes + 64 * (GetParam() % 700)};
  std::map<uint32_t, Row> rows_;
  std::map<uint32_t, Lsn> dirty_;
  std::set<uint32_t> locked_;
  std::vector<Prepared> prepared_;
  Lsn position_ = 0;
  Version version_ = 1;
  uint64_t commits_ = 0, refusals_ = 0;
};

TEST_P(RandomCache, BehavesAsAMapThatForgetsOnlyWhatIsClean) {
  for (int step = 0; step < 30'000 && !HasFailure(); ++step) {
    const uint32_t what = below(100);
    if (what < 55) {
      transact();
    } else if (what < 75) {
      const uint32_t number = below(8) != 0 ? below(50) : below(kKeys);
      if (!locked_.contains(number) && want(number)) check(number);
    } else if (what < 80 && prepared_.size() < 40) {
      prepare();
    } else if (what < 86) {
      decide();
    } else {
      rig_.cache.sweep(rig_.taken);
    }
    // The back falls behind now and then, so that all is pinned.
    if (below(step / 3000 % 3 == 1 ? 2000 : 20) == 0) rig_.taken = position_;
  }
  while (!prepared_.empty()) decide();
  uint64_t here = 0;
  for (uint32_t number = 0; number < kKeys; ++number) {
    check(number);
    here += rig_.find(number) != nullptr;
  }
  EXPECT_EQ(rig_.cache.entries(), here);
  const offload::CacheCounters& counters = rig_.cache.counters();
  EXPECT_GT(commits_, 3000u);
  EXPECT_GT(counters.evictions, 2000u);
  EXPECT_GT(counters.kept, 500u);
  EXPECT_GT(counters.no_room + refusals_, 0u) << "never was all pinned";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCache, ::testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace txnic::test
