// SPDX-License-Identifier: BSD-3-Clause
// Random runs in the style of the protocol's model: two to three shards, on nodes of their own or two on one, clients
// that die, messages that are lost, doubled and reordered without bound, crashes at any step that keep any prefix of
// what was not synced, logs that are full, checkpoints. Then faults stop, and everything must come to an end.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/commit/history.h"
#include "tests/unit/commit/toy_node.h"

namespace txnic::test {
namespace {

constexpr uint32_t kClients = 3;
constexpr uint32_t kTransactions = 7;  // of each client
constexpr TimeNs kResendNs = 30;

struct Coverage {
  uint64_t committed = 0, aborted = 0, abandoned = 0, crashes = 0, checkpoints = 0, asked = 0, inquired = 0,
           promises = 0, recovered_in_doubt = 0, refused = 0, repeated = 0, log_full = 0;
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    shards_ = 2 + static_cast<uint32_t>(seed % 2);
    const bool together = seed % 3 == 0;  // shards 0 and 1 on one node
    const uint32_t transactions = seed % 5 == 0 ? 6 : 32;
    const uint32_t count = together ? shards_ - 1 : shards_;
    for (uint32_t n = 0; n < count; ++n) {
      std::set<ShardId> owned;
      for (uint32_t s = 0; s < shards_; ++s) {
        if (std::min(together && s > 0 ? s - 1 : s, count - 1) == n) owned.insert(static_cast<ShardId>(s));
      }
      nodes_.push_back(std::make_unique<ToyNode>(
          owned, transactions,
          ToyNode::Hooks{[this](ShardId to, std::vector<std::byte> bytes) { flights_.push_back({to, bytes, {}}); },
                         [this](const TransactionId& id, Result result, const std::map<Key, uint64_t>& read) {
                           replies_.push_back({id_of(id), result, read});
                         },
                         [this](const LogRecord& record) { history_.on_durable(record); }}));
    }
    for (uint32_t c = 0; c < kClients; ++c) clients_[c].session = 100 + c;
  }

  void run(Coverage& coverage) {
    for (uint32_t steps = 0; steps < 4000 && !clients_done(); ++steps) step(coverage);
    heal();
    for (const auto& node : nodes_) {
      EXPECT_EQ(node->machine.locks().size(), 0u) << "a lock outlives its transaction";
      EXPECT_EQ(node->machine.counters().contradictions, 0u);
      node->machine.for_each([&](const Transaction& t) {
        EXPECT_NE(t.state, State::kPrepared) << "in doubt for ever: session " << t.id.session << " sequence "
                                             << t.id.sequence << " shard " << t.shard;
      });
      add(*node, coverage);
    }
    history_.check_end();
    coverage.committed += history_.told_commits();
    coverage.aborted += history_.told_aborts();
  }

 private:
  struct Flight {
    ShardId to;
    std::vector<std::byte> bytes;  // between participants, or
    std::optional<Work> work;      // a PREPARE
  };
  struct Reply {
    Id id;
    Result result;
    std::map<Key, uint64_t> read;
  };
  struct Client {
    SessionId session = 0;
    Sequence sequence = 0;
    std::vector<Work> works;  // one for each participant; empty: nothing in flight
    TimeNs resend = 0;
  };

  bool chance(uint32_t of) { return random_() % of == 0; }
  ToyNode& node_of(ShardId shard) {
    for (const auto& node : nodes_) {
      if (node->owns(shard)) return *node;
    }
    std::abort();
  }

  void step(Coverage& coverage) {
    now_ += 1 + random_() % 5;
    const uint64_t what = random_() % 100;
    ToyNode& node = *nodes_[random_() % nodes_.size()];
    if (what < 50) {
      deliver(false);
    } else if (what < 68) {
      node.sync(chance(2) ? node.unsynced() : random_() % (node.unsynced() + 1), now_);
    } else if (what < 80) {
      node.on_timer(now_);
    } else if (what < 94) {
      client_step(clients_[random_() % kClients], coverage);
    } else if (what < 96) {
      coverage.checkpoints += node.unsynced() == 0 ? 1 : 0;
      node.checkpoint();
    } else if (what < 98) {
      node.log_limit = chance(2) ? SIZE_MAX : node.log_size();
      coverage.log_full += node.log_limit != SIZE_MAX ? 1 : 0;
    } else if (chance(2)) {
      add(node, coverage);
      node.crash(random_() % (node.unsynced() + 1), now_);
      node.log_limit = SIZE_MAX;
      ++coverage.crashes;
      node.machine.for_each([&](const Transaction& t) { coverage.recovered_in_doubt += t.state == State::kPrepared; });
    }
    take_replies();
  }

  static void add(const ToyNode& node, Coverage& coverage) {
    const commit::MachineCounters& c = node.machine.counters();
    coverage.asked += c.asked;
    coverage.inquired += c.inquired;
    coverage.promises += c.promises;
    coverage.refused += c.refused;
    coverage.repeated += c.decisions_repeated;
  }

  // Any message in flight, or a late copy of any message that ever was; or it is lost.
  void deliver(bool healthy) {
    const bool late = !healthy && chance(6) && !ever_.empty();
    if (!late && flights_.empty()) return;
    Flight flight;
    if (late) {
      flight = ever_[random_() % ever_.size()];
    } else {
      std::swap(flights_[random_() % flights_.size()], flights_.back());
      flight = std::move(flights_.back());
      flights_.pop_back();
      ever_.push_back(flight);
    }
    if (!healthy && chance(8)) return;
    ToyNode& node = node_of(flight.to);
    if (flight.work) {
      node.on_work(*flight.work, now_);
    } else {
      node.on_bytes(flight.bytes, now_);
    }
  }

