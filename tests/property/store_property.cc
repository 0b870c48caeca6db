// SPDX-License-Identifier: BSD-3-Clause
// A shard against std::map: random transactions over few keys of all lengths, in little memory, with honest and
// with colliding hashes. RC_PARAMS="seed=N" (printed by a failure) replays one.
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "host/store/shard.h"
#include "txn/hash.h"

namespace {

using namespace txnic;
using namespace txnic::storage;

constexpr Version kFirst = first_version(3);
constexpr uint32_t kKeys = 1200;         // enough for a few hundred splits
constexpr TableId kTables[] = {1, 513};  // the same slot of the table map
constexpr uint64_t kCapacity = 800;      // of each table

enum class HashKind : uint8_t { kHonest, kFewTags, kFewBuckets, kEqual };

// One write of a transaction, and what surrounds it.
struct Step {
  uint32_t key;
  uint32_t value_bytes;
  bool is_delete;
  bool ends_transaction;
  bool scans;
};

struct Model {
  struct Row {
    std::string value;
    Version version;
  };
  std::map<uint32_t, Row> rows;              // by key number
  std::map<uint32_t, Version> last_change;   // the key's last insert or delete
  std::map<uint32_t, Version> absence_seen;  // what find() said last
};

std::string key_bytes(uint32_t number) {
  // All lengths; long keys share their beginning. The number's two bytes are unique, and one byte is too few.
  std::string bytes(number % limits::kKeyBytesMax + 1, 'k');
  if (bytes.size() == 1) return std::string(1, static_cast<char>(number / limits::kKeyBytesMax));
  bytes[bytes.size() - 2] = static_cast<char>(number);
  bytes[bytes.size() - 1] = static_cast<char>(number >> 8);
  return bytes;
}

class Checker {
 public:
  Checker(uint64_t memory_bytes, HashKind kind)
      : kind_(kind),
        bytes_(memory_bytes),
        memory_(static_cast<std::byte*>(::operator new (memory_bytes, std::align_val_t{64}))) {
    std::memset(memory_.get(), 0xee, memory_bytes);  // init() does not need zeroes
    const Table tables[] = {{kTables[0], kCapacity}, {kTables[1], kCapacity}};
    RC_ASSERT(shard_.init({memory_.get(), memory_bytes}, tables, 0, kFirst));
  }

  void run(const std::vector<Step>& steps) {
    std::map<uint32_t, Step> transaction;  // at most one write a key
    for (const Step& step : steps) {
      transaction[step.key] = step;
      if (step.ends_transaction || transaction.size() == limits::kOperationsMax) {
        execute(transaction);
        transaction.clear();
      }
      if (step.scans) scan_some();
    }
    execute(transaction);
    check_all();
    while (!scanned_) scan_some();
    delete_all();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };

  static TableId table_of(uint32_t number) { return kTables[number % 7 == 0]; }
  uint64_t hash_of(uint32_t number, const std::string& key) const {
    const uint64_t hash = table_hash(
        hash_key(reinterpret_cast<const std::byte*>(key.data()), static_cast<uint32_t>(key.size())), table_of(number));
    switch (kind_) {
      case HashKind::kHonest:
        return hash;
      case HashKind::kFewTags:
        return hash & 0x0000'0003'ffff'ffff;
      case HashKind::kFewBuckets:
        return hash & 0xffff'ffff'c000'0000;
      case HashKind::kEqual:
        break;
    }
    return 0xabcd'ef01'2345'6789;
  }

  Lookup look(uint32_t number) {
    const std::string key = key_bytes(number);
    const Lookup found = shard_.find(table_of(number), reinterpret_cast<const std::byte*>(key.data()),
                                     static_cast<uint32_t>(key.size()), hash_of(number, key));
    Version& seen = model_.absence_seen[number];
    RC_ASSERT(found.absence_version >= seen);
    RC_ASSERT(found.absence_version >= kFirst);
    seen = found.absence_version;
    const auto change = model_.last_change.find(number);
    if (change != model_.last_change.end()) RC_ASSERT(found.absence_version >= change->second);
    return found;
  }

