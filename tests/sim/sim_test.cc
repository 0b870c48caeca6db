// SPDX-License-Identifier: BSD-3-Clause
// What the simulator promises about itself: one seed is one run, a broken rule is a violation that can be replayed, and
// histories are whole. (The seeds and the mutants themselves are tests of their own: txsim --seeds, txsim --mutants.)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/sim/mutants.h"
#include "tests/sim/world.h"

namespace txnic::sim {
namespace {

Options short_run(uint64_t seed) {
  Options options;
  options.seed = seed;
  options.minutes = 0.1;
  return options;
}

TEST(Sim, OneSeedIsOneRun) {
  std::set<uint64_t> hashes;
  std::set<std::pair<uint64_t, uint64_t>> figures;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    World first(short_run(seed)), second(short_run(seed));
    first.run();
    second.run();
    EXPECT_EQ(first.violation(), "");
    EXPECT_GT(first.statistics().events, 1000u);
    EXPECT_EQ(first.statistics().trace_hash, second.statistics().trace_hash) << "seed " << seed;
    EXPECT_EQ(first.statistics().committed, second.statistics().committed);
    hashes.insert(first.statistics().trace_hash);
    figures.insert({first.statistics().committed, first.statistics().messages});
  }
  EXPECT_EQ(hashes.size(), 4u) << "seeds differ";
  EXPECT_EQ(figures.size(), 4u) << "seeds differ in what happens, not only in their numbers";
}

TEST(Sim, FaultsHappen) {
  Statistics sum;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    World world(short_run(seed));
    world.run();
    EXPECT_EQ(world.violation(), "");
    sum.add(world.statistics());
  }
  EXPECT_GT(sum.crashes, 5u);
  EXPECT_GT(sum.dropped, 100u);
  EXPECT_GT(sum.duplicates_answered, 20u);
  EXPECT_GT(sum.recovered_records, 100u);
  EXPECT_GT(sum.partitions, 1u);
}

TEST(Sim, AViolationNamesTheCommandThatReplaysIt) {
  const Mutant* const mutant = find_mutant("executes-duplicates");
  ASSERT_NE(mutant, nullptr);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Options options = hunt(*mutant, short_run(seed));
    World world(options);
    world.run();
    if (world.violation().empty()) continue;
    EXPECT_EQ(options.command(), "./txnic sim --seed " + std::to_string(seed) +
                                     " --minutes 0.10000000000000001 --harsh --mutant executes-duplicates --trace");
    World again(options);
    again.run();
    EXPECT_EQ(again.violation(), world.violation());
    EXPECT_EQ(again.statistics().trace_hash, world.statistics().trace_hash);
    return;
  }
  FAIL() << "the mutant was not noticed";
}

// Traps 1-17 and rules 1-24 are all there, each with a mutant or with the reason why it has none; a mutant breaks rules
// that there are, and no two have one name.
TEST(Sim, EveryRuleHasAMutantOrAReason) {
  std::set<std::string> names, of_mutants;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    const bool is_broken = std::any_of(mutants().begin(), mutants().end(),
                                       [&](const Mutant& mutant) { return breaks(mutant, rule); });
    EXPECT_NE(is_broken, rule.why_none != nullptr) << rule.name;
  }
  for (int i = 1; i <= 17; ++i) EXPECT_TRUE(names.contains("trap " + std::to_string(i))) << i;
  for (int i = 1; i <= 24; ++i) EXPECT_TRUE(names.contains("COMMIT " + std::to_string(i))) << i;
  for (const Mutant& mutant : mutants()) {
    EXPECT_TRUE(of_mutants.insert(mutant.name).second) << mutant.name;
    size_t rules_named = 1;
    for (const char* at = mutant.rule; *at != 0; ++at) rules_named += *at == ',';
    const auto found = std::count_if(rules().begin(), rules().end(),
                                     [&](const Rule& rule) { return breaks(mutant, rule); });
    EXPECT_EQ(static_cast<size_t>(found), rules_named) << mutant.name << " breaks " << mutant.rule;
  }
}

// Every process has one operation under way at a time, and every invocation one end.
TEST(Sim, HistoriesAreWhole) {
  Options options = short_run(3);
  options.durability = Durability::kSync;
  options.clients = 8;
  options.minutes = 0.3;
  World world(options);
  world.run();
  EXPECT_EQ(judge(world.history()), "");
  const History& history = world.history();
  ASSERT_GT(history.size(), 100u);
  std::map<uint64_t, size_t> under_way;
  std::set<uint64_t> retired;
  TimeNs before = 0;
  size_t reads = 0;
  for (const HistoryEntry& entry : history) {
    EXPECT_GE(entry.at, before);
    before = entry.at;
    EXPECT_FALSE(retired.contains(entry.process));
    if (entry.type == HistoryType::kInvoke) {
      EXPECT_TRUE(under_way.emplace(entry.process, entry.value.size()).second);
      continue;
    }
    ASSERT_TRUE(under_way.contains(entry.process));
    EXPECT_EQ(under_way.at(entry.process), entry.value.size());
    under_way.erase(entry.process);
    if (entry.type == HistoryType::kInfo) retired.insert(entry.process);
    for (const MicroOperation& operation : entry.value) {
      EXPECT_EQ(operation.has_list, entry.type == HistoryType::kOk && !operation.is_append);
      reads += operation.has_list;
    }
  }
  EXPECT_TRUE(under_way.empty());
  EXPECT_GT(reads, 50u);
}

TEST(Sim, HistoriesAsEdn) {
  MicroOperation append{true, false, 5, 17, {}}, open_read{false, false, 6, 0, {}}, read{false, true, 6, 0, {1, 2}};
  const History history = {{HistoryType::kInvoke, 3, 10, {append, open_read}},
                           {HistoryType::kOk, 3, 20, {append, read}}};
  char text[512] = {};
  std::FILE* const file = ::fmemopen(text, sizeof text, "w");
  write_edn(history, file);
  std::fclose(file);
  EXPECT_STREQ(text,
               "{:type :invoke, :process 3, :f :txn, :value [[:append 5 17] [:r 6 nil]], :time 10, :index 0}\n"
               "{:type :ok, :process 3, :f :txn, :value [[:append 5 17] [:r 6 [1 2]]], :time 20, :index 1}\n");
}

}  // namespace
}  // namespace txnic::sim
