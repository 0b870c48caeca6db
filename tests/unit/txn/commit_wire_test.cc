// SPDX-License-Identifier: BSD-3-Clause
// Messages of transactions over several shards: what is built is as in tests/golden, and what the parser refuses, as
// rows: what is done to a valid message, and the error that this is.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/golden/golden.h"
#include "tests/unit/txn/message.h"

namespace txnic::test {
namespace {

using wire::CommitMessage;
using wire::Header;
using wire::ParseError;
using wire::Type;
using wire::Vote;

constexpr SessionId kSession = 0x1122334455667788;
constexpr Stamp kStamp = make_stamp(7, 3);
constexpr Version kVersion = first_version(7) | 1000;
constexpr uint32_t kBlock = wire::kHeaderBytes;  // count, sender, vote, reserved
constexpr uint32_t kShards = kBlock + 8;         // 0, 3, padding
constexpr uint32_t kBody = wire::prepare_fixed_bytes(2);

Participants shards_0_and_3() {
  Participants participants;
  participants.count = 2;
  participants.map_epoch = 2;
  participants.shards = {0, 3};
  return participants;
}

CommitMessage message(Type type, uint8_t sender) {
  CommitMessage m;
  m.type = type;
  m.sender = sender;
  m.participants = shards_0_and_3();
  m.shard = m.participants.shards[sender == 0 ? 1 : 0];
  m.incarnation = 7;
  m.id = {kSession, 5};
  return m;
}

Message value(Version version, uint8_t operation, uint8_t participant, int64_t number) {
  Message bytes;
  append(bytes, wire::ValueHeader{version, 8, operation, 1, participant, {}});
  append(bytes, number);
  return bytes;
}

Message built(const CommitMessage& m) {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  const uint32_t length = wire::build_commit_message(m, buffer);
  return {buffer.data(), buffer.data() + length};
}

Message vote_yes() {
  const Message values = value(kVersion + 7, 0, 1, 95);
  CommitMessage m = message(Type::kVote, 1);
  m.version = kVersion + 7;
  m.value_count = 1;
  m.values = values;
  return built(m);
}

Message refusal(Vote vote, Result result, uint8_t detail) {
  CommitMessage m = message(Type::kVote, 1);
  m.vote = vote;
  m.result = result;
  m.detail = detail;
  return built(m);
}

Message decision(Result result) {
  CommitMessage m = message(Type::kDecision, 0);
  m.result = result;
  return built(m);
}

Message prepare() {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  wire::ExecuteBuilder builder(buffer, shards_0_and_3());
  const uint64_t key = 1;
  builder.add(1, std::as_bytes(std::span(&key, 1)), -5);
  builder.get(2, std::as_bytes(std::span(&key, 1)));
  const uint32_t length = builder.finish_prepare({kSession, 5}, kStamp, 1, 3, 2);
  return {buffer.data(), buffer.data() + length};
}

Message prepared() {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  const Version versions[] = {kVersion, kVersion + 7};
  wire::begin_prepared(buffer.data(), {kSession, 5}, kStamp, shards_0_and_3(), versions);
  uint32_t length = wire::prepared_fixed_bytes(2);
  for (const Message& v : {value(kVersion, 0, 0, 105), value(kVersion + 7, 0, 1, 95)}) {
    std::memcpy(&buffer[length], v.data(), v.size());
    length += static_cast<uint32_t>(v.size());
  }
  wire::finish_prepared(buffer.data(), length, 2);
  return {buffer.data(), buffer.data() + length};
}

TEST(CommitWire, GoldenPacketsAreBuiltSo) {
  const auto packets = golden::read_packets(TXNIC_GOLDEN_PACKETS);
  const auto expect = [&](const char* name, const Message& message) {
    ASSERT_TRUE(packets.contains(name)) << name;
    EXPECT_EQ(packets.at(name).bytes, message) << name;
  };
  expect("prepare", prepare());
  expect("prepared", prepared());
  expect("vote_yes", vote_yes());
  expect("vote_no", refusal(Vote::kNo, Result::kLocked, 1));
  expect("vote_never", refusal(Vote::kNever, Result::kConflict, 0));
  expect("decision_commit", decision(Result::kCommitted));
  expect("decision_abort", decision(Result::kConflict));
  expect("acknowledge", built(message(Type::kAcknowledge, 1)));
  expect("ask", built(message(Type::kAsk, 0)));
  expect("inquire", built(message(Type::kInquire, 1)));
}

TEST(CommitWire, PreparedIsReadSo) {
  const Message bytes = prepared();
  Header header;
  ASSERT_EQ(wire::parse_reply_header(bytes.data(), static_cast<uint32_t>(bytes.size()), &header), ParseError::kNone);
  EXPECT_EQ(header.flags, wire::kReplyFlagDecided);
  uint32_t count = 0;
  std::array<Version, limits::kParticipantsMax> versions;
  std::array<wire::Value, limits::kOperationsMax> values;
  ASSERT_EQ(wire::parse_prepared(bytes.data(), header, &count, versions.data(), values.data()), ParseError::kNone);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(versions[1], kVersion + 7);
  EXPECT_EQ(values[1].participant, 1);
  EXPECT_EQ(values[1].operation, 0);
  EXPECT_EQ(load<int64_t>(values[1].data), 95);
}

TEST(CommitWire, WhatDoesNotFitIsNotBuilt) {
  CommitMessage m = message(Type::kVote, 1);
  const Message values(limits::kMessageBytesMax);
  m.values = Bytes(values.data(), limits::kMessageBytesMax - kBody - 8);
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  EXPECT_EQ(wire::build_commit_message(m, buffer), limits::kMessageBytesMax);
  m.values = Bytes(values.data(), m.values.size() + 1);
  EXPECT_EQ(wire::build_commit_message(m, buffer), 0u);
}

struct Row {
  const char* description;
  std::function<Message()> message;
  ParseError expected;
};

template <class T>
Message with(Message message, size_t offset, T value) {
  store(message.data() + offset, value);
  return message;
}

Message longer(Message message, size_t more) {
  message.resize(message.size() + more);
  set_length(message);
  return message;
}

Message cut_to(Message message, size_t length) {
  message.resize(length);
  set_length(message);
  return message;
}

const Row kPeerRows[] = {
    {"a yes", vote_yes, ParseError::kNone},
    {"nothing", [] { return Message{}; }, ParseError::kShort},
    {"wrong magic", [] { return with<uint8_t>(vote_yes(), 0, 0); }, ParseError::kBadMagic},
    {"length too long", [] { return with<uint16_t>(vote_yes(), 4, 1000); }, ParseError::kLength},
    {"a client's type", [] { return with<uint8_t>(vote_yes(), 3, 10); }, ParseError::kType},
    {"type 15", [] { return with<uint8_t>(vote_yes(), 3, 15); }, ParseError::kType},
    {"type 21", [] { return with<uint8_t>(vote_yes(), 3, 21); }, ParseError::kType},
    {"another version", [] { return with<uint8_t>(vote_yes(), 2, 2); }, ParseError::kBadVersion},
    {"session 0", [] { return with<uint64_t>(vote_yes(), 8, 0); }, ParseError::kSession},
    {"sequence 0", [] { return with<uint64_t>(vote_yes(), 16, 0); }, ParseError::kSession},
    {"an opening in the stamp", [] { return with<uint32_t>(vote_yes(), 24, 1); }, ParseError::kReserved},
    {"watermark_lag", [] { return with<uint32_t>(vote_yes(), 32, 1); }, ParseError::kReserved},
    {"flags", [] { return with<uint8_t>(vote_yes(), 38, 1); }, ParseError::kReserved},
    {"one participant", [] { return with<uint8_t>(vote_yes(), kBlock, 1); }, ParseError::kParticipants},
    {"17 participants", [] { return with<uint8_t>(longer(vote_yes(), 99), kBlock, 17); }, ParseError::kParticipants},
    {"a list that is cut", [] { return cut_to(vote_yes(), kBody - 1); }, ParseError::kParticipants},
    {"half a list header", [] { return cut_to(vote_yes(), kBlock + 7); }, ParseError::kParticipants},
    {"a shard twice", [] { return with<uint16_t>(vote_yes(), kShards + 2, 0); }, ParseError::kParticipants},
    {"no shard", [] { return with<uint16_t>(vote_yes(), kShards + 2, 0xffff); }, ParseError::kParticipants},
    {"padding", [] { return with<uint8_t>(vote_yes(), kShards + 7, 1); }, ParseError::kReserved},
    {"reserved", [] { return with<uint32_t>(vote_yes(), kBlock + 4, 1); }, ParseError::kReserved},
    {"sender not in the list", [] { return with<uint8_t>(vote_yes(), kBlock + 1, 2); }, ParseError::kParticipants},
    {"from itself", [] { return with<uint8_t>(vote_yes(), kBlock + 1, 0); }, ParseError::kParticipants},
    {"to a shard not in the list", [] { return with<uint16_t>(vote_yes(), 36, 7); }, ParseError::kParticipants},
    {"vote 0", [] { return with<uint8_t>(vote_yes(), kBlock + 2, 0); }, ParseError::kReserved},
    {"vote 4", [] { return with<uint8_t>(vote_yes(), kBlock + 2, 4); }, ParseError::kReserved},
    {"a vote in a decision", [] { return with<uint8_t>(decision(Result::kCommitted), kBlock + 2, 1); },
     ParseError::kReserved},
    {"a yes with a result", [] { return with<uint8_t>(vote_yes(), 7, 1); }, ParseError::kReserved},
    {"a no without a reason", [] { return refusal(Vote::kNo, Result::kCommitted, 0); }, ParseError::kReserved},
    {"a yes without a version", [] { return cut_to(vote_yes(), kBody + 7); }, ParseError::kBody},
    {"a no with a body", [] { return longer(refusal(Vote::kNo, Result::kLocked, 1), 8); }, ParseError::kBody},
    {"a decision with a body", [] { return longer(decision(Result::kLocked), 1); }, ParseError::kBody},
    {"values in a no", [] { return with<uint8_t>(refusal(Vote::kNo, Result::kLocked, 1), 6, 1); },
     ParseError::kOperationCount},
    {"65 values", [] { return with<uint8_t>(vote_yes(), 6, 65); }, ParseError::kOperationCount},
    {"more values than bytes", [] { return with<uint8_t>(vote_yes(), 6, 2); }, ParseError::kOperationCut},
    {"bytes behind the values", [] { return longer(vote_yes(), 1); }, ParseError::kTrailing},
    {"another participant's value", [] { return with<uint8_t>(vote_yes(), kBody + 8 + 12, 0); }, ParseError::kCode},
    {"an acknowledgement of the coordinator", [] { return built(message(Type::kAcknowledge, 0)); },
     ParseError::kParticipants},
    {"a question of a participant for a vote", [] { return built(message(Type::kAsk, 1)); }, ParseError::kParticipants},
};

TEST(CommitWire, PeerRows) {
  for (const Row& row : kPeerRows) {
    const ParseError error = parse_peer(row.message());
    EXPECT_EQ(error, row.expected) << row.description << ": " << wire::name(error);
  }
}

const Row kPrepareRows[] = {
    {"a PREPARE", prepare, ParseError::kNone},
    {"any map epoch", [] { return with<uint32_t>(prepare(), 40, 77); }, ParseError::kNone},
    {"a result", [] { return with<uint8_t>(prepare(), 7, 1); }, ParseError::kReserved},
    {"a sender", [] { return with<uint8_t>(prepare(), kBlock + 1, 1); }, ParseError::kReserved},
    {"a vote", [] { return with<uint8_t>(prepare(), kBlock + 2, 1); }, ParseError::kReserved},
    {"to a shard not in the list", [] { return with<uint16_t>(prepare(), 36, 2); }, ParseError::kParticipants},
    {"one participant", [] { return with<uint8_t>(prepare(), kBlock, 1); }, ParseError::kParticipants},
    {"no list", [] { return cut_to(prepare(), wire::kHeaderBytes); }, ParseError::kParticipants},
    {"no operations", [] { return with<uint8_t>(cut_to(prepare(), kBody), 6, 0); }, ParseError::kOperationCount},
    {"an operation that is cut", [] { return cut_to(prepare(), kBody + 20); }, ParseError::kOperationCut},
    {"bytes behind the operations", [] { return longer(prepare(), 1); }, ParseError::kTrailing},
};

TEST(CommitWire, PrepareRows) {
  for (const Row& row : kPrepareRows) {
    const ParseError error = parse_request(row.message());
    EXPECT_EQ(error, row.expected) << row.description << ": " << wire::name(error);
  }
}

const Row kPreparedRows[] = {
    {"a commit", prepared, ParseError::kNone},
    {"a commit without a body", [] { return with<uint8_t>(cut_to(prepared(), 48), 6, 0); }, ParseError::kNone},
    {"an undecided one with a body", [] { return with<uint8_t>(prepared(), 38, 0); }, ParseError::kBody},
    {"an abort with a body", [] { return with<uint8_t>(prepared(), 7, 1); }, ParseError::kBody},
    {"cut in the list", [] { return cut_to(prepared(), kBody - 2); }, ParseError::kParticipants},
    {"cut in the versions", [] { return cut_to(prepared(), kBody + 8); }, ParseError::kBody},
    {"cut in the values", [] { return cut_to(prepared(), kBody + 20); }, ParseError::kOperationCut},
    {"values in disorder", [] { return with<uint8_t>(prepared(), kBody + 16 + 12, 1); }, ParseError::kCode},
    {"a participant too far", [] { return with<uint8_t>(prepared(), kBody + 16 + 24 + 12, 2); }, ParseError::kCode},
    {"bytes behind the values", [] { return longer(prepared(), 1); }, ParseError::kTrailing},
};

TEST(CommitWire, PreparedRows) {
  for (const Row& row : kPreparedRows) {
    const ParseError error = parse_reply(row.message());
    EXPECT_EQ(error, row.expected) << row.description << ": " << wire::name(error);
  }
}

}  // namespace
}  // namespace txnic::test
