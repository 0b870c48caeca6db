// SPDX-License-Identifier: BSD-3-Clause
// Two nodes with two shards each, whose fronts run on NICs: Front<NicBack> over a ModelLink each. A client that sends
// whatever it wants to, and gets answers by sequence.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "offload/front.h"
#include "offload/link/nic_back.h"
#include "tests/unit/nic/model_link.h"
#include "txn/wire/build.h"

namespace txnic::test {

static_assert(offload::MissingBack<offload::NicBackOf<ModelLink>> && offload::kMayMiss<offload::NicBackOf<ModelLink>>);
static_assert(offload::MissingBack<offload::NicBack>);

struct NicAnswer {
  wire::Header header{};
  std::vector<Version> versions;  // of the commit, by participant
  struct Value {
    uint32_t operation, participant;
    Version version;
    bool present;
    std::string bytes;
  };
  std::vector<Value> values;
  Result result() const { return static_cast<Result>(header.result); }
};

// `Link`: ModelLink, or FramesLink with both real ends.
template <class Link>
class NicRigOf {
 public:
  using NicBack = offload::NicBackOf<Link>;
  static constexpr uint32_t kNodes = 2, kShards = 4;
  static constexpr SessionId kSession = 77;
  static constexpr Endpoint kClient{0x0a630002, 4242};
  static constexpr Stamp kStamp = 1ull << 32 | 1;
  struct Line {
    alignas(64) std::byte bytes[64];
  };
  struct Node final : offload::Outbox {
    NicRigOf* rig = nullptr;
    Endpoint at;
    Link link;
    SessionTable sessions;
    std::vector<Line> session_memory, commit_memory, cache_memory, filter_memory;
    std::unique_ptr<NicBack> back;
    std::unique_ptr<offload::Front<NicBack>> front;
    void send(ShardId shard, Bytes message) override {
      if (rig->loses && rig->loses()) return;
      rig->wire.push_back({rig->map.places[shard].node, at, {message.begin(), message.end()}});
    }
  };

  explicit NicRigOf(Durability durability, bool use_filter = true, bool cache_is_on = true,
                    uint64_t cache_bytes = offload::Cache::kMinimumBytes) {
    map.epoch = 7;
    map.shard_count = 0;
    map.node_count = kNodes;
    for (uint32_t n = 0; n < kNodes; ++n) map.nodes[n] = {{0x0a630001 + n, 7700}, 1, 0};
    for (uint32_t s = 0; s < kShards; ++s) map.add_shard(static_cast<uint8_t>(s % kNodes));
    for (uint32_t n = 0; n < kNodes; ++n) start(n, durability, use_filter, cache_is_on, cache_bytes);
  }
  ~NicRigOf() {
    for (auto* copy : copies_out) delete copy;
  }

  // ---- the client
  // The n-th key of a shard.
  std::string key(ShardId shard, uint32_t n) {
    auto& keys = keys_[shard];
    for (; keys.size() <= n; ++next_key_) {
      std::string text(8 + next_key_ % 3 * 8, '\0');
      store(text.data(), next_key_);
      keys_[shard_of_key(text)].push_back(text);
    }
    return keys[n];
  }
  static ShardId shard_of_key(const std::string& k) {
    return shard_of(hash_key(reinterpret_cast<const std::byte*>(k.data()), static_cast<uint32_t>(k.size())), kShards);
  }
  static Bytes raw(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }
  using Build = std::function<void(wire::ExecuteBuilder&)>;
  // Of one shard. Answers its sequence.
  Sequence execute(ShardId shard, const Build& build, uint32_t copies = 1) {
    std::vector<std::byte> buffer(limits::kMessageBytesMax);
    wire::ExecuteBuilder builder(buffer);
    build(builder);
    ++sequence;
    const uint32_t length = builder.finish(kSession, sequence, kStamp, lag(), shard);
    for (; copies != 0; --copies) deliver(node_of(shard), kClient, buffer, length);
    return sequence;
  }
  // Of several; `builds` in the order of `shards`.
  Sequence prepare(const std::vector<ShardId>& shards, const std::vector<Build>& builds) {
    Participants participants{static_cast<uint32_t>(shards.size()), map.epoch, {}};
    std::copy(shards.begin(), shards.end(), participants.shards.begin());
    ++sequence;
    for (size_t i = 0; i < shards.size(); ++i) {
      std::vector<std::byte> buffer(limits::kMessageBytesMax);
      wire::ExecuteBuilder builder(buffer, participants);
      builds[i](builder);
      const uint32_t length = builder.finish_prepare({kSession, sequence}, kStamp, lag(), shards[i], map.epoch);
      deliver(node_of(shards[i]), kClient, buffer, length);
    }
    return sequence;
  }
  // Every sequence below is done with.
  void done_below(Sequence s) { watermark = std::max(watermark, s); }

