// SPDX-License-Identifier: BSD-3-Clause
// The client's machine against nodes that run the real two-phase commit (txn/commit), over the wire's bytes: messages
// are lost, doubled and reordered, nodes crash and lose what was not synced, sessions expire at one node and not at
// others, nodes are busy. Then faults stop, and every request must have settled, truly.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/client/messages.h"
#include "tests/unit/commit/history.h"
#include "txn/client/machine.h"

namespace txnic::test {
namespace {

namespace messages = client::test;
using client::Event;
using client::EventKind;
using client::SessionMachine;
using Message = std::vector<std::byte>;

constexpr uint32_t kShards = 4;
constexpr uint32_t kClients = 3;
constexpr uint32_t kTransactions = 8;  // of each client
constexpr uint32_t kKeys = 3;          // of each shard

struct Coverage {
  uint64_t committed = 0, aborted = 0, unknown = 0, resumed = 0, crashes = 0, forgotten = 0, reopens = 0, lost = 0,
           repeated = 0;
};

struct Told {
  Id id;
  bool committed;
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    map_.epoch = 1;
    map_.node_count = 2 + static_cast<uint32_t>(seed % 2);
    map_.shard_count = 0;
    for (uint32_t n = 0; n < map_.node_count; ++n) map_.nodes[n] = {{n + 1, 7700}, 1, 0};
    for (uint32_t s = 0; s < kShards; ++s) map_.add_shard(s % map_.node_count);
    for (Key key = 1; keys_found() < kShards * kKeys; ++key) {
      std::vector<Key>& keys = keys_[shard_of(hash_key8(key), kShards)];
      if (keys.size() < kKeys) keys.push_back(key);
    }
    for (uint32_t n = 0; n < map_.node_count; ++n) {
      std::set<ShardId> owned;
      for (uint32_t s = 0; s < kShards; ++s) {
        if (map_.places[s].node == n) owned.insert(static_cast<ShardId>(s));
      }
      nodes_.emplace_back().toy = std::make_unique<ToyNode>(
          owned, 64,
          ToyNode::Hooks{[this](ShardId to, Message bytes) { fly({.node = map_.places[to].node, .peer = true,
                                                                  .bytes = std::move(bytes)}); },
                         [this](const TransactionId& id, Result result, const std::map<Key, uint64_t>& read) {
                           tell(id, result, read);
                         },
                         [this](const LogRecord& record) { on_durable(record); }});
    }
    for (uint32_t c = 0; c < kClients; ++c) start(c);
  }

