// SPDX-License-Identifier: BSD-3-Clause
// The link server: what a front appends, over a bad wire, is in the store, in the mirror and in the log, and the mirror
// tells a next front what recovery would tell it.
#include <gtest/gtest.h>

#include "tests/unit/link/host_side.h"
#include "tests/unit/link/record_author.h"
#include "txn/hash.h"

namespace txnic::test {
namespace {

constexpr TimeNs kStepNs = 2000;

// What a front reads of what is kept.
struct KeptState {
  std::vector<std::array<uint64_t, 4>> outcomes;  // session, shard, key, version
  std::vector<std::pair<SessionId, Sequence>> sessions;
  std::vector<std::string> transactions;
  friend bool operator==(const KeptState&, const KeptState&) = default;
};

KeptState kept_state(const back::RecoveredState& state, const SessionLimits& limits) {
  KeptState kept;
  Memory64 memory;
  SessionTable table;
  table.init(limits, memory.make(SessionTable::memory_bytes(limits)));
  EXPECT_EQ(state.fill(0, 1, 1, &table), "");
  for (uint32_t slot = 0; slot < table.capacity(); ++slot) {
    const Session* const session = table.at(slot);
    if (session == nullptr) continue;
    kept.sessions.emplace_back(session->id, session->watermark);
    for (uint32_t i = 0; i < limits.shards * limits.window; ++i) {
      const Outcome& outcome = table.entry(session, i / limits.window, i % limits.window);
      if (outcome.key != 0) kept.outcomes.push_back({session->id, i / limits.window, outcome.key, outcome.version});
    }
  }
  std::sort(kept.sessions.begin(), kept.sessions.end());
  std::sort(kept.outcomes.begin(), kept.outcomes.end());
  state.tell(0, 1, [&](Bytes record) {
    const uint8_t type = load<log::RecordHeader>(record.data()).type;
    if (type >= static_cast<uint8_t>(log::RecordType::kPrepare)) {
      kept.transactions.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
    return true;
  });
  std::sort(kept.transactions.begin(), kept.transactions.end());
  return kept;
}

class ServerRig {
 public:
  ServerRig(uint64_t seed, const HostSideConfig& config, Faults faults = {})
      : config_(config),
        disk(seed),
        host(config_, &disk, &to_front),
        random(seed),
        author(seed, config.shards, config.sessions.window, [this](Bytes record) { return append(record); }) {
    to_back.random.seed(seed);
    to_front.random.seed(seed + 1);
    to_back.faults = to_front.faults = faults;
    front_config.shards = config.shards;
    front_config.frame_bytes = 1504;
    front_config.append_bytes = 16384;
  }

  bool start() { return host.start(); }
  void new_front() {
    front_config.instance = ++instance;
    side = std::make_unique<FrontSide>(front_config, &to_back);
  }
  link::FrontEnd& front() { return side->end; }
  bool append(Bytes record) {
    std::byte* const at = front().reserve(static_cast<uint32_t>(record.size()));
    if (at == nullptr) return false;
    std::memcpy(at, record.data(), record.size());
    front().append(static_cast<uint32_t>(record.size()));
    return true;
  }
  void round() {
    now += kStepNs;
    to_back.deliver(now, [&](const Frame& frame) {
      if (host.running()) host.server().on_frame(frame, now);
    });
    if (host.running()) {
      host.admit(now);
      host.poll(now);
    }
    to_front.deliver(now, [&](const Frame& frame) { front().on_frame(frame, now); });
    if (front().state() == link::FrontState::kReady) {
      front().serve();
      author.begin_incarnation(front().incarnation());
    }
    front().poll(now);
  }
  template <class Done>
  bool run(Done&& done, uint32_t rounds = 300'000) {
    for (uint32_t i = 0; i < rounds; ++i) {
      if (done()) return true;
      round();
    }
    ADD_FAILURE() << name(front().state()) << ' ' << name(front().why()) << ", end " << front().end() << ", taken "
                  << front().taken() << ", durable " << front().durable();
    return false;
  }
  bool serve() {
    return run([&] { return front().state() == link::FrontState::kServing; });
  }
  bool settle() {
    return run([&] { return front().quiet(); });
  }
  // Rows of the store, as the author names them.
  std::map<RecordAuthor::Key, RecordAuthor::Row> rows() {
    std::map<RecordAuthor::Key, RecordAuthor::Row> found;
    for (uint32_t shard = 0; shard < config_.shards; ++shard) {
      uint64_t cursor = 0;
      while (host.shard(shard).scan(&cursor, 64, [&](const storage::Record& record) { add(&found, shard, record); })) {
      }
    }
    return found;
  }

  const HostSideConfig config_;
  TestDisk disk;
  Wire to_back, to_front;
  HostSide host;
  std::mt19937_64 random;
  link::FrontEndConfig front_config;
  std::unique_ptr<FrontSide> side;
  RecordAuthor author;
  TimeNs now = 1'000'000'000;
  uint64_t instance = 0;

 private:
  static void add(std::map<RecordAuthor::Key, RecordAuthor::Row>* found, uint32_t shard,
                  const storage::Record& record) {
    (*found)[{shard, load<uint64_t>(record.key())}] = {{record.value(), record.value() + record.value_length},
                                                       record.version};
  }
};

class LinkServerModes : public testing::TestWithParam<Durability> {};

TEST_P(LinkServerModes, StoreMirrorAndLogAgree) {
  uint64_t kept = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HostSideConfig config;
    config.durability = GetParam();
    ServerRig rig(seed, config, {.loss = 0.05, .doubling = 0.05, .delay_max_ns = seed % 2 == 0 ? 20'000u : 0u});
    rig.disk.set_latency(4);
    ASSERT_TRUE(rig.start()) << rig.host.error;
    rig.new_front();
    ASSERT_TRUE(rig.serve());
    uint32_t checkpoints = 0;
    ASSERT_TRUE(rig.run([&] {
      rig.author.step();
      if (rig.random() % 200 == 0) checkpoints += rig.host.begin_checkpoint();
      return rig.author.records() >= 1200;
    }));
    ASSERT_TRUE(rig.settle());
    EXPECT_EQ(rig.rows(), rig.author.rows());
    EXPECT_EQ(rig.host.server().counters().not_set_aside, 0u);
    kept += rig.host.mirror().transactions();
    const KeptState told = kept_state(*rig.host.told(), config.sessions);
    EXPECT_EQ(rig.host.error, "");
    if (GetParam() == Durability::kNone) continue;
    EXPECT_GT(checkpoints, 0u);
    rig.host.die();
    rig.disk.crash();
    std::string error;
    const KeptState recovered = kept_state(*HostSide::recovered(config, &rig.disk, &error), config.sessions);
    EXPECT_EQ(error, "");
    EXPECT_EQ(told.sessions, recovered.sessions);
    EXPECT_EQ(told.outcomes, recovered.outcomes);
    EXPECT_EQ(told.transactions, recovered.transactions);
  }
  EXPECT_GT(kept, 12u) << "little was prepared or promised in the end";
}

std::string name_of_mode(const testing::TestParamInfo<Durability>& mode) {
  constexpr const char* kNames[] = {"none", "async", "sync"};
  return kNames[static_cast<size_t>(mode.param)];
}

INSTANTIATE_TEST_SUITE_P(Modes, LinkServerModes,
                         testing::Values(Durability::kNone, Durability::kAsync, Durability::kSync), name_of_mode);

// The front dies at any moment; the next one is told all that the first one was acknowledged.
TEST(LinkServer, ANextFrontIsToldWhatTheFirstOneHad) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HostSideConfig config;
    config.durability = Durability::kNone;
    ServerRig rig(seed, config, {.loss = 0.05});
    ASSERT_TRUE(rig.start()) << rig.host.error;
    rig.new_front();
    ASSERT_TRUE(rig.serve());
    ASSERT_TRUE(rig.run([&] {
      rig.author.step();
      return rig.author.records() >= 300;
    }));
    ASSERT_TRUE(rig.settle());
    const KeptState before = kept_state(*rig.host.told(), config.sessions);
    const uint32_t incarnation = rig.front().incarnation();
    rig.new_front();
    ASSERT_TRUE(rig.serve());
    EXPECT_GT(rig.front().incarnation(), incarnation);
    back::RecoveredState state(std::vector<storage::Shard*>(config.shards), config.sessions.window);
    for (const Frame& record : rig.side->model.kept) {
      ASSERT_TRUE(back::replay_kept(record, 0, 1, config.shards, &state));
    }
    EXPECT_EQ(kept_state(state, config.sessions), before);
    // And it goes on where that one was.
    ASSERT_TRUE(rig.run([&] {
      rig.author.step();
      return rig.author.records() >= 600;
    }));
    ASSERT_TRUE(rig.run([&] { return rig.author.finish() && rig.front().quiet(); }));
    EXPECT_EQ(rig.rows(), rig.author.rows());
    EXPECT_EQ(rig.host.server().link().counters().malformed, 0u);
  }
}

// The host dies with what was durable: the mirror of its next life has it, with the memory set aside.
TEST(LinkServer, AHostThatStartsAgainHasItsMirrorFromTheLog) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HostSideConfig config;
    ServerRig rig(seed, config);
    ASSERT_TRUE(rig.start()) << rig.host.error;
    rig.new_front();
    ASSERT_TRUE(rig.serve());
    ASSERT_TRUE(rig.run([&] {
      rig.author.step();
      return rig.author.records() >= 300;
    }));
    ASSERT_TRUE(rig.settle());
    const KeptState before = kept_state(*rig.host.told(), config.sessions);
    const uint64_t spare = rig.host.shard(0).spare_bytes() + rig.host.shard(1).spare_bytes();
    rig.host.die();
    rig.disk.crash();
    ASSERT_TRUE(rig.start()) << rig.host.error;
    EXPECT_EQ(kept_state(*rig.host.told(), config.sessions), before);
    EXPECT_LE(rig.host.shard(0).spare_bytes() + rig.host.shard(1).spare_bytes(), spare + 8 * storage::kPageBytes);
    ASSERT_TRUE(rig.run([&] { return rig.front().state() == link::FrontState::kLost; }));
    rig.new_front();
    ASSERT_TRUE(rig.serve());
    ASSERT_TRUE(rig.run([&] { return rig.author.finish() && rig.front().quiet(); }));
    EXPECT_EQ(rig.rows(), rig.author.rows());
    EXPECT_EQ(rig.host.server().link().counters().malformed, 0u);
  }
}

