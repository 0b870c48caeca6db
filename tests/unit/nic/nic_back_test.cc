// SPDX-License-Identifier: BSD-3-Clause
// The back on the NIC, case by case: what crosses the link, and what an answer waits for.
#include "tests/unit/nic/nic_rig.h"

namespace txnic::test {
namespace {

NicRig::Build get(const std::string& key) {
  return [key](wire::ExecuteBuilder& b) { ASSERT_TRUE(b.get(1, NicRig::raw(key))); };
}
NicRig::Build put(const std::string& key, const std::string& value) {
  return [key, value](wire::ExecuteBuilder& b) { ASSERT_TRUE(b.put(1, NicRig::raw(key), NicRig::raw(value))); };
}
NicRig::Build insert(const std::string& key, const std::string& value) {
  return [key, value](wire::ExecuteBuilder& b) { ASSERT_TRUE(b.insert(1, NicRig::raw(key), NicRig::raw(value))); };
}
NicRig::Build remove(const std::string& key) {
  return [key](wire::ExecuteBuilder& b) { ASSERT_TRUE(b.remove(1, NicRig::raw(key))); };
}

class Nic : public ::testing::Test {
 protected:
  // Shard 0 lives on node 0, shard 1 on node 1.
  void start(Durability durability, bool use_filter = true) {
    rig_ = std::make_unique<NicRig>(durability, use_filter);
    for (uint32_t i = 0; i < 4; ++i) {
      const auto shard = static_cast<ShardId>(i);
      rig_->host_of(shard).rows[{1, rig_->key(shard, 0)}] = {first_version(2) + 5, "old"};
    }
    rig_->fill_filters();
  }
  ModelLink& link(uint32_t node = 0) { return rig_->nodes[node].link; }
  offload::NicBackCounters counters(uint32_t node = 0) { return rig_->nodes[node].back->counters(); }
  std::string key(uint32_t n, ShardId shard = 0) { return rig_->key(shard, n); }
  // Done, with or without an answer so far.
  NicAnswer answer(Sequence s) {
    EXPECT_TRUE(rig_->has_answer(s));
    return rig_->answers[s];
  }
  NicAnswer run(ShardId shard, const NicRig::Build& build) {
    const Sequence s = rig_->execute(shard, build);
    rig_->run();
    return answer(s);
  }
  std::unique_ptr<NicRig> rig_;
};

TEST_F(Nic, AMissCrossesOnceAndAHitNever) {
  start(Durability::kNone);
  const Sequence first = rig_->execute(0, get(key(0)));
  const Sequence second = rig_->execute(0, get(key(0)));
  rig_->turn();
  EXPECT_FALSE(rig_->has_answer(first));
  EXPECT_EQ(link().asked(), 1u) << "the second one waits for the same question";
  link().settle(0);
  rig_->turn();
  for (const Sequence s : {first, second}) {
    ASSERT_EQ(answer(s).result(), Result::kCommitted);
    ASSERT_EQ(answer(s).values.size(), 1u);
    EXPECT_EQ(answer(s).values[0].bytes, "old");
    EXPECT_EQ(answer(s).values[0].version, first_version(2) + 5);
  }
  EXPECT_EQ(counters().misses, 1u);
  EXPECT_EQ(counters().joined, 1u);
  const Sequence third = rig_->execute(0, get(key(0)));
  EXPECT_EQ(answer(third).values[0].bytes, "old");
  EXPECT_EQ(counters().hits, 2u) << "the second one and the third one";
  EXPECT_EQ(link().asked(), 1u);
}

TEST_F(Nic, ACommitIsAnsweredWhenTheHostHasIt) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync}) {
    start(durability);
    const Sequence s = rig_->execute(0, insert(key(1), "new"));
    rig_->turn();
    EXPECT_FALSE(rig_->has_answer(s)) << "the death of the NIC would lose it";
    link().take();
    rig_->turn();
    EXPECT_EQ(answer(s).result(), Result::kCommitted);
    EXPECT_EQ(answer(s).versions[0], first_version(ModelLink::kIncarnation) + 1);
    EXPECT_EQ((link().host.rows[{1, key(1)}].value), "new");
    EXPECT_EQ((link().host.rows[{1, key(1)}].version), first_version(ModelLink::kIncarnation) + 1);
  }
}

