// SPDX-License-Identifier: BSD-3-Clause
// Exactly once, and nothing acknowledged is lost: clients (the real protocol machine) add to counters over a network
// that drops, doubles and reorders, against a node whose disk forgets what was not synced, crashed at random steps and
// started again with another number of workers, with checkpoints in between. At the end every counter is exactly the
// number of commits that its client was told.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/back/node_rig.h"
#include "txn/client/machine.h"

namespace txnic::test {
namespace {

constexpr TimeNs kStepNs = 200'000;
constexpr uint32_t kClients = 4;
constexpr uint32_t kTransactions = 40;  // of each client

struct Flight {
  TimeNs due;
  bool to_node;
  uint32_t worker;
  Endpoint client;
  std::vector<std::byte> message;
};

class World {
 public:
  explicit World(uint64_t seed, Durability durability = Durability::kSync)
      : random_(seed), disk_(seed), rig_(config(seed, durability), &disk_, [this](Endpoint to, auto message) {
          send({0, false, 0, to, std::move(message)});
        }) {
    for (uint32_t i = 0; i < kClients; ++i) {
      Client& client = clients_[i];
      client.world = this;
      client.endpoint = {0x0a630002, static_cast<uint16_t>(1000 + i)};
      client::MachineLimits limits;
      limits.window = 8;
      client.memory.resize(client::SessionMachine::memory_bytes(limits) / 64 + 1);
      client.machine.init(limits, {reinterpret_cast<std::byte*>(client.memory.data()), client.memory.size() * 64},
                          100 + i, &World::emit, &client);
      // A key in each shard: a transaction stays within one.
      for (uint64_t key = i + 1; client.keys.size() < 4; key += kClients) {
        const ShardId shard = shard_of(hash_key8(key), 4);
        if (!client.keys.contains(shard)) client.keys[shard] = key;
      }
      client.machine.open(now_);
    }
  }

  void run(uint32_t crashes, uint32_t checkpoints) {
    disk_.set_latency(4);
    ASSERT_TRUE(rig_.start(1 + static_cast<uint32_t>(random_() % 3), now_)) << rig_.error;
    uint64_t next_crash = crashes == 0 ? 0 : 200 + random_() % 400;
    for (uint32_t steps = 0; steps < 60'000 && !all_done(); ++steps) {
      step();
      if (checkpoints != 0 && random_() % 150 == 0 && rig_.begin_checkpoint()) --checkpoints;
      if (crashes != 0 && steps >= next_crash) {
        --crashes;
        next_crash = steps + 100 + random_() % 600;
        crash();
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    ASSERT_TRUE(all_done()) << "clients did not finish: liveness";
    check_counters();
  }

  uint64_t committed() const {
    uint64_t sum = 0;
    for (const Client& client : clients_) sum += client.committed;
    return sum;
  }
  uint64_t unknown() const {
    uint64_t sum = 0;
    for (const Client& client : clients_) sum += client.unknown;
    return sum;
  }
  uint64_t checkpoints_made = 0, recovered_records = 0, duplicates = 0;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Client {
    World* world = nullptr;
    Endpoint endpoint;
    client::SessionMachine machine;
    std::vector<Line> memory;
    std::map<ShardId, uint64_t> keys;
    std::map<uint64_t, int64_t> expected;  // by key: commits that this client was told
    uint32_t inserted = 0;
    uint32_t started = 0, settled = 0, committed = 0, unknown = 0;
  };

  static RigConfig config(uint64_t seed, Durability durability) {
    RigConfig config;
    config.seed = seed;
    config.durability = durability;
    return config;
  }

  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t, uint32_t worker) {
    Client& client = *static_cast<Client*>(context);
    client.world->send({0, true, worker, client.endpoint, {message, message + length}});
  }

  // 10 % lost, 10 % doubled, all reordered.
  void send(Flight flight) {
    const int copies = random_() % 10 == 0 ? 0 : random_() % 10 == 0 ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      flight.due = now_ + random_() % (5 * kStepNs);
      flights_.emplace(flight.due, flight);
    }
  }

  void step() {
    now_ += kStepNs;
    while (!flights_.empty() && flights_.begin()->first <= now_) {
      Flight flight = std::move(flights_.begin()->second);
      flights_.erase(flights_.begin());
      if (flight.to_node) {
        rig_.deliver(flight.worker, flight.client, std::move(flight.message));
      } else {
        Client& client = clients_[flight.client.port - 1000];
        handle(client,
               client.machine.on_message(now_, flight.message.data(), static_cast<uint32_t>(flight.message.size())));
      }
    }
    if (rig_.running()) rig_.step(now_);
    for (Client& client : clients_) {
      for (;;) {
        const client::Event event = client.machine.poll(now_);
        if (event.kind == client::EventKind::kNone) break;
        handle(client, event);
      }
      start_more(client);
    }
  }

