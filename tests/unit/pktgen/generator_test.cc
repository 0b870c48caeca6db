// SPDX-License-Identifier: BSD-3-Clause
// The generator against the model node: sums, checks, faults, restarts. Everything runs in one thread.
#include "pktgen/load/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench.h"
#include "pktgen/load/reflection.h"
#include "pktgen/workload/counter.h"
#include "pktgen/workload/rmw.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/smallbank.h"
#include "pktgen/workload/tatp.h"

namespace txnic::pktgen {
namespace {

using test::Bench;
using test::ModelNode;

int64_t sum_of_balances(const ModelNode& node) {
  int64_t sum = 0;
  for (const auto& [key, row] : node.rows) sum += load<int64_t>(row.value.data());
  return sum;
}

TEST(Generator, EveryWorkloadRunsAndItsSumsAreRight) {
  for (const uint32_t shards : {1u, 4u, 12u}) {
    for (const char* name : {"get", "put1", "put3", "rmw1", "rmw2", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f",
                             "smallbank", "retwis", "counter"}) {
      ModelNode node(shards);
      Bench bench(node, {.workload = name, .records = 2000, .transactions = 2000});
      const PhaseResult result = bench.all();
      EXPECT_EQ(result.end, PhaseEnd::kFinished) << name << ": " << result.why;
      EXPECT_EQ(result.total.begun, 2000u) << name;
      EXPECT_EQ(result.total.refused(), 0u) << name;
      EXPECT_EQ(result.total.unknown(), 0u) << name;
      EXPECT_GT(result.total.good, 1000u) << name;
      EXPECT_EQ(result.latency.count(), 2000u) << name;
      EXPECT_TRUE(bench.check().passed) << name << ": " << bench.workload->check().text;
      EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kCrossShard)], 0u) << name;
      EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kBadRequest)], 0u) << name;
    }
  }
}

// The shares of TATP's specification, from a node that knows nothing of them.
TEST(Generator, TatpSucceedsAsOftenAsItShould) {
  EXPECT_NEAR(Tatp::expected_success(Tatp::kGetDestination), 0.22, 0.02);
  EXPECT_NEAR(Tatp::expected_success(Tatp::kInsertForwarding), 0.3125, 1e-9);
  ModelNode node(1);
  Bench bench(node, {.workload = "tatp", .records = 3000, .transactions = 60'000});
  const PhaseResult result = bench.all();
  ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
  EXPECT_EQ(result.total.begun, 60'000u);
  EXPECT_EQ(result.total.refused() + result.total.unknown(), 0u);
  const Check check = bench.check();
  EXPECT_TRUE(check.made && check.passed) << check.text;
  EXPECT_NE(check.text.find("delete_forwarding"), std::string::npos) << check.text;
}

TEST(Generator, TatpNoticesMissingRows) {
  ModelNode node(1);
  Bench bench(node, {.workload = "tatp", .records = 3000, .transactions = 1});
  ASSERT_EQ(bench.all().end, PhaseEnd::kFinished);
  std::erase_if(node.rows,
                [](const auto& row) { return row.first.first == 13 && row.first.second[5] == std::byte{2}; });
  Bench again(node, {.workload = "tatp", .records = 3000, .transactions = 20'000, .seed = 2, .load = false});
  ASSERT_EQ(again.all().end, PhaseEnd::kFinished);
  EXPECT_FALSE(again.check().passed) << again.check().text;
}

TEST(Generator, TatpSucceedsAsOftenOverSeveralShards) {
  for (const uint32_t shards : {2u, 32u}) {
    ModelNode node(shards);
    node.lock_every = 50;
    Bench bench(node, {.workload = "tatp", .records = 3000, .transactions = 30'000});
    const PhaseResult result = bench.all();
    ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
    EXPECT_EQ(result.total.refused() + result.total.unknown(), 0u);
    EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kCrossShard)], 0u);
    EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kBadRequest)], 0u);
    EXPECT_GT(node.prepared, 2 * 3000u);
    const Check check = bench.check();
    EXPECT_TRUE(check.made && check.passed) << check.text;
  }
}

TEST(Generator, RetwisOverSeveralShards) {
  ModelNode node(4);
  Bench bench(node, {.workload = "retwis", .records = 2000, .transactions = 4000, .remote = 50});
  const PhaseResult result = bench.all();
  ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
  EXPECT_GT(node.prepared, 1000u);
  EXPECT_EQ(result.total.refused(), 0u);
  EXPECT_GT(result.total.good, 2000u);
  EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kBadRequest)], 0u);
}

