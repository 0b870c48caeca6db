// SPDX-License-Identifier: BSD-3-Clause
// append and cycle against the model node: their checks hold, see what is wrong, and the history is one that the
// checker of strict serializability can judge.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "pktgen/workload/append.h"
#include "pktgen/workload/cycle.h"
#include "tests/sim/check/edn.h"
#include "tests/sim/check/list_append.h"
#include "tests/unit/pktgen/bench.h"

namespace txnic::pktgen {
namespace {

using test::Bench;
using test::ModelNode;
using test::Setup;

// A file of its own, gone at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int file = mkstemp(path_);
    if (file >= 0) ::close(file);
  }
  ~TemporaryFile() { std::remove(path_); }
  const char* path() const { return path_; }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  char path_[32] = "/tmp/txnic-history-XXXXXX";
};

// A run with other settings than Setup has.
struct ContendedBench : Bench {
  template <class Change>
  ContendedBench(ModelNode& node, const Setup& setup, Change change) : Bench(node, setup) {
    change(settings);
    std::string error;
    workload = make_workload(settings, &error);
    EXPECT_NE(workload, nullptr) << error;
  }
};

check::Verdict judge(const std::string& text) {
  const check::ReadResult read = check::read_edn(text, "history");
  EXPECT_FALSE(read.error.has_value()) << read.error->text();
  return check::check_list_append(read.history);
}

TEST(Append, HistoriesAreStrictlySerializable) {
  for (const uint32_t shards : {1u, 4u}) {
    for (const uint32_t list_bytes : {32u, 256u, 1024u}) {
      TemporaryFile file;
      ModelNode node(shards);
      node.lock_every = 50;
      node.faults = {.drop = 0.02, .duplicate = 0.02, .reorder = 0.2};
      ContendedBench bench(node, {.workload = "append", .transactions = 2000}, [&](WorkloadSettings& settings) {
        settings.keys = 20;
        settings.value_bytes = list_bytes;
        settings.history_path = file.path();
      });
      const PhaseResult result = bench.all();
      ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
      EXPECT_GT(result.total.committed(), 300u);
      EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kBadRequest)], 0u);
      EXPECT_EQ(node.answers[static_cast<uint8_t>(Result::kTooLarge)], 0u);
      const Check check = bench.check();
      EXPECT_TRUE(check.made && check.passed) << check.text;
      EXPECT_EQ(bench.workload->finish(), "");
      const check::Verdict verdict = judge(file.text());
      EXPECT_TRUE(verdict.valid()) << check::report(verdict) << verdict.unusable;
      // Lists became full, and others took their places.
      if (list_bytes == 32) {
        EXPECT_GT(static_cast<Append&>(*bench.workload).lists(), 40u);
      }
      for (const auto& [key, row] : node.rows) EXPECT_LE(row.value.size(), list_bytes);
    }
  }
}

TEST(Append, ASecondRunHasListsOfItsOwn) {
  ModelNode node(4);
  for (const bool load : {true, true, false}) {
    Bench bench(node, {.workload = "append", .transactions = 500, .load = load});
    ASSERT_EQ(bench.all().end, PhaseEnd::kFinished);
    const Check check = bench.check();
    EXPECT_TRUE(check.made && check.passed) << check.text;
  }
}

TEST(Append, RestartsThatLoseTheWindowLeaveUnknownOutcomes) {
  TemporaryFile file;
  ModelNode node(1);
  node.restart_every = 400;
  ContendedBench bench(node, {.workload = "append", .transactions = 3000},
                       [&](WorkloadSettings& settings) { settings.history_path = file.path(); });
  ASSERT_EQ(bench.all().end, PhaseEnd::kFinished);
  EXPECT_GT(node.restarts, 3u);
  EXPECT_TRUE(bench.check().passed) << bench.check().text;
  EXPECT_EQ(bench.workload->finish(), "");
  EXPECT_TRUE(judge(file.text()).valid());
}

