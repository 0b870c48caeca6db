// SPDX-License-Identifier: BSD-3-Clause
// A client of random transactions of one shard and of several, one-shot and interactive, over two nodes whose caches
// are far too small, whose hosts are slow, and whose messages get lost. Every committed answer tells the versions of
// what it read and wrote; in the order of versions the history of each key must be one that a sequential store could
// have.
#pragma once

#include <map>
#include <optional>
#include <random>

#include "tests/unit/nic/nic_rig.h"

namespace txnic::test {

struct Setting {
  uint64_t seed;
  Durability durability;
  bool use_filter, cache_is_on;
};
inline void PrintTo(const Setting& s, std::ostream* out) {
  *out << "seed " << s.seed << " durability " << int{static_cast<uint8_t>(s.durability)} << " filter " << s.use_filter
       << " cache " << s.cache_is_on;
}

template <class Link>
class RandomRun {
 public:
  using Rig = NicRigOf<Link>;
  explicit RandomRun(const Setting& setting) : setting_(setting) { start(); }

  static constexpr uint32_t kCounters = 20, kTexts = 1500;  // keys of each shard
  static constexpr int64_t kStart = 1000;

  enum class Kind : uint8_t { kGet, kPut, kPutIf, kInsert, kRemove, kAdd };
  struct Operation {
    Kind kind;
    std::string key, value;
    int64_t delta = 0;
    Version expected = 0;
    bool expects_present = true;
    Version floor = 0;  // the newest version that was known of this key when the transaction was sent
  };
  struct Sent {
    std::vector<ShardId> shards;
    std::vector<std::vector<Operation>> parts;
  };
  struct Change {
    Operation by;
    std::optional<std::string> value;  // empty: deleted
  };
  struct Read {
    std::string key;
    Version version, floor;
    bool present;
    std::string bytes;
  };
  struct Seen {  // for an interactive transaction
    std::string key;
    ShardId shard;
    Version version;
    bool present;
  };

