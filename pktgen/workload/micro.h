// SPDX-License-Identifier: BSD-3-Clause
// What the single-table workloads (echo, get, putK, rmwK, ycsb) have in common: one table, values of one size, loading.
#pragma once

#include <vector>

#include "pktgen/workload/bulk.h"
#include "pktgen/workload/key_space.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/value.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class MicroWorkload : public Workload {
 public:
  explicit MicroWorkload(const WorkloadSettings& settings)
      : settings_(settings), values_(settings.value_bytes), read_values_(settings.value_bytes) {}
  std::string prepare(const Facts& facts) override {
    facts_ = facts;
    keys_.init(settings_.records, facts.shards);
    for (uint32_t flow = 0; flow < facts.flows; ++flow) random_.emplace_back(facts.seed, flow);
    return {};
  }
  std::unique_ptr<Workload> loader() override { return load_into(nullptr); }
  Check check() const override {
    if (wrong_values_ == 0) return {};
    return {true, false, std::to_string(wrong_values_) + " values read were not their record's"};
  }

 protected:
  std::unique_ptr<Workload> load_into(std::vector<Version>* versions) {
    return std::make_unique<BulkLoad>(
        keys_, std::vector<TableId>{settings_.table}, settings_.value_bytes,
        [this](uint64_t record, MutableBytes value) {
          const Bytes made = values_.make(record);
          std::memcpy(value.data(), made.data(), made.size());
        },
        versions);
  }
  // Looks at a value that was read: true if it was there. Another record's value is counted and fails the check.
  bool inspect(uint64_t record, const wire::Value& value) {
    if (!value.present) return false;
    if (!read_values_.matches(record, {value.data, value.length})) ++wrong_values_;
    return true;
  }

  const WorkloadSettings settings_;
  Facts facts_;
  KeySpace keys_;
  ValueMaker values_;
  const ValueMaker read_values_;
  std::vector<Random> random_;  // by flow
  uint64_t wrong_values_ = 0;
};

// `count` distinct records of one shard: the first uniform over all, the others uniform over its shard.
inline void draw_distinct(const KeySpace& keys, Random& random, uint64_t* records, uint32_t count) {
  records[0] = random.below(keys.records());
  const ShardId shard = keys.shard(records[0]);
  for (uint32_t i = 1; i < count;) {
    const uint64_t record = keys.draw(random, shard, keys.records());
    bool seen = false;
    for (uint32_t j = 0; j < i; ++j) seen |= records[j] == record;
    if (!seen) records[i++] = record;
  }
}

// `count` distinct records, uniform over all, but the second one is not of the first one's shard.
inline void draw_over_shards(const KeySpace& keys, Random& random, uint64_t* records, uint32_t count) {
  for (uint32_t i = 0; i < count;) {
    records[i] = random.below(keys.records());
    bool is_good = i != 1 || keys.shard(records[1]) != keys.shard(records[0]);
    for (uint32_t j = 0; j < i; ++j) is_good &= records[j] != records[i];
    i += is_good;
  }
}

// Each shard has to have `least` records, or draws of distinct ones would not end.
inline std::string check_shards(const KeySpace& keys, uint64_t least, uint64_t limit) {
  for (uint32_t shard = 0; shard < keys.shards(); ++shard) {
    const uint64_t have = keys.count_below(static_cast<ShardId>(shard), limit);
    if (have < least) {
      return "shard " + std::to_string(shard) + " of " + std::to_string(keys.shards()) + " has " +
             std::to_string(have) + " records to draw from, a transaction needs " + std::to_string(least) +
             ": use more records (--records, --accounts)";
    }
  }
  return {};
}

}  // namespace txnic::pktgen