TEST_F(Nic, InModeSyncItWaitsForTheHostsDisk) {
  start(Durability::kSync);
  const Sequence write = rig_->execute(0, insert(key(1), "new"));
  const Sequence read = rig_->execute(0, get(key(1)));
  link().take();
  rig_->turn();
  EXPECT_FALSE(rig_->has_answer(write));
  EXPECT_FALSE(rig_->has_answer(read)) << "what it has read may be lost yet (trap 5)";
  link().sync();
  rig_->turn();
  EXPECT_EQ(answer(write).result(), Result::kCommitted);
  EXPECT_EQ(answer(read).values.at(0).bytes, "new");
  const Sequence again = rig_->execute(0, get(key(1)));
  EXPECT_TRUE(rig_->has_answer(again)) << "durable: at once";
}

TEST_F(Nic, AReadOfWhatTheHostDoesNotHaveYetWaits) {
  start(Durability::kNone);
  ASSERT_EQ(run(0, get(key(0))).values.at(0).bytes, "old");
  rig_->execute(0, insert(key(1), "new"));
  const Sequence dirty = rig_->execute(0, get(key(1)));
  const Sequence clean = rig_->execute(0, get(key(0)));
  EXPECT_FALSE(rig_->has_answer(dirty));
  EXPECT_TRUE(rig_->has_answer(clean)) << "a read of what is not on its way need not wait";
  link().take();
  rig_->turn();
  EXPECT_EQ(answer(dirty).values.at(0).bytes, "new");
}

TEST_F(Nic, AnAbsentKeyCrossesOnlyWithoutTheFilter) {
  start(Durability::kNone);
  EXPECT_EQ(run(0, insert(key(1), "x")).result(), Result::kCommitted);
  EXPECT_EQ(link().asked(), 0u);
  EXPECT_EQ(counters().absent_by_filter, 1u);
  EXPECT_EQ(run(0, insert(key(1), "y")).result(), Result::kExists);
  start(Durability::kNone, false);
  EXPECT_EQ(run(0, insert(key(1), "x")).result(), Result::kCommitted);
  EXPECT_EQ(link().asked(), 1u);
  EXPECT_EQ(counters().absent_by_host, 1u);
}

TEST_F(Nic, DeletedKeysAreAbsentUnderARisingVersion) {
  for (const bool use_filter : {true, false}) {
    start(Durability::kNone, use_filter);
    const NicAnswer before = run(0, get(key(1)));
    ASSERT_EQ(before.values.size(), 1u);
    EXPECT_FALSE(before.values[0].present);
    EXPECT_EQ(run(0, insert(key(1), "x")).result(), Result::kCommitted);
    EXPECT_EQ(run(0, remove(key(1))).result(), Result::kCommitted);
    const NicAnswer after = run(0, get(key(1)));
    EXPECT_FALSE(after.values.at(0).present);
    EXPECT_GT(after.values[0].version, before.values[0].version) << "trap 2";
    EXPECT_EQ(run(0, remove(key(1))).result(), Result::kNotFound);
    EXPECT_FALSE((link().host.rows.contains({1, key(1)})));
  }
}

TEST_F(Nic, WithoutALeaseNothingIsTold) {
  start(Durability::kNone);
  ASSERT_EQ(run(0, get(key(0))).result(), Result::kCommitted);
  link().lease = false;
  const NicAnswer refused = run(0, get(key(0)));
  EXPECT_EQ(refused.result(), Result::kBusy);
  EXPECT_EQ(refused.header.detail, static_cast<uint8_t>(BusyReason::kNotReady));
  EXPECT_EQ(run(0, put(key(0), "new")).header.detail, static_cast<uint8_t>(BusyReason::kNotReady));
  EXPECT_EQ(counters().no_lease, 2u);
  link().lease = true;
  EXPECT_EQ(run(0, get(key(0))).values.at(0).bytes, "old");
}

