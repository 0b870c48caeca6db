// SPDX-License-Identifier: BSD-3-Clause
// The checker against the definition: on thousands of small histories, right and wrong ones, both say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/sim/check/brute_force.h"
#include "tests/sim/check/edn.h"
#include "tests/sim/check/generate.h"
#include "tests/sim/check/list_append.h"

namespace {

using namespace txnic::check;

History small(Random& random) {
  GenerateOptions options;
  options.transactions = static_cast<uint32_t>(2 + below(random, 5));
  options.processes = static_cast<uint32_t>(1 + below(random, 4));
  options.keys = static_cast<uint32_t>(1 + below(random, 3));
  options.micro_ops_max = static_cast<uint32_t>(1 + below(random, 3));
  options.fail_percent = 10;
  options.info_percent = 15;
  return generate(random, options);
}

std::map<Key, std::vector<Value>> appended(const History& history) {
  std::map<Key, std::vector<Value>> values;
  for (const Operation& operation : history.operations) {
    for (const MicroOp& micro : operation.micro_ops) {
      if (micro.kind == MicroOp::Kind::kAppend) values[micro.key].push_back(micro.value);
    }
  }
  return values;
}

// Some other list for a read: shorter, longer, in another order, or with something made up.
void change_read(std::vector<Value>& list, std::vector<Value> values, Random& random) {
  switch (below(random, 6)) {
    case 0:
      if (!list.empty()) list.pop_back();
      break;
    case 1:
      if (!values.empty()) list.push_back(values[below(random, values.size())]);
      break;
    case 2:
      for (const Value value : values) {
        if (std::find(list.begin(), list.end(), value) == list.end()) {
          list.push_back(value);
          break;
        }
      }
      break;
    case 3:
      std::shuffle(values.begin(), values.end(), random);
      values.resize(below(random, values.size() + 1));
      list = values;
      break;
    case 4:
      if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size())));
      break;
    default:
      if (below(random, 4) == 0) list.push_back(99);
      break;
  }
}

void change(History& history, Random& random) {
  auto values = appended(history);
  Operation& operation = history.operations[below(random, history.operations.size())];
  switch (below(random, 8)) {
    case 0:
      if (operation.completed != kNever) operation.outcome = static_cast<Outcome>(below(random, 3));
      return;
    case 1: {  // it takes less time, or more
      const uint64_t other = history.operations[below(random, history.operations.size())].completed;
      if (operation.completed == kNever || other == kNever || other <= operation.invoked) return;
      operation.completed = other;
      return;
    }
    default:
      for (MicroOp& micro : operation.micro_ops) {
        if (micro.kind != MicroOp::Kind::kRead || below(random, 2) == 0) continue;
        change_read(micro.list, values[micro.key], random);
      }
  }
}

TEST(BruteForce, AgreesWithTheChecker) {
  constexpr uint64_t kSeeds = 40'000;
  uint64_t valid = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    History history = small(random);
    for (uint64_t changes = below(random, 8); changes > 0; --changes) change(history, random);
    const bool expected = is_strictly_serializable_by_force(history);
    const Verdict verdict = check_list_append(history);
    ASSERT_EQ(verdict.unusable, "");
    ASSERT_EQ(verdict.valid(), expected) << "seed " << seed << '\n' << write_edn(history) << report(verdict);
    valid += expected;
  }
  // Both sorts were there in numbers.
  EXPECT_GT(valid, kSeeds / 5);
  EXPECT_LT(valid, kSeeds * 4 / 5);
  RecordProperty("valid", std::to_string(valid));
  std::printf("%lu of %lu small histories were correct\n", static_cast<unsigned long>(valid),
              static_cast<unsigned long>(kSeeds));
}

}  // namespace
