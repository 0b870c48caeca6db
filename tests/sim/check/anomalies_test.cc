// SPDX-License-Identifier: BSD-3-Clause
// A smallest history for each anomaly, found by its name; and correct ones that look suspicious, which pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sim/check/list_append.h"

namespace {

using namespace txnic::check;

MicroOp a(Key key, Value value) { return MicroOp::append(key, value); }
MicroOp r(Key key, std::vector<Value> list) { return MicroOp::read(key, std::move(list)); }

// A transaction from `invoked` to `completed`. Each has a process of its own, unless one is given.
Operation op(uint64_t invoked, uint64_t completed, std::vector<MicroOp> micro_ops, Outcome outcome = Outcome::kOk,
             int64_t process = -1) {
  Operation operation;
  operation.process = process >= 0 ? process : static_cast<int64_t>(100 + invoked);
  operation.invoked = invoked;
  operation.completed = completed;
  operation.outcome = outcome;
  operation.micro_ops = std::move(micro_ops);
  return operation;
}

struct Row {
  const char* what;
  const char* anomaly;  // expected; "" if the history is correct
  std::vector<Operation> operations;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.what; }

constexpr Outcome kFail = Outcome::kFail;
constexpr Outcome kInfo = Outcome::kInfo;

// 0 … 9 are invocations, 50 … completions: concurrent.
const std::vector<Row> kDataAnomalies = {
    {"two transactions order their appends to two keys differently",
     "G0",
     {op(0, 50, {a(1, 1), a(2, 1)}), op(1, 51, {a(1, 2), a(2, 2)}), op(2, 52, {r(1, {1, 2}), r(2, {2, 1})})}},
    {"another's append between two of one transaction",
     "G0",
     {op(0, 50, {a(1, 1), a(1, 3)}), op(1, 51, {a(1, 2)}), op(2, 52, {r(1, {1, 2, 3})})}},
    {"the first of two appends shows, the second comes behind another's",
     "G0",
     {op(0, 50, {a(1, 1), a(1, 3)}), op(1, 51, {a(1, 2)}), op(2, 52, {r(1, {1, 2})})}},
    {"two read what the other appended", "G1c", {op(0, 50, {a(1, 1), r(2, {1})}), op(1, 51, {a(2, 1), r(1, {1})})}},
    {"a read of a failed transaction's append", "G1a", {op(0, 50, {a(1, 1)}, kFail), op(1, 51, {r(1, {1})})}},
    {"a failed append under a committed one",
     "G1a",
     {op(0, 50, {a(1, 1)}, kFail), op(1, 51, {a(1, 2)}), op(2, 52, {r(1, {1, 2})})}},
    {"a read between two appends of another", "G1b", {op(0, 50, {a(1, 1), a(1, 2)}), op(1, 51, {r(1, {1})})}},
    {"an intermediate read by one that then appends",
     "G1b",
     {op(0, 50, {a(1, 1), a(1, 2)}), op(1, 51, {r(1, {1}), a(1, 3)}), op(2, 52, {r(1, {1, 2, 3})})}},
    {"read skew: one key new, the other old",
     "G-single",
     {op(0, 50, {a(1, 1), a(2, 1)}), op(1, 51, {r(1, {1}), r(2, {})}), op(2, 52, {r(2, {1})})}},
    {"read skew with an append that nobody has seen",
     "G-single",
     {op(0, 50, {a(1, 1), a(2, 1)}), op(1, 51, {r(1, {1}), r(2, {})})}},
    {"a lost update, which also is read skew once it shows",
     "G-single",
     {op(0, 50, {r(1, {}), a(1, 1)}), op(1, 51, {r(1, {}), a(1, 2)}), op(2, 52, {r(1, {1, 2})})}},
    {"write skew",
     "G2",
     {op(0, 50, {r(1, {}), a(2, 1)}), op(1, 51, {r(2, {}), a(1, 1)}), op(2, 52, {r(1, {1}), r(2, {1})})}},
    {"write skew that no read shows", "G2", {op(0, 50, {r(1, {}), a(2, 1)}), op(1, 51, {r(2, {}), a(1, 1)})}},
    {"a long fork: two readers see two appends in opposite order",
     "G2",
     {op(0, 50, {a(1, 1)}), op(1, 51, {a(2, 1)}), op(2, 52, {r(1, {1}), r(2, {})}), op(3, 53, {r(1, {}), r(2, {1})})}},
    {"two update the same version", "lost-update", {op(0, 50, {r(1, {}), a(1, 1)}), op(1, 51, {r(1, {}), a(1, 2)})}},
    {"two update the same version, one shows",
     "lost-update",
     {op(0, 50, {r(1, {}), a(1, 1)}), op(1, 51, {r(1, {}), a(1, 2)}), op(2, 52, {r(1, {1})})}},
    {"it does not see its own append", "internal", {op(0, 50, {a(1, 1), r(1, {})})}},
    {"its own appends in the wrong order", "internal", {op(0, 50, {a(1, 1), a(1, 2), r(1, {2, 1})})}},
    {"it sees its own append where another's came later",
     "internal",
     {op(0, 50, {a(1, 1), r(1, {1, 2})}), op(1, 51, {a(1, 2)})}},
    {"two reads differ", "internal", {op(0, 50, {r(1, {}), r(1, {1})}), op(1, 51, {a(1, 1)})}},
    {"it reads what it appends later", "future-read", {op(0, 50, {r(1, {1}), a(1, 1)})}},
    {"a value that nobody appended", "garbage-read", {op(0, 50, {a(1, 1)}), op(1, 51, {r(1, {1, 9})})}},
    {"a value of another key", "garbage-read", {op(0, 50, {a(1, 1), a(2, 2)}), op(1, 51, {r(1, {1, 2})})}},
    {"one append twice", "duplicate-elements", {op(0, 50, {a(1, 1)}), op(1, 51, {r(1, {1, 1})})}},
    {"two reads that are no prefix of each other",
     "incompatible-order",
     {op(0, 50, {a(1, 1)}), op(1, 51, {a(1, 2)}), op(2, 52, {r(1, {1, 2})}), op(3, 53, {r(1, {2})})}},
    {"half of a transaction's appends", "partial-append", {op(0, 50, {a(1, 1), a(1, 2)}), op(1, 51, {r(1, {2})})}},
    {"a transaction's appends in reverse",
     "partial-append",
     {op(0, 50, {a(1, 1), a(1, 2)}), op(1, 51, {r(1, {2, 1})})}},
    {"an unknown one shows in one key and not in the other",
     "G-single",
     {op(0, kNever, {a(1, 1), a(2, 1)}, kInfo), op(1, 51, {r(1, {1}), r(2, {})}), op(2, 52, {r(2, {1})})}},
    {"half of an unknown one", "G-single", {op(0, 50, {a(1, 1), a(2, 1)}, kInfo), op(1, 51, {r(1, {1}), r(2, {})})}},
};

// One after the other where the positions say so.
const std::vector<Row> kOrderAnomalies = {
    {"appends against real time", "G0-realtime", {op(0, 1, {a(1, 1)}), op(2, 3, {a(1, 2)}), op(4, 5, {r(1, {2, 1})})}},
    {"an acknowledged append is lost, another came later",
     "G0-realtime",
     {op(0, 1, {a(1, 1)}), op(2, 3, {a(1, 2)}), op(4, 5, {r(1, {2})})}},
    {"a read of what is appended later", "G1c-realtime", {op(0, 1, {r(1, {1})}), op(2, 3, {a(1, 1)})}},
    {"an unknown one is seen before it was invoked",
     "G1c-realtime",
     {op(0, 1, {r(1, {1})}), op(2, kNever, {a(1, 1)}, kInfo)}},
    {"a stale read", "G-single-realtime", {op(0, 1, {a(1, 1)}), op(2, 3, {r(1, {})})}},
    {"a stale read, three in between",
     "G-single-realtime",
     {op(0, 1, {a(1, 1)}), op(2, 3, {a(1, 2)}), op(4, 5, {r(2, {})}), op(6, 7, {r(1, {1})}), op(8, 9, {r(1, {1, 2})})}},
    {"an append that two readers see in turn and not",
     "G-single-realtime",
     {op(0, 10, {a(1, 1)}), op(1, 2, {r(1, {1})}), op(3, 4, {r(1, {})})}},
    {"a long fork that needs time to close",
     "G2-realtime",
     {op(0, 60, {a(1, 1), a(3, 1)}), op(1, 61, {a(2, 1)}), op(2, 51, {r(2, {1}), r(1, {})}), op(3, 4, {r(1, {1})}),
      op(5, 50, {r(2, {})})}},
    {"a stale read of the same process",
     "G-single-process",
     {op(0, 1, {a(1, 1)}, Outcome::kOk, 7), op(2, 3, {r(1, {})}, Outcome::kOk, 7)}},
    {"appends of one process in reverse",
     "G0-process",
     {op(0, 1, {a(1, 1)}, Outcome::kOk, 7), op(2, 3, {a(1, 2)}, Outcome::kOk, 7), op(4, 50, {r(1, {2, 1})})}},
    {"a process reads its own future",
     "G1c-process",
     {op(0, 1, {r(1, {1})}, Outcome::kOk, 7), op(2, 3, {a(1, 1)}, Outcome::kOk, 7)}},
    {"the long fork within two processes",
     "G2-process",
     {op(0, 50, {a(1, 1)}), op(1, 51, {a(2, 1)}), op(2, 4, {r(1, {1})}, Outcome::kOk, 7),
      op(3, 5, {r(2, {1})}, Outcome::kOk, 8), op(6, 52, {r(2, {})}, Outcome::kOk, 7),
      op(7, 53, {r(1, {})}, Outcome::kOk, 8)}},
};

const std::vector<Row> kCorrect = {
    {"one read of nothing", "", {op(0, 1, {r(1, {})})}},
    {"an empty transaction", "", {op(0, 1, {})}},
    {"one after the other", "", {op(0, 1, {a(1, 1)}), op(2, 3, {r(1, {1}), a(1, 2)}), op(4, 5, {r(1, {1, 2})})}},
    {"concurrent appends in the order that time does not tell",
     "",
     {op(0, 50, {a(1, 1)}), op(1, 51, {a(1, 2)}), op(60, 61, {r(1, {2, 1})})}},
    {"a concurrent read does not see an append", "", {op(0, 50, {a(1, 1)}), op(1, 2, {r(1, {})})}},
    {"a concurrent read sees it before it is acknowledged",
     "",
     {op(0, 50, {a(1, 1)}), op(1, 2, {r(1, {1})}), op(3, 4, {r(1, {1})})}},
    {"a failed append is not there", "", {op(0, 1, {a(1, 1)}, kFail), op(2, 3, {r(1, {})})}},
    {"an unknown append is not there", "", {op(0, 1, {a(1, 1)}, kInfo), op(2, 3, {r(1, {})})}},
    {"an unknown append is there", "", {op(0, 1, {a(1, 1)}, kInfo), op(2, 3, {r(1, {1})})}},
    {"an unknown append takes effect long after its answer",
     "",
     {op(0, 1, {a(1, 1)}, kInfo), op(2, 3, {r(1, {})}), op(4, 5, {r(1, {1})})}},
    {"one reads and appends, its own append in between",
     "",
     {op(0, 1, {r(1, {}), a(1, 1), r(1, {1}), a(1, 2), r(1, {1, 2})}), op(2, 3, {r(1, {1, 2})})}},
    {"its own unfinished appends are no intermediate read", "", {op(0, 1, {a(1, 1), r(1, {1}), a(1, 2)})}},
    {"acknowledged appends that no read shows",
     "",
     {op(0, 50, {r(1, {}), a(2, 1)}), op(1, 51, {a(1, 1)}), op(2, 52, {r(1, {})}), op(3, 53, {a(1, 2)})}},
    {"one reads the whole list and appends, others only read",
     "",
     {op(0, 50, {r(1, {}), a(1, 1)}), op(1, 51, {r(1, {})}), op(2, 52, {r(1, {})}), op(60, 61, {a(1, 2)})}},
    {"completion and invocation in the same run of completions",
     "",
     {op(0, 2, {a(1, 1)}), op(1, 3, {r(1, {})}), op(4, 5, {r(1, {1})})}},
};

class Anomalies : public ::testing::TestWithParam<Row> {};

TEST_P(Anomalies, AreFoundByName) {
  const Row& row = GetParam();
  History history;
  history.operations = row.operations;
  const Verdict verdict = check_list_append(history);
  EXPECT_EQ(verdict.unusable, "");
  if (*row.anomaly == '\0') {
    EXPECT_TRUE(verdict.valid()) << row.what << '\n' << report(verdict);
    return;
  }
  ASSERT_TRUE(verdict.has(row.anomaly)) << row.what << ": " << summary(verdict);
  const auto found = std::find_if(verdict.anomalies.begin(), verdict.anomalies.end(),
                                  [&](const Anomaly& anomaly) { return anomaly.name == row.anomaly; });
  ASSERT_NE(found, verdict.anomalies.end());
  EXPECT_FALSE(found->operations.empty());
  EXPECT_NE(found->text, "");
}

INSTANTIATE_TEST_SUITE_P(Data, Anomalies, ::testing::ValuesIn(kDataAnomalies));
INSTANTIATE_TEST_SUITE_P(Order, Anomalies, ::testing::ValuesIn(kOrderAnomalies));
INSTANTIATE_TEST_SUITE_P(Correct, Anomalies, ::testing::ValuesIn(kCorrect));

History of(std::vector<Operation> operations) {
  History history;
  history.operations = std::move(operations);
  return history;
}

TEST(AnomalyText, NamesOperationsAndReasons) {
  const Verdict verdict = check_list_append(of({op(0, 1, {a(1, 1)}), op(2, 3, {r(1, {})})}));
  ASSERT_EQ(verdict.anomalies.size(), 1u) << summary(verdict);
  EXPECT_EQ(report(verdict),
            "G-single-realtime\n"
            "  a cycle of 2 transactions:\n"
            "    T0 (process 100, index 0..1) ok [[:append 1 1]]\n"
            "    T1 (process 102, index 2..3) ok [[:r 1 []]]\n"
            "  T0 < T1 (realtime): T0 completed at index 1, before T1 was invoked at index 2\n"
            "  T1 < T0 (rw): T1 read key 1 as [], without 1, which T0 appended\n");
}

TEST(AnomalyText, ShortestCycleIsReported) {
  // T0 -> T1 -> T2 -> T0 by wr, and T3 <-> T4.
  const Verdict verdict = check_list_append(
      of({op(0, 50, {a(1, 1), r(3, {1})}), op(1, 51, {a(2, 1), r(1, {1})}), op(2, 52, {a(3, 1), r(2, {1})}),
          op(3, 53, {a(4, 1), r(5, {1})}), op(4, 54, {a(5, 1), r(4, {1})})}));
  ASSERT_EQ(verdict.anomalies.size(), 1u) << summary(verdict);
  EXPECT_EQ(verdict.anomalies[0].operations.size(), 2u) << report(verdict);
  EXPECT_EQ(verdict.counts.at("G1c"), 2u);
}

TEST(AnomalyText, OnlyAFewAreDescribedAndAllCounted) {
  std::vector<Operation> operations;
  for (uint64_t i = 0; i < 20; ++i) operations.push_back(op(i * 2, i * 2 + 1, {r(1, {static_cast<Value>(i + 1)})}));
  const Verdict verdict = check_list_append(of(operations));
  EXPECT_EQ(verdict.counts.at("garbage-read"), 20u);
  EXPECT_EQ(std::count_if(verdict.anomalies.begin(), verdict.anomalies.end(),
                          [](const Anomaly& anomaly) { return anomaly.name == "garbage-read"; }),
            static_cast<std::ptrdiff_t>(kExamplesMax));
}

TEST(Unusable, IsNotAnAnomaly) {
  const Verdict empty = check_list_append({});
  EXPECT_EQ(empty.unusable, "no transaction in it");
  EXPECT_FALSE(empty.valid());
  const Verdict twice = check_list_append(of({op(0, 1, {a(1, 5)}), op(2, 3, {a(1, 5)}, kFail)}));
  EXPECT_EQ(twice.unusable,
            "value 5 is appended to key 1 twice, by the transactions at index 0..1 and 2..3; each append to a key "
            "needs a value of its own");
  EXPECT_TRUE(twice.counts.empty());
}

}  // namespace