TEST(Generator, YcsbTransactionalForm) {
  for (const char* name : {"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f"}) {
    for (const double theta : {0.0, 0.99}) {
      ModelNode node(4);
      Bench bench(node, {.workload = name, .records = 1000, .transactions = 1000, .operations = 10, .theta = theta});
      const PhaseResult result = bench.all();
      EXPECT_EQ(result.total.begun, 1000u);
      EXPECT_EQ(result.total.committed() + result.total.aborted(), 1000u) << name;
      EXPECT_EQ(result.total.good, result.total.committed()) << name;
      EXPECT_FALSE(bench.check().made) << bench.workload->check().text;  // only made when a value was wrong
    }
  }
}

TEST(Generator, LoadWritesEveryRecordOnce) {
  ModelNode node(4);
  Bench bench(node, {.workload = "rmw2", .records = 1234});
  bench.open();
  bench.load_or_survey();
  EXPECT_EQ(node.rows.size(), 1234u);
  const auto& rmw = static_cast<const Rmw&>(*bench.workload);
  for (const auto& [key, row] : node.rows) {
    const auto record = txnic::load<uint64_t>(key.second.data());
    EXPECT_EQ(txnic::load<uint64_t>(row.value.data()), record);
    EXPECT_EQ(row.value.size(), 40u);
    EXPECT_EQ(rmw.version(record), row.version);  // the version table is right from the start
  }
}

TEST(Generator, RmwConflictsAreCountedAndReread) {
  ModelNode node;
  // Sixteen flows on four records.
  Bench bench(node, {.workload = "rmw2", .records = 4, .window = 16, .sessions = 1, .transactions = 3000});
  const PhaseResult result = bench.all();
  EXPECT_GT(result.total.by_result[static_cast<size_t>(Result::kConflict)], 0u);
  EXPECT_GT(result.total.committed(), 100u);
  EXPECT_EQ(result.total.committed() + result.total.aborted(), 3000u);
  EXPECT_GT(result.total.kinds[1].executed, 0u);  // after a read
}

TEST(Generator, RmwWithoutLoadingReadsFirstAndInserts) {
  ModelNode node;
  Bench bench(node,
              {.workload = "rmw2", .records = 50, .window = 1, .sessions = 1, .transactions = 500, .load = false});
  const PhaseResult result = bench.all();
  EXPECT_EQ(result.total.committed(), 500u);
  EXPECT_EQ(node.rows.size(), 50u);
}

TEST(Generator, WrongValuesFailTheCheck) {
  ModelNode node;
  Bench bench(node, {.workload = "get", .records = 10});
  bench.open();
  bench.load_or_survey();
  std::swap(node.rows.begin()->second, std::next(node.rows.begin())->second);
  bench.measure();
  EXPECT_TRUE(bench.check().made);
  EXPECT_FALSE(bench.check().passed);
}

TEST(Generator, GetOfAbsentRecordsIsExecutedButNotGood) {
  ModelNode node;
  Bench bench(node, {.workload = "get", .transactions = 100, .load = false});
  const PhaseResult result = bench.all();
  EXPECT_EQ(result.total.executed(), 100u);
  EXPECT_EQ(result.total.good, 0u);
}

