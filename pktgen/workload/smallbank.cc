// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/smallbank.h"

#include "pktgen/workload/micro.h"

namespace txnic::pktgen {

namespace {

constexpr uint32_t kBalanceBytes = 8;

struct Cents {
  explicit Cents(int64_t amount) { store(bytes, amount); }
  operator Bytes() const { return {bytes, sizeof bytes}; }
  std::byte bytes[kBalanceBytes];
};

bool is_interactive(SmallBank::Kind kind) { return kind == SmallBank::kAmalgamate || kind == SmallBank::kWriteCheck; }

}  // namespace

std::span<const char* const> SmallBank::kinds() const {
  static const char* const kinds[kKinds] = {"amalgamate",   "balance",          "deposit_checking",
                                            "send_payment", "transact_savings", "write_check"};
  return kinds;
}

std::string SmallBank::prepare(const Facts& facts) {
  if (facts.reflected) return "smallbank needs a node that executes";
  keys_.init(settings_.records, facts.shards);
  const double hot = static_cast<double>(settings_.records) * settings_.hot_accounts_percent / 100;
  hot_accounts_ = std::clamp<uint64_t>(static_cast<uint64_t>(hot), 1, settings_.records);
  for (uint32_t flow = 0; flow < facts.flows; ++flow) random_.emplace_back(facts.seed, flow);
  flows_.assign(facts.flows, {});
  if (settings_.remote_percent > 0 && facts.shards == 1) return "--remote needs a node or nodes with several shards";
  return check_shards(keys_, 2, hot_accounts_);
}

void SmallBank::draw(uint32_t flow) {
  FlowState& state = flows_[flow];
  Random& random = random_[flow];
  const uint8_t kind = draw_kind(random, kMixPercent);
  state.kind = static_cast<Kind>(kind);
  // Hot or not is decided once for the whole transaction.
  const bool hot = random.unit() * 100 < settings_.hot_transactions_percent;
  const uint64_t limit = hot ? hot_accounts_ : settings_.records;
  state.a = random.below(limit);
  if (state.kind == kAmalgamate || state.kind == kSendPayment) {
    state.b = draw_other(state, random, limit);
  }
  state.is_committing = false;
  state.in_transaction = true;
  state.delta = 0;
  if (state.kind == kDepositChecking) state.delta = kDepositCents;
  if (state.kind == kTransactSavings) state.delta = (random.next() & 1) != 0 ? kSavingsCents : -kSavingsCents;
}

uint64_t SmallBank::draw_other(const FlowState& state, Random& random, uint64_t limit) const {
  const ShardId shard = keys_.shard(state.a);
  const bool is_remote = settings_.remote_percent > 0 && random.unit() * 100 < settings_.remote_percent;
  uint64_t other = 0;
  do {
    other = is_remote ? random.below(limit) : keys_.draw(random, shard, limit);
  } while (other == state.a || (is_remote && keys_.shard(other) == shard));
  return other;
}

void SmallBank::fill_reads(const FlowState& state, wire::ExecuteBuilder& request) const {
  request.get(settings_.savings_table, Key(state.a));
  request.get(settings_.checking_table, Key(state.a));
}

void SmallBank::fill_commit(const FlowState& state, wire::ExecuteBuilder& request) const {
  const TableId savings = settings_.savings_table, checking = settings_.checking_table;
  if (state.kind == kAmalgamate) {
    request.put_if(savings, Key(state.a), Cents(0), state.savings_version);
    request.put_if(checking, Key(state.a), Cents(0), state.checking_version);
    request.add(checking, Key(state.b), state.savings + state.checking);
  } else {
    request.check(savings, Key(state.a), state.savings_version, wire::kReadSet);
    request.put_if(checking, Key(state.a), Cents(state.checking + state.delta), state.checking_version);
  }
}

void SmallBank::fill_write(const FlowState& state, wire::ExecuteBuilder& request) const {
  const TableId savings = settings_.savings_table, checking = settings_.checking_table;
  if (state.kind == kDepositChecking) {
    request.add(checking, Key(state.a), state.delta);
  } else if (state.kind == kTransactSavings) {
    request.add_with_floor(savings, Key(state.a), state.delta, 0);
  } else {
    request.add_with_floor(checking, Key(state.a), -kPaymentCents, 0);
    request.add(checking, Key(state.b), kPaymentCents);
  }
}

ShardId SmallBank::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  FlowState& state = flows_[flow];
  if (!state.in_transaction) draw(flow);
  const bool has_other = state.kind == kSendPayment || (state.kind == kAmalgamate && state.is_committing);
  if (state.is_committing) {
    fill_commit(state, request);
  } else if (is_interactive(state.kind) || state.kind == kBalance) {
    fill_reads(state, request);
  } else {
    fill_write(state, request);
  }
  const ShardId shard = keys_.shard(state.a);
  return has_other && keys_.shard(state.b) != shard ? kSeveralShards : shard;
}

bool SmallBank::take_reads(FlowState& state, const Reply& reply) {
  const wire::Value& savings = reply.values[0];
  const wire::Value& checking = reply.values[1];
  if (!savings.present || !checking.present) return false;
  if (savings.length != kBalanceBytes || checking.length != kBalanceBytes) {
    fail("smallbank: a balance is not 8 bytes long; was the table loaded by another workload?");
    return false;
  }
  state.savings = load<int64_t>(savings.data);
  state.checking = load<int64_t>(checking.data);
  state.savings_version = savings.version;
  state.checking_version = checking.version;
  return true;
}