  void check(uint32_t number) {
    const Lookup found = look(number);
    const auto row = model_.rows.find(number);
    RC_ASSERT((found.record != nullptr) == (row != model_.rows.end()));
    if (found.record == nullptr) return;
    const Record& record = *found.record;
    RC_ASSERT(record.table == table_of(number));
    RC_ASSERT(std::string(reinterpret_cast<const char*>(record.key()), record.key_length) == key_bytes(number));
    RC_ASSERT(std::string(reinterpret_cast<const char*>(record.value()), record.value_length) == row->second.value);
    RC_ASSERT(record.version == row->second.version);
  }

  void check_all() {
    for (uint32_t number = 0; number < kKeys; ++number) check(number);
    uint64_t payload = 0;
    for (const auto& [number, row] : model_.rows) payload += key_bytes(number).size() + row.value.size();
    const ShardStatistics statistics = shard_.statistics();
    RC_ASSERT(statistics.records == model_.rows.size());
    RC_ASSERT(statistics.payload_bytes == payload);
    RC_ASSERT(statistics.used_bytes <= statistics.memory_bytes);
    RC_ASSERT(shard_.table_records(0) + shard_.table_records(1) == model_.rows.size());
    std::set<std::pair<TableId, std::string>> seen;
    uint64_t cursor = 0;
    shard_.scan(&cursor, ~0u, [&](const Record& record) {
      seen.emplace(record.table, std::string(reinterpret_cast<const char*>(record.key()), record.key_length));
    });
    RC_ASSERT(seen.size() == model_.rows.size());
  }

  void execute(const std::map<uint32_t, Step>& transaction) {
    std::vector<Need> needs;
    uint64_t inserts[2] = {0, 0};
    for (const auto& [number, step] : transaction) {
      if (step.is_delete) continue;
      const std::string key = key_bytes(number);
      Record* const existing = look(number).record;
      const auto table = static_cast<uint32_t>(shard_.table_index(table_of(number)));
      // Sometimes without the optional parts: the answer may then be more careful, but must stay true.
      needs.push_back(
          {table, static_cast<uint32_t>(kRecordHeaderBytes + key.size() + step.value_bytes), existing == nullptr});
      if (step.value_bytes % 3 != 0) needs.back().hash = hash_of(number, key), needs.back().existing = existing;
      inserts[table] += existing == nullptr;
    }
    if (!shard_.room(needs)) {
      // A refusal has a reason: a table's capacity, a long chain, or memory that is nearly full.
      bool is_full = shard_.statistics().used_bytes + 40 * uint64_t{kPageBytes} > bytes_ || kind_ == HashKind::kEqual;
      for (uint32_t i = 0; i < 2; ++i) is_full = is_full || shard_.table_records(i) + inserts[i] > kCapacity;
      RC_ASSERT(is_full);
      if (++refusals_ % 8 == 1) check_all();
      return;
    }
    for (const auto& [number, step] : transaction) prefetch(number);
    ++version_;
    for (const auto& [number, step] : transaction) apply(number, step);
    shard_.maintain();
    for (const auto& [number, step] : transaction) check(number);
  }

  void prefetch(uint32_t number) const {
    const uint64_t hash = hash_of(number, key_bytes(number));
    shard_.prefetch_bucket(hash);
    shard_.prefetch_record(hash);
  }

  void apply(uint32_t number, const Step& step) {
    const std::string key = key_bytes(number);
    const uint64_t hash = hash_of(number, key);
    Record* const existing = look(number).record;
    if (step.is_delete) {
      if (existing == nullptr) return;
      shard_.erase(existing, hash, version_);
      model_.rows.erase(number);
      model_.last_change[number] = version_;
      stays_.erase(number);
      return;
    }
    const std::string value(step.value_bytes, static_cast<char>('a' + version_ % 26));
    Record* const record =
        shard_.put(table_of(number), reinterpret_cast<const std::byte*>(key.data()), static_cast<uint32_t>(key.size()),
                   hash, reinterpret_cast<const std::byte*>(value.data()), step.value_bytes, version_, existing);
    RC_ASSERT(record == look(number).record);
    if (existing == nullptr) model_.last_change[number] = version_;
    model_.rows[number] = {value, version_};
  }

