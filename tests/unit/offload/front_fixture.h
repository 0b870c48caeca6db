// SPDX-License-Identifier: BSD-3-Clause
// One front over a MapBack (or a back made from it), driven message by message.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "offload/front.h"
#include "tests/unit/offload/map_back.h"
#include "txn/wire/build.h"

namespace txnic::test {

inline Bytes bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

struct Reply {
  offload::Action action = offload::Action::kDrop;
  wire::Header header{};
  std::vector<std::byte> message;
  Version commit_version = 0;
  std::vector<std::string> values;
  std::vector<wire::Value> raw;
  uint8_t to_worker = 0;
  Result result() const { return static_cast<Result>(header.result); }
};

template <class B>
class FrontFixtureOf : public ::testing::Test {
 protected:
  static constexpr uint32_t kWindow = 64;
  static constexpr Endpoint kClient{0x0a630002, 4242};

  void start(uint32_t workers = 1, uint32_t worker = 0, uint32_t shards = 1) {
    offload::FrontConfig config;
    config.worker = worker;
    config.map = ShardMap::of_one_node(shards, workers, {0, wire::kBasePortDefault});
    config.commit.transactions = 64;
    config.commit.locks = 256;
    config.incarnation = 1;
    config.cookie_secret = {1, 2};
    limits_ = {.sessions = 8, .window = kWindow, .shards = shards / workers};
    memory_.assign(SessionTable::memory_bytes(limits_) / 64 + 1, {});
    sessions_.init(limits_, {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * 64});
    back_ = B(shards / workers);
    commit_memory_.assign(offload::Front<B>::commit_memory_bytes(config) / 64 + 1, {});
    front_ = std::make_unique<offload::Front<B>>(
        config, &back_, &sessions_,
        MutableBytes{reinterpret_cast<std::byte*>(commit_memory_.data()), commit_memory_.size() * 64});
  }
  void SetUp() override { start(); }

  Reply send(std::vector<std::byte> message, Endpoint from = kClient, bool is_passed = false) {
    message.resize(std::max<size_t>(message.size(), limits::kMessageBytesMax));
    const auto length = sent_length_;
    offload::Request request{.message = message.data(),
                             .handle = &message,
                             .from = from,
                             .length = length,
                             .room = limits::kMessageBytesMax,
                             .is_passed = is_passed};
    front_->step({&request, 1}, now_);
    Reply reply;
    reply.action = request.action;
    reply.to_worker = request.to_worker;
    message.resize(std::max<size_t>(request.reply_length, wire::kHeaderBytes));
    reply.message = message;
    reply.header = wire::read_header(message.data());
    if (request.reply_length > wire::kHeaderBytes && reply.header.type == static_cast<uint8_t>(wire::Type::kExecuted)) {
      std::array<wire::Value, limits::kOperationsMax> values;
      EXPECT_EQ(wire::parse_values(reply.message.data(), reply.header, &reply.commit_version, values.data()),
                wire::ParseError::kNone);
      for (uint32_t i = 0; i < reply.header.operation_count; ++i) {
        reply.values.emplace_back(reinterpret_cast<const char*>(values[i].data), values[i].length);
        reply.raw.push_back(values[i]);
      }
    }
    return reply;
  }

  // Opens a session by the full cookie exchange; answers its stamp.
  Stamp open(SessionId id, Sequence attempt = 1, Stamp held = 0, Endpoint from = kClient) {
    std::vector<std::byte> message(wire::kOpenBytes);
    sent_length_ = wire::build_open(message.data(), id, attempt, nullptr, held);
    const Reply challenge = send(message, from);
    EXPECT_EQ(challenge.header.type, static_cast<uint8_t>(wire::Type::kChallenge));
    uint8_t cookie[wire::kCookieBytes];
    std::memcpy(cookie, challenge.message.data() + wire::kHeaderBytes, sizeof cookie);
    message.assign(wire::kOpenBytes, {});
    sent_length_ = wire::build_open(message.data(), id, attempt, cookie, held);
    opened_ = send(message, from);
    EXPECT_EQ(opened_.header.type, static_cast<uint8_t>(wire::Type::kOpened));
    return opened_.header.stamp;
  }

  wire::ExecuteBuilder builder() {
    request_.assign(limits::kMessageBytesMax, {});
    return wire::ExecuteBuilder(request_);
  }
  Reply execute(wire::ExecuteBuilder& b, SessionId session, Sequence sequence, Stamp stamp, uint32_t lag = 0,
                ShardId shard = 0) {
    sent_length_ = b.finish(session, sequence, stamp, lag, shard);
    return send(request_);
  }
  Reply resend(Endpoint from = kClient) { return send(request_, from); }

  SessionLimits limits_;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_, commit_memory_;
  SessionTable sessions_;
  B back_;
  std::unique_ptr<offload::Front<B>> front_;
  std::vector<std::byte> request_;
  uint32_t sent_length_ = 0;
  Reply opened_;
  TimeNs now_ = 1'000'000'000;
};
using FrontFixture = FrontFixtureOf<MapBack>;

}  // namespace txnic::test