  void start_more(Client& client) {
    while (client.started < kTransactions + 4 && random_() % 3 != 0) {
      // The first four make the rows; the others wait for them.
      const bool insert = client.started < 4;
      if (!insert && client.inserted < 4) return;
      client::Slot* const slot = client.machine.acquire();
      if (slot == nullptr) return;
      const auto shard = static_cast<ShardId>(insert ? client.started : random_() % 4);
      const uint64_t key = client.keys[shard];
      wire::ExecuteBuilder builder(slot->buffer());
      const int64_t zero = 0;
      if (insert) {
        ASSERT_TRUE(builder.insert(1, std::as_bytes(std::span(&key, 1)), std::as_bytes(std::span(&zero, 1))));
      } else {
        ASSERT_TRUE(builder.add(1, std::as_bytes(std::span(&key, 1)), 1));
      }
      slot->user = key << 1 | (insert ? 1 : 0);
      ++client.started;
      client.machine.submit(slot, builder, shard, 0, now_);
    }
  }

  void handle(Client& client, const client::Event& event) {
    if (event.kind != client::EventKind::kSettled) return;
    const uint64_t key = event.slot->user >> 1;
    const bool insert = (event.slot->user & 1) != 0;
    ++client.settled;
    if (event.result == Result::kCommitted) {
      ++client.committed;
      if (insert) {
        ++client.inserted;
      } else {
        ++client.expected[key];
      }
    } else if (event.result == Result::kUnknownOutcome) {
      ++client.unknown;
      if (insert) ++client.inserted;
    } else {
      ADD_FAILURE() << "an add to a present row answered " << name(event.result);
    }
    client.machine.release(event.slot);
  }

  void crash() {
    duplicates += rig_.counters().duplicates;
    checkpoints_made += rig_.checkpoints();
    disk_.crash();
    rig_.die();
    if (random_() % 2 == 0) flights_.clear();
    ASSERT_TRUE(rig_.start(1 + static_cast<uint32_t>(random_() % 3), now_)) << rig_.error;
    recovered_records += rig_.report().records;
  }

  bool all_done() const {
    for (const Client& client : clients_) {
      if (client.settled < kTransactions + 4) return false;
    }
    return true;
  }

  // Reads every row through a fresh client.
  void check_counters() {
    for (Client& client : clients_) {
      for (const auto& [shard, key] : client.keys) {
        const int64_t value = read(client, shard, key);
        EXPECT_EQ(value, client.expected[key]) << "client " << client.endpoint.port << " shard " << shard;
      }
    }
  }

  int64_t read(Client& client, ShardId shard, uint64_t key) {
    client::Slot* const slot = client.machine.acquire();
    if (slot == nullptr) return -1;
    wire::ExecuteBuilder builder(slot->buffer());
    builder.get(1, std::as_bytes(std::span(&key, 1)));
    client.machine.submit(slot, builder, shard, 0, now_);
    for (uint32_t steps = 0; steps < 100'000; ++steps) {
      now_ += kStepNs;
      client::Event settled;
      const auto look = [&](const client::Event& event) {
        if (event.kind == client::EventKind::kSettled && event.slot == slot) settled = event;
      };
      while (!flights_.empty() && flights_.begin()->first <= now_) {
        Flight flight = std::move(flights_.begin()->second);
        flights_.erase(flights_.begin());
        if (flight.to_node) {
          rig_.deliver(flight.worker, flight.client, std::move(flight.message));
          continue;
        }
        if (flight.client.port != client.endpoint.port) continue;
        look(client.machine.on_message(now_, flight.message.data(), static_cast<uint32_t>(flight.message.size())));
        if (settled.slot != nullptr) {
          const int64_t value = value_of(settled);
          client.machine.release(slot);
          return value;
        }
      }
      rig_.step(now_);
      look(client.machine.poll(now_));
    }
    ADD_FAILURE() << "a read got no answer";
    return -1;
  }

  static int64_t value_of(const client::Event& event) {
    std::array<wire::Value, limits::kOperationsMax> values;
    Version version = 0;
    EXPECT_EQ(event.result, Result::kCommitted);
    EXPECT_EQ(wire::parse_values(event.message, event.header, &version, values.data()), wire::ParseError::kNone);
    EXPECT_EQ(event.header.operation_count, 1);
    return values[0].length == 8 ? load<int64_t>(values[0].data) : -1;
  }

  std::mt19937_64 random_;
  TimeNs now_ = 1'000'000'000;
  TestDisk disk_;
  NodeRig rig_;
  std::array<Client, kClients> clients_;
  std::multimap<TimeNs, Flight> flights_;
};

TEST(NodeCrash, LossyNetworkWithoutCrashes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.run(0, 2);
    EXPECT_EQ(world.committed(), kClients * (kTransactions + 4)) << "seed " << seed;
    if (HasFailure()) break;
  }
}

TEST(NodeCrash, SyncLosesNothingAndRepeatsNothing) {
  uint64_t checkpoints = 0, records = 0, duplicates = 0;
  for (uint64_t seed = 1000; seed < 1040; ++seed) {
    World world(seed);
    world.run(3, 3);
    EXPECT_EQ(world.committed(), kClients * (kTransactions + 4));
    EXPECT_EQ(world.unknown(), 0u) << "in sync mode every window survives";
    checkpoints += world.checkpoints_made;
    records += world.recovered_records;
    duplicates += world.duplicates;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  // The test would prove little if these had not happened.
  EXPECT_GT(checkpoints, 12u);
  EXPECT_GT(records, 1000u);
  EXPECT_GT(duplicates, 100u);
}

}  // namespace
}  // namespace txnic::test
