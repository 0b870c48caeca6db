// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/ledger.h"

#include <gtest/gtest.h>

#include <set>

#include "pktgen/report/files.h"
#include "pktgen/workload/random.h"

namespace txnic::pktgen {
namespace {

TEST(SumLedger, WithoutUnknownOutcomesTheSumIsExact) {
  SumLedger ledger;
  ledger.set_initial(1000);
  ledger.committed(130);
  ledger.committed(-500);
  EXPECT_TRUE(ledger.explains(630));
  EXPECT_FALSE(ledger.explains(629));
  EXPECT_FALSE(ledger.explains(631));
}

TEST(SumLedger, EachUnknownAmountWasAppliedOrNot) {
  Random random(4);
  const int64_t amounts[] = {130, 2020, -2020, -500, -600};
  for (int trial = 0; trial < 200; ++trial) {
    SumLedger ledger;
    ledger.set_initial(10'000);
    std::set<int64_t> reachable = {10'000};
    const uint64_t count = random.below(10);
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t amount = amounts[random.below(5)];
      ledger.unknown(amount);
      std::set<int64_t> with = reachable;
      for (const int64_t sum : reachable) with.insert(sum + amount);
      reachable = with;
    }
    EXPECT_EQ(ledger.least(), *reachable.begin());
    EXPECT_EQ(ledger.most(), *reachable.rbegin());
    for (int64_t actual = ledger.least() - 30; actual <= ledger.most() + 30; actual += 5) {
      EXPECT_EQ(ledger.explains(actual), reachable.count(actual) != 0) << actual;
    }
  }
}

TEST(SumLedger, ZeroAmountsAreNoDoubt) {
  SumLedger ledger;
  ledger.unknown(0);
  EXPECT_TRUE(ledger.unknown_amounts().empty());
  EXPECT_FALSE(ledger.explains(1));
}

TEST(SumLedger, MergesGeneratorsThatRanAtOnce) {
  SumLedger one, two;
  one.set_initial(100);
  two.set_initial(100);
  one.committed(5);
  two.committed(7);
  two.unknown(-3);
  one.merge(two);
  EXPECT_TRUE(one.explains(112));
  EXPECT_TRUE(one.explains(109));
  EXPECT_FALSE(one.explains(110));
}

TEST(CounterEntry, IsBetweenAcknowledgedAndUnknown) {
  const CounterEntry entry{.key = 1, .initial = 10, .acknowledged = 5, .unknown = 2};
  for (int64_t actual = 0; actual < 30; ++actual) EXPECT_EQ(entry.explains(actual), actual >= 15 && actual <= 17);
}

TEST(LedgerFile, ComesBackAsItWas) {
  LedgerRecord record;
  record.workload = "smallbank";
  record.accounts = 1'000'000;
  record.table = 1;
  record.savings_table = 2;
  record.checking_table = 65'535;
  record.sums.set_initial(-9'007'199'254'740'993);  // not a double
  record.sums.committed(9'007'199'254'740'993);
  record.sums.unknown(-2020);
  record.counters.push_back({1ull << 40, -1, ~0ull, 3});
  LedgerRecord back;
  std::string error;
  ASSERT_TRUE(ledger_from_json(to_json(record), &back, &error)) << error;
  EXPECT_EQ(back.workload, record.workload);
  EXPECT_EQ(back.accounts, record.accounts);
  EXPECT_EQ(back.checking_table, record.checking_table);
  EXPECT_EQ(back.sums.initial(), record.sums.initial());
  EXPECT_EQ(back.sums.committed_sum(), record.sums.committed_sum());
  EXPECT_EQ(back.sums.unknown_amounts(), record.sums.unknown_amounts());
  ASSERT_EQ(back.counters.size(), 1u);
  EXPECT_EQ(back.counters[0].key, 1ull << 40);
  EXPECT_EQ(back.counters[0].initial, -1);
  EXPECT_EQ(back.counters[0].acknowledged, ~0ull);
}

TEST(LedgerFile, GarbageIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"no_such_field\": 1}", "{\"table\": 70000}", "{\"initial_sum\": \"x\"}"}) {
    LedgerRecord record;
    std::string error;
    EXPECT_FALSE(ledger_from_json(text, &record, &error)) << text;
    EXPECT_FALSE(error.empty()) << text;
  }
}

}  // namespace
}  // namespace txnic::pktgen
