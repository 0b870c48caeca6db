// SPDX-License-Identifier: BSD-3-Clause
// Two nodes with a front each (or one with both shards), joined by a queue, and a client that sends PREPAREs.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "offload/front.h"
#include "tests/unit/offload/front_fixture.h"
#include "tests/unit/offload/map_back.h"
#include "txn/wire/build.h"

namespace txnic::test {

struct PairAnswer {
  wire::Header header{};
  std::array<Version, limits::kParticipantsMax> versions{};
  std::vector<std::string> values;
  Result result() const { return static_cast<Result>(header.result); }
};

template <class B>
class FrontPairOf : public ::testing::Test {
 protected:
  static constexpr SessionId kSession = 77;
  static constexpr Endpoint kClient{0x0a630002, 4242};
  static constexpr Stamp kStamp = 1ull << 32 | 1;
  struct Line {
    alignas(64) std::byte bytes[64];
  };
  struct Node final : offload::Outbox {
    FrontPairOf* rig = nullptr;
    Endpoint at;
    B back;
    SessionTable sessions;
    std::vector<Line> memory, commit_memory;
    std::unique_ptr<offload::Front<B>> front;
    void send(ShardId shard, Bytes message) override {
      ++rig->sent_between;
      rig->wire.push_back({rig->map.places[shard].node, at, {message.begin(), message.end()}});
    }
  };
  struct Frame {
    uint32_t to;
    Endpoint from;
    std::vector<std::byte> bytes;
  };

  void start_one_node(bool sync = false) {
    map = ShardMap::of_one_node(2, 1, {0x0a630001, 7700});
    start(1, sync);
  }
  void start_two_nodes(bool sync = false) {
    map = {};
    map.epoch = map_epoch = 7;
    map.shard_count = 0;
    map.node_count = 2;
    map.nodes[0] = {{0x0a630001, 7700}, 1, 0};
    map.nodes[1] = {{0x0a630009, 7700}, 1, 0};
    map.add_shard(0);
    map.add_shard(1);
    start(2, sync);
  }

  // ---- the client
  static std::string key(uint32_t shard) {
    for (uint64_t i = 0;; ++i) {
      std::string text(8, '\0');
      store(text.data(), i);
      if (shard_of(hash_key(bytes(text).data(), 8), 2) == shard) return text;
    }
  }
  void begin(std::vector<ShardId> shards) {
    ++sequence;
    begin_again(std::move(shards));
  }
  void begin_again(std::vector<ShardId> shards) {
    participants = {static_cast<uint32_t>(shards.size()), map_epoch, {}};
    std::copy(shards.begin(), shards.end(), participants.shards.begin());
    buffers.assign(3, std::vector<std::byte>(limits::kMessageBytesMax));
    builders.clear();
    for (auto& buffer : buffers) builders.emplace_back(buffer, participants);
  }
  void add_get(uint32_t shard, const std::string& k) { ASSERT_TRUE(builders[shard].get(1, bytes(k))); }
  void add_put(uint32_t shard, const std::string& k, const std::string& value) {
    ASSERT_TRUE(builders[shard].put(1, bytes(k), bytes(value)));
  }
  void add_insert(uint32_t shard, const std::string& k, const std::string& value) {
    ASSERT_TRUE(builders[shard].insert(1, bytes(k), bytes(value)));
  }
  // A transaction that writes key 0 on shard 0, which coordinates, and key 1 on shard 1, as far as it comes by itself.
  void prepare_both() {
    begin({0, 1});
    add_put(0, key(0), "A");
    add_put(1, key(1), "B");
    send_all();
    run();
  }
  void send_all() {
    for (uint32_t i = 0; i < participants.count; ++i) send_to(participants.shards[i]);
  }
  void send_to(ShardId shard) { send_to(shard, map.places[shard].node); }
  void send_to(ShardId shard, uint32_t node) {
    const uint32_t length = builders[shard].finish_prepare({kSession, sequence}, kStamp, 0, shard, map_epoch);
    deliver(node, kClient, buffers[shard], length);
  }
  // A transaction of one shard: reads the key (null) or writes it. Does not wait for the disk.
  Reply one_shard(const std::string& k, const char* value) {
    std::vector<std::byte> buffer(limits::kMessageBytesMax);
    wire::ExecuteBuilder builder(buffer);
    value == nullptr ? builder.get(1, bytes(k)) : builder.put(1, bytes(k), bytes(value));
    const ShardId shard = shard_of(hash_key(bytes(k).data(), 8), 2);
    const uint32_t length = builder.finish(kSession, ++sequence, kStamp, 0, shard);
    last = {};
    const offload::Action action = deliver(map.places[shard].node, kClient, buffer, length);
    Reply reply;
    reply.action = action;
    reply.header = last.header;
    return reply;
  }
  Reply close(uint32_t node) {
    std::vector<std::byte> buffer(limits::kMessageBytesMax);
    const uint32_t length = wire::build_close(buffer.data(), kSession, 1, kStamp);
    last = {};
    Reply reply;
    reply.action = deliver(node, kClient, buffer, length);
    reply.header = last.header;
    return reply;
  }

