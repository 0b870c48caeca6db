// SPDX-License-Identifier: BSD-3-Clause
// Interactive transactions: what they see, what they validate, how they fail.
#include <gtest/gtest.h>

#include "host/client/client.h"
#include "tests/unit/client/model_server.h"

namespace txnic::client::test {
namespace {

class Transactions : public testing::Test {
 protected:
  Transactions() : client_(connect()), rival_(connect()) {
    other_ = 8;
    while (client_.shard_of(other_) != client_.shard_of(7)) ++other_;
  }
  Client connect() {
    ClientOptions options;
    options.open_timeout_ms = 60'000;
    options.request_timeout_ms = 60'000;
    auto client = Client::connect(server_.address(), options);
    EXPECT_TRUE(client) << client.error().text;
    return std::move(*client);
  }

  ModelServer server_;
  Client client_;
  Client rival_;
  uint64_t other_;  // of the shard of key 7
};

TEST_F(Transactions, ReadTheirOwnWrites) {
  ASSERT_TRUE(client_.put(1, 7, number_value(10)));
  Transaction t = client_.begin();
  EXPECT_EQ(t.get(1, 7)->number(), 10);
  EXPECT_TRUE(t.add(1, 7, 5));
  EXPECT_EQ(t.get(1, 7)->number(), 15);
  EXPECT_TRUE(t.put(1, 7, number_value(100)));
  EXPECT_TRUE(t.add(1, 7, 1));
  EXPECT_EQ(t.get(1, 7)->number(), 101);
  EXPECT_TRUE(t.remove(1, 7));
  EXPECT_FALSE(t.get(1, 7)->present);
  EXPECT_TRUE(t.insert(1, 7, "again"));
  EXPECT_EQ(t.get(1, 7)->bytes, "again");
  EXPECT_EQ(rival_.get(1, 7)->number(), 10);  // nobody else does before the commit
  const auto committed = t.commit();
  ASSERT_TRUE(committed) << committed.error().text;
  EXPECT_EQ(rival_.get(1, 7)->bytes, "again");
  EXPECT_EQ(rival_.get(1, 7)->version, committed->version);
  EXPECT_EQ(t.commit().error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(t.put(1, 7, "x").error().kind, ErrorKind::kInvalid);
}

TEST_F(Transactions, ReadTheSameAgainAndConflict) {
  ASSERT_TRUE(client_.put(1, 7, "old"));
  Transaction t = client_.begin();
  EXPECT_EQ(t.get(1, 7)->bytes, "old");
  ASSERT_TRUE(rival_.put(1, 7, "new"));
  EXPECT_EQ(t.get(1, 7)->bytes, "old");
  EXPECT_TRUE(t.put(1, other_, "based on old"));
  const auto failed = t.commit();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kAborted);
  EXPECT_EQ(failed.error().result, Result::kConflict);
  EXPECT_TRUE(failed.error().is_conflict());
  EXPECT_FALSE(client_.get(1, other_)->present);
}

// Each way of writing a key that was read before must fail if somebody else has written it meanwhile.
TEST_F(Transactions, EveryKindOfWriteValidatesItsRead) {
  using Write = std::function<Status(Transaction&)>;
  const std::vector<std::pair<const char*, Write>> writes{
      {"put", [](Transaction& t) { return t.put(1, 7, "mine"); }},
      {"insert", [](Transaction& t) { return t.insert(1, 7, "mine"); }},
      {"remove", [](Transaction& t) { return t.remove(1, 7); }},
      {"add", [](Transaction& t) { return t.add(1, 7, 1); }},
      {"check", [](Transaction& t) { return t.put(1, 7, "mine"); }},
  };
  for (const bool present : {true, false}) {
    for (const auto& [label, write] : writes) {
      SCOPED_TRACE(std::string(label) + (present ? " of a present key" : " of an absent key"));
      if (present) {
        ASSERT_TRUE(client_.put(1, 7, number_value(1)));
      } else {
        (void)client_.remove(1, 7);
      }
      Transaction t = client_.begin();
      EXPECT_EQ(t.get(1, 7)->present, present);
      EXPECT_TRUE(write(t));
      ASSERT_TRUE(rival_.put(1, 7, number_value(2)));
      const auto failed = t.commit();
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().result, Result::kConflict);
      EXPECT_EQ(client_.get(1, 7)->number(), 2);
    }
  }
}

TEST_F(Transactions, CommitWhenNobodyInterferes) {
  (void)client_.remove(1, 7);
  Transaction absent = client_.begin();
  EXPECT_FALSE(absent.get(1, 7)->present);
  EXPECT_TRUE(absent.put(1, 7, number_value(1)));
  EXPECT_TRUE(absent.commit());
  Transaction again = client_.begin();
  EXPECT_TRUE(again.get(1, 7)->present);
  EXPECT_TRUE(again.add(1, 7, 2, 0));
  EXPECT_TRUE(again.commit());
  Transaction remove = client_.begin();
  EXPECT_EQ(remove.get(1, 7)->number(), 3);
  EXPECT_TRUE(remove.remove(1, 7));
  EXPECT_TRUE(remove.commit());
  EXPECT_FALSE(client_.get(1, 7)->present);
}

TEST_F(Transactions, ReadOnlyOnesAreValidatedTogether) {
  ASSERT_TRUE(client_.put(1, 7, "a"));
  ASSERT_TRUE(client_.put(1, other_, "b"));
  Transaction good = client_.begin();
  EXPECT_TRUE(good.get(1, 7)->present);
  EXPECT_TRUE(good.get(1, other_)->present);
  EXPECT_TRUE(good.commit());
  Transaction bad = client_.begin();
  EXPECT_TRUE(bad.get(1, 7)->present);
  ASSERT_TRUE(rival_.put(1, 7, "c"));
  EXPECT_TRUE(bad.get(1, other_)->present);
  EXPECT_EQ(bad.commit().error().result, Result::kConflict);
  Transaction one = client_.begin();
  EXPECT_TRUE(one.get(1, 7)->present);
  ASSERT_TRUE(rival_.put(1, 7, "d"));
  EXPECT_TRUE(one.commit());  // a single read is a state of the world
  EXPECT_TRUE(client_.begin().commit());
}

TEST_F(Transactions, AddersDoNotConflict) {
  ASSERT_TRUE(client_.put(1, 7, number_value(0)));
  Transaction t = client_.begin();
  EXPECT_TRUE(t.add(1, 7, 1));
  EXPECT_TRUE(rival_.add(1, 7, 1));
  EXPECT_TRUE(t.commit());
  EXPECT_EQ(client_.get(1, 7)->number(), 2);
}

TEST_F(Transactions, ChecksAreBusinessOutcomes) {
  ASSERT_TRUE(client_.put(1, 7, "a"));
  const Value seen = *client_.get(1, 7);
  ASSERT_TRUE(rival_.put(1, 7, "b"));
  Transaction t = client_.begin();
  EXPECT_TRUE(t.check(1, 7, seen));
  EXPECT_TRUE(t.put(1, other_, "c"));
  EXPECT_EQ(t.commit().error().result, Result::kCheckFailed);
}

TEST_F(Transactions, AnErrorOfAWriteIsRemembered) {
  Transaction t = client_.begin();
  EXPECT_TRUE(t.put(1, 7, "a"));
  EXPECT_EQ(t.put(1, 7, std::string(2000, 'x')).error().result, Result::kTooLarge);
  EXPECT_EQ(t.commit().error().result, Result::kTooLarge);
  EXPECT_FALSE(client_.get(1, 7)->present);
}

TEST_F(Transactions, TransactBeginsAgainAfterConflicts) {
  ASSERT_TRUE(client_.put(1, 7, number_value(0)));
  uint32_t runs = 0;
  const auto increment = [&](Transaction& t) -> Status {
    const auto value = t.get(1, 7);
    if (!value) return value.error();
    if (++runs <= 3) {
      EXPECT_TRUE(rival_.add(1, 7, 10));
    }
    return t.put(1, 7, number_value(*value->number() + 1));
  };
  ASSERT_TRUE(client_.transact(increment));
  EXPECT_EQ(runs, 4u);
  EXPECT_EQ(client_.get(1, 7)->number(), 31);
}

TEST_F(Transactions, TransactIsBounded) {
  ASSERT_TRUE(client_.put(1, 7, number_value(0)));
  uint32_t runs = 0;
  RetryOptions options;
  options.attempts_max = 5;
  options.backoff_first_us = 1;
  const auto answer = client_.transact(
      [&](Transaction& t) -> Status {
        ++runs;
        const auto value = t.get(1, 7);
        if (!value) return value.error();
        EXPECT_TRUE(rival_.add(1, 7, 1));
        return t.put(1, 7, "x");
      },
      options);
  ASSERT_FALSE(answer);
  EXPECT_EQ(runs, 5u);
  EXPECT_EQ(answer.error().result, Result::kConflict);
  EXPECT_NE(answer.error().text.find("5 times"), std::string::npos) << answer.error().text;
}

TEST_F(Transactions, TransactEndsWithTheBodysError) {
  const Error mine{ErrorKind::kInvalid, Result::kCheckFailed, 0, "not enough money"};
  const auto answer = client_.transact([&](Transaction& t) -> Status {
    EXPECT_TRUE(t.put(1, 7, "x"));
    return mine;
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text, mine.text);
  EXPECT_FALSE(client_.get(1, 7)->present);
}

}  // namespace
}  // namespace txnic::client::test
