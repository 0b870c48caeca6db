// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/bank.h"

#include "tests/sim/load.h"
#include "tests/sim/tables.h"

namespace txnic::sim {

class Bank::Transfer final : public Task {
 public:
  explicit Transfer(Bank* bank) : bank_(*bank) {}
  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous != nullptr) {
      if (previous->result == Result::kNotFound) bank_.context_.fail("an account is gone");
      return false;
    }
    Random& random = bank_.context_.random;
    const Place place = bank_.routing_.place(random.below32(bank_.routing_.places()));
    const uint32_t from = random.below32(kAccountsPerPlace);
    const uint32_t to = (from + 1 + random.below32(kAccountsPerPlace - 1)) % kAccountsPerPlace;
    const auto amount = static_cast<int64_t>(1 + random.below(60));
    std::vector<std::byte> taken = bytes_of(-amount);
    append_bytes(&taken, int64_t{0});  // never below zero
    transaction->parts = {
        {place,
         {{wire::Code::kAdd, kAccounts, bank_.account(place, from), std::move(taken), wire::kHasFloor, 0},
          {wire::Code::kAdd, kAccounts, bank_.account(place, to), bytes_of(amount), 0, 0}}}};
    return true;
  }
  void abandon() override {}

 private:
  Bank& bank_;
};

class Bank::Audit final : public Task {
 public:
  explicit Audit(Bank* bank) : bank_(*bank) {}
  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous != nullptr) {
      if (previous->committed()) look_at(*previous);
      return false;
    }
    place_ = bank_.routing_.place(bank_.context_.random.below32(bank_.routing_.places()));
    Part part{place_, {}};
    for (uint32_t i = 0; i < kAccountsPerPlace; ++i) {
      part.operations.push_back({wire::Code::kGet, kAccounts, bank_.account(place_, i), {}, 0, 0});
    }
    transaction->parts = {std::move(part)};
    return true;
  }
  void abandon() override {}

 private:
  void look_at(const Outcome& outcome) const {
    int64_t sum = 0;
    for (const Value& value : outcome.values) {
      if (value.bytes.size() != 8) return bank_.context_.fail("an audit misses an account");
      const auto balance = load<int64_t>(value.bytes.data());
      if (balance < 0) bank_.context_.fail("an audit saw a balance below zero");
      sum += balance;
    }
    if (sum == kOpening * kAccountsPerPlace) return;
    bank_.context_.fail("an audit of node " + std::to_string(place_.node) + " shard " + std::to_string(place_.shard) +
                        " saw " + std::to_string(sum) + " instead of " + std::to_string(kOpening * kAccountsPerPlace));
  }

  Bank& bank_;
  Place place_;
};

std::vector<std::unique_ptr<Task>> Bank::setup() {
  std::vector<std::unique_ptr<Task>> tasks;
  for (uint32_t number = 0; number < routing_.places(); ++number) {
    Part part{routing_.place(number), {}};
    for (uint32_t i = 0; i < kAccountsPerPlace; ++i) {
      part.operations.push_back({wire::Code::kInsert, kAccounts, account(part.place, i), bytes_of(kOpening), 0, 0});
    }
    tasks.push_back(std::make_unique<Load>(&context_, std::move(part)));
  }
  return tasks;
}

std::unique_ptr<Task> Bank::begin(uint64_t) {
  if (context_.random.below(3) == 0) return std::make_unique<Audit>(this);
  return std::make_unique<Transfer>(this);
}

void Bank::check(const FinalState& state) {
  for (uint32_t number = 0; number < routing_.places(); ++number) {
    const Place place = routing_.place(number);
    int64_t sum = 0;
    for (uint32_t i = 0; i < kAccountsPerPlace; ++i) {
      const auto row = state.find({kAccounts, account(place, i)});
      if (row == state.end() || row->second.size() != 8) return context_.fail("an account is gone at the end");
      sum += load<int64_t>(row->second.data());
    }
    if (sum != kOpening * kAccountsPerPlace) {
      context_.fail("the bank of node " + std::to_string(place.node) + " shard " + std::to_string(place.shard) +
                    " ends with " + std::to_string(sum) + " instead of " +
                    std::to_string(kOpening * kAccountsPerPlace));
    }
  }
}

}  // namespace txnic::sim