  void client_step(Client& client, Coverage& coverage) {
    if (client.works.empty()) {
      if (client.sequence < kTransactions) begin(client);
      return;
    }
    if (chance(60)) {  // gives up: the outcome stays unknown to it
      client.works.clear();
      ++coverage.abandoned;
      return;
    }
    if (now_ < client.resend) return;
    client.resend = now_ + kResendNs;
    for (Work& work : client.works) {
      work.stamp = node_of(work.shard).incarnation;
      if (!chance(6)) flights_.push_back({work.shard, {}, work});
    }
  }

  void begin(Client& client) {
    ++client.sequence;
    client.resend = 0;
    Participants participants;
    participants.count = shards_ == 2 ? 2 : 2 + static_cast<uint32_t>(random_() % 2);
    const auto first = random_() % shards_;
    for (uint32_t i = 0; i < participants.count; ++i) {
      participants.shards[i] = static_cast<ShardId>((first + i) % shards_);
    }
    for (uint32_t i = 0; i < participants.count; ++i) {
      Work work;
      work.id = {client.session, client.sequence};
      work.participants = participants;
      work.shard = participants.shards[i];
      work.watermark = client.sequence;
      work.fails = chance(25);
      // Three keys a shard: some read, some added to, some left alone.
      for (Key key = work.shard * 10u; key < work.shard * 10u + 3; ++key) {
        const uint64_t use = random_() % 5;
        if (use < 1) work.reads.push_back(key);
        if (use == 1 || (use == 2 && work.adds.empty())) work.adds.push_back(key);
      }
      if (work.reads.empty() && work.adds.empty()) work.adds.push_back(work.shard * 10u);
      client.works.push_back(work);
    }
    history_.begin(client.works);
  }

  void take_replies() {
    for (const Reply& reply : replies_) {
      history_.on_told(reply.id, reply.result, reply.read);
      for (Client& client : clients_) {
        if (client.session == reply.id.session && client.sequence == reply.id.sequence) client.works.clear();
      }
    }
    replies_.clear();
  }

  bool clients_done() const {
    for (const Client& client : clients_) {
      if (client.sequence < kTransactions || !client.works.empty()) return false;
    }
    return true;
  }

  // No faults, no clients, fair timers and links.
  void heal() {
    for (Client& client : clients_) client.works.clear();
    std::erase_if(flights_, [](const Flight& flight) { return flight.work.has_value(); });
    for (const auto& node : nodes_) node->log_limit = SIZE_MAX;
    for (uint32_t round = 0; round < 400; ++round) {
      now_ += 20;
      for (const auto& node : nodes_) {
        for (int i = 0; i < 8; ++i) node->on_timer(now_);
        node->sync(node->unsynced(), now_);
      }
      for (uint32_t i = 0; i < 200 && !flights_.empty(); ++i) deliver(true);
      take_replies();
    }
  }

  std::mt19937_64 random_;
  TimeNs now_ = 1000;
  uint32_t shards_ = 2;
  std::vector<std::unique_ptr<ToyNode>> nodes_;
  std::array<Client, kClients> clients_;
  std::vector<Flight> flights_, ever_;
  std::vector<Reply> replies_;
  History history_;
};

TEST(CommitRandom, AtomicDurableAndLockFreeAtTheEnd) {
  Coverage coverage;
  constexpr uint64_t kSeeds = 1500;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    world.run(coverage);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  std::printf("%llu runs: told %llu commits, %llu aborts, %llu abandoned; %llu crashes, %llu recovered in doubt, %llu "
              "checkpoints, %llu full logs; %llu votes asked for, %llu inquiries, %llu promises, %llu refusals, %llu "
              "decisions sent again\n",
              static_cast<unsigned long long>(kSeeds), static_cast<unsigned long long>(coverage.committed),
              static_cast<unsigned long long>(coverage.aborted), static_cast<unsigned long long>(coverage.abandoned),
              static_cast<unsigned long long>(coverage.crashes),
              static_cast<unsigned long long>(coverage.recovered_in_doubt),
              static_cast<unsigned long long>(coverage.checkpoints), static_cast<unsigned long long>(coverage.log_full),
              static_cast<unsigned long long>(coverage.asked), static_cast<unsigned long long>(coverage.inquired),
              static_cast<unsigned long long>(coverage.promises), static_cast<unsigned long long>(coverage.refused),
              static_cast<unsigned long long>(coverage.repeated));
  // The test would prove little if these had not happened.
  EXPECT_GT(coverage.committed, 5 * kSeeds);
  EXPECT_GT(coverage.aborted, kSeeds);
  EXPECT_GT(coverage.abandoned, kSeeds);
  EXPECT_GT(coverage.crashes, kSeeds);
  EXPECT_GT(coverage.recovered_in_doubt, kSeeds / 2);
  EXPECT_GT(coverage.promises, kSeeds);
  EXPECT_GT(coverage.inquired, kSeeds);
  EXPECT_GT(coverage.refused, kSeeds);
}

}  // namespace
}  // namespace txnic::test
