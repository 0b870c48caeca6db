// SPDX-License-Identifier: BSD-3-Clause
// Exactly once, and nothing acknowledged is lost, with placement NIC: clients (the real protocol machine) add to
// counters, one shard or two at a time, against Front<NicBack>, a bad link, LinkServer and the disk that forgets. The
// NIC's side is killed, the host's side is killed, at random steps, with checkpoints in between. At the end every
// counter is what its client was told.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/link/nic_side.h"
#include "txn/client/machine.h"
#include "txn/wire/build.h"

namespace txnic::test {
namespace {

constexpr TimeNs kStepNs = 100'000;
constexpr uint32_t kClients = 3;
constexpr uint32_t kShards = 4;
constexpr uint32_t kTransactions = 120;  // of each client, behind the inserts

struct Kills {
  uint32_t fronts = 0, hosts = 0, checkpoints = 0;
};

class World {
 public:
  World(uint64_t seed, Durability durability, Faults link_faults)
      : random_(seed),
        disk_(seed),
        host_(host_config(durability), &disk_, &to_front_),
        nic_(nic_config(durability), &to_back_, [this](Endpoint to, auto message) {
          send({false, to, std::move(message)});
        }) {
    to_back_.random.seed(seed);
    to_front_.random.seed(seed + 1);
    to_back_.faults = to_front_.faults = link_faults;
    for (uint32_t i = 0; i < kClients; ++i) {
      Client& client = clients_[i];
      client.world = this;
      client.endpoint = {0x0a630002, static_cast<uint16_t>(1000 + i)};
      client::MachineLimits limits;
      limits.window = 8;
      client.machine.init(limits, client.memory.make(client::SessionMachine::memory_bytes(limits)), 100 + i,
                          &World::emit, &client);
      for (uint64_t key = i + 1; client.keys.size() < kShards; key += kClients) {
        client.keys.try_emplace(shard_of(hash_key8(key), kShards), key);
      }
      client.machine.open(now_);
    }
  }

  void run(Kills kills) {
    disk_.set_latency(4);
    ASSERT_TRUE(host_.start()) << host_.error;
    nic_.start();
    uint64_t next_kill = 300 + random_() % 300;
    for (uint32_t steps = 0; steps < 100'000 && !all_done(); ++steps) {
      step();
      if (kills.checkpoints != 0 && random_() % 150 == 0 && host_.begin_checkpoint()) --kills.checkpoints;
      if (!all_inserted()) next_kill = steps + 50;
      if (steps < next_kill || kills.fronts + kills.hosts == 0) continue;
      next_kill = steps + 300 + random_() % 2000;
      const bool kills_front = kills.hosts == 0 || (kills.fronts != 0 && random_() % 2 == 0);
      if (kills_front) {
        --kills.fronts;
        nic_.die();
        nic_.start();
      } else {
        --kills.hosts;
        ++hosts_killed;
        checkpoints_made += host_.checkpoints();
        host_.die();
        disk_.crash();
        to_front_.on_way.clear();
        ASSERT_TRUE(host_.start()) << host_.error;
      }
    }
    ASSERT_TRUE(all_done()) << "clients did not finish: liveness; link " << name(nic_.end().state());
    // Faults stop; what is not over comes to its end.
    for (uint32_t i = 0; i < 20'000 && (nic_.transactions() != 0 || !nic_.serves()); ++i) step();
    EXPECT_EQ(nic_.transactions(), 0u);
    EXPECT_EQ(nic_.error, "");
    check_counters();
    checkpoints_made += host_.checkpoints();
    nic_.die();  // counts
  }

  struct Sum {
    uint64_t committed = 0, split = 0, aborted = 0, unknown = 0;
  };
  Sum sum() const {
    Sum all;
    for (const Client& client : clients_) {
      all.committed += client.sum.committed;
      all.split += client.sum.split;
      all.aborted += client.sum.aborted;
      all.unknown += client.sum.unknown;
    }
    return all;
  }
  const NicSide& nic() const { return nic_; }
  uint64_t checkpoints_made = 0, hosts_killed = 0;

 private:
  struct Flight {
    bool to_node;
    Endpoint client;
    std::vector<std::byte> message;
  };
  struct Asked {  // by a transaction: shards whose key it adds to
    std::vector<ShardId> shards;
    bool inserts = false;
  };
  struct Client {
    World* world = nullptr;
    Endpoint endpoint;
    client::SessionMachine machine;
    Memory64 memory;
    std::map<ShardId, uint64_t> keys;
    std::map<ShardId, int64_t> told, maybe;  // commits that it was told, outcomes that nobody knows
    std::map<client::Slot*, Asked> asked;
    uint32_t inserted = 0, started = 0, settled = 0;
    Sum sum;
  };

  static HostSideConfig host_config(Durability durability) {
    HostSideConfig config;
    config.shards = kShards;
    config.durability = durability;
    config.sessions = session_limits();
    config.shard_bytes = 2 << 20;
    config.link.frame_bytes = 1504;
    config.link.lease_ns = 20'000'000;
    config.link.lease_margin_ns = 2'000'000;
    return config;
  }
  static SessionLimits session_limits() { return {.sessions = 8, .window = 16, .shards = kShards}; }
  static NicSideConfig nic_config(Durability durability) {
    NicSideConfig config;
    config.shards = kShards;
    config.durability = durability;
    config.sessions = session_limits();
    config.link.frame_bytes = 1504;
    config.link.append_bytes = 32768;
    return config;
  }

  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t, uint32_t) {
    Client& client = *static_cast<Client*>(context);
    client.world->send({true, client.endpoint, {message, message + length}});
  }
  // Between clients and the node: 5 % lost, 5 % doubled, all reordered.
  void send(Flight flight) {
    const uint64_t draw = random_() % 20;
    for (int copies = draw == 0 ? 0 : draw == 1 ? 2 : 1; copies != 0; --copies) {
      flights_.emplace(now_ + random_() % (4 * kStepNs), flight);
    }
  }

