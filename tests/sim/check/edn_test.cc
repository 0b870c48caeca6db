// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/edn.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/check/generate.h"
#include "tests/sim/check/list_append.h"

namespace {

using namespace txnic::check;

TEST(EdnRead, ElleForm) {
  const ReadResult read = read_edn(
      "{:type :invoke, :process 3, :f :txn, :value [[:append 5 17] [:r 6 nil]]}\n"
      "{:type :invoke, :process 4, :f :txn, :value [[:append 5 18]]}\n"
      "{:type :invoke, :process 5, :f :txn, :value [[:r 5 nil]], :time 99, :index 2}\n"
      "{:type :ok, :process 3, :f :txn, :value [[:append 5 17] [:r 6 [1 -2]]], :time 120}\n"
      "{:type :fail, :process 4, :f :txn, :value [[:append 5 18]], :error [:conflict \"x\"]}\n"
      "{:type :invoke, :process 4, :f :txn, :value []}\n"
      "{:type :info, :process 4, :f :txn}\n",
      "h.edn");
  ASSERT_FALSE(read.error) << read.error->text();
  const auto& operations = read.history.operations;
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(operations[0].outcome, Outcome::kOk);
  EXPECT_EQ(operations[0].process, 3);
  EXPECT_EQ(operations[0].invoked, 0u);
  EXPECT_EQ(operations[0].completed, 3u);
  EXPECT_EQ(operations[0].completed_ns, 120);
  EXPECT_EQ(operations[0].micro_ops[0], MicroOp::append(5, 17));
  EXPECT_EQ(operations[0].micro_ops[1], MicroOp::read(6, {1, -2}));
  EXPECT_EQ(operations[1].outcome, Outcome::kFail);
  EXPECT_EQ(operations[2].outcome, Outcome::kInfo);
  EXPECT_EQ(operations[2].completed, kNever);
  EXPECT_EQ(operations[2].invoked_ns, 99);
  EXPECT_EQ(operations[3].outcome, Outcome::kInfo);
  EXPECT_EQ(operations[3].completed, 6u);
}

TEST(EdnRead, SkipsWhatIsNotAsked) {
  const ReadResult read = read_edn(
      "; a comment\n"
      "#jepsen.history.Op{:index 0, :process :nemesis, :type :info, :f :kill, :value {\"n1\" #{1 2}, :x (1 \\] "
      "\\newline)}}\n"
      "{:process 1, :type :invoke, :f :read, :value 5}\n"
      "{:process 1 :value [ [:r, 1 nil] #_[:r 2 nil] ] \"k}\\\"\" \"v\" nil nil 1.5 #inst \"2020\" :type :invoke}\n"
      "{:process 1, :type :ok, :value [[:r 1 nil]], :ext {:a {:b [#{}]}}} {:process 2 :type :invoke :value [[:append 1 "
      "7N]]}",
      "h.edn");
  ASSERT_FALSE(read.error) << read.error->text();
  EXPECT_EQ(read.skipped, 2u);
  ASSERT_EQ(read.history.operations.size(), 2u);
  EXPECT_EQ(read.history.operations[0].invoked, 2u);  // :index of the file
  EXPECT_EQ(read.history.operations[0].micro_ops.size(), 1u);
  EXPECT_EQ(read.history.operations[1].micro_ops[0], MicroOp::append(1, 7));
}

struct BadRow {
  const char* text;
  const char* error;
};

class EdnErrors : public ::testing::TestWithParam<BadRow> {};

TEST_P(EdnErrors, NameFileLineAndColumn) {
  const ReadResult read = read_edn(GetParam().text, "h.edn");
  ASSERT_TRUE(read.error) << GetParam().text;
  EXPECT_EQ(read.error->text(), GetParam().error);
}

const std::string kDeep = "{:x " + std::string(10'000, '[');
const std::string kDiscards = [] {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "#_";
  return text;
}();

INSTANTIATE_TEST_SUITE_P(
    All, EdnErrors,
    ::testing::Values(BadRow{"hello", "h.edn:1:1: '{' was expected (each line is a map)"},
                      BadRow{"\n {:type :invoke", "h.edn:2:2: no '}' closes this map"},
                      BadRow{"{:type :invoke :process 1 :value}", "h.edn:1:33: a key without a value"},
                      BadRow{"{:process 1 :value []}", "h.edn:1:1: this map has no :type"},
                      BadRow{"{:type :invoke :value []}", "h.edn:1:1: this map has no :process"},
                      BadRow{"{:type :invoke :process 1}", "h.edn:1:1: this map has no :value"},
                      BadRow{"{:type \"ok\" :process 1}", "h.edn:1:8: :type must be a keyword"},
                      BadRow{"{:type :done :process 1 :value []}", "h.edn:1:1: unknown :type :done"},
                      BadRow{"{:type :invoke :process x}", "h.edn:1:25: :process must be an integer of 64 bits"},
                      BadRow{"{:type :ok :process 1 :value []}", "h.edn:1:1: process 1 has not invoked anything"},
                      BadRow{"{:type :invoke :process 1 :value []}\n{:type :invoke :process 1 :value []}",
                             "h.edn:2:1: process 1 is still waiting for an answer"},
                      BadRow{"{:type :invoke :process 1 :value []}\n{:type :ok :process 1 :value [[:r 1 []]]}",
                             "h.edn:2:30: this :value is not what process 1 invoked"},
                      BadRow{"{:type :invoke :process 1 :value [[:w 1 2]]}",
                             "h.edn:1:36: a micro-operation is :append or :r"},
                      BadRow{"{:type :invoke :process 1 :value [[:append 1 :a]]}",
                             "h.edn:1:46: an appended value must be an integer of 64 bits"},
                      BadRow{"{:type :invoke :process 1 :value [[:append 99999999999999999999 1]]}",
                             "h.edn:1:44: a key must be an integer of 64 bits"},
                      BadRow{"{:type :invoke :process 1 :value [[:r 1 (1 2)]]}",
                             "h.edn:1:41: a read returns nil or a list of integers"},
                      BadRow{"{:type :invoke :process 1 :value [[:r 1 nil 5]]}",
                             "h.edn:1:45: ']' was expected (the end of the micro-operation)"},
                      BadRow{"{:type :invoke :process 1 :x \"abc", "h.edn:1:30: a string that does not end"},
                      BadRow{"{:type :invoke :x [1 (2]}", "h.edn:1:24: ']' is not a value"},
                      BadRow{kDeep.c_str(), "h.edn:1:69: nested too deeply"},
                      BadRow{kDiscards.c_str(), "h.edn:1:131: nested too deeply"}));

TEST(EdnWrite, RoundTrip) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    History history = generate(random, {});
    for (Operation& operation : history.operations) {
      if (below(random, 2) == 0) continue;
      operation.invoked_ns = static_cast<int64_t>(operation.invoked * 1000);
      if (operation.completed != kNever) operation.completed_ns = static_cast<int64_t>(operation.completed * 1000);
    }
    const std::string text = write_edn(history);
    const ReadResult read = read_edn(text, "written");
    ASSERT_FALSE(read.error) << read.error->text();
    ASSERT_EQ(read.history.operations, history.operations) << "seed " << seed;
    ASSERT_EQ(read.history.next_position, history.next_position);
    ASSERT_EQ(write_edn(read.history), text);
  }
}

TEST(EdnWrite, OneMapALine) {
  History history;
  const size_t operation = history.invoke(3, {MicroOp::append(5, 17), MicroOp::read(6)}, 12);
  history.operations[operation].micro_ops[1].list = {1, 2};
  history.complete(operation, Outcome::kOk);
  EXPECT_EQ(write_edn(history),
            "{:type :invoke, :process 3, :f :txn, :value [[:append 5 17] [:r 6 nil]], :index 0, :time 12}\n"
            "{:type :ok, :process 3, :f :txn, :value [[:append 5 17] [:r 6 [1 2]]], :index 1}\n");
}

// Whatever comes in, an answer comes out; an error lies inside the input.
void feed(const std::string& text) {
  // In memory of exactly this size, so that a sanitizer sees a read behind the end.
  const std::vector<char> exact(text.begin(), text.end());
  const ReadResult read = read_edn({exact.data(), exact.size()}, "fuzz");
  if (read.error) {
    ASSERT_GE(read.error->line, 1u);
    ASSERT_GE(read.error->column, 1u);
    ASSERT_LE(read.error->column, text.size() + 1);
    ASSERT_FALSE(read.error->what.empty());
  }
  check_list_append(read.history);
}

TEST(EdnFuzz, TruncatedAnywhere) {
  Random random(1);
  GenerateOptions options;
  options.transactions = 12;
  const std::string text =
      write_edn(generate(random, options)) + "#_{:a \"b\\\"\"} #x/y{:type :info :process :n :v #{1}}";
  for (size_t length = 0; length <= text.size(); ++length) feed(text.substr(0, length));
}

TEST(EdnFuzz, RandomBytes) {
  static constexpr char kPieces[] = "{}[]()#_\"\\;: \n,:type:invoke:ok:process:value:append:r1234567890-nil+N";
  Random random(2);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(below(random, 80), '\0');
    const bool is_edn_like = below(random, 2) == 0;
    for (char& c : text) {
      c = is_edn_like ? kPieces[below(random, sizeof kPieces - 1)] : static_cast<char>(below(random, 256));
    }
    feed(text);
  }
}

TEST(EdnFuzz, MutatedHistories) {
  GenerateOptions options;
  options.transactions = 15;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    std::string text = write_edn(generate(random, options));
    for (uint64_t changes = 1 + below(random, 4); changes > 0 && !text.empty(); --changes) {
      const size_t at = below(random, text.size());
      switch (below(random, 3)) {
        case 0:
          text[at] = static_cast<char>(below(random, 256));
          break;
        case 1:
          text.erase(at, 1 + below(random, 40));
          break;
        default:
          text.insert(at, text.substr(below(random, text.size()), below(random, 60)));
      }
    }
    feed(text);
  }
}

}  // namespace
