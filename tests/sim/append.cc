// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/append.h"

#include <algorithm>
#include <cassert>

#include "tests/sim/load.h"
#include "tests/sim/tables.h"

namespace txnic::sim {
namespace {

std::vector<uint64_t> list_of(const std::vector<std::byte>& bytes) {
  std::vector<uint64_t> list;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) list.push_back(load<uint32_t>(bytes.data() + at));
  return list;
}

std::vector<std::byte> bytes_of_list(const std::vector<uint64_t>& list) {
  std::vector<std::byte> bytes;
  for (const uint64_t element : list) append_bytes(&bytes, static_cast<uint32_t>(element));
  return bytes;
}

}  // namespace

// Reads its lists, all in one transaction or one shard after the other. Then what it appends is written back where
// nothing has changed since, with a check of what it has only read; without appends, reads of several transactions are
// checked one shard after the other (DESIGN 4.4, trap 13).
class Append::Use final : public Task {
 public:
  Use(Append* workload, uint64_t process, std::vector<MicroOperation> wanted)
      : workload_(*workload), process_(process), wanted_(std::move(wanted)) {
    for (const MicroOperation& operation : wanted_) {
      appends_ |= operation.is_append;
      if (std::none_of(reads_.begin(), reads_.end(), [&](const Read& read) { return read.key == operation.key; })) {
        reads_.push_back({operation.key, workload_.routing_.place_of(operation.key), 0, 0, false, {}});
      }
    }
    // Those of one place stand together, so that values come back in this order.
    std::stable_sort(reads_.begin(), reads_.end(), [this](const Read& a, const Read& b) {
      return workload_.routing_.number(a.place) < workload_.routing_.number(b.place);
    });
    at_once_ = workload_.context_.random.below(2) == 0;
  }

  bool next(const Outcome* previous, Transaction* transaction) override {
    transaction->parts.clear();
    if (previous == nullptr) {
      workload_.note(HistoryType::kInvoke, process_, wanted_);
      for (Read& read : reads_) read.told_before = workload_.lists_[read.key].told;
      plan_reads(transaction);
      return true;
    }
    if (step_ == Step::kWrite) {
      if (previous->is_unknown) return end(HistoryType::kInfo);
      return end(previous->committed() ? HistoryType::kOk : HistoryType::kFail);
    }
    // Nothing is written yet. The answer to a second copy of a read over several shards comes without values.
    if (!previous->committed() || previous->is_duplicate) return end(HistoryType::kFail);
    if (step_ == Step::kRead) {
      take(*previous);
      if (next_ < reads_.size()) {
        plan_reads(transaction);
        return true;
      }
      see();
      if (appends_) {
        step_ = Step::kWrite;
        plan_writes(transaction);
        for (const MicroOperation& operation : wanted_) {
          if (operation.is_append) {
            workload_.elements_[operation.element].is_over_several = transaction->parts.size() > 1;
          }
        }
        return true;
      }
      if (transactions_ == 1 || workload_.context_.options.switches.client.skips_checks) return end(HistoryType::kOk);
      step_ = Step::kCheck;
      next_ = 0;
    }
    if (next_ == reads_.size()) return end(HistoryType::kOk);
    plan_checks(transaction);
    return true;
  }

  void abandon() override { end(HistoryType::kInfo); }

 private:
  enum class Step : uint8_t { kRead, kCheck, kWrite };
  struct Read {
    uint64_t key;
    Place place;
    size_t told_before;
    Version version;
    bool present;
    std::vector<uint64_t> list;
  };

  // The next reads: of one place, or all.
  void plan_reads(Transaction* transaction) {
    ++transactions_;
    taken_ = next_;
    const Place place = reads_[next_].place;
    for (; next_ < reads_.size() && (at_once_ || reads_[next_].place == place); ++next_) {
      transaction->add(reads_[next_].place, {wire::Code::kGet, kLists, reads_[next_].key, {}, 0, 0});
    }
  }

  void plan_checks(Transaction* transaction) {
    const Place place = reads_[next_].place;
    for (; next_ < reads_.size() && reads_[next_].place == place; ++next_) {
      const Read& read = reads_[next_];
      const uint16_t absent = read.present ? uint16_t{0} : wire::kExpectAbsent;
      const auto flags = static_cast<uint16_t>(wire::kReadSet | absent);
      transaction->add(place, {wire::Code::kCheck, kLists, read.key, {}, flags, read.version});
    }
  }

  void take(const Outcome& outcome) {
    for (const Value& value : outcome.values) {
      Read& read = reads_[taken_++];
      read.version = value.version;
      read.present = value.present;
      read.list = list_of(value.bytes);
    }
  }