  void step() {
    now_ += kStepNs;
    to_back_.deliver(now_, [&](const Frame& frame) { host_.server().on_frame(frame, now_); });
    host_.admit(now_);
    host_.poll(now_);
    to_front_.deliver(now_, [&](const Frame& frame) { nic_.on_frame(frame, now_); });
    while (!flights_.empty() && flights_.begin()->first <= now_) {
      Flight flight = std::move(flights_.begin()->second);
      flights_.erase(flights_.begin());
      if (flight.to_node) {
        nic_.deliver(flight.client, std::move(flight.message));
      } else {
        Client& client = clients_[flight.client.port - 1000];
        handle(client,
               client.machine.on_message(now_, flight.message.data(), static_cast<uint32_t>(flight.message.size())));
      }
    }
    nic_.step(now_);
    for (Client& client : clients_) {
      for (;;) {
        const client::Event event = client.machine.poll(now_);
        if (event.kind == client::EventKind::kNone) break;
        handle(client, event);
      }
      if (!is_checking_) start_more(client);
    }
  }

  void start_more(Client& client) {
    while (client.started < kTransactions + kShards && random_() % 30 == 0) {
      const bool inserts = client.started < kShards;
      if (!inserts && client.inserted < kShards) return;
      client::Slot* const slot = client.machine.acquire();
      if (slot == nullptr) return;
      const auto shard = static_cast<ShardId>(inserts ? client.started : random_() % kShards);
      Asked asked{{shard}, inserts};
      if (!inserts && random_() % 3 == 0) asked.shards.push_back(static_cast<ShardId>((shard + 1) % kShards));
      wire::ExecuteBuilder builder(slot->buffer());
      const int64_t zero = 0;
      for (const ShardId s : asked.shards) {
        const Bytes key = std::as_bytes(std::span(&client.keys[s], 1));
        ASSERT_TRUE(inserts ? builder.insert(1, key, std::as_bytes(std::span(&zero, 1))) : builder.add(1, key, 1));
      }
      client.asked[slot] = asked;
      ++client.started;
      // A deadline: LOCKED and BUSY are no outcomes, the machine asks again.
      const TimeNs deadline = now_ + 3'600'000'000'000;
      if (asked.shards.size() == 1) {
        client.machine.submit(slot, builder, shard, deadline, now_);
      } else {
        ASSERT_TRUE(client.machine.submit_split(slot, builder, deadline, now_));
      }
    }
  }

  void handle(Client& client, const client::Event& event) {
    if (event.kind != client::EventKind::kSettled) return;
    const auto asked = client.asked.extract(event.slot);
    if (asked.empty()) {
      reads_.push_back(event.result == Result::kCommitted ? value_of(event) : -1);
      client.machine.release(event.slot);
      return;
    }
    ++client.settled;
    const Asked& a = asked.mapped();
    if (event.result == Result::kCommitted) {
      ++client.sum.committed;
      client.sum.split += a.shards.size() > 1;
      if (!a.inserts) {
        for (const ShardId s : a.shards) ++client.told[s];
      }
      client.inserted += a.inserts;
    } else if (event.result == Result::kUnknownOutcome) {
      ++client.sum.unknown;
      if (!a.inserts) {
        for (const ShardId s : a.shards) ++client.maybe[s];
      }
      client.inserted += a.inserts;
    } else {
      // Its own other transactions hold a key; a crash ends what was not prepared everywhere.
      const bool is_abort =
          event.result == Result::kLocked || event.result == Result::kConflict || event.result == Result::kBusy;
      EXPECT_TRUE(is_abort) << name(event.result) << ' ' << int{event.detail};
      ++client.sum.aborted;
      if (a.inserts) --client.settled, --client.started;  // again
    }
    client.machine.release(event.slot);
  }