  Rig& rig() { return rig_; }
  void run() {
    for (int step = 0; step < 12'000 && !::testing::Test::HasFailure(); ++step) {
      if (sent_.size() < 100) transact();
      if (below(3) == 0) {
        move_links();
        rig_.turn();
        rig_.now += below(20) == 0 ? 20'000'000 : 10'000;
      }
      slide();
      if (rig_.sequence - rig_.watermark > 200) rig_.run(5, 20'000'000);
    }
    drain();
    EXPECT_TRUE(sent_.empty()) << sent_.size() << " without an answer, the first " << sent_.begin()->first;
    for (const auto& [key, changes] : history_) check_history(key);
    for (const Read& read : reads_) check_read(read);
    check_hosts();
    for (auto& node : rig_.nodes) {
      EXPECT_TRUE(node.link.host.prepared.empty());
      EXPECT_EQ(node.front->held() + node.front->parked(), 0u);
      const offload::NicBackCounters c = node.back->counters();
      EXPECT_GT(c.misses, 300u);
      EXPECT_GT(c.joined, 5u);
      EXPECT_EQ(c.absent_by_filter > 0, setting_.use_filter);
      if (setting_.cache_is_on) {
        EXPECT_GT(c.evictions, 100u);
      }
      EXPECT_GT(node.front->counters().parked, 200u);
      EXPECT_EQ(c.stale, 0u);
    }
    EXPECT_TRUE(rig_.copies_out.empty());
    EXPECT_GT(committed_[0], 1500u);
    EXPECT_GT(committed_[1], 300u);
    EXPECT_GT(busy_[static_cast<uint8_t>(BusyReason::kNotReady)], 0u);
    EXPECT_GT(results_[static_cast<uint8_t>(Result::kConflict)], 10u);
    EXPECT_GT(results_[static_cast<uint8_t>(Result::kLocked)], 10u);
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  static std::string number(int64_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }
  std::string counter(ShardId shard) { return rig_.key(shard, below(kCounters)); }
  std::string text(ShardId shard) { return rig_.key(shard, kCounters + (below(4) == 0 ? below(10) : below(kTexts))); }
  // Texts never have the length of a counter.
  static bool is_counter(const std::string& value) { return value.size() == sizeof(int64_t); }
  std::string any_value() {
    return "text of " + std::string(below(3) == 0 ? 200 + below(100) : below(60), static_cast<char>('a' + below(26)));
  }

  void start() {
    for (uint32_t i = 0; i < Rig::kShards; ++i) {
      const auto shard = static_cast<ShardId>(i);
      for (uint32_t n = 0; n < kCounters + kTexts; ++n) {
        if (n >= kCounters && n % 3 == 0) continue;
        const std::string k = rig_.key(shard, n);
        const std::string value = n < kCounters ? number(kStart) : any_value();
        rig_.host_of(shard).rows[{1, k}] = {kOld, value};
        history_[k][kOld] = {{Kind::kPut, k, value}, value};
      }
    }
    rig_.fill_filters();
    rig_.loses = [this] { return !is_quiet_ && below(50) == 0; };
    rig_.on_answer = [this](const NicAnswer& answer) { take(answer); };
  }

  // ---- the client
  static void lay(wire::ExecuteBuilder& b, const Operation& o) {
    const Bytes key = Rig::raw(o.key);
    std::array<std::byte, 8> delta;
    store(delta.data(), o.delta);
    const auto flags =
        static_cast<uint16_t>(o.expects_present ? wire::kExpectVersion : wire::kExpectVersion | wire::kExpectAbsent);
    switch (o.kind) {
      case Kind::kGet:
        ASSERT_TRUE(b.get(1, key));
        return;
      case Kind::kPut:
        ASSERT_TRUE(b.put(1, key, Rig::raw(o.value)));
        return;
      case Kind::kPutIf:
        ASSERT_TRUE(b.add_operation(wire::Code::kPut, 1, key, Rig::raw(o.value), flags, o.expected));
        return;
      case Kind::kInsert:
        ASSERT_TRUE(b.insert(1, key, Rig::raw(o.value)));
        return;
      case Kind::kRemove:
        ASSERT_TRUE(b.remove(1, key));
        return;
      case Kind::kAdd:
        ASSERT_TRUE(b.add(1, key, o.delta));
        return;
    }
  }
  void add(std::vector<Operation>* part, Operation o) {
    for (const Operation& other : *part) {
      if (other.key == o.key) return;  // once a transaction, so that its version tells what it saw
    }
    const auto known = known_.find(o.key);
    o.floor = known == known_.end() ? 0 : known->second;
    part->push_back(o);
  }
  void send(Sent sent) {
    std::vector<typename Rig::Build> builds;
    for (const auto& part : sent.parts) {
      builds.push_back([part](wire::ExecuteBuilder& b) {
        for (const Operation& o : part) lay(b, o);
      });
    }
    // Entered first: the answer may come at once.
    sent_[rig_.sequence + 1] = sent;
    if (sent.shards.size() == 1) {
      rig_.execute(sent.shards[0], builds[0], 1 + (below(10) == 0 ? 1 : 0));
    } else {
      rig_.prepare(sent.shards, builds);
    }
  }
  std::vector<Operation> any_part(ShardId shard) {
    std::vector<Operation> part;
    for (uint32_t i = 1 + below(4); i != 0; --i) {
      switch (below(8)) {
        case 0:
        case 1:
        case 2:
          add(&part, {Kind::kGet, below(3) == 0 ? counter(shard) : text(shard), {}});
          break;
        case 3:
          add(&part, {Kind::kInsert, text(shard), any_value()});
          break;
        case 4:
          add(&part, {Kind::kRemove, text(shard), {}});
          break;
        default:
          add(&part, {Kind::kPut, text(shard), any_value()});
          break;
      }
    }
    return part;
  }
  void transact() {
    const auto first = static_cast<ShardId>(below(Rig::kShards));
    const auto second = static_cast<ShardId>((first + 1 + below(Rig::kShards - 1)) % Rig::kShards);
    const uint32_t what = below(10);
    if (what < 4) {
      send({{first}, {any_part(first)}});
    } else if (what < 6 && !seen_.empty()) {
      // Interactive: what was read decides what is written.
      const Seen seen = seen_[below(static_cast<uint32_t>(seen_.size()))];
      std::vector<Operation> part;
      add(&part, {Kind::kPutIf, seen.key, any_value(), 0, seen.version, seen.present});
      send({{seen.shard}, {part}});
    } else {
      const auto delta = static_cast<int64_t>(below(100));
      std::vector<Operation> from, to;
      add(&from, {Kind::kAdd, counter(first), {}, -delta});
      if (what < 8) {
        const ShardId other = what == 6 ? first : second;
        add(other == first ? &from : &to, {Kind::kAdd, counter(other), {}, delta});
        if (other == first && from.size() == 2) send({{first}, {from}});
        if (other != first) send({{first, second}, {from, to}});
      } else {
        send({{first, second}, {any_part(first), any_part(second)}});
      }
    }
  }

  // ---- what is answered
  void take(const NicAnswer& answer) {
    const auto it = sent_.find(answer.header.sequence);
    ASSERT_NE(it, sent_.end());
    const Sent sent = it->second;
    sent_.erase(it);
    ++results_[answer.header.result];
    if (answer.result() == Result::kBusy) ++busy_[answer.header.detail];
    if (answer.result() != Result::kCommitted) return;
    ++committed_[sent.shards.size() > 1];
    ASSERT_EQ(answer.versions.size(), sent.shards.size());
    std::map<std::pair<uint32_t, uint32_t>, NicAnswer::Value> values;
    for (const NicAnswer::Value& v : answer.values) values[{v.participant, v.operation}] = v;
    // A copy that was answered from the window has no values, and the first answer then comes later.
    const bool has_values = (answer.header.flags & wire::kReplyFlagDuplicate) == 0;
    ASSERT_TRUE(has_values) << "the first answer was a copy's";
    for (uint32_t p = 0; p < sent.parts.size(); ++p) {
      for (uint32_t i = 0; i < sent.parts[p].size(); ++i) {
        const auto value = values.find({p, i});
        take(sent.shards[p], sent.parts[p][i], answer.versions[p], value == values.end() ? nullptr : &value->second);
      }
    }
  }
  void take(ShardId shard, const Operation& o, Version version, const NicAnswer::Value* value) {
    if (o.kind == Kind::kGet) {
      ASSERT_NE(value, nullptr);
      reads_.push_back({o.key, value->version, o.floor, value->present, value->bytes});
      if (value->present) know(o.key, value->version);
      if (is_counter(value->bytes)) return;
      const Seen seen{o.key, shard, value->version, value->present};
      if (seen_.size() < 50) {
        seen_.push_back(seen);
      } else {
        seen_[below(50)] = seen;
      }
      return;
    }
    Change change{o, o.value};
    if (o.kind == Kind::kRemove) change.value.reset();
    if (o.kind == Kind::kAdd) {
      ASSERT_NE(value, nullptr);
      change.value = value->bytes;
    }
    ASSERT_TRUE(history_[o.key].emplace(version, change).second) << "a version came twice";
    know(o.key, version);
  }
  void know(const std::string& key, Version version) { known_[key] = std::max(known_[key], version); }

  // ---- the world
  void move_links() {
    for (auto& node : rig_.nodes) node.link.shake(random_, rig_.now);
  }
  void drain() {
    is_quiet_ = true;
    for (auto& node : rig_.nodes) node.link.calm();
    rig_.run(4000, 2'000'000);
  }
  void slide() { rig_.done_below(sent_.empty() ? rig_.sequence + 1 : sent_.begin()->first); }

  // ---- the judgement
  void check_history(const std::string& key) {
    const std::optional<std::string>* before = nullptr;
    Version before_version = 0;
    for (const auto& [version, change] : history_[key]) {
      const bool was_present = before != nullptr && before->has_value();
      switch (change.by.kind) {
        case Kind::kInsert:
          EXPECT_FALSE(was_present) << "an insert over a present key";
          break;
        case Kind::kRemove:
          EXPECT_TRUE(was_present) << "a delete of an absent key";
          break;
        case Kind::kPutIf:
          EXPECT_EQ(was_present, change.by.expects_present);
          if (was_present) {
            EXPECT_EQ(before_version, change.by.expected) << "a lost update";
          }
          if (!was_present) {
            EXPECT_LE(before_version, change.by.expected) << "a change between read and write";
          }
          break;
        case Kind::kAdd:
          ASSERT_TRUE(was_present);
          EXPECT_EQ(load<int64_t>(change.value->data()), load<int64_t>((*before)->data()) + change.by.delta)
              << "a lost update";
          break;
        default:
          break;
      }
      before = &change.value;
      before_version = version;
    }
  }
  void check_read(const Read& read) {
    const auto& changes = history_[read.key];
    if (read.present) {
      const auto change = changes.find(read.version);
      ASSERT_NE(change, changes.end()) << "read a version that nobody wrote";
      EXPECT_EQ(change->second.value, std::optional(read.bytes));
      EXPECT_GE(read.version, read.floor) << "read what was overwritten before";
      return;
    }
    bool was_absent = read.floor == 0 && !changes.contains(kOld);
    for (auto it = changes.lower_bound(read.floor); it != changes.end(); ++it) was_absent |= !it->second.value;
    EXPECT_TRUE(was_absent) << "read as absent what was there";
  }
  void check_hosts() {
    int64_t sum = 0;
    for (uint32_t i = 0; i < Rig::kShards; ++i) {
      const auto shard = static_cast<ShardId>(i);
      for (uint32_t n = 0; n < kCounters + kTexts; ++n) {
        const std::string k = rig_.key(shard, n);
        const auto row = rig_.host_of(shard).rows.find({1, k});
        const bool present = row != rig_.host_of(shard).rows.end();
        const auto last = history_[k].empty() ? std::nullopt : history_[k].rbegin()->second.value;
        ASSERT_EQ(present, last.has_value()) << "shard " << shard << " key " << n;
        if (!present) continue;
        EXPECT_EQ(row->second.value, *last);
        EXPECT_EQ(row->second.version, history_[k].rbegin()->first);
        if (n < kCounters) sum += load<int64_t>(row->second.value.data());
      }
    }
    EXPECT_EQ(sum, kStart * kCounters * Rig::kShards);
  }

  static constexpr Version kOld = first_version(2) + 9;
  const Setting setting_;
  std::mt19937_64 random_{setting_.seed};
  Rig rig_{setting_.durability, setting_.use_filter, setting_.cache_is_on};
  bool is_quiet_ = false;
  std::map<Sequence, Sent> sent_;  // without an answer
  std::map<std::string, std::map<Version, Change>> history_;
  std::map<std::string, Version> known_;
  std::vector<Read> reads_;
  std::vector<Seen> seen_;
  std::array<uint64_t, 256> results_{}, busy_{};
  std::array<uint64_t, 2> committed_{};  // of one shard, of several
};

}  // namespace txnic::test