TEST(LinkServer, QuestionsAreAnsweredFromTheStore) {
  HostSideConfig config;
  ServerRig rig(1, config);
  ASSERT_TRUE(rig.start()) << rig.host.error;
  rig.new_front();
  ASSERT_TRUE(rig.serve());
  const std::string value = "a value";
  const uint64_t hash = table_hash(hash_key8(6), 1);
  const uint64_t key = 6;
  rig.host.shard(1).load(1, reinterpret_cast<const std::byte*>(&key), 8, hash,
                         reinterpret_cast<const std::byte*>(value.data()), 7, 7);
  const link::Question question{1, 1, 8, reinterpret_cast<const std::byte*>(&key)};
  back::LinkServer& server = rig.host.server();
  const link::Answer found = static_cast<link::BackEvents&>(server).on_question(question);
  EXPECT_TRUE(found.is_present);
  EXPECT_EQ(found.version, 7u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(found.value.data()), found.value.size()), value);
  const link::Question other{0, 1, 8, reinterpret_cast<const std::byte*>(&key)};
  EXPECT_FALSE(static_cast<link::BackEvents&>(server).on_question(other).is_present);
  std::array<uint64_t, link::BackEvents::kFillStep> hashes;
  std::vector<uint64_t> all;
  for (uint64_t cursor = 0; cursor != link::kFillEnd;) {
    const uint32_t count = static_cast<link::BackEvents&>(server).hashes(1, cursor, hashes, &cursor);
    all.insert(all.end(), hashes.begin(), hashes.begin() + count);
  }
  EXPECT_EQ(all, std::vector<uint64_t>{hash});
}