  void run(Coverage& coverage) {
    for (uint32_t steps = 0; steps < 6000 && !is_done(); ++steps) step(coverage);
    heal();
    for (Peer& c : clients_) {
      EXPECT_EQ(c.machine.outstanding(), 0u) << "a request never settled";
      const client::MachineStatistics& s = c.machine.statistics();
      EXPECT_EQ(s.received_messages, s.answers + s.session_messages + s.retryable + s.duplicates + s.stale +
                                         s.unmatched + s.malformed);
      EXPECT_EQ(s.malformed, 0u);
      coverage.reopens += s.reopens;
      coverage.lost += s.windows_lost;
      coverage.repeated += s.retransmissions;
      coverage.resumed += s.resumed;
    }
    for (const auto& node : nodes_) {
      EXPECT_EQ(node.toy->machine.locks().size(), 0u);
      EXPECT_EQ(node.toy->machine.counters().contradictions, 0u);
    }
    history_.check_end();
    for (const Told& told : told_) {
      const size_t participants = works_.at(told.id).size();
      const auto found = committed_.find(told.id);
      const size_t at = found == committed_.end() ? 0 : found->second.size();
      EXPECT_EQ(at, told.committed ? participants : 0u)
          << "told as " << (told.committed ? "committed" : "aborted") << ": session " << told.id.session
          << " sequence " << told.id.sequence;
      ++(told.committed ? coverage.committed : coverage.aborted);
    }
    coverage.unknown += unknown_;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Flight {
    uint32_t node = 0;  // to it, or from it
    bool peer = false;  // between participants
    bool to_client = false;
    Message bytes;
  };
  struct Session {
    Stamp stamp = 0;
    Sequence attempt = 0;
  };
  struct NodeState {
    std::unique_ptr<ToyNode> toy;
    uint32_t openings = 0;
    std::map<SessionId, Session> sessions;  // of this incarnation
    std::set<SessionId> windows;            // that it knows, also after a crash
    uint8_t cookie = 1;                     // the one that is good now
  };
  struct Peer {
    SessionMachine machine;
    std::vector<Line> memory;
    World* world = nullptr;
    uint32_t begun = 0;
    std::map<Sequence, std::vector<std::pair<Key, bool>>> operations;  // key, writes; as they were asked
  };

  bool chance(uint32_t of) { return random_() % of == 0; }
  size_t keys_found() const {
    size_t count = 0;
    for (const auto& [shard, keys] : keys_) count += keys.size();
    return count;
  }

  void start(uint32_t c) {
    Peer& peer = clients_[c];
    client::MachineLimits limits;
    limits.window = 4;
    limits.slot_bytes = 512;
    limits.nodes = 3;
    limits.retransmit_first_ns = 30;
    limits.retransmit_max_ns = 300;
    limits.open_retry_ns = 40;
    limits.busy_retry_ns = 10;
    peer.world = this;
    peer.memory.resize(SessionMachine::memory_bytes(limits) / sizeof(Line) + 1);
    peer.machine.init(limits, {peer.memory.front().bytes, peer.memory.size() * sizeof(Line)}, 100 + c, &World::emit,
                      &peer);
    ASSERT_TRUE(peer.machine.use_map(&map_, 0, now_));
    peer.machine.open(now_);
  }

  static void emit(void* context, const std::byte* message, uint32_t length, uint32_t node, uint32_t) {
    static_cast<Peer*>(context)->world->fly({.node = node, .bytes = {message, message + length}});
  }
  void fly(Flight flight) { flights_.push_back(std::move(flight)); }

  void step(Coverage& coverage) {
    now_ += 1 + random_() % 5;
    const uint64_t what = random_() % 1000;
    NodeState& node = nodes_[random_() % nodes_.size()];
    if (what < 600) {
      deliver(false);
    } else if (what < 750) {
      node.toy->sync(chance(2) ? node.toy->unsynced() : random_() % (node.toy->unsynced() + 1), now_);
    } else if (what < 830) {
      node.toy->on_timer(now_);
    } else if (what < 980) {
      act(clients_[random_() % kClients]);
    } else if (what < 985) {
      node.toy->checkpoint();
    } else if (what < 992) {
      const SessionId session = 100 + random_() % kClients;
      if (node.toy->forget(session)) {
        node.windows.erase(session);
        node.sessions.erase(session);
        ++node.cookie;  // expiry takes longer than a cookie lives
        ++coverage.forgotten;
      }
    } else if (what < 996) {
      node.toy->crash(random_() % (node.toy->unsynced() + 1), now_);
      node.sessions.clear();
      ++node.cookie;
      node.openings = 0;
      ++coverage.crashes;
    }
  }

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
    if (flight.peer) {
      nodes_[flight.node].toy->on_bytes(flight.bytes, now_);
    } else if (flight.to_client) {
      Peer& c = clients_[wire::read_header(flight.bytes.data()).session - 100];
      handle(c, c.machine.on_message(now_, flight.bytes.data(), static_cast<uint32_t>(flight.bytes.size())));
    } else {
      receive(flight.node, flight.bytes, healthy);
    }
  }