TEST(SmallBank, MixAndLedgerAgreeWithTheModel) {
  ModelNode node(4);
  Bench bench(node, {.workload = "smallbank", .records = 4000, .window = 64, .transactions = 40'000});
  const PhaseResult result = bench.all();
  const auto& bank = static_cast<const SmallBank&>(*bench.workload);
  EXPECT_EQ(node.rows.size(), 8000u);
  EXPECT_EQ(sum_of_balances(node), bank.ledger().expected());
  EXPECT_EQ(bank.ledger().initial(), 8000 * bench.settings.initial_balance_cents);
  for (uint32_t kind = 0; kind < SmallBank::kKinds; ++kind) {
    const KindCounts& counts = result.total.kinds[kind];
    const double share = static_cast<double>(counts.executed + counts.other) / 40'000;
    const double theory = SmallBank::kMixPercent[kind] / 100.0;
    EXPECT_NEAR(share, theory, 5 * std::sqrt(theory * (1 - theory) / 40'000)) << kind;
  }
  const Check check = bench.check();
  EXPECT_TRUE(check.made);
  EXPECT_TRUE(check.passed) << check.text;
}

TEST(SmallBank, MoneyIsConservedOverSeveralShards) {
  ModelNode node(4);
  node.lock_every = 50;
  node.faults = {.drop = 0.02, .duplicate = 0.02, .reorder = 0.2};
  Bench bench(node, {.workload = "smallbank", .records = 4000, .window = 64, .transactions = 20'000, .remote = 30});
  const PhaseResult result = bench.all();
  ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
  // 40 % of the transactions have a second account.
  EXPECT_NEAR(static_cast<double>(node.prepared), 0.4 * 0.3 * 20'000, 300);
  EXPECT_GT(result.total.by_result[static_cast<size_t>(Result::kLocked)], 20u);
  EXPECT_EQ(result.total.refused(), 0u);
  EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kCrossShard)], 0u);
  EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kBadRequest)], 0u);
  const Check check = bench.check();
  EXPECT_TRUE(check.made);
  EXPECT_TRUE(check.passed) << check.text;
  Facts one_shard;
  EXPECT_NE(bench.workload->prepare(one_shard), "") << "nothing is remote there";
}

TEST(Ycsb, DrawsFromSeveralShardsAsOftenAsItIsTold) {
  for (const char* name : {"ycsb-a", "ycsb-f"}) {
    ModelNode node(8);
    Bench bench(node, {.workload = name, .records = 2000, .transactions = 4000, .operations = 4, .remote = 50});
    const PhaseResult result = bench.all();
    ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
    EXPECT_GT(node.prepared, 1500u) << name;
    EXPECT_EQ(result.total.refused(), 0u) << name;
    EXPECT_GT(result.total.good, 2000u) << name;
    EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kBadRequest)], 0u) << name;
  }
}

TEST(SmallBank, PoorAccountsReachTheFloorAndOverdraw) {
  ModelNode node;
  Bench bench(node, {.workload = "smallbank", .records = 100, .transactions = 1});
  bench.settings.initial_balance_cents = 400;  // below every payment
  bench.settings.hot_accounts_percent = 50;
  std::string error;
  bench.workload = make_workload(bench.settings, &error);
  bench.open();
  bench.load_or_survey();
  PhaseLimits limits;
  limits.transactions = 10'000;
  const PhaseResult result = bench.generator->run(*bench.workload, limits);
  EXPECT_GT(result.total.by_result[static_cast<size_t>(Result::kBelowFloor)], 100u);
  EXPECT_GT(result.total.business(), 0u);
  EXPECT_LT(result.total.good, result.total.executed());
  int64_t least = 0;
  for (const auto& [key, row] : node.rows) least = std::min(least, load<int64_t>(row.value.data()));
  EXPECT_LT(least, 0);  // WriteCheck overdraws
  EXPECT_TRUE(bench.check().passed) << bench.workload->check().text;
}

TEST(SmallBank, MoneyFromNowhereIsFound) {
  ModelNode node;
  Bench bench(node, {.workload = "smallbank"});
  bench.all();
  store(node.rows.begin()->second.value.data(), load<int64_t>(node.rows.begin()->second.value.data()) + 1);
  EXPECT_FALSE(bench.check().passed);
}

TEST(SmallBank, LostCommitsAreFound) {
  ModelNode node;
  Bench bench(node, {.workload = "smallbank"});
  bench.open();
  bench.load_or_survey();
  node.forget_commits = true;
  bench.measure();
  EXPECT_FALSE(bench.check().passed);
}

TEST(SmallBank, ALaterRunBeginsWithTheSumThatIsThere) {
  ModelNode node;
  {
    Bench first(node, {.workload = "smallbank"});
    first.all();
    EXPECT_TRUE(first.check().passed);
  }
  Bench second(node, {.workload = "smallbank", .seed = 2, .load = false});
  second.all();
  EXPECT_TRUE(second.check().passed) << second.workload->check().text;
}

TEST(Faults, ChecksHoldOverABadNetwork) {
  for (const char* name : {"smallbank", "counter", "rmw2"}) {
    ModelNode node(2, 256, 77);
    node.faults = {.drop = 0.1, .duplicate = 0.1, .reorder = 0.1};
    Bench bench(node, {.workload = name, .window = 64, .sessions = 2, .transactions = 3000});
    const PhaseResult result = bench.all();
    EXPECT_EQ(result.end, PhaseEnd::kFinished) << result.why;
    EXPECT_GT(result.total_machines.retransmissions, 100u) << name;
    EXPECT_EQ(result.total.unknown(), 0u) << name;
    EXPECT_TRUE(bench.check().passed) << name << ": " << bench.workload->check().text;
  }
}