  // What each operation sees: the list as read, and what this transaction has appended before it.
  void see() {
    for (MicroOperation& operation : wanted_) {
      Read& read = *std::find_if(reads_.begin(), reads_.end(), [&](const Read& r) { return r.key == operation.key; });
      if (operation.is_append) {
        own_[operation.key].push_back(operation.element);
      } else {
        operation.list = read.list;
        operation.list.insert(operation.list.end(), own_[operation.key].begin(), own_[operation.key].end());
      }
    }
  }

  void plan_writes(Transaction* transaction) {
    for (const Read& read : reads_) {
      Operation operation{wire::Code::kCheck, kLists, read.key, {}, 0, read.version};
      const uint16_t absent = read.present ? uint16_t{0} : wire::kExpectAbsent;
      const std::vector<uint64_t>& own = own_[read.key];
      if (own.empty()) {
        operation.flags = wire::kReadSet | absent;
      } else {
        std::vector<uint64_t> list = read.list;
        list.insert(list.end(), own.begin(), own.end());
        operation.code = wire::Code::kPut;
        operation.flags = wire::kExpectVersion | absent;
        operation.value = bytes_of_list(list);
      }
      transaction->add(read.place, std::move(operation));
    }
  }

  bool end(HistoryType type) {
    if (type == HistoryType::kOk) {
      for (const Read& read : reads_) look_at(read);
    }
    for (MicroOperation& operation : wanted_) {
      operation.has_list = type == HistoryType::kOk && !operation.is_append;
      if (operation.is_append) workload_.elements_[operation.element].outcome = type;
    }
    workload_.note(type, process_, wanted_);
    return false;
  }

  void look_at(const Read& read) {
    List& list = workload_.lists_[read.key];
    if (workload_.context_.is_sync() && read.list.size() < read.told_before) {
      workload_.context_.fail("list " + std::to_string(read.key) + " was read with " +
                              std::to_string(read.list.size()) + " elements after somebody had been told " +
                              std::to_string(read.told_before));
    }
    list.told = std::max(list.told, read.list.size() + own_[read.key].size());
  }

  Append& workload_;
  const uint64_t process_;
  std::vector<MicroOperation> wanted_;
  std::vector<Read> reads_;
  std::map<uint64_t, std::vector<uint64_t>> own_;
  Step step_ = Step::kRead;
  bool appends_ = false;
  bool at_once_ = false;
  size_t next_ = 0;   // of reads_: not asked for yet
  size_t taken_ = 0;  // of reads_: the first that waits for its value
  uint32_t transactions_ = 0;
};

Append::Append(Context* context, const Routing* routing)
    : context_(*context),
      routing_(*routing),
      slots_(size_t{routing->places()} * kListsPerPlace),
      next_list_(routing->places(), 0),
      elements_(1) {
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) fill(slot);
}

void Append::fill(uint32_t slot) {
  const uint32_t number = slot / kListsPerPlace;
  const Place place = routing_.place(number);
  slots_[slot] = routing_.key_at(place, next_list_[number]++);
  lists_[slots_[slot]].place = place;
}

void Append::note(HistoryType type, uint64_t process, const std::vector<MicroOperation>& value) {
  const auto found = process_of_.try_emplace(process, last_process_ + 1);
  if (found.second) ++last_process_;
  history_.push_back({type, found.first->second, context_.now(), value});
  if (type == HistoryType::kInfo) found.first->second = ++last_process_;
}

std::unique_ptr<Task> Append::begin(uint64_t process) {
  Random& random = context_.random;
  const uint32_t places = routing_.places();
  const uint32_t first = random.below32(places);
  const uint32_t over = 1 + random.below32(std::min(kPlacesMax, places));  // the lists are of so many shards
  std::vector<MicroOperation> wanted(1 + random.below(4));
  for (MicroOperation& operation : wanted) {
    const uint32_t place = (first + random.below32(over)) % places;
    uint64_t& key = slots_[place * kListsPerPlace + random.below32(kListsPerPlace)];
    if (lists_[key].told >= kElementsMax) fill(static_cast<uint32_t>(&key - slots_.data()));
    operation.key = key;
    operation.is_append = random.below(2) == 0;
    if (!operation.is_append) continue;
    operation.element = elements_.size();
    elements_.push_back({operation.key, HistoryType::kInvoke, transactions_ + 1, context_.now()});
  }
  ++transactions_;
  return std::make_unique<Use>(this, process, std::move(wanted));
}

