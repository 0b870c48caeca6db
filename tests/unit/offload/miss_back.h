// SPDX-License-Identifier: BSD-3-Clause
// A MapBack of which only some keys are here: the others come when the test says so, one at a time, in order.
#pragma once

#include <set>
#include <vector>

#include "tests/unit/offload/map_back.h"

namespace txnic::test {

class MissBack : public MapBack {
 public:
  static constexpr bool kMayMiss = true;
  using MapBack::MapBack;

  void begin_burst(TimeNs) {}
  offload::Want want(uint32_t shard, TableId table, const std::byte* key, uint32_t length, uint64_t) {
    if (refuses != BusyReason::kNone) return {refuses, 0};
    const Key k{shard, table, {reinterpret_cast<const char*>(key), length}};
    if (here.contains(k)) return {};
    for (size_t i = arrived; i < asked.size(); ++i) {
      if (asked[i] == k) return {BusyReason::kNone, i + 1};
    }
    asked.push_back(k);
    return {BusyReason::kNone, asked.size()};
  }
  Lsn fetched() const { return arrived; }
  offload::Found find(uint32_t shard, TableId table, const std::byte* key, uint32_t length, uint64_t hash) {
    EXPECT_TRUE(here.contains(Key{shard, table, {reinterpret_cast<const char*>(key), length}}))
        << "looked up what is not here";
    return MapBack::find(shard, table, key, length, hash);
  }

  void arrive(size_t count = 1) {
    for (; count != 0 && arrived < asked.size(); --count) here.insert(asked[arrived++]);
  }

  std::set<Key> here;
  std::vector<Key> asked;  // fetched in this order
  size_t arrived = 0;      // of them
  BusyReason refuses = BusyReason::kNone;
};
static_assert(offload::MissingBack<MissBack> && offload::kMayMiss<MissBack> && !offload::kMayMiss<MapBack>);

}  // namespace txnic::test