TEST_F(Nic, FullWindowsAreBusyByName) {
  start(Durability::kNone);
  ASSERT_EQ(run(0, get(key(0))).result(), Result::kCommitted);
  link().window = 64;
  EXPECT_EQ(run(0, put(key(0), std::string(100, 'x'))).header.detail, static_cast<uint8_t>(BusyReason::kLink));
  link().window = 4096;
  link().is_full = true;
  EXPECT_EQ(run(0, put(key(0), "x")).header.detail, static_cast<uint8_t>(BusyReason::kMemory));
  EXPECT_EQ(run(0, remove(key(0))).result(), Result::kCommitted) << "a delete makes room";
  link().is_full = false;
  EXPECT_EQ(run(0, put(key(0), "x")).result(), Result::kCommitted);
  link().questions_max = 0;
  rig_->host_of(0).rows[{1, key(7)}] = {1, "seven"};
  rig_->nodes[0].back->on_fill(0, std::vector<uint64_t>{table_hash(
                                      hash_key(NicRig::raw(key(7)).data(), static_cast<uint32_t>(key(7).size())), 1)});
  EXPECT_EQ(run(0, get(key(7))).header.detail, static_cast<uint8_t>(BusyReason::kLink));
  EXPECT_EQ(counters().link_full, 2u);
  EXPECT_EQ(counters().store_full, 1u);
}

TEST_F(Nic, WhenAllIsPinnedTheClientIsToldBusy) {
  start(Durability::kNone);
  Result last = Result::kCommitted;
  uint32_t n = 1;
  for (; n < 2000 && last == Result::kCommitted; ++n) {
    const Sequence s = rig_->execute(0, insert(key(n), std::string(1000, 'x')));
    rig_->done_below(s);
    rig_->turn();
    if (rig_->has_answer(s)) last = answer(s).result();
  }
  EXPECT_EQ(last, Result::kBusy);
  EXPECT_LT(n, 300u);
  EXPECT_GT(n, 100u);
  EXPECT_GT(counters().cache_full, 0u);
  rig_->run(200);
  EXPECT_EQ(run(0, insert(key(n), std::string(1000, 'x'))).result(), Result::kCommitted) << "the host has taken it all";
}

TEST_F(Nic, OverTwoNodesCommitsWhenBothHostsHaveItsPrepares) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    start(durability);
    const Sequence s = rig_->prepare({0, 1}, {put(key(0), "A"), insert(key(1, 1), "B")});
    const auto waits_for = [&](const std::string& what) {
      for (int i = 0; i < 5; ++i) rig_->turn();
      EXPECT_FALSE(rig_->has_answer(s)) << what;
    };
    waits_for("its key, which node 0 does not have");
    for (auto& node : rig_->nodes) node.link.look(), node.link.answer();
    waits_for("the hosts");
    for (auto& node : rig_->nodes) node.link.take();
    if (durability != Durability::kNone) {
      waits_for("the disks, in mode async too (COMMIT 18)");
      for (auto& node : rig_->nodes) node.link.sync();
    }
    rig_->run();
    EXPECT_EQ(answer(s).result(), Result::kCommitted);
    EXPECT_EQ((link(0).host.rows[{1, key(0)}].value), "A");
    EXPECT_EQ((link(1).host.rows[{1, key(1, 1)}].value), "B");
    EXPECT_TRUE(link(0).host.prepared.empty() && link(1).host.prepared.empty());
    EXPECT_EQ(run(1, get(key(1, 1))).values.at(0).bytes, "B");
    EXPECT_EQ(counters(0).applied, 1u);
  }
}

// What is prepared stays, whatever is fetched meanwhile, and its end finds its room.
TEST_F(Nic, APreparedWriteKeepsItsRoom) {
  start(Durability::kNone);
  ASSERT_EQ(run(0, get(key(0))).result(), Result::kCommitted);
  rig_->loses = [] { return true; };
  const std::string value(1024, 'A');
  const Sequence s = rig_->prepare({0, 1}, {put(key(0), value), insert(key(1, 1), "B")});
  for (uint32_t n = 10; n < 1500; ++n) {
    link().host.rows[{1, key(n)}] = {1, std::string(700, 'x')};
    rig_->nodes[0].back->on_fill(
        0, std::vector<uint64_t>{
               table_hash(hash_key(NicRig::raw(key(n)).data(), static_cast<uint32_t>(key(n).size())), 1)});
    rig_->done_below(rig_->execute(0, get(key(n))) + 1 > 200 ? rig_->sequence - 200 : 1);
    rig_->run(2);
  }
  EXPECT_GT(counters().evictions, 500u);
  EXPECT_EQ(run(0, get(key(0))).result(), Result::kLocked);
  EXPECT_FALSE(rig_->has_answer(s));
  rig_->loses = nullptr;
  rig_->run(50, 20'000'000);
  EXPECT_EQ(answer(s).result(), Result::kCommitted);
  EXPECT_EQ(run(0, get(key(0))).values.at(0).bytes, value);
}

