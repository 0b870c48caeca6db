// SPDX-License-Identifier: BSD-3-Clause
// The client library with transactions over several shards: of one node, and of two that it learns from the first one.
#include <gtest/gtest.h>

#include "host/client/client.h"
#include "tests/unit/client/model_server.h"

namespace txnic::client::test {
namespace {

constexpr uint32_t kLoopback = 0x7f000001;

// Two nodes with two shards each.
class Cluster : public testing::Test {
 protected:
  Cluster() : store_(std::make_shared<ModelStore>()), first_({}, {}, store_), second_({}, {}, store_) {
    set_map(1, {0, 0, 1, 1});
    near_ = key_of(0);
    near_too_ = key_of(1);
    far_ = key_of(2);
  }
  void set_map(uint32_t epoch, const std::vector<uint32_t>& nodes) {
    ShardMap map;
    map.epoch = epoch;
    map.node_count = 2;
    map.shard_count = 0;
    map.nodes[0] = {{kLoopback, first_.port()}, 1, 0};
    map.nodes[1] = {{kLoopback, second_.port()}, 1, 0};
    for (const uint32_t node : nodes) map.add_shard(node);
    const std::lock_guard lock(store_->mutex);
    store_->map = map;
  }
  static uint64_t key_of(ShardId shard) {
    uint64_t key = 1;
    while (txnic::shard_of(Key(key).hash(), 4) != shard) ++key;
    return key;
  }
  Client connect(uint32_t timeout_ms = 60'000) {
    ClientOptions options;
    options.open_timeout_ms = 60'000;
    options.request_timeout_ms = timeout_ms;
    auto client = Client::connect(first_.address(), options);
    EXPECT_TRUE(client) << client.error().text;
    return std::move(*client);
  }