Progress SmallBank::settled(uint32_t flow, const Reply& reply) {
  FlowState& state = flows_[flow];
  const bool committed = reply.result == Result::kCommitted;
  const bool was_read = !state.is_committing && (is_interactive(state.kind) || state.kind == kBalance);
  if (committed && was_read) {
    if (!reply.has_values || reply.values.size() != 2) return {.done = false, .kind = state.kind};  // read again
    if (!take_reads(state, reply)) {
      state.in_transaction = false;
      return {.done = true, .good = false, .kind = state.kind, .result = Result::kNotFound};
    }
    if (state.kind != kBalance) {
      state.is_committing = true;
      if (state.kind == kWriteCheck) {
        const bool covered = state.savings + state.checking >= kCheckCents;
        state.delta = -(covered ? kCheckCents : kCheckCents + kOverdraftPenaltyCents);
      }
      return {.done = false, .kind = state.kind};
    }
  }
  if (!was_read && committed) ledger_.committed(state.delta);
  if (!was_read && reply.result == Result::kUnknownOutcome) ledger_.unknown(state.delta);
  state.in_transaction = false;
  return finished(reply, state.kind, true);
}

std::unique_ptr<Workload> SmallBank::loader() {
  ledger_.set_initial(2 * static_cast<int64_t>(settings_.records) * settings_.initial_balance_cents);
  has_books_ = true;
  const int64_t balance = settings_.initial_balance_cents;
  return std::make_unique<BulkLoad>(
      keys_, std::vector<TableId>{settings_.savings_table, settings_.checking_table}, kBalanceBytes,
      [balance](uint64_t, MutableBytes value) { store(value.data(), balance); });
}

std::unique_ptr<Workload> SmallBank::survey(Survey when) {
  surveyed_sum_ = 0;
  surveyed_rows_ = 0;
  missing_rows_ = 0;
  if (when == Survey::kBefore) {
    ledger_.set_initial(0);
    has_books_ = true;
  } else {
    is_surveyed_ = true;
  }
  return std::make_unique<BulkRead>(
      keys_, std::vector<TableId>{settings_.savings_table, settings_.checking_table}, kBalanceBytes,
      [this, when](uint32_t, uint64_t, bool present, Bytes value) {
        ++surveyed_rows_;
        if (!present || value.size() != kBalanceBytes) {
          ++missing_rows_;
          return;
        }
        const auto balance = load<int64_t>(value.data());
        surveyed_sum_ += balance;
        if (when == Survey::kBefore) ledger_.set_initial(ledger_.initial() + balance);
      });
}

Check SmallBank::check() const {
  if (!is_surveyed_ || !has_books_) return {};
  Check check{.made = true, .passed = true, .text = {}};
  const std::string sum = std::to_string(surveyed_sum_);
  const std::string expected = std::to_string(ledger_.initial()) + " initial " +
                               (ledger_.committed_sum() < 0 ? "- " : "+ ") +
                               std::to_string(std::abs(ledger_.committed_sum())) + " by committed transactions";
  if (missing_rows_ != 0) {
    check.passed = false;
    check.text = "conservation FAILED: " + std::to_string(missing_rows_) + " of " + std::to_string(surveyed_rows_) +
                 " balances are missing";
    return check;
  }
  check.passed = ledger_.explains(surveyed_sum_);
  const size_t unknown = ledger_.unknown_amounts().size();
  const std::string doubt =
      unknown == 0 ? std::string()
                   : " (" + std::to_string(unknown) + " amounts of unknown outcome: between " +
                         std::to_string(ledger_.least()) + " and " + std::to_string(ledger_.most()) + ")";
  check.text = std::string("conservation ") + (check.passed ? "holds: " : "FAILED: ") +
               std::to_string(surveyed_rows_) + " balances sum to " + sum + " cents, " +
               (check.passed ? "as they must: " : "but must be ") + expected + doubt;
  if (!check.passed) check.text += ", difference " + std::to_string(surveyed_sum_ - ledger_.expected());
  return check;
}

bool SmallBank::write_ledger(LedgerRecord* record) const {
  if (!has_books_) return false;
  record->workload = name();
  record->accounts = settings_.records;
  record->savings_table = settings_.savings_table;
  record->checking_table = settings_.checking_table;
  record->sums = ledger_;
  return true;
}

std::string SmallBank::adopt(const LedgerRecord& record) {
  if (record.workload != name()) return "the ledger is one of workload '" + record.workload + "'";
  if (record.accounts != settings_.records) {
    return "the ledger is one of " + std::to_string(record.accounts) + " accounts";
  }
  if (has_adopted_ && record.sums.initial() != ledger_.initial()) {
    return "the ledgers begin with different sums; runs one after the other are verified by the last one's alone";
  }
  if (has_adopted_) {
    ledger_.merge(record.sums);
  } else {
    ledger_ = record.sums;
  }
  has_adopted_ = has_books_ = true;
  return {};
}

}  // namespace txnic::pktgen