// A front that comes after another holds what that one had prepared; the keys are not here. Its coordinator is asked,
// or the operator decides, as here.
class NicRestored : public Nic {
 protected:
  static constexpr TransactionId kId{NicRig::kSession, 9};
  void restore() {
    start(Durability::kNone);
    const std::string changed = key(0), inserted = key(1);
    const std::array<std::string, 2> values{std::string(600, 'A'), "B"};
    std::vector<offload::Write> writes;
    for (const auto& [k, value] : {std::pair(changed, values[0]), std::pair(inserted, values[1])}) {
      texts_.push_back(k), texts_.push_back(value);
    }
    locks_.clear();
    for (size_t i = 0; i < texts_.size(); i += 2) {
      const Bytes k = NicRig::raw(texts_[i]), value = NicRig::raw(texts_[i + 1]);
      const uint64_t hash = table_hash(hash_key(k.data(), static_cast<uint32_t>(k.size())), 1);
      writes.push_back({k.data(), value.data(), hash, nullptr, 1, static_cast<uint16_t>(value.size()),
                        static_cast<uint8_t>(k.size()), false});
      locks_.push_back({hash, true});
    }
    auto& node = rig_->nodes[0];
    redo_.resize(limits::kPreparedBytesMax);
    redo_.resize(node.back->encode_redo(writes, redo_));
    ASSERT_TRUE(node.back->set_aside(0, Bytes(redo_)));
    // As if this host's earlier front had appended it.
    link().host.prepared.insert({kId.session, kId.sequence, 0});
    commit::Restored restored;
    restored.state = commit::State::kPrepared;
    restored.prepared.id = kId;
    restored.prepared.shard = 0;
    restored.prepared.participants = {2, rig_->map.epoch, {1, 0}};
    restored.prepared.locks = locks_;
    restored.prepared.redo = redo_;
    restored.prepared.version = first_version(2) + 77;
    ASSERT_TRUE(node.front->machine().restore(restored, rig_->now));
    rig_->loses = [] { return true; };  // the coordinator stays away
  }
  void decide(bool commit) {
    ASSERT_EQ(rig_->nodes[0].front->machine().force(kId, 0, commit, rig_->now), commit::Forced::kDone);
    rig_->run();
  }
  std::vector<std::string> texts_;
  std::vector<commit::Lock> locks_;
  std::vector<std::byte> redo_;
};

TEST_F(NicRestored, IsLockedAndCommitsOverKeysThatAreNotHere) {
  restore();
  EXPECT_EQ(run(0, get(key(0))).result(), Result::kLocked);
  EXPECT_EQ(run(0, insert(key(1), "x")).result(), Result::kLocked);
  decide(true);
  const NicAnswer changed = run(0, get(key(0))), inserted = run(0, get(key(1)));
  EXPECT_EQ(changed.values.at(0).bytes, std::string(600, 'A'));
  EXPECT_EQ(changed.values[0].version, first_version(2) + 77);
  EXPECT_EQ(inserted.values.at(0).bytes, "B");
  EXPECT_EQ((link().host.rows[{1, key(0)}].value), std::string(600, 'A'));
  EXPECT_EQ(run(0, insert(key(1), "x")).result(), Result::kExists);
}

TEST_F(NicRestored, AnAbortLeavesWhatTheHostHas) {
  restore();
  decide(false);
  EXPECT_EQ(run(0, get(key(0))).values.at(0).bytes, "old");
  EXPECT_FALSE(run(0, get(key(1))).values.at(0).present);
  EXPECT_EQ(run(0, insert(key(1), "x")).result(), Result::kCommitted);
}

// An answer that the host gave before it had the commit's record.
TEST_F(NicRestored, AnOldAnswerDoesNotUndoACommit) {
  restore();
  const Sequence s = rig_->execute(0, get(key(0)));
  rig_->turn();
  ASSERT_EQ(link().asked(), 1u);
  link().look();
  ASSERT_EQ(rig_->nodes[0].front->machine().force(kId, 0, true, rig_->now), commit::Forced::kDone);
  link().answer();
  link().take();
  rig_->run();
  EXPECT_EQ(counters().stale, 1u);
  EXPECT_EQ(answer(s).values.at(0).bytes, std::string(600, 'A'));
}

}  // namespace
}  // namespace txnic::test