  // ---- the front of a node, in short
  void reply(uint32_t node, Message bytes) { fly({.node = node, .to_client = true, .bytes = std::move(bytes)}); }
  void receive(uint32_t number, const Message& bytes, bool healthy) {
    NodeState& node = nodes_[number];
    wire::Header h;
    ASSERT_EQ(wire::parse_request_header(bytes.data(), static_cast<uint32_t>(bytes.size()), &h),
              wire::ParseError::kNone);
    if (h.type == static_cast<uint8_t>(wire::Type::kOpen)) {
      open(number, h, bytes.data() + wire::kHeaderBytes);
      return;
    }
    ASSERT_EQ(h.type, static_cast<uint8_t>(wire::Type::kPrepare));
    const auto refuse = [&](Result result, uint8_t detail, Stamp stamp) {
      Message m = messages::reply_message(wire::Type::kPrepared, h.session, h.sequence, stamp, result, detail, 0);
      store(m.data() + offsetof(wire::Header, shard), h.shard);
      reply(number, std::move(m));
    };
    const auto session = node.sessions.find(h.session);
    if (session == node.sessions.end() || session->second.stamp != h.stamp) {
      const auto reason = session == node.sessions.end() ? BadSessionReason::kUnknown : BadSessionReason::kOldStamp;
      refuse(Result::kBadSession, static_cast<uint8_t>(reason), make_stamp(node.toy->incarnation, 0));
      return;
    }
    if (!healthy && chance(12)) {
      refuse(Result::kBusy, static_cast<uint8_t>(BusyReason::kLogFull), h.stamp);
      return;
    }
    Work work;
    std::array<wire::Operation, limits::kOperationsMax> operations;
    ASSERT_EQ(wire::parse_prepare(bytes.data(), h, &work.participants, operations.data()), wire::ParseError::kNone);
    work.id = {h.session, h.sequence};
    work.shard = h.shard;
    work.watermark = h.sequence - h.watermark_lag;
    work.stamp = node.toy->incarnation;
    for (uint32_t i = 0; i < h.operation_count; ++i) {
      const auto key = load<Key>(operations[i].key);
      ASSERT_EQ(shard_of(operations[i].key_hash, kShards), h.shard);
      switch (static_cast<wire::Code>(operations[i].code)) {
        case wire::Code::kGet: work.reads.push_back(key); break;
        case wire::Code::kAdd: work.adds.push_back(key); break;
        default: work.fails = true; break;
      }
    }
    stamps_[id_of(work.id)] = h.stamp;
    node.toy->on_work(work, now_);
  }

  void open(uint32_t number, const wire::Header& h, const std::byte* cookie) {
    NodeState& node = nodes_[number];
    if (*cookie != std::byte{node.cookie}) {
      reply(number, messages::challenge(h.session, h.sequence, node.cookie));
      return;
    }
    const auto found = node.sessions.find(h.session);
    const bool is_same = found != node.sessions.end() && found->second.attempt == h.sequence;
    if (found != node.sessions.end() && h.sequence < found->second.attempt) return;
    const bool knows = node.windows.contains(h.session);
    if (h.stamp != 0 && !is_same && !knows) {
      reply(number, messages::reply_message(wire::Type::kOpened, h.session, h.sequence, h.stamp, Result::kBadSession,
                                            static_cast<uint8_t>(BadSessionReason::kUnknown), 0));
      return;
    }
    if (!is_same) {
      node.sessions[h.session] = {make_stamp(node.toy->incarnation, ++node.openings), h.sequence};
      node.windows.insert(h.session);
    }
    reply(number, messages::opened(h.session, h.sequence,
                                   {.stamp = node.sessions[h.session].stamp,
                                    .shards = kShards,
                                    .workers = 1,
                                    .window = 16,
                                    .survived = h.stamp != 0,
                                    .map_epoch = map_.epoch}));
  }