std::vector<std::unique_ptr<Task>> Append::closing() {
  std::map<uint32_t, std::vector<std::vector<MicroOperation>>> by_place;
  for (const auto& [key, list] : lists_) {
    auto& groups = by_place[routing_.number(list.place)];
    if (groups.empty() || groups.back().size() == kReadsMax) groups.emplace_back();
    MicroOperation read;
    read.key = key;
    groups.back().push_back(read);
  }
  std::vector<std::unique_ptr<Task>> tasks;
  for (auto& [number, groups] : by_place) {
    // Several run at once: each is a process of its own.
    for (auto& group : groups) tasks.push_back(std::make_unique<Use>(this, kClosing + tasks.size(), std::move(group)));
  }
  return tasks;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Append::check_list(uint64_t key, const std::vector<uint64_t>& list, std::map<uint64_t, uint32_t>* seen) {
  for (const uint64_t element : list) {
    const std::string who = "element " + std::to_string(element) + " of list " + std::to_string(key);
    if (element == 0 || element >= elements_.size() || elements_[element].key != key) {
      context_.fail(who + " was never appended there");
      continue;
    }
    if (elements_[element].outcome == HistoryType::kFail) {
      context_.fail(who + " is there, but its client was told that it failed");
    }
    if (++(*seen)[element] == 2) context_.fail(who + " is there twice");
  }
}

void Append::check(const FinalState& state) {
  std::map<uint64_t, uint32_t> seen;
  std::map<uint64_t, std::vector<uint64_t>> finals;
  for (const auto& [key, list] : lists_) {
    const auto row = state.find({kLists, key});
    if (row != state.end()) finals[key] = list_of(row->second);
    check_list(key, finals[key], &seen);
  }
  // In async mode what was of one shard may be lost, but not what stood before a PREPARE.
  for (size_t element = 1; element < elements_.size(); ++element) {
    const Element& e = elements_[element];
    const bool must_stay = context_.is_sync() || (context_.durability == Durability::kAsync && e.is_over_several);
    if (must_stay && e.outcome == HistoryType::kOk && !seen.contains(element)) {
      context_.fail("element " + std::to_string(element) + " of list " + std::to_string(e.key) +
                    " was acknowledged and is lost");
    }
  }
  if (context_.durability == Durability::kNone) check_memory(seen);
  // What was read need not survive, but what failed must not have been read.
  for (const HistoryEntry& entry : history_) {
    for (const MicroOperation& operation : entry.value) {
      std::map<uint64_t, uint32_t> once;
      if (operation.has_list && !context_.is_sync()) check_list(operation.key, operation.list, &once);
    }
  }
  if (!context_.is_sync()) return;
  check_final(finals);
  const std::string verdict = judge(history_);
  if (!verdict.empty()) context_.fail("not strictly serializable: " + verdict);
}

void Append::check_final(const std::map<uint64_t, std::vector<uint64_t>>& finals) {
  for (const HistoryEntry& entry : history_) {
    for (const MicroOperation& operation : entry.value) {
      if (!operation.has_list) continue;
      const std::vector<uint64_t>& end = finals.at(operation.key);
      const bool is_beginning =
          operation.list.size() <= end.size() && std::equal(operation.list.begin(), operation.list.end(), end.begin());
      if (!is_beginning) {
        context_.fail("process " + std::to_string(entry.process) + " read something of list " +
                      std::to_string(operation.key) + " at " + std::to_string(entry.at) +
                      " ns that is not in the final list");
      }
    }
  }
}

// Mode none: on the nodes that have lived since a transaction began it is done on all or on none, and not on none if it
// was acknowledged; but for those that a participant gave up after nobody knew (COMMIT 18), which it counts.
void Append::check_memory(const std::map<uint64_t, uint32_t>& seen) {
  struct Done {
    size_t there = 0, missing = 0;
    bool is_acknowledged = false;
  };
  std::map<uint64_t, Done> transactions;
  for (size_t element = 1; element < elements_.size(); ++element) {
    const Element& e = elements_[element];
    if (e.begun <= context_.started[routing_.place_of(e.key).node]) continue;
    Done& done = transactions[e.transaction];
    ++(seen.contains(element) ? done.there : done.missing);
    done.is_acknowledged |= e.outcome == HistoryType::kOk;
  }
  size_t halves = 0;
  for (const auto& [number, done] : transactions) {
    halves += done.missing != 0 && (done.there != 0 || done.is_acknowledged);
  }
  if (halves <= context_.statistics.orphaned) return;
  context_.fail(std::to_string(halves) + " transactions are half done, and " +
                std::to_string(context_.statistics.orphaned) + " were given up");
}

}  // namespace txnic::sim
