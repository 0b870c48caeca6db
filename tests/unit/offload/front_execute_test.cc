// SPDX-License-Identifier: BSD-3-Clause
// What a transaction does: operations, their order, versions, results.
#include "tests/unit/offload/front_fixture.h"

namespace txnic::test {
namespace {

class FrontExecute : public FrontFixture {
 protected:
  void SetUp() override {
    start();
    stamp_ = open(7);
  }
  Reply run(wire::ExecuteBuilder& b) { return execute(b, 7, ++sequence_, stamp_); }
  Version put(const std::string& key, const std::string& value) {
    auto b = builder();
    EXPECT_TRUE(b.put(1, bytes(key), bytes(value)));
    const Reply reply = run(b);
    EXPECT_EQ(reply.result(), Result::kCommitted);
    return reply.commit_version;
  }
  static std::string number(int64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
  std::string value_of(const std::string& key) {
    const auto it = back_.rows.find({0, 1, key});
    return it == back_.rows.end() ? "(absent)" : it->second.value;
  }

  Stamp stamp_ = 0;
  Sequence sequence_ = 0;
};

TEST_F(FrontExecute, PutThenGet) {
  const Version version = put("k", "v");
  auto b = builder();
  b.get(1, bytes("k"));
  b.get(1, bytes("absent"));
  const Reply reply = run(b);
  EXPECT_EQ(reply.result(), Result::kCommitted);
  EXPECT_EQ(reply.commit_version, 0u);
  ASSERT_EQ(reply.values.size(), 2u);
  EXPECT_EQ(reply.values[0], "v");
  EXPECT_EQ(reply.raw[0].version, version);
  EXPECT_TRUE(reply.raw[0].present);
  EXPECT_FALSE(reply.raw[1].present);
  EXPECT_EQ(reply.raw[1].version, back_.absence);
}

TEST_F(FrontExecute, VersionsRiseByOnePerCommit) {
  const Version first = put("a", "1");
  EXPECT_EQ(put("b", "2"), first + 1);
  EXPECT_EQ(first >> kVersionSequenceBits, 1u);
}

TEST_F(FrontExecute, BusinessResults) {
  put("n", number(10));
  struct Row {
    const char* what;
    void (*build)(wire::ExecuteBuilder&);
    Result expected;
  };
  const Row rows[] = {
      {"insert present", [](auto& b) { b.insert(1, bytes("n"), bytes("x")); }, Result::kExists},
      {"delete absent", [](auto& b) { b.remove(1, bytes("zz")); }, Result::kNotFound},
      {"add absent", [](auto& b) { b.add(1, bytes("zz"), 1); }, Result::kNotFound},
      {"below floor", [](auto& b) { b.add_with_floor(1, bytes("n"), -11, 0); }, Result::kBelowFloor},
      {"at floor", [](auto& b) { b.add_with_floor(1, bytes("n"), -10, 0); }, Result::kCommitted},
      {"check of another version",
       [](auto& b) {
         b.check(1, bytes("n"), 12345, 0);
         b.put(1, bytes("y"), bytes("y"));
       },
       Result::kCheckFailed},
      {"read set changed", [](auto& b) { b.check(1, bytes("n"), 12345, wire::kReadSet); }, Result::kConflict},
      {"expected version", [](auto& b) { b.put_if(1, bytes("n"), bytes("x"), 12345); }, Result::kConflict},
      {"unknown table", [](auto& b) { b.put(99, bytes("n"), bytes("x")); }, Result::kUnknownTable},
  };
  for (const Row& row : rows) {
    auto b = builder();
    row.build(b);
    EXPECT_EQ(run(b).result(), row.expected) << row.what;
  }
  EXPECT_EQ(value_of("y"), "(absent)");
  EXPECT_EQ(value_of("n"), number(0));
}

TEST_F(FrontExecute, AddOfWrongSizeOrOverflowIsTooLarge) {
  put("text", "abc");
  put("big", number(INT64_MAX));
  auto b = builder();
  b.add(1, bytes("text"), 1);
  EXPECT_EQ(run(b).result(), Result::kTooLarge);
  b = builder();
  b.add(1, bytes("big"), 1);
  EXPECT_EQ(run(b).result(), Result::kTooLarge);
  EXPECT_EQ(value_of("big"), number(INT64_MAX));
}

TEST_F(FrontExecute, ReadsItsOwnWritesInOrder) {
  put("k", number(5));
  auto b = builder();
  b.get(1, bytes("k"));      // 5, old version
  b.add(1, bytes("k"), 10);  // 15
  b.get(1, bytes("k"));      // 15, commit version
  b.remove(1, bytes("k"));
  b.get(1, bytes("k"));  // absent
  b.insert(1, bytes("k"), bytes("new"));
  b.get(1, bytes("k"));
  const Reply reply = run(b);
  ASSERT_EQ(reply.result(), Result::kCommitted);
  ASSERT_EQ(reply.values.size(), 5u);
  EXPECT_EQ(reply.values[0], number(5));
  EXPECT_LT(reply.raw[0].version, reply.commit_version);
  EXPECT_EQ(reply.values[1], number(15));
  EXPECT_EQ(reply.raw[1].version, reply.commit_version);
  EXPECT_EQ(reply.values[2], number(15));
  EXPECT_FALSE(reply.raw[3].present);
  EXPECT_EQ(reply.values[4], "new");
  EXPECT_EQ(value_of("k"), "new");
  EXPECT_EQ(back_.writes, 2u) << "one write per key: the put of the set-up, and the final value";
}

TEST_F(FrontExecute, AbortChangesNothing) {
  put("a", "1");
  auto b = builder();
  b.put(1, bytes("a"), bytes("2"));
  b.put(1, bytes("b"), bytes("2"));
  b.remove(1, bytes("absent"));
  const Reply reply = run(b);
  EXPECT_EQ(reply.result(), Result::kNotFound);
  EXPECT_EQ(reply.header.detail, 2u);
  EXPECT_EQ(value_of("a"), "1");
  EXPECT_EQ(value_of("b"), "(absent)");
}

TEST_F(FrontExecute, AbsentKeyIsCheckedByItsVersion) {
  const Version absent = back_.absence;
  auto b = builder();
  b.check(1, bytes("x"), absent, wire::kExpectAbsent | wire::kReadSet);
  b.put(1, bytes("y"), bytes("1"));
  EXPECT_EQ(run(b).result(), Result::kCommitted);
  put("x", "came");
  b = builder();
  b.remove(1, bytes("x"));
  EXPECT_EQ(run(b).result(), Result::kCommitted);
  // Absent again, but not unchanged (trap 2).
  b = builder();
  b.check(1, bytes("x"), absent, wire::kExpectAbsent | wire::kReadSet);
  b.put(1, bytes("y"), bytes("2"));
  EXPECT_EQ(run(b).result(), Result::kConflict);
}

TEST_F(FrontExecute, VersionsAreJudgedBeforeTheTransaction) {
  const Version version = put("k", "1");
  auto b = builder();
  b.put_if(1, bytes("k"), bytes("2"), version);
  b.check(1, bytes("k"), version, 0);
  EXPECT_EQ(run(b).result(), Result::kCommitted);
}

TEST_F(FrontExecute, InsertAndDeleteOfAnAbsentKeyWritesNothing) {
  auto b = builder();
  b.insert(1, bytes("k"), bytes("1"));
  b.remove(1, bytes("k"));
  const Reply reply = run(b);
  EXPECT_EQ(reply.result(), Result::kCommitted);
  EXPECT_EQ(back_.writes, 0u);
  EXPECT_EQ(resend().header.flags & wire::kReplyFlagDuplicate, wire::kReplyFlagDuplicate);
}

TEST_F(FrontExecute, ReplyTooLargeIsRefusedBeforeAnythingRuns) {
  put("big", std::string(1000, 'x'));
  auto b = builder();
  b.put(1, bytes("a"), bytes("1"));
  b.get(1, bytes("big"));
  b.get(1, bytes("big"));
  EXPECT_EQ(run(b).result(), Result::kTooLarge);
  EXPECT_EQ(value_of("a"), "(absent)");
  b = builder();
  b.get(1, bytes("big"));
  b.get(1, bytes("big"));
  EXPECT_EQ(run(b).result(), Result::kTooLarge);
}

TEST_F(FrontExecute, BusyIsNotRecorded) {
  back_.busy = BusyReason::kLogFull;
  auto b = builder();
  b.put(1, bytes("a"), bytes("1"));
  Reply reply = run(b);
  EXPECT_EQ(reply.result(), Result::kBusy);
  EXPECT_EQ(reply.header.detail, static_cast<uint8_t>(BusyReason::kLogFull));
  back_.busy = BusyReason::kNone;
  EXPECT_EQ(resend().result(), Result::kCommitted);
}

TEST_F(FrontExecute, ShardsAndWorkers) {
  start(2, 0, 4);
  stamp_ = 0;  // sessions are not needed: these are refused or forwarded before admission
  auto b = builder();
  b.put(1, bytes("12345678"), bytes("1"));
  const ShardId shard = shard_of(hash_key(bytes("12345678").data(), 8), 4);
  const ShardId other_same_worker = static_cast<ShardId>((shard + 2) % 4);
  Reply reply = execute(b, 7, 1, 1, 0, 9);
  EXPECT_EQ(reply.result(), Result::kWrongShard);
  b = builder();
  b.put(1, bytes("12345678"), bytes("1"));
  reply = execute(b, 7, 1, 1, 0, 1);
  EXPECT_EQ(reply.action, offload::Action::kForward);
  EXPECT_EQ(reply.to_worker, 1);
  if (shard % 2 == 0) {
    b = builder();
    b.put(1, bytes("12345678"), bytes("1"));
    reply = execute(b, 7, 1, 1, 0, other_same_worker);
    EXPECT_EQ(reply.result(), Result::kCrossShard);
  }
}

}  // namespace
}  // namespace txnic::test