  // The coordinator's answer: values of all participants in their operations' order.
  void tell(const TransactionId& id, Result result, const std::map<Key, uint64_t>& read) {
    history_.on_told(id_of(id), result, read);
    const std::vector<Work>& works = works_.at(id_of(id));
    const Participants& participants = works.front().participants;
    Message m(wire::prepared_fixed_bytes(participants.count));
    std::array<Version, limits::kParticipantsMax> versions;
    versions.fill(7);
    wire::begin_prepared(m.data(), id, stamps_[id_of(id)], participants, versions.data());
    uint32_t count = 0;
    for (uint8_t place = 0; place < participants.count && !read.empty(); ++place) {
      uint8_t operation = works[place].fails ? 1 : 0;
      for (const auto* keys : {&works[place].reads, &works[place].adds}) {
        for (const Key key : *keys) {
          std::string number(8, '\0');
          store(number.data(), read.at(key));
          messages::append_value(m, {operation++, true, 7, number}, place);
          ++count;
        }
      }
    }
    if (read.empty()) m.resize(wire::kHeaderBytes);
    wire::finish_prepared(m.data(), static_cast<uint32_t>(m.size()), count);
    wire::Header h = wire::read_header(m.data());
    h.result = static_cast<uint8_t>(result);
    if (read.empty()) h.flags = wire::kReplyFlagDecided | wire::kReplyFlagDuplicate;
    wire::write_header(m.data(), h);
    if (!read.empty()) read_[id_of(id)] = read;
    reply(map_.places[participants.coordinator()].node, std::move(m));
  }

  void on_durable(const LogRecord& record) {
    history_.on_durable(record);
    if (record.kind == Record::kCommit) committed_[record.place.first].insert(record.place.second);
  }

  // ---- clients
  void act(Peer& c) {
    if (c.begun < kTransactions && chance(3)) begin(c);
    poll(c);
  }
  void poll(Peer& c) {
    for (int i = 0; i < 50; ++i) {
      const Event event = c.machine.poll(now_);
      if (event.kind == EventKind::kNone) return;
      handle(c, event);
    }
  }

  void begin(Peer& c) {
    client::Slot* const slot = c.machine.acquire();
    if (slot == nullptr) return;
    ++c.begun;
    const auto first = random_() % kShards;
    const uint32_t count = 2 + static_cast<uint32_t>(random_() % 2);
    Participants participants;
    participants.count = count;
    participants.map_epoch = map_.epoch;
    for (uint32_t i = 0; i < count; ++i) participants.shards[i] = static_cast<ShardId>((first + i) % kShards);
    wire::ExecuteBuilder builder(slot->buffer());
    std::vector<Work> works;
    auto& asked = c.operations[slot->sequence];
    for (uint32_t i = 0; i < count; ++i) {
      Work work;
      work.id = {c.machine.session(), slot->sequence};
      work.participants = participants;
      work.shard = participants.shards[i];
      work.fails = chance(25);
      for (const Key key : keys_[work.shard]) {
        const uint64_t use = random_() % 4;
        if (use == 0) work.reads.push_back(key);
        if (use == 1 || (use == 2 && work.adds.empty())) work.adds.push_back(key);
      }
      if (work.reads.empty() && work.adds.empty()) work.adds.push_back(keys_[work.shard].front());
      const auto bytes = [](const Key& key) { return std::as_bytes(std::span(&key, 1)); };
      EXPECT_TRUE(!work.fails || builder.check(1, bytes(keys_[work.shard].front()), 1, 0));
      for (const Key& key : work.reads) EXPECT_TRUE(builder.get(1, bytes(key)));
      for (const Key& key : work.adds) EXPECT_TRUE(builder.add(1, bytes(key), 1));
      if (work.fails) asked.emplace_back(0, false);
      for (const Key key : work.reads) asked.emplace_back(key, false);
      for (const Key key : work.adds) asked.emplace_back(key, true);
      works.push_back(std::move(work));
    }
    history_.begin(works);
    works_[id_of(works.front().id)] = works;
    const TimeNs deadline = chance(4) ? now_ + random_() % 300 : 0;
    EXPECT_TRUE(c.machine.submit_split(slot, builder, deadline, now_));
  }

