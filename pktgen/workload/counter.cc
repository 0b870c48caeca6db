// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/counter.h"

#include <functional>

namespace txnic::pktgen {

namespace {

constexpr uint32_t kCounterBytes = 8;

// Sets every counter to zero, or reads every one: a request for each.
class TouchCounters final : public Workload {
 public:
  using Visit = std::function<void(size_t entry, bool present, int64_t value)>;
  // Entries from number `first` on. `visit`: null to set to zero.
  TouchCounters(const std::vector<CounterEntry>& entries, size_t first, TableId table, uint32_t shards, Visit visit)
      : entries_(entries), table_(table), shards_(shards), visit_(std::move(visit)), next_(first), first_(first) {}
  const char* name() const override { return visit_ ? "survey" : "load"; }
  std::span<const char* const> kinds() const override {
    static const char* const kinds[] = {"counter"};
    return kinds;
  }
  std::string prepare(const Facts& facts) override {
    at_.assign(facts.flows, kNone);
    return {};
  }
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override {
    if (at_[flow] == kNone) {
      if (next_ == entries_.size()) return wire::kNoShard;
      at_[flow] = next_++;
    }
    const Key key(entries_[at_[flow]].key);
    const std::byte zero[kCounterBytes] = {};
    if (visit_) {
      request.get(table_, key);
    } else {
      request.put(table_, key, zero);
    }
    return shard_of(hash_key8(entries_[at_[flow]].key), shards_);
  }
  Progress settled(uint32_t flow, const Reply& reply) override {
    if (reply.result == Result::kUnknownTable) fail("the node does not know table " + std::to_string(table_));
    if (reply.result != Result::kCommitted) return finished(reply, 0, false);
    if (visit_) {
      if (!reply.has_values || reply.values.size() != 1) return finished(reply, 0, false);
      const wire::Value& value = reply.values[0];
      const bool present = value.present && value.length == kCounterBytes;
      visit_(at_[flow], present, present ? load<int64_t>(value.data) : 0);
    }
    at_[flow] = kNone;
    ++done_;
    return finished(reply, 0, true);
  }
  uint64_t units_total() const override { return entries_.size() - first_; }
  uint64_t units_done() const override { return done_; }

 private:
  static constexpr size_t kNone = ~size_t{0};
  const std::vector<CounterEntry>& entries_;
  const TableId table_;
  const uint32_t shards_;
  Visit visit_;
  std::vector<size_t> at_;
  size_t next_;
  const size_t first_;
  uint64_t done_ = 0;
};

}  // namespace

std::span<const char* const> Counter::kinds() const {
  static const char* const kinds[] = {"increment"};
  return kinds;
}

std::string Counter::prepare(const Facts& facts) {
  if (facts.reflected) return "counter needs a node that executes";
  shards_ = facts.shards;
  clients_ = facts.flows;
  entries_.assign(shards_ + clients_, {});
  for (uint32_t shard = 0; shard < shards_; ++shard) {
    uint64_t key = kSharedBase;
    while (key < kOwnBase && shard_of(hash_key8(key), shards_) != shard) ++key;
    if (key == kOwnBase) return "no key found for the shared counter of shard " + std::to_string(shard);
    entries_[shard].key = key;
  }
  for (uint32_t client = 0; client < clients_; ++client) {
    entries_[shards_ + client].key = kOwnBase + settings_.first_client + client;
  }
  return {};
}

ShardId Counter::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  const CounterEntry& own = entries_[shards_ + flow];
  if (settings_.adds != 0 && own.acknowledged + own.unknown >= settings_.adds) return wire::kNoShard;
  const ShardId shard = shard_of(hash_key8(own.key), shards_);
  request.add(settings_.table, Key(own.key), 1);
  request.add(settings_.table, Key(entries_[shard].key), 1);
  return shard;
}

void Counter::book(uint32_t flow, const Reply& reply) {
  CounterEntry& own = entries_[shards_ + flow];
  CounterEntry& shared = entries_[shard_of(hash_key8(own.key), shards_)];
  if (reply.result == Result::kUnknownOutcome) {
    ++own.unknown;
    ++shared.unknown;
  }
  if (reply.result != Result::kCommitted) return;
  ++own.acknowledged;
  ++shared.acknowledged;
  ++acknowledged_;
  if (!has_books_ || !reply.has_values) return;
  // Nobody else adds to this counter, so the sum in the reply is our own count.
  if (reply.values.size() != 2 || !own.explains(load<int64_t>(reply.values[0].data))) ++wrong_sums_;
}

Progress Counter::settled(uint32_t flow, const Reply& reply) {
  if (reply.result == Result::kNotFound) fail("counter: the counters are not there; run without --no-load first");
  book(flow, reply);
  return finished(reply, 0, true);
}