  // ---- the world
  offload::Action deliver(uint32_t node, Endpoint from, const std::vector<std::byte>& message, uint32_t length) {
    auto* copy = new std::vector<std::byte>(message);
    copy->resize(std::max<size_t>(copy->size(), limits::kMessageBytesMax));
    offload::Request request{.message = copy->data(), .handle = copy, .from = from, .length = length,
                             .room = limits::kMessageBytesMax};
    nodes[node].front->step({&request, 1}, now);
    if (request.action == offload::Action::kHold) {
      copies_out.insert(copy);
    } else {
      if (request.action == offload::Action::kReply) take(*copy, request.reply_length);
      delete copy;
    }
    return request.action;
  }
  // Until nothing moves; the disks stand still. `more`: time that passes.
  void run(TimeNs more = 0) {
    for (int round = 0; round < 60; ++round) {
      now += round % 10 == 0 ? more : 0;
      for (uint32_t n = 0; n < count; ++n) step(nodes[n]);
      for (size_t left = wire.size(); left != 0; --left) {
        const Frame frame = std::move(wire.front());
        wire.pop_front();
        deliver(frame.to, frame.from, frame.bytes, static_cast<uint32_t>(frame.bytes.size()));
      }
    }
  }
  void step(Node& node) {
    node.front->idle(now);
    std::array<offload::Released, 8> released;
    const uint32_t done = node.front->release(released);
    for (uint32_t i = 0; i < done; ++i) {
      auto* copy = static_cast<std::vector<std::byte>*>(released[i].handle);
      if (released[i].action == offload::Action::kReply) {
        take(*copy, released[i].reply_length);
      } else {
        ++dropped;
      }
      copies_out.erase(copy);
      delete copy;
    }
  }
  // The disks keep up.
  void sync_all() {
    for (int i = 0; i < 6; ++i) {
      for (uint32_t n = 0; n < count; ++n) nodes[n].back.sync_all();
      run();
    }
  }
  void put(const std::string& k, const std::string& value) {
    Node& node = node_of(k);
    node.back.rows[row_of(k)] = {++node.back.versions[std::get<0>(row_of(k))], value};
    node.back.sync_all();
  }
  std::string read(const std::string& k) {
    const auto it = node_of(k).back.rows.find(row_of(k));
    return it == node_of(k).back.rows.end() ? "" : it->second.value;
  }
  Version version(const std::string& k) { return node_of(k).back.rows.at(row_of(k)).version; }
  size_t kept_copies() const { return copies_out.size(); }

  void TearDown() override {
    for (Node& node : nodes) node.front.reset();
    for (auto* copy : copies_out) delete copy;  // what still waits at the end, as packets do at a node's
  }

  ShardMap map;
  std::array<Node, 2> nodes;
  uint32_t count = 0;
  std::deque<Frame> wire;
  std::vector<PairAnswer> answers;  // PREPARED
  PairAnswer last;                  // any answer
  Participants participants;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<wire::ExecuteBuilder> builders;
  Sequence sequence = 0;
  uint32_t map_epoch = 0;
  uint64_t sent_between = 0, dropped = 0;
  std::set<std::vector<std::byte>*> copies_out;  // held by the fronts
  TimeNs now = 1'000'000'000;

 private:
  void start(uint32_t node_count, bool sync) {
    count = node_count;
    for (uint32_t n = 0; n < count; ++n) {
      Node& node = nodes[n];
      node.rig = this;
      node.at = map.nodes[n].base;
      offload::FrontConfig config;
      config.map = map;
      config.map.self = n;
      config.commit.transactions = 64;
      config.commit.locks = 256;
      const SessionLimits limits{.sessions = 8, .window = 64, .shards = map.nodes[n].shards};
      node.memory.assign(SessionTable::memory_bytes(limits) / 64 + 1, {});
      node.sessions.init(limits, {node.memory.front().bytes, node.memory.size() * 64});
      node.back = B(map.nodes[n].shards);
      node.back.sync = sync;
      node.commit_memory.assign(offload::Front<B>::commit_memory_bytes(config) / 64 + 1, {});
      node.front = std::make_unique<offload::Front<B>>(
          config, &node.back, &node.sessions,
          MutableBytes{node.commit_memory.front().bytes, node.commit_memory.size() * 64}, &node);
      Session* const session = node.sessions.insert(kSession);
      session->stamp = kStamp;
      session->opened_from = kClient;
      session->last_seen_ns = now;
    }
  }
  void take(const std::vector<std::byte>& message, uint32_t length) {
    PairAnswer answer;
    answer.header = wire::read_header(message.data());
    last = answer;
    if (answer.header.type != static_cast<uint8_t>(wire::Type::kPrepared)) return;
    EXPECT_EQ(wire::parse_reply_header(message.data(), length, &answer.header), wire::ParseError::kNone);
    uint32_t participant_count = 0;
    std::array<wire::Value, limits::kOperationsMax> values;
    EXPECT_EQ(wire::parse_prepared(message.data(), answer.header, &participant_count, answer.versions.data(),
                                   values.data()),
              wire::ParseError::kNone);
    for (uint32_t i = 0; i < answer.header.operation_count; ++i) {
      answer.values.emplace_back(reinterpret_cast<const char*>(values[i].data), values[i].length);
    }
    answers.push_back(answer);
  }
  Node& node_of(const std::string& k) { return nodes[map.places[shard_of(hash_key(bytes(k).data(), 8), 2)].node]; }
  MapBack::Key row_of(const std::string& k) {
    const ShardId shard = shard_of(hash_key(bytes(k).data(), 8), 2);
    return {map.local_shard(shard), 1, k};
  }
};
using FrontPair = FrontPairOf<MapBack>;

}  // namespace txnic::test