TEST(Append, LostAppendsAreNoticed) {
  TemporaryFile file;
  ModelNode node(2);
  ContendedBench bench(node, {.workload = "append", .transactions = 500},
                       [&](WorkloadSettings& settings) { settings.history_path = file.path(); });
  bench.open();
  bench.load_or_survey();
  node.forget_commits = true;
  bench.measure();
  const Check check = bench.check();
  EXPECT_TRUE(check.made);
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.text.find("lost"), std::string::npos) << check.text;
  EXPECT_EQ(bench.workload->finish(), "");
  EXPECT_FALSE(judge(file.text()).valid());
}

TEST(Append, SettingsThatDoNotFitAreRefused) {
  std::string error;
  WorkloadSettings settings;
  settings.name = "append";
  settings.value_bytes = 30;
  EXPECT_EQ(make_workload(settings, &error), nullptr);
  EXPECT_NE(error.find("multiple of 4"), std::string::npos) << error;
  settings.value_bytes = 0;
  settings.history_path = "/nonexistent/history.edn";
  const auto workload = make_workload(settings, &error);
  ASSERT_NE(workload, nullptr) << error;
  EXPECT_NE(workload->prepare({.shards = 1}).find("/nonexistent/history.edn"), std::string::npos);
  settings.name = "cycle";
  EXPECT_EQ(make_workload(settings, &error), nullptr);
  EXPECT_NE(error.find("--history"), std::string::npos) << error;
}

TEST(History, ItsLimitHasAName) {
  TemporaryFile file;
  HistoryFile history(100);
  ASSERT_EQ(history.open(file.path()), "");
  const HistoryOperation append{.is_append = true, .key = 5, .element = 17};
  for (int i = 0; i < 10; ++i) history.add(HistoryType::kInvoke, 1, {&append, 1});
  EXPECT_NE(history.error().find("limit of 100 bytes"), std::string::npos) << history.error();
  EXPECT_NE(history.close(), "");
  EXPECT_EQ(file.text().substr(0, file.text().find('\n')),
            "{:type :invoke, :process 1, :f :txn, :value [[:append 5 17]], :index 0}");
}

TEST(History, AFullDiskIsTold) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  HistoryFile history;
  ASSERT_EQ(history.open("/dev/full"), "");
  const HistoryOperation read{.key = 5};
  history.add(HistoryType::kOk, 1, {&read, 1});
  EXPECT_NE(history.close().find("/dev/full"), std::string::npos);
}

TEST(Cycle, TheRingHolds) {
  for (const uint32_t shards : {1u, 4u}) {
    for (const uint32_t keys : {4u, 30u}) {
      ModelNode node(shards);
      node.lock_every = 50;
      node.faults = {.drop = 0.02, .duplicate = 0.02, .reorder = 0.2};
      ContendedBench bench(node, {.workload = "cycle", .window = 8, .transactions = 1500},
                           [&](WorkloadSettings& settings) { settings.keys = keys; });
      const PhaseResult result = bench.all();
      ASSERT_EQ(result.end, PhaseEnd::kFinished) << result.why;
      EXPECT_GT(result.total.committed(), 100u);
      EXPECT_EQ(result.total.refused(), 0u);
      const Check check = bench.check();
      EXPECT_TRUE(check.made && check.passed) << check.text;
    }
  }
}

TEST(Cycle, ATornRingIsNoticed) {
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{7}, uint64_t{1000}}) {
    ModelNode node(2);
    ContendedBench bench(node, {.workload = "cycle", .transactions = 200},
                         [](WorkloadSettings& settings) { settings.keys = 30; });
    ASSERT_EQ(bench.all().end, PhaseEnd::kFinished);
    EXPECT_TRUE(bench.check().passed);
    auto& first = node.rows.begin()->second.value;
    auto& second = std::next(node.rows.begin())->second.value;
    if (wrong == 7) {
      store(first.data(), load<uint64_t>(second.data()));
    } else {
      store(first.data(), wrong);
    }
    const Check check = bench.check();
    EXPECT_FALSE(check.passed) << check.text;
  }
}

}  // namespace
}  // namespace txnic::pktgen