TEST(Faults, RestartsThatKeepTheWindowLeaveNoDoubt) {
  for (const char* name : {"smallbank", "counter"}) {
    ModelNode node(2);
    Bench bench(node, {.workload = name, .window = 64, .transactions = 4000});
    bench.open();
    bench.load_or_survey();
    node.restart_every = node.executed / (node.restarts + 1) + 700;
    const PhaseResult result = bench.measure();
    EXPECT_GT(node.restarts, 1u);
    EXPECT_GT(result.total_machines.reopens, 0u);
    EXPECT_EQ(result.total.unknown(), 0u) << name;
    EXPECT_TRUE(bench.check().passed) << name << ": " << bench.workload->check().text;
  }
}

TEST(Faults, ARestartThatLosesTheDataFailsTheCheckButNeverLooksLikeAnAbort) {
  ModelNode node;
  Bench bench(node, {.workload = "counter", .window = 16, .transactions = 100});
  bench.open();
  bench.load_or_survey();
  PhaseLimits limits;
  limits.transactions = 100;
  bench.generator->run(*bench.workload, limits);
  node.restart(false);
  bench.generator->run(*bench.workload, limits);
  EXPECT_FALSE(bench.workload->failure().empty());  // the counters are not there
  EXPECT_FALSE(bench.check().passed);
}

TEST(Faults, ASilentNodeEndsTheRunAndUnknownOutcomesAreBooked) {
  for (const char* name : {"smallbank", "counter"}) {
    for (const bool applied : {false, true}) {
      ModelNode node;
      LoadSettings load;
      load.window = 16;
      load.give_up_ns = 100 * kMillisecondNs;
      Live live;
      WorkloadSettings settings;
      settings.name = name;
      settings.records = 100;
      std::string error;
      const auto workload = make_workload(settings, &error);
      LedgerRecord ledger;
      {
        Generator generator(load, node, live);
        ASSERT_EQ(generator.open(&error), PhaseEnd::kFinished) << error;
        ASSERT_EQ(workload->prepare(generator.facts()), "");
        const auto loader = workload->loader();
        ASSERT_EQ(loader->prepare(generator.facts()), "");
        EXPECT_EQ(generator.run(*loader, {}).end, PhaseEnd::kFinished);
        // From some moment on nothing comes back; what was asked is executed, or is not.
        node.silent_after = node.executed + 1000;
        node.silent_but_executes = applied;
        const PhaseResult result = generator.run(*workload, {});
        EXPECT_EQ(result.end, PhaseEnd::kNodeSilent);
        EXPECT_EQ(check_sums(result), "");
        EXPECT_GT(result.total.unknown(), 0u);
        ASSERT_TRUE(workload->write_ledger(&ledger));
      }
      // Later, another generator verifies with the ledger.
      node.silent_after = 0;
      const auto verifier = make_workload(settings, &error);
      Generator generator(load, node, live);
      ASSERT_EQ(generator.open(&error), PhaseEnd::kFinished) << error;
      ASSERT_EQ(verifier->prepare(generator.facts()), "");
      ASSERT_EQ(verifier->adopt(ledger), "");
      const auto survey = verifier->survey(Workload::Survey::kAfter);
      ASSERT_EQ(survey->prepare(generator.facts()), "");
      EXPECT_EQ(generator.run(*survey, {}).end, PhaseEnd::kFinished);
      EXPECT_TRUE(verifier->check().made);
      EXPECT_TRUE(verifier->check().passed) << verifier->check().text;
    }
  }
}

TEST(Faults, RefusalsForTheMomentAreRepeated) {
  ModelNode node;
  Bench bench(node, {.workload = "counter", .window = 8, .transactions = 500});
  bench.open();
  bench.load_or_survey();
  node.refuse_every = 3;
  const PhaseResult result = bench.measure();
  EXPECT_GT(result.total.refused(), 50u);
  EXPECT_GT(result.total.committed(), 300u);
  EXPECT_EQ(result.total.begun, 500u);
  node.refuse_every = 0;
  EXPECT_TRUE(bench.check().passed) << bench.workload->check().text;
}

