// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/counters.h"

#include <algorithm>

#include "tests/sim/load.h"
#include "tests/sim/tables.h"

namespace txnic::sim {

// One transaction on one or two counters of a place: increments, increments with a floor that may not hold, or reads.
// Sometimes it names one twice (DESIGN 4.4, trap 12).
class Counters::Use final : public Task {
 public:
  enum class Kind : uint8_t { kAdd, kAddWithFloor, kRead };

  explicit Use(Counters* workload) : workload_(*workload), context_(workload->context_) {
    Random& random = context_.random;
    kind_ = static_cast<Kind>(std::min<uint64_t>(random.below(5) / 2, 2));
    // A few are used often, so that what failed at the floor soon would not.
    const uint32_t places = random.below(2) == 0 ? kBusyPlaces : workload_.routing_.places();
    const auto first = static_cast<size_t>(random.below32(places)) * kPerPlace;
    const uint32_t one = random.below(4) == 0 ? random.below32(kPerPlace) : 0;
    used_.push_back(first + one);
    const uint64_t more = random.below(6);
    if (more < 2) used_.push_back(first + (one + more) % kPerPlace);
  }

  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous != nullptr) {
      settle(*previous);
      return false;
    }
    Part part{workload_.counters_[used_.front()].place, {}};
    for (const size_t index : used_) {
      const Counter& counter = workload_.counters_[index];
      told_before_.push_back(counter.told);
      Operation operation{wire::Code::kGet, kCounters, counter.key, {}, 0, 0};
      if (kind_ != Kind::kRead) {
        operation.code = wire::Code::kAdd;
        operation.value = bytes_of(int64_t{1});
      }
      if (kind_ == Kind::kAddWithFloor) {
        floor_ = counter.told + 1 + static_cast<int64_t>(context_.random.below(context_.random.below(2) == 0 ? 2 : 6));
        append_bytes(&operation.value, floor_);
        operation.flags = wire::kHasFloor;
      }
      part.operations.push_back(std::move(operation));
    }
    transaction->parts = {std::move(part)};
    return true;
  }

  void abandon() override { count_unknown(); }

 private:
  void count_unknown() {
    if (kind_ == Kind::kRead) return;
    for (const size_t index : used_) ++workload_.counters_[index].unknown;
  }

  void settle(const Outcome& outcome) {
    if (outcome.is_unknown) return count_unknown();
    if (outcome.result == Result::kNotFound) context_.fail("a counter is gone");
    if (!outcome.committed()) return;
    for (size_t i = 0; i < used_.size(); ++i) {
      Counter& counter = workload_.counters_[used_[i]];
      if (kind_ != Kind::kRead) counter.told = std::max(counter.told, ++counter.acknowledged);
      if (!outcome.is_duplicate) look_at(&counter, told_before_[i], outcome.values[i]);
    }
  }

  void look_at(Counter* counter, int64_t told_before, const Value& value) {
    const std::string who = "counter " + std::to_string(counter->key);
    if (!value.present || value.bytes.size() != 8) return context_.fail(who + " is gone");
    const auto sum = load<int64_t>(value.bytes.data());
    counter->told = std::max(counter->told, sum);
    if (!context_.is_sync()) return;
    if (sum < told_before + (kind_ == Kind::kRead ? 0 : 1)) {
      context_.fail(who + " answered " + std::to_string(sum) + " after somebody had been told " +
                    std::to_string(told_before));
    }
    if (kind_ == Kind::kRead) return;
    if (!counter->sums.insert(sum).second) context_.fail(who + " answered the sum " + std::to_string(sum) + " twice");
  }

  static constexpr uint32_t kBusyPlaces = 1;

  Counters& workload_;
  Context& context_;
  Kind kind_;
  std::vector<size_t> used_;
  std::vector<int64_t> told_before_;
  int64_t floor_ = 0;
};

Counters::Counters(Context* context, const Routing* routing) : context_(*context), routing_(*routing) {
  for (uint32_t number = 0; number < routing->places(); ++number) {
    for (uint32_t i = 0; i < kPerPlace; ++i) {
      const Place place = routing->place(number);
      counters_.push_back({routing->key_at(place, i), place, 0, 0, 0, {}});
    }
  }
}

std::vector<std::unique_ptr<Task>> Counters::setup() {
  std::vector<std::unique_ptr<Task>> tasks;
  for (size_t first = 0; first < counters_.size(); first += kPerPlace) {
    Part part{counters_[first].place, {}};
    for (size_t i = first; i < first + kPerPlace; ++i) {
      part.operations.push_back({wire::Code::kInsert, kCounters, counters_[i].key, bytes_of(int64_t{0}), 0, 0});
    }
    tasks.push_back(std::make_unique<Load>(&context_, std::move(part)));
  }
  return tasks;
}

std::unique_ptr<Task> Counters::begin(uint64_t) { return std::make_unique<Use>(this); }

void Counters::check(const FinalState& state) {
  for (const Counter& counter : counters_) {
    const auto row = state.find({kCounters, counter.key});
    const std::string who = "counter " + std::to_string(counter.key);
    if (row == state.end() || row->second.size() != 8) {
      context_.fail(who + " is gone at the end");
      continue;
    }
    const auto value = load<int64_t>(row->second.data());
    // Of one shard each: in async mode the last ones may be lost.
    const int64_t least = context_.is_sync() ? std::max(counter.acknowledged, counter.told) : 0;
    if (value >= least && value <= counter.acknowledged + counter.unknown) continue;
    context_.fail(who + " ends at " + std::to_string(value) + " with " + std::to_string(counter.acknowledged) +
                  " increments acknowledged, " + std::to_string(counter.unknown) + " unknown, and " +
                  std::to_string(counter.told) + " told");
  }
}

}  // namespace txnic::sim