  // A checkpoint goes on beside the transactions: whoever was there at its start and was not deleted is seen.
  void scan_some() {
    if (scanned_) {
      cursor_ = 0;
      stays_.clear();
      for (const auto& [number, row] : model_.rows) stays_.insert(number);
      seen_.clear();
    }
    scanned_ = !shard_.scan(&cursor_, 17, [&](const Record& record) {
      seen_.emplace(record.table, std::string(reinterpret_cast<const char*>(record.key()), record.key_length));
    });
    if (!scanned_) return;
    for (const uint32_t number : stays_) RC_ASSERT(seen_.contains({table_of(number), key_bytes(number)}));
  }

  void delete_all() {
    const auto rows = model_.rows;
    ++version_;
    for (const auto& [number, row] : rows) apply(number, {number, 0, true, false, false});
    check_all();
    const ShardStatistics statistics = shard_.statistics();
    RC_ASSERT(statistics.overflow_buckets == 0u);
    RC_ASSERT(statistics.used_bytes == statistics.buckets * sizeof(Bucket));
    const Need need = {0, 32, true};  // without a hash: no chain is long any more
    RC_ASSERT(shard_.room({&need, 1}));
  }

  HashKind kind_;
  uint64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  Shard shard_;
  Model model_;
  Version version_ = kFirst;
  uint64_t cursor_ = 0;
  bool scanned_ = true;
  uint32_t refusals_ = 0;
  std::set<uint32_t> stays_;
  std::set<std::pair<TableId, std::string>> seen_;
};

// For RapidCheck's messages; found by its argument.
std::ostream& operator<<(std::ostream& to, const Step& step) {
  return to << (step.is_delete ? "delete " : "put ") << step.key << ' ' << step.value_bytes
            << (step.ends_transaction ? " end" : "") << (step.scans ? " scan" : "");
}

rc::Gen<bool> one_in(int n) {
  return rc::gen::map(rc::gen::inRange(0, n), [n](int x) { return x == n - 1; });
}

rc::Gen<Step> step_generator() {
  const auto value_bytes = rc::gen::weightedOneOf<uint32_t>(
      {{6, rc::gen::inRange(0u, 80u)}, {3, rc::gen::inRange(80u, 400u)}, {1, rc::gen::inRange(400u, 1025u)}});
  return rc::gen::build<Step>(rc::gen::set(&Step::key, rc::gen::inRange(0u, kKeys)),
                              rc::gen::set(&Step::value_bytes, value_bytes), rc::gen::set(&Step::is_delete, one_in(6)),
                              rc::gen::set(&Step::ends_transaction, one_in(3)),
                              rc::gen::set(&Step::scans, rc::gen::arbitrary<bool>()));
}

}  // namespace

namespace rc {
template <>
struct Arbitrary<Step> {
  static Gen<Step> arbitrary() { return step_generator(); }
};
}  // namespace rc

int main() {
  const bool holds = rc::check("a shard behaves like a map, in little memory and with bad hashes", [] {
    const auto steps = *rc::gen::scale(35.0, rc::gen::arbitrary<std::vector<Step>>());
    const auto kind = *rc::gen::element(HashKind::kHonest, HashKind::kFewTags, HashKind::kFewBuckets, HashKind::kEqual);
    const auto more_bytes = *rc::gen::element<uint64_t>(0, 64 * 11, 3 * kPageBytes, 12 * kPageBytes, 90 * kPageBytes);
    Checker(Shard::kMinimumBytes + more_bytes, kind).run(steps);
  });
  return holds ? 0 : 1;
}