TEST(Faults, AnUnknownTableIsAClearEnd) {
  ModelNode node;
  Bench bench(node, {.workload = "smallbank"});
  bench.open();
  node.refuse_all = Result::kUnknownTable;
  const auto loader = bench.workload->loader();
  ASSERT_EQ(loader->prepare(bench.generator->facts()), "");
  const PhaseResult result = bench.generator->run(*loader, {});
  EXPECT_EQ(result.end, PhaseEnd::kFailed);
  EXPECT_NE(result.why.find("does not know table 2"), std::string::npos) << result.why;
}

TEST(Generator, StopsWhenAsked) {
  ModelNode node;
  Bench bench(node, {.workload = "get", .transactions = 0});
  bench.open();
  bench.load_or_survey();
  bench.live.stop_requests.store(1);
  const PhaseResult result = bench.measure();
  EXPECT_EQ(result.end, PhaseEnd::kStopped);
}

TEST(Generator, TheSeedDecidesWhatIsAsked) {
  const auto rows_after = [](uint64_t seed) {
    ModelNode node(2);
    Bench bench(node, {.workload = "put2", .records = 3000, .transactions = 300, .seed = seed, .load = false});
    bench.all();
    std::vector<test::RowKey> keys;
    for (const auto& [key, row] : node.rows) keys.push_back(key);
    return keys;
  };
  EXPECT_EQ(rows_after(1), rows_after(1));
  EXPECT_NE(rows_after(1), rows_after(2));
}

TEST(OpenLoop, TransactionsBeginAtTheirRate) {
  // A machine that takes the CPU away near the end makes fewer arrivals, now and then; a wrong rate is always wrong.
  constexpr int kTries = 8;
  double arrivals = 0, answered = 0;
  const auto good = [&] { return std::abs(arrivals - 10'000) <= 1000 && std::abs(answered - arrivals) <= 1000; };
  for (int i = 0; i < kTries && !good(); ++i) {
    ModelNode node;
    Bench bench(node, {.workload = "get", .window = 256, .transactions = 0, .rate = 20'000, .duration_seconds = 0.5});
    const PhaseResult result = bench.all();
    EXPECT_EQ(result.end, PhaseEnd::kFinished);
    EXPECT_EQ(result.total.begun, result.total.ended());
    arrivals = static_cast<double>(result.lag.arrivals);
    answered = static_cast<double>(result.latency.count());
    EXPECT_LE(arrivals, 11'000);
  }
  EXPECT_TRUE(good()) << arrivals << " arrivals, " << answered << " answered";
}

TEST(OpenLoop, ASilentSecondIsInTheLatency) {
  // The node answers nothing for a while: closed loop would lose those arrivals, open loop shows them as slow.
  class Pausing final : public Transport {
   public:
    explicit Pausing(ModelNode& node) : node_(node) {}
    void send(const std::byte* m, uint32_t length, uint32_t node, uint32_t worker) override {
      node_.send(m, length, node, worker);
    }
    void flush() override {}
    uint32_t receive(std::span<Received> out) override {
      if (opened_ != 0 && clock_now() - opened_ < 200 * kMillisecondNs) return 0;
      return node_.receive(out);
    }
    void wait(TimeNs) override {}
    TransportStatistics statistics() const override { return node_.statistics(); }
    TimeNs opened_ = 0;

   private:
    ModelNode& node_;
  };
  ModelNode node;
  Pausing pausing(node);
  LoadSettings load;
  load.window = 64;
  Live live;
  Generator generator(load, pausing, live);
  WorkloadSettings settings;
  settings.records = 100;
  std::string error;
  const auto workload = make_workload(settings, &error);
  ASSERT_EQ(generator.open(&error), PhaseEnd::kFinished);
  ASSERT_EQ(workload->prepare(generator.facts()), "");
  pausing.opened_ = clock_now();
  PhaseLimits limits;
  limits.rate = 10'000;
  limits.duration_ns = 500 * kMillisecondNs;
  const PhaseResult result = generator.run(*workload, limits);
  EXPECT_GT(result.lag.delayed, 500u);                           // found all 64 places taken
  EXPECT_GE(result.latency.percentile(80), 20 * kMillisecondNs);  // of 5000 arrivals 2000 fell into the silence
}

}  // namespace
}  // namespace txnic::pktgen
