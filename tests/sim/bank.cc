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
    const uint32_t from = random.below32(bank_.accounts());
    uint32_t to = (from + 1 + random.below32(bank_.accounts() - 1)) % bank_.accounts();
    if (random.below(2) == 0) to = from - from % kAccountsPerPlace + (from + 1) % kAccountsPerPlace;  // of one shard
    const auto amount = static_cast<int64_t>(1 + random.below(60));
    std::vector<std::byte> taken = bytes_of(-amount);
    append_bytes(&taken, int64_t{0});  // never below zero
    transaction->parts.clear();
    transaction->add(bank_.place_of(from), {wire::Code::kAdd, kAccounts, bank_.account(from), std::move(taken),
                                            wire::kHasFloor, 0});
    transaction->add(bank_.place_of(to), {wire::Code::kAdd, kAccounts, bank_.account(to), bytes_of(amount), 0, 0});
    return true;
  }
  void abandon() override {}

 private:
  Bank& bank_;
};

// Reads every account, in one of two ways: all at once, as a transaction over all shards; or shard by shard, and then
// it checks shard by shard that nothing has changed since (DESIGN 4.4, trap 13: every read is validated after the last
// one).
class Bank::Audit final : public Task {
 public:
  explicit Audit(Bank* bank) : bank_(*bank) {
    at_once_ = bank_.fits_one_transaction() && bank_.context_.random.below(2) == 0;
  }
  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous != nullptr) {
      if (!previous->committed() || previous->is_duplicate) return false;
      if (!is_checking_) take(*previous);
      if (next_ == bank_.routing_.places()) {
        if (at_once_ || is_checking_ || bank_.context_.options.switches.client.skips_checks) {
          look_at();
          return false;
        }
        is_checking_ = true;
        next_ = 0;
      }
    }
    transaction->parts.clear();
    const uint32_t end = at_once_ ? bank_.routing_.places() : next_ + 1;
    for (; next_ < end; ++next_) plan(next_, transaction);
    return true;
  }
  void abandon() override {}

 private:
  struct Seen {
    Version version;
    int64_t balance;
  };
  void plan(uint32_t place, Transaction* transaction) {
    for (uint32_t i = place * kAccountsPerPlace; i < (place + 1) * kAccountsPerPlace; ++i) {
      Operation operation{wire::Code::kGet, kAccounts, bank_.account(i), {}, 0, 0};
      if (is_checking_) {
        operation.code = wire::Code::kCheck;
        operation.flags = wire::kReadSet;
        operation.expected = seen_[i].version;
      }
      transaction->add(bank_.place_of(i), std::move(operation));
    }
  }
  void take(const Outcome& outcome) {
    for (const Value& value : outcome.values) {
      if (value.bytes.size() != 8) return bank_.context_.fail("an audit misses an account");
      seen_.push_back({value.version, load<int64_t>(value.bytes.data())});
    }
  }
  void look_at() const {
    int64_t sum = 0;
    for (const Seen& seen : seen_) {
      if (seen.balance < 0) bank_.context_.fail("an audit saw a balance below zero");
      sum += seen.balance;
    }
    const int64_t wanted = kOpening * bank_.accounts();
    if (seen_.size() == bank_.accounts() && sum == wanted) return;
    bank_.context_.fail(std::string("an audit (") + (at_once_ ? "at once" : "in two rounds") + ") saw " +
                        std::to_string(sum) + " instead of " + std::to_string(wanted) + " in " +
                        std::to_string(seen_.size()) + " accounts");
  }

  Bank& bank_;
  bool at_once_ = false, is_checking_ = false;
  uint32_t next_ = 0;  // place
  std::vector<Seen> seen_;
};

std::vector<std::unique_ptr<Task>> Bank::setup() {
  std::vector<std::unique_ptr<Task>> tasks;
  for (uint32_t number = 0; number < routing_.places(); ++number) {
    Part part{routing_.place(number), {}};
    for (uint32_t i = 0; i < kAccountsPerPlace; ++i) {
      part.operations.push_back(
          {wire::Code::kInsert, kAccounts, account(number * kAccountsPerPlace + i), bytes_of(kOpening), 0, 0});
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
  int64_t sum = 0;
  for (uint32_t i = 0; i < accounts(); ++i) {
    const auto row = state.find({kAccounts, account(i)});
    if (row == state.end() || row->second.size() != 8) return context_.fail("an account is gone at the end");
    sum += load<int64_t>(row->second.data());
  }
  if (sum == kOpening * accounts()) return;
  context_.fail("the bank ends with " + std::to_string(sum) + " instead of " + std::to_string(kOpening * accounts()));
}

}  // namespace txnic::sim
