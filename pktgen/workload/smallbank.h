// SPDX-License-Identifier: BSD-3-Clause
// SmallBank as WORKLOADS.md defines it: mix, hot set, one-shot and interactive transactions, signed 64-bit cents.
//
//   Amalgamate       15 %  interactive  reads both accounts of A; both become 0, B's checking gets the sum
//   Balance          15 %  one-shot     reads both accounts of A
//   DepositChecking  15 %  one-shot     A's checking + 1.30
//   SendPayment      25 %  one-shot     A's checking - 5.00, not below zero; B's checking + 5.00
//   TransactSavings  15 %  one-shot     A's savings + or - 20.20 (evenly), not below zero
//   WriteCheck       15 %  interactive  reads both of A; checking - 5.00, with 1.00 more if both do not cover it
//
// B is of A's shard, but in `remote_percent` of the transactions that have one, where it is of another one.
//
// The books (SumLedger) hold what committed transactions put in or took out; the check compares them with all balances.
#pragma once

#include <vector>

#include "pktgen/workload/bulk.h"
#include "pktgen/workload/key_space.h"
#include "pktgen/workload/ledger.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class SmallBank final : public Workload {
 public:
  enum Kind : uint8_t { kAmalgamate, kBalance, kDepositChecking, kSendPayment, kTransactSavings, kWriteCheck };
  static constexpr uint32_t kKinds = 6;
  static constexpr uint32_t kMixPercent[kKinds] = {15, 15, 15, 25, 15, 15};
  static constexpr int64_t kDepositCents = 130;
  static constexpr int64_t kPaymentCents = 500;
  static constexpr int64_t kSavingsCents = 2020;
  static constexpr int64_t kCheckCents = 500;
  static constexpr int64_t kOverdraftPenaltyCents = 100;

  explicit SmallBank(const WorkloadSettings& settings) : settings_(settings) {}
  const char* name() const override { return "smallbank"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  std::unique_ptr<Workload> loader() override;
  std::unique_ptr<Workload> survey(Survey when) override;
  Check check() const override;
  bool write_ledger(LedgerRecord* record) const override;
  std::string adopt(const LedgerRecord& record) override;

  const SumLedger& ledger() const { return ledger_; }

 private:
  struct FlowState {
    Kind kind = kBalance;
    bool in_transaction = false;
    bool is_committing = false;  // interactive: the reads are done
    uint64_t a = 0, b = 0;
    int64_t delta = 0;           // what the request in flight puts into the bank
    int64_t savings = 0, checking = 0;
    Version savings_version = 0, checking_version = 0;
  };
  void draw(uint32_t flow);
  uint64_t draw_other(const FlowState& state, Random& random, uint64_t limit) const;
  void fill_reads(const FlowState& state, wire::ExecuteBuilder& request) const;
  void fill_commit(const FlowState& state, wire::ExecuteBuilder& request) const;
  void fill_write(const FlowState& state, wire::ExecuteBuilder& request) const;
  // Takes over both balances of a read. False: an account is missing.
  bool take_reads(FlowState& state, const Reply& reply);

  const WorkloadSettings settings_;
  KeySpace keys_;
  uint64_t hot_accounts_ = 1;
  std::vector<Random> random_;
  std::vector<FlowState> flows_;
  SumLedger ledger_;
  bool has_books_ = false;        // the initial sum is known
  bool is_surveyed_ = false;
  int64_t surveyed_sum_ = 0;
  uint64_t surveyed_rows_ = 0, missing_rows_ = 0;
  bool has_adopted_ = false;
};

}  // namespace txnic::pktgen