  static int64_t value_of(const client::Event& event) {
    std::array<wire::Value, limits::kOperationsMax> values;
    Version version = 0;
    EXPECT_EQ(wire::parse_values(event.message, event.header, &version, values.data()), wire::ParseError::kNone);
    return event.header.operation_count == 1 && values[0].length == 8 ? load<int64_t>(values[0].data) : -1;
  }

  bool all_inserted() const {
    return std::all_of(clients_.begin(), clients_.end(), [](const Client& c) { return c.inserted == kShards; });
  }
  bool all_done() const {
    for (const Client& client : clients_) {
      if (client.settled < kTransactions + kShards) return false;
    }
    return true;
  }

  int64_t read(Client& client, ShardId shard) {
    for (int tries = 0; tries < 50; ++tries) {
      client::Slot* const slot = client.machine.acquire();
      if (slot == nullptr) {
        step();
        continue;
      }
      wire::ExecuteBuilder builder(slot->buffer());
      builder.get(1, std::as_bytes(std::span(&client.keys[shard], 1)));
      reads_.clear();
      client.machine.submit(slot, builder, shard, 0, now_);
      for (uint32_t i = 0; i < 20'000 && reads_.empty(); ++i) step();
      if (!reads_.empty() && reads_[0] >= 0) return reads_[0];
    }
    ADD_FAILURE() << "a read got no answer";
    return -1;
  }

  void check_counters() {
    is_checking_ = true;
    for (Client& client : clients_) {
      for (const auto& [shard, key] : client.keys) {
        const int64_t value = read(client, shard);
        EXPECT_GE(value, client.told[shard]) << "lost: client " << client.endpoint.port << " shard " << shard;
        EXPECT_LE(value, client.told[shard] + client.maybe[shard])
            << "doubled: client " << client.endpoint.port << " shard " << shard;
        EXPECT_EQ(value, in_store(shard, key)) << "the host's store";
      }
    }
  }
  int64_t in_store(ShardId shard, uint64_t key) {
    const uint64_t hash = table_hash(hash_key8(key), 1);
    const storage::Record* const record =
        host_.shard(shard).find(1, reinterpret_cast<const std::byte*>(&key), 8, hash).record;
    return record == nullptr || record->value_length != 8 ? -1 : load<int64_t>(record->value());
  }

  std::mt19937_64 random_;
  TimeNs now_ = 1'000'000'000;
  TestDisk disk_;
  Wire to_back_, to_front_;
  HostSide host_;
  NicSide nic_;
  std::array<Client, kClients> clients_;
  std::multimap<TimeNs, Flight> flights_;
  std::vector<int64_t> reads_;
  bool is_checking_ = false;
};

constexpr Faults kBadLink{.loss = 0.02, .doubling = 0.02, .delay_max_ns = 150'000};

TEST(NicNode, ABadLinkLosesNothing) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", durability " + std::to_string(static_cast<int>(durability)));
      World world(seed, durability, kBadLink);
      world.run({.checkpoints = 2});
      if (HasFatalFailure()) return;
      EXPECT_EQ(world.nic().starts, 1u);
      EXPECT_EQ(world.sum().unknown, 0u);
      EXPECT_GT(world.sum().split, 10u);
    }
  }
}

// The death of the NIC's side alone loses no acknowledged commit, in any mode (issue 4, item 1).
TEST(NicNode, AFrontThatDiesLosesNothing) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    uint64_t restored = 0, unknown = 0;
    for (uint64_t seed = 100; seed < 108; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", durability " + std::to_string(static_cast<int>(durability)));
      World world(seed, durability, kBadLink);
      world.run({.fronts = 5, .checkpoints = 2});
      if (HasFatalFailure()) return;
      EXPECT_GE(world.nic().starts, 2u);
      EXPECT_GT(world.nic().misses, 0u);
      restored += world.nic().restored;
      unknown += world.sum().unknown;
    }
    EXPECT_GT(restored, 0u) << "no front died with a prepared transaction";
    EXPECT_EQ(unknown, 0u);
  }
}

TEST(NicNode, InSyncTheDeathOfEitherSideLosesNothing) {
  uint64_t checkpoints = 0, restored = 0, duplicates = 0, hosts = 0, fronts = 0;
  for (uint64_t seed = 200; seed < 216; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, Durability::kSync, kBadLink);
    world.run({.fronts = 3, .hosts = 3, .checkpoints = 3});
    if (HasFatalFailure()) return;
    EXPECT_EQ(world.sum().unknown, 0u) << "in sync mode every window survives";
    checkpoints += world.checkpoints_made;
    restored += world.nic().restored;
    duplicates += world.nic().duplicates;
    hosts += world.hosts_killed;
    fronts += world.nic().starts - 1;  // with each host's death one starts over
  }
  EXPECT_GT(checkpoints, 10u);
  EXPECT_GE(hosts, 30u);
  EXPECT_GE(fronts, 60u);
  EXPECT_GT(restored, 10u);
  EXPECT_GT(duplicates, 50u);
}

}  // namespace
}  // namespace txnic::test
