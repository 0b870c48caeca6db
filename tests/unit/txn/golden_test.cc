// SPDX-License-Identifier: BSD-3-Clause
// Builder and parser against the golden packets of the protocol.
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/txn/message.h"

namespace txnic::test {
namespace {

using wire::ExecuteBuilder;
using wire::ParseError;

constexpr SessionId kSession = 0x1122334455667788;
constexpr Stamp kStamp = make_stamp(7, 3);
constexpr Version kVersion = first_version(7) | 1000;

std::string word(uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

class Golden : public ::testing::Test {
 protected:
  const std::map<std::string, golden::Packet> packets_ = golden::read_packets(TXNIC_GOLDEN_PACKETS);
  std::array<std::byte, limits::kMessageBytesMax> buffer_{};
  ExecuteBuilder builder_{buffer_};

  const golden::Packet& packet(const std::string& name) {
    const auto found = packets_.find(name);
    if (found == packets_.end()) {
      ADD_FAILURE() << "no packet " << name;
      std::abort();
    }
    return found->second;
  }
  void expect_built(const std::string& name, uint32_t length) {
    EXPECT_EQ(packet(name).bytes, Message(buffer_.data(), buffer_.data() + length)) << name;
  }
};

TEST_F(Golden, EveryPacketParses) {
  EXPECT_GE(packets_.size(), 40u);
  for (const auto& [name, packet] : packets_) {
    const ParseError error = packet.is_request ? parse_request(packet.bytes)
                             : packet.is_peer  ? parse_peer(packet.bytes)
                                               : parse_reply(packet.bytes);
    const bool other_version = name == "executed_bad_version_2";
    EXPECT_EQ(error, ParseError::kNone) << name << ": " << wire::name(error);
    EXPECT_EQ(wire::read_header(packet.bytes.data()).version, other_version ? 2 : 1) << name;
    // Everybody else refuses it.
    if (!packet.is_request) {
      EXPECT_EQ(parse_request(packet.bytes), ParseError::kType) << name;
    }
    if (packet.is_request || packet.is_peer) {
      EXPECT_EQ(parse_reply(packet.bytes), ParseError::kType) << name;
    }
    if (!packet.is_peer) {
      EXPECT_EQ(parse_peer(packet.bytes), ParseError::kType) << name;
    }
  }
}

TEST_F(Golden, EveryTypeAndResultIsThere) {
  std::map<int, int> types, results;
  for (const auto& [name, packet] : packets_) {
    const wire::Header header = wire::read_header(packet.bytes.data());
    ++types[header.type];
    if (!packet.is_request) ++results[header.result];
  }
  for (int type = 1; type <= 13; ++type) EXPECT_GT(types[type], 0) << "type " << type;
  for (int type = 16; type <= 20; ++type) EXPECT_GT(types[type], 0) << "type " << type;
  for (uint32_t i = 0; i < kResultCount; ++i) {
    const auto result = static_cast<Result>(i);
    if (std::string(name(result)) == "?" || result == Result::kUnknownOutcome) continue;
    EXPECT_GT(results[static_cast<int>(i)], 0) << name(result);
  }
}

TEST_F(Golden, SessionMessagesAreBuiltSo) {
  const std::byte* const challenge = packet("challenge").bytes.data();
  const auto* const cookie = reinterpret_cast<const uint8_t*>(challenge + wire::kHeaderBytes);
  expect_built("open_first", wire::build_open(buffer_.data(), kSession, 1, nullptr));
  expect_built("open_cookie", wire::build_open(buffer_.data(), kSession, 1, cookie));
  expect_built("open_resume", wire::build_open(buffer_.data(), kSession, 2, cookie, kStamp));
  expect_built("close", wire::build_close(buffer_.data(), kSession, 1, kStamp));
}

TEST_F(Golden, TransactionsAreBuiltSo) {
  const std::string key = word(42);
  builder_.get(1, bytes(key));
  builder_.get(2, bytes(key));
  expect_built("execute_get", builder_.finish(kSession, 1, kStamp, 0, 0));

  builder_ = ExecuteBuilder{buffer_};
  builder_.add(1, bytes(key), 5);
  expect_built("execute_add", builder_.finish(kSession, 2, kStamp, 1, 0));
  EXPECT_EQ(shard_of(hash_key8(42), 4), 0);
}

TEST_F(Golden, EveryOperationIsBuiltSo) {
  const Bytes key = bytes("account:1");
  const std::string minus_7_floor_0 = word(static_cast<uint64_t>(-7)) + word(0);
  const std::string plus_1_floor_minus_5 = word(1) + word(static_cast<uint64_t>(-5));
  builder_.get(65535, key);
  builder_.put(1, key, bytes("v"));
  builder_.put_if(1, key, {}, kVersion);
  builder_.add_operation(wire::Code::kPut, 1, key, bytes("xy"), wire::kExpectVersion | wire::kExpectAbsent,
                         kVersion - 1);
  builder_.insert(2, key, bytes("new"));
  builder_.remove(2, key);
  builder_.add_operation(wire::Code::kDelete, 2, key, {}, wire::kExpectVersion, kVersion);
  builder_.add(3, key, -1);
  builder_.add_with_floor(3, key, -7, 0);
  builder_.add_operation(wire::Code::kAdd, 3, key, bytes(word(1)), wire::kExpectVersion, kVersion);
  builder_.add_operation(wire::Code::kAdd, 3, key, bytes(plus_1_floor_minus_5), wire::kExpectVersion | wire::kHasFloor,
                         kVersion);
  builder_.check(1, key, kVersion, 0);
  builder_.check(1, key, kVersion - 1, wire::kExpectAbsent);
  builder_.check(1, key, kVersion, wire::kReadSet);
  builder_.check(1, key, kVersion - 1, wire::kExpectAbsent | wire::kReadSet);
  expect_built("execute_every", builder_.finish(kSession, 300, kStamp, 255, 3));
}

TEST_F(Golden, ValuesAreParsedSo) {
  const golden::Packet& reply = packet("executed_get");
  wire::Header header;
  ASSERT_EQ(wire::parse_reply_header(reply.bytes.data(), reply.length(), &header), ParseError::kNone);
  EXPECT_EQ(header.session, kSession);
  EXPECT_EQ(header.stamp, kStamp);
  std::array<wire::Value, limits::kOperationsMax> values;
  Version commit_version = 1;
  ASSERT_EQ(wire::parse_values(reply.bytes.data(), header, &commit_version, values.data()), ParseError::kNone);
  EXPECT_EQ(commit_version, 0u);
  ASSERT_EQ(header.operation_count, 2);
  EXPECT_TRUE(values[0].present);
  EXPECT_EQ(values[0].version, kVersion);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(values[0].data), values[0].length), "hello");
  EXPECT_FALSE(values[1].present);
  EXPECT_EQ(values[1].operation, 1);
  EXPECT_EQ(values[1].version, kVersion - 9);
}

TEST_F(Golden, OpenedIsReadSo) {
  const golden::Packet& opened = packet("opened_resumed");
  const auto body = load<wire::OpenedBody>(opened.bytes.data() + wire::kHeaderBytes);
  EXPECT_EQ(wire::read_header(opened.bytes.data()).stamp, make_stamp(8, 1));
  EXPECT_EQ(body.shard_count, 4);
  EXPECT_EQ(body.worker_count, 2);
  EXPECT_EQ(body.base_port, wire::kBasePortDefault);
  EXPECT_EQ(body.window, limits::kWindowDefault);
  EXPECT_EQ(body.idle_expiry_seconds, limits::kSessionIdleExpirySecondsDefault);
  EXPECT_EQ(body.window_survived, 1);
  EXPECT_EQ(body.durability, static_cast<uint8_t>(Durability::kSync));
}

}  // namespace
}  // namespace txnic::test