  // ---- the world
  void deliver(uint32_t node, Endpoint from, const std::vector<std::byte>& message, uint32_t length) {
    auto* copy = new std::vector<std::byte>(message);
    copy->resize(limits::kMessageBytesMax);
    offload::Request request{
        .message = copy->data(), .handle = copy, .from = from, .length = length, .room = limits::kMessageBytesMax};
    nodes[node].front->step({&request, 1}, now);
    if (request.action == offload::Action::kHold) {
      copies_out.insert(copy);
      return;
    }
    if (request.action == offload::Action::kReply) take(*copy, request.reply_length);
    delete copy;
  }
  // One round of both loops; the links stand still.
  void turn() {
    for (Node& node : nodes) {
      node.back->poll(now);
      node.front->idle(now);
      std::array<offload::Released, 64> released;
      const uint32_t count = node.front->release(released);
      for (uint32_t i = 0; i < count; ++i) {
        auto* const copy = static_cast<std::vector<std::byte>*>(released[i].handle);
        if (released[i].action == offload::Action::kReply) take(*copy, released[i].reply_length);
        copies_out.erase(copy);
        delete copy;
      }
    }
    for (size_t left = wire.size(); left != 0; --left) {
      const Datagram frame = std::move(wire.front());
      wire.pop_front();
      deliver(frame.to, frame.from, frame.bytes, static_cast<uint32_t>(frame.bytes.size()));
    }
  }
  // Until nothing moves, the links too.
  void run(int rounds = 20, TimeNs each = 0) {
    for (; rounds != 0; --rounds) {
      for (Node& node : nodes) node.link.settle(now);
      turn();
      now += each;
    }
  }
  bool has_answer(Sequence s) const { return answers.contains(s); }
  void fill_filters() {
    for (Node& node : nodes) node.link.fill();
  }
  uint32_t node_of(ShardId shard) const { return map.places[shard].node; }
  ModelHost& host_of(ShardId shard) { return nodes[node_of(shard)].link.host; }

  struct Datagram {
    uint32_t to;
    Endpoint from;
    std::vector<std::byte> bytes;
  };
  ShardMap map;
  std::array<Node, kNodes> nodes;
  std::deque<Datagram> wire;
  std::function<bool()> loses;  // a message between nodes
  std::map<Sequence, NicAnswer> answers;
  std::function<void(const NicAnswer&)> on_answer;
  Sequence sequence = 0, watermark = 1;
  TimeNs now = 1'000'000'000;
  std::set<std::vector<std::byte>*> copies_out;  // held by the fronts

 private:
  uint32_t lag() const { return static_cast<uint32_t>(sequence - watermark); }
  static MutableBytes make(std::vector<Line>* memory, size_t bytes) {
    memory->assign(bytes / 64 + 1, {});
    return {memory->front().bytes, memory->size() * 64};
  }
  void start(uint32_t n, Durability durability, bool use_filter, bool cache_is_on, uint64_t cache_bytes) {
    Node& node = nodes[n];
    node.rig = this;
    node.at = map.nodes[n].base;
    const SessionLimits limits{.sessions = 8, .window = 256, .shards = map.nodes[n].shards};
    node.sessions.init(limits, make(&node.session_memory, SessionTable::memory_bytes(limits)));
    offload::NicBackConfig config{.shards = map.nodes[n].shards,
                                  .durability = durability,
                                  .use_filter = use_filter,
                                  .session_window = 256,
                                  .filter_keys = 4096,
                                  .cache = {.is_on = cache_is_on}};
    node.back = std::make_unique<NicBack>();
    const TableId tables[] = {1, 2};
    ASSERT_TRUE(node.back->init(config, tables, make(&node.cache_memory, cache_bytes),
                                make(&node.filter_memory, NicBack::filter_bytes(config)), &node.link, nullptr));
    const auto place = [this, n](uint64_t key_hash) {
      const ShardId shard = shard_of(key_hash, kShards);
      return map.places[shard].node == n ? map.local_shard(shard) : ~0u;
    };
    node.link.begin(n, node.back.get(), {map.nodes[n].shards, durability != Durability::kNone, place}, &now);
    node.back->serve(node.link.incarnation());
    offload::FrontConfig front;
    front.map = map;
    front.map.self = n;
    front.incarnation = node.link.incarnation();
    front.durability = durability;
    front.commit.transactions = 256;
    front.commit.locks = 2048;
    node.front = std::make_unique<offload::Front<NicBack>>(
        front, node.back.get(), &node.sessions,
        make(&node.commit_memory, offload::Front<NicBack>::commit_memory_bytes(front)), &node);
    Session* const session = node.sessions.insert(kSession);
    session->stamp = kStamp;
    session->opened_from = kClient;
    session->last_seen_ns = now;
  }
  void take(const std::vector<std::byte>& message, uint32_t length) {
    NicAnswer answer;
    answer.header = wire::read_header(message.data());
    const auto type = static_cast<wire::Type>(answer.header.type);
    std::array<wire::Value, limits::kOperationsMax> values;
    std::array<Version, limits::kParticipantsMax> versions{};
    if (type == wire::Type::kExecuted && length > wire::kHeaderBytes) {
      EXPECT_EQ(wire::parse_values(message.data(), answer.header, versions.data(), values.data()),
                wire::ParseError::kNone);
      answer.versions.push_back(versions[0]);
    } else if (type == wire::Type::kPrepared && length > wire::kHeaderBytes) {
      uint32_t count = 0;
      EXPECT_EQ(wire::parse_prepared(message.data(), answer.header, &count, versions.data(), values.data()),
                wire::ParseError::kNone);
      answer.versions.assign(versions.begin(), versions.begin() + count);
    }
    for (uint32_t i = 0; i < answer.header.operation_count; ++i) {
      const wire::Value& v = values[i];
      answer.values.push_back(
          {v.operation, v.participant, v.version, v.present, {reinterpret_cast<const char*>(v.data), v.length}});
    }
    const bool is_new = answers.emplace(answer.header.sequence, answer).second;
    if (is_new && on_answer) on_answer(answer);
  }
  std::array<std::vector<std::string>, kShards> keys_;
  uint64_t next_key_ = 1;
};
using NicRig = NicRigOf<ModelLink>;

}  // namespace txnic::test