  std::shared_ptr<ModelStore> store_;
  ModelServer first_, second_;
  uint64_t near_, near_too_, far_;  // of shards 0 and 1 of the first node, and 2 of the second one
};

TEST_F(Cluster, IsLearnedFromOneAddress) {
  Client client = connect();
  EXPECT_EQ(client.shard_count(), 4u);
  ASSERT_TRUE(client.put(1, near_, "here"));
  EXPECT_EQ(second_.with_node([](ModelNode& node) { return node.opened_sessions(); }), 0u) << "not needed yet";
  ASSERT_TRUE(client.put(1, far_, "there"));
  EXPECT_EQ(client.get(1, far_)->bytes, "there");
  EXPECT_EQ(second_.with_node([](ModelNode& node) { return node.opened_sessions(); }), 1u);
}

TEST_F(Cluster, ABatchOverShardsIsOneStep) {
  Client client = connect();
  const auto opened = client.execute(
      Batch().put(1, near_, number_value(100)).put(1, far_, number_value(0)).put(1, near_too_, "x"));
  ASSERT_TRUE(opened) << opened.error().text;
  ASSERT_EQ(opened->versions.size(), 3u);
  EXPECT_EQ(opened->versions[1].first, 2);
  EXPECT_NE(opened->version, 0u);
  const auto moved = client.execute(
      Batch().get(1, near_too_).add(1, far_, 30).add(1, near_, -30, 0).get(1, near_));
  ASSERT_TRUE(moved) << moved.error().text;
  ASSERT_TRUE(moved->values_known);
  EXPECT_EQ(moved->values[0]->bytes, "x");
  EXPECT_EQ(moved->values[1]->number(), 30);
  EXPECT_EQ(moved->values[2]->number(), 70);
  EXPECT_EQ(moved->values[3]->number(), 70);
  const auto refused = client.execute(Batch().add(1, near_, -300, 0).add(1, far_, 300));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kAborted);
  EXPECT_EQ(refused.error().result, Result::kBelowFloor);
  EXPECT_EQ(client.get(1, far_)->number(), 30);
}

TEST_F(Cluster, ALockIsTriedAgainUnderANewSequence) {
  Client client = connect();
  {
    const std::lock_guard lock(store_->mutex);
    store_->locked = 3;
  }
  const uint64_t before = client.statistics().submitted;
  EXPECT_TRUE(client.execute(Batch().put(1, near_, "a").put(1, far_, "b")));
  EXPECT_EQ(client.statistics().submitted, before + 4);
  {
    const std::lock_guard lock(store_->mutex);
    store_->locked = 1;
  }
  std::optional<Error> error;
  ASSERT_TRUE(client.submit(Batch().put(1, near_, "a").put(1, far_, "b"), [&](const Expected<Committed>& answer) {
    if (!answer) error = answer.error();
  }));
  while (client.outstanding() != 0) client.poll(100);
  ASSERT_TRUE(error) << "the callback form tells it";
  EXPECT_EQ(error->kind, ErrorKind::kAborted);
  EXPECT_EQ(error->result, Result::kLocked);
  EXPECT_TRUE(error->is_conflict());
}

TEST_F(Cluster, InteractiveTransactionsValidateTheirReads) {
  Client client = connect(), rival = connect();
  ASSERT_TRUE(client.put(1, near_, "a"));
  ASSERT_TRUE(client.put(1, far_, "b"));
  // Writing: read here, written there.
  Transaction writes = client.begin();
  EXPECT_EQ(writes.get(1, near_)->bytes, "a");
  EXPECT_TRUE(writes.put(1, far_, "from a"));
  ASSERT_TRUE(rival.put(1, near_, "changed"));
  EXPECT_EQ(writes.commit().error().result, Result::kConflict);
  EXPECT_EQ(client.get(1, far_)->bytes, "b");
  // Reading: what was read first has changed when the second was read.
  Transaction reads = client.begin();
  EXPECT_EQ(reads.get(1, near_)->bytes, "changed");
  ASSERT_TRUE(rival.execute(Batch().put(1, near_, "both").put(1, far_, "both")));
  EXPECT_EQ(reads.get(1, far_)->bytes, "both");
  EXPECT_EQ(reads.commit().error().result, Result::kConflict);
  uint32_t runs = 0;
  const auto seen = client.transact([&](Transaction& t) -> Status {
    const auto a = t.get(1, near_);
    if (!a) return a.error();
    if (++runs == 1) {
      EXPECT_TRUE(rival.execute(Batch().put(1, near_, "again").put(1, far_, "again")));
    }
    const auto b = t.get(1, far_);
    if (!b) return b.error();
    EXPECT_TRUE(runs == 1 || a->bytes == b->bytes);
    return {};
  });
  ASSERT_TRUE(seen) << seen.error().text;
  EXPECT_EQ(runs, 2u);
}

TEST_F(Cluster, AnUnknownOutcomeIsAskedForLater) {
  Client patient = connect();
  ASSERT_TRUE(patient.put(1, near_, number_value(1)));
  ASSERT_TRUE(patient.put(1, far_, number_value(1)));
  Client client = connect(1000);
  ASSERT_TRUE(client.get(1, far_));  // open at both
  first_.lose_answers(1000);
  second_.lose_answers(1000);
  const auto unknown = client.execute(Batch().add(1, near_, 1).add(1, far_, 1));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUnknownOutcome);
  ASSERT_NE(unknown.error().transaction.sequence, 0u);
  const auto still = client.outcome(unknown.error().transaction);
  ASSERT_FALSE(still);
  EXPECT_EQ(still.error().kind, ErrorKind::kUnknownOutcome);
  EXPECT_EQ(still.error().transaction, unknown.error().transaction) << "ask again";
  first_.lose_answers(0);
  second_.lose_answers(0);
  ASSERT_TRUE(client.get(1, near_));
  const auto known = client.outcome(unknown.error().transaction);
  ASSERT_TRUE(known) << known.error().text;
  EXPECT_EQ(client.get(1, far_)->number(), 2) << "once";
  const auto again = client.outcome(unknown.error().transaction);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().transaction.sequence, 0u) << "it was told";
}

TEST_F(Cluster, AMovedShardIsFollowed) {
  Client client = connect();
  ASSERT_TRUE(client.put(1, near_, "a"));
  set_map(2, {1, 0, 1, 1});
  ASSERT_TRUE(client.put(1, near_, "b"));
  set_map(3, {0, 1, 0, 1});
  ASSERT_TRUE(client.execute(Batch().put(1, near_, "c").put(1, far_, "c")));
  EXPECT_EQ(client.get(1, near_)->bytes, "c");
}

TEST(OneNode, TakesTransactionsOverItsShardsToo) {
  ModelServer server;
  auto client = Client::connect(server.address());
  ASSERT_TRUE(client);
  uint64_t other = 8;
  while (client->shard_of(other) == client->shard_of(7)) ++other;
  const auto put = client->execute(Batch().put(1, 7, "a").put(1, other, "b"));
  ASSERT_TRUE(put) << put.error().text;
  const auto got = client->execute(Batch().get(1, other).get(1, 7));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->values[0]->bytes, "b");
  EXPECT_EQ(got->values[1]->bytes, "a");
  Batch wide;
  for (uint64_t key = 0; key < 20; ++key) wide.get(1, key);
  EXPECT_TRUE(client->execute(wide));
}

}  // namespace
}  // namespace txnic::client::test