  void handle(Peer& c, const Event& event) {
    if (event.kind != EventKind::kSettled) return;
    const Id id{c.machine.session(), event.slot->sequence};
    const bool is_decided = (event.reply_flags & wire::kReplyFlagDecided) != 0;
    if (event.result == Result::kCommitted || is_decided) {
      told_.push_back({id, event.result == Result::kCommitted});
    } else if (event.result == Result::kUnknownOutcome) {
      ++unknown_;
    } else if (event.slot->sends != 0 && !event.slot->read_only) {
      ADD_FAILURE() << "an undecided " << name(event.result) << " is no outcome of what was sent";
    } else if (event.slot->sends == 0) {
      told_.push_back({id, false});
    }
    if (event.result == Result::kCommitted) check_values(c, event, id);
    // Some ask on, until they know.
    if (event.slot->resumable && !chance(3) && c.machine.resume(event.slot, now_ + 200 + random_() % 400, now_)) return;
    c.machine.release(event.slot);
  }

  void check_values(const Peer& c, const Event& event, const Id& id) {
    client::Values values;
    c.machine.read_values(event, &values);
    if (values.count == 0) return;  // a duplicate
    const auto& asked = c.operations.at(id.sequence);
    uint32_t at = 0;
    for (uint32_t operation = 0; operation < asked.size(); ++operation) {
      if (asked[operation].first == 0) continue;
      ASSERT_LT(at, values.count);
      EXPECT_EQ(values.values[at].operation, operation);
      EXPECT_EQ(load<uint64_t>(values.values[at].data), read_.at(id).at(asked[operation].first));
      ++at;
    }
    EXPECT_EQ(at, values.count);
  }

  bool is_done() const {
    for (const Peer& c : clients_) {
      if (c.begun < kTransactions || c.machine.outstanding() != 0) return false;
    }
    return true;
  }

  void heal() {
    for (uint32_t round = 0; round < 600; ++round) {
      now_ += 20;
      for (NodeState& node : nodes_) {
        for (int i = 0; i < 8; ++i) node.toy->on_timer(now_);
        node.toy->sync(node.toy->unsynced(), now_);
      }
      for (Peer& c : clients_) poll(c);
      for (uint32_t i = 0; i < 300 && !flights_.empty(); ++i) deliver(true);
      if (round > 100 && is_settled() && flights_.empty()) break;
    }
  }
  bool is_settled() const {
    for (const Peer& c : clients_) {
      if (c.machine.outstanding() != 0) return false;
    }
    for (const NodeState& node : nodes_) {
      if (node.toy->machine.locks().size() != 0) return false;
    }
    return true;
  }

  std::mt19937_64 random_;
  TimeNs now_ = 100'000;
  ShardMap map_;
  std::map<ShardId, std::vector<Key>> keys_;
  std::vector<NodeState> nodes_;
  std::array<Peer, kClients> clients_;
  std::vector<Flight> flights_, ever_;
  History history_;
  std::map<Id, std::vector<Work>> works_;
  std::map<Id, Stamp> stamps_;
  std::map<Id, std::map<Key, uint64_t>> read_;
  std::map<Id, std::set<ShardId>> committed_;
  std::vector<Told> told_;
  uint64_t unknown_ = 0;
};

TEST(ClientCluster, WhatIsToldIsTrueAndHappensOnce) {
  Coverage coverage;
  constexpr uint64_t kSeeds = 2000;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    world.run(coverage);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  const auto print = [](const char* what, uint64_t count) {
    std::printf("%s %llu\n", what, static_cast<unsigned long long>(count));
  };
  print("told commits", coverage.committed);
  print("told aborts", coverage.aborted);
  print("unknown", coverage.unknown);
  print("resumed", coverage.resumed);
  print("crashes", coverage.crashes);
  print("expired", coverage.forgotten);
  print("reopenings", coverage.reopens);
  print("windows lost", coverage.lost);
  print("sent again", coverage.repeated);
  // The test would prove little if these had not happened.
  EXPECT_GT(coverage.committed, 2 * kSeeds);
  EXPECT_GT(coverage.aborted, kSeeds);
  EXPECT_GT(coverage.unknown, kSeeds / 4);
  EXPECT_GT(coverage.resumed, kSeeds / 4);
  EXPECT_GT(coverage.crashes, kSeeds);
  EXPECT_GT(coverage.lost, kSeeds / 4);
}

}  // namespace
}  // namespace txnic::test