// A slow disk: records are put off, and taken later.
TEST(LinkServer, AFullLogPutsOff) {
  HostSideConfig config;
  ServerRig rig(1, config);
  rig.front_config.append_bytes = 256 << 10;
  ASSERT_TRUE(rig.start()) << rig.host.error;
  rig.new_front();
  ASSERT_TRUE(rig.serve());
  rig.disk.set_slow(true);
  ASSERT_TRUE(rig.run([&] {
    rig.author.step();
    return rig.host.server().counters().log_full != 0;
  }));
  EXPECT_LT(rig.host.server().link().taken(), rig.front().end());
  rig.disk.set_slow(false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.rows(), rig.author.rows());
}

// The front is told in time that the store is full, and all that it had appended by then fits.
TEST(LinkServer, AFullStoreIsToldInTime) {
  HostSideConfig config;
  config.durability = Durability::kNone;
  config.tables = {{1, 1'000'000}};
  config.shard_bytes = 8 << 20;
  config.reserve_bytes = 512 << 10;
  ServerRig rig(1, config);
  rig.front_config.append_bytes = 64 << 10;
  ASSERT_TRUE(rig.start()) << rig.host.error;
  rig.new_front();
  ASSERT_TRUE(rig.serve());
  uint64_t key = 0;
  const std::vector<std::byte> value(500);
  Version version = first_version(rig.front().incarnation());
  ASSERT_TRUE(rig.run([&] {
    if (rig.front().store_is_full()) return true;
    std::vector<std::byte> record(sizeof(log::RecordHeader) + log::write_bytes(8, 500));
    store(record.data(), log::RecordHeader{static_cast<uint32_t>(record.size()),
                                           static_cast<uint8_t>(log::RecordType::kCommit), 1, 0, version + 1, 0, 0, 0});
    ++key;
    log::lay_write(record.data() + sizeof(log::RecordHeader), 1, false, reinterpret_cast<std::byte*>(&key), 8,
                   value.data(), 500);
    while (rig.append(record)) {
      store(record.data() + 8, ++version);
      store(record.data() + sizeof(log::RecordHeader) + sizeof(log::WriteHeader), ++key);
    }
    return false;
  }));
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.host.server().counters().no_memory, 0u);
  EXPECT_GT(rig.host.shard(0).statistics().records, 4000u);
  EXPECT_TRUE(rig.front().store_is_full());
}

}  // namespace
}  // namespace txnic::test