std::unique_ptr<Workload> Counter::loader() {
  has_books_ = true;
  return std::make_unique<TouchCounters>(entries_, first_of_ours(), settings_.table, shards_, nullptr);
}

std::unique_ptr<Workload> Counter::survey(Survey when) {
  if (when == Survey::kBefore) {
    has_books_ = true;
    return std::make_unique<TouchCounters>(entries_, 0, settings_.table, shards_,
                                           [this](size_t entry, bool present, int64_t value) {
                                             if (!present) fail("counter: the counters are not there: load them first");
                                             entries_[entry].initial = value;
                                           });
  }
  is_surveyed_ = true;
  actual_.assign(entries_.size(), 0);
  is_present_.assign(entries_.size(), false);
  return std::make_unique<TouchCounters>(entries_, 0, settings_.table, shards_,
                                         [this](size_t entry, bool present, int64_t value) {
                                           actual_[entry] = value;
                                           is_present_[entry] = present;
                                         });
}

Check Counter::check() const {
  if (!is_surveyed_ || !has_books_) return {};
  Check check{.made = true, .passed = true, .text = {}};
  uint64_t wrong = 0, unknown = 0, acknowledged = 0;
  std::vector<int64_t> own_growth(shards_, 0);
  std::string first;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const CounterEntry& entry = entries_[i];
    if (i >= shards_) {
      own_growth[shard_of(hash_key8(entry.key), shards_)] += actual_[i] - entry.initial;
      unknown += entry.unknown;
      acknowledged += entry.acknowledged;
    }
    if (i < first_of_ours() && !has_adopted_) continue;
    if (is_present_[i] && entry.explains(actual_[i])) continue;
    if (wrong++ == 0) {
      first = std::string(i < shards_ ? "shared counter " : "client's counter ") + std::to_string(entry.key) + " is " +
              (is_present_[i] ? std::to_string(actual_[i]) : std::string("absent")) + ", acknowledged " +
              std::to_string(entry.initial) + " + " + std::to_string(entry.acknowledged) + ", unknown " +
              std::to_string(entry.unknown);
    }
  }
  // A transaction adds to both or to none, whatever its outcome was.
  const bool knows_all = first_of_ours() == 0 || has_adopted_;
  for (uint32_t shard = 0; knows_all && shard < shards_ && wrong == 0; ++shard) {
    const int64_t shared_growth = actual_[shard] - entries_[shard].initial;
    if (shared_growth == own_growth[shard]) continue;
    ++wrong;
    first = "shard " + std::to_string(shard) + "'s shared counter grew by " + std::to_string(shared_growth) +
            ", its clients' by " + std::to_string(own_growth[shard]);
  }
  check.passed = wrong == 0 && wrong_sums_ == 0;
  check.text = std::string("exactly-once ") + (check.passed ? "holds: " : "FAILED: ");
  if (wrong != 0) check.text += std::to_string(wrong) + " counters are wrong; the first: " + first + "; ";
  if (wrong_sums_ != 0) check.text += std::to_string(wrong_sums_) + " replies had a wrong sum; ";
  check.text += std::to_string(entries_.size()) + " counters, " + std::to_string(acknowledged) +
                " acknowledged additions, " + std::to_string(unknown) + " of unknown outcome";
  return check;
}

bool Counter::write_ledger(LedgerRecord* record) const {
  if (!has_books_) return false;
  record->workload = name();
  record->table = settings_.table;
  record->counters = entries_;
  return true;
}

std::string Counter::adopt(const LedgerRecord& record) {
  if (record.workload != name()) return "the ledger is one of workload '" + record.workload + "'";
  if (!has_adopted_) entries_.clear();
  for (const CounterEntry& entry : record.counters) {
    const auto same = [&entry](const CounterEntry& known) { return known.key == entry.key; };
    const auto known = std::find_if(entries_.begin(), entries_.end(), same);
    if (known == entries_.end()) {
      entries_.push_back(entry);
    } else {
      known->acknowledged += entry.acknowledged;
      known->unknown += entry.unknown;
    }
  }
  std::sort(entries_.begin(), entries_.end(),
            [this](const CounterEntry& x, const CounterEntry& y) {
              const auto rank = [this](uint64_t key) {
                return key < kOwnBase ? shard_of(hash_key8(key), shards_) : key;
              };
              return rank(x.key) < rank(y.key);
            });
  uint64_t shared = 0;
  for (const CounterEntry& entry : entries_) shared += entry.key < kOwnBase;
  if (shared != shards_) {
    return "the ledger has " + std::to_string(shared) + " shared counters, but the node has " +
           std::to_string(shards_) + " shards";
  }
  has_adopted_ = has_books_ = true;
  return {};
}

}  // namespace txnic::pktgen
