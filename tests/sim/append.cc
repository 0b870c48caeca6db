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

// Reads all its lists in one transaction; if it appends, a second one writes them back where nothing has changed since.
class Append::Use final : public Task {
 public:
  Use(Append* workload, uint64_t process, std::vector<MicroOperation> wanted)
      : workload_(*workload), process_(process), wanted_(std::move(wanted)) {
    for (const MicroOperation& operation : wanted_) {
      appends_ |= operation.is_append;
      if (std::none_of(reads_.begin(), reads_.end(), [&](const Read& read) { return read.key == operation.key; })) {
        reads_.push_back({operation.key, 0, 0, false, {}});
      }
    }
  }

  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous == nullptr) {
      workload_.note(HistoryType::kInvoke, process_, wanted_);
      plan_reads(transaction);
      return true;
    }
    if (!have_read_) {
      if (!previous->committed()) return end(HistoryType::kFail);  // nothing was written
      take(*previous);
      if (!appends_) return end(HistoryType::kOk);
      plan_writes(transaction);
      return true;
    }
    if (previous->is_unknown) return end(HistoryType::kInfo);
    return end(previous->committed() ? HistoryType::kOk : HistoryType::kFail);
  }

  void abandon() override { end(HistoryType::kInfo); }

 private:
  struct Read {
    uint64_t key;
    size_t told_before;
    Version version;
    bool present;
    std::vector<uint64_t> list;
  };

  Place place() const { return workload_.routing_.place_of(reads_.front().key); }

  void plan_reads(Transaction* transaction) {
    Part part{place(), {}};
    for (Read& read : reads_) {
      read.told_before = workload_.lists_[read.key].told;
      part.operations.push_back({wire::Code::kGet, kLists, read.key, {}, 0, 0});
    }
    transaction->parts = {std::move(part)};
  }

  void take(const Outcome& outcome) {
    have_read_ = true;
    for (size_t i = 0; i < reads_.size(); ++i) {
      const Value& value = outcome.values[i];
      reads_[i].version = value.version;
      reads_[i].present = value.present;
      reads_[i].list = list_of(value.bytes);
    }
    // What each operation sees: the list as read, and what this transaction has appended before it.
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
    Part part{place(), {}};
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
      part.operations.push_back(std::move(operation));
    }
    transaction->parts = {std::move(part)};
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
    if (read.list.size() < read.told_before) {
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
  bool appends_ = false;
  bool have_read_ = false;
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
  const uint32_t first = random.below32(routing_.places()) * kListsPerPlace;
  std::vector<MicroOperation> wanted(1 + random.below(4));
  for (MicroOperation& operation : wanted) {
    uint64_t& key = slots_[first + random.below32(kListsPerPlace)];
    if (lists_[key].told >= kElementsMax) fill(static_cast<uint32_t>(&key - slots_.data()));
    operation.key = key;
    operation.is_append = random.below(2) == 0;
    if (!operation.is_append) continue;
    operation.element = elements_.size();
    elements_.push_back({operation.key, HistoryType::kInvoke});
  }
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
  for (size_t element = 1; element < elements_.size(); ++element) {
    if (elements_[element].outcome == HistoryType::kOk && !seen.contains(element)) {
      context_.fail("element " + std::to_string(element) + " of list " + std::to_string(elements_[element].key) +
                    " was acknowledged and is lost");
    }
  }
  for (const HistoryEntry& entry : history_) {
    for (const MicroOperation& operation : entry.value) {
      if (!operation.has_list) continue;
      const std::vector<uint64_t>& end = finals[operation.key];
      const bool is_beginning =
          operation.list.size() <= end.size() && std::equal(operation.list.begin(), operation.list.end(), end.begin());
      if (!is_beginning) {
        context_.fail("process " + std::to_string(entry.process) + " read something of list " +
                      std::to_string(operation.key) + " at " + std::to_string(entry.at) +
                      " ns that is not in the final list");
      }
    }
  }
  const std::string verdict = judge(history_);
  if (!verdict.empty()) context_.fail("not strictly serializable: " + verdict);
}

}  // namespace txnic::sim
