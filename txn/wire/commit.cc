// SPDX-License-Identifier: BSD-3-Clause
#include "txn/wire/commit.h"

#include "txn/wire/build.h"

namespace txnic::wire {
namespace {

void write_participants(std::byte* at, const Participants& participants, uint8_t sender, uint8_t vote) {
  std::memset(at, 0, participants_bytes(participants.count));
  store(at, ParticipantsHeader{static_cast<uint8_t>(participants.count), sender, vote, 0, 0});
  at += sizeof(ParticipantsHeader);
  for (uint32_t i = 0; i < participants.count; ++i) store(at + i * 2, participants.shards[i]);
}

// The block behind the header. On success `*block` and `*participants` are filled in, without padding left unchecked.
ParseError parse_participants(const std::byte* message, uint32_t length, ParticipantsHeader* block,
                              Participants* participants) {
  if (length < kHeaderBytes + sizeof(ParticipantsHeader)) return ParseError::kParticipants;
  *block = load<ParticipantsHeader>(message + kHeaderBytes);
  if (block->count < 2 || block->count > limits::kParticipantsMax) return ParseError::kParticipants;
  if ((block->reserved_byte | block->reserved) != 0) return ParseError::kReserved;
  const uint32_t bytes = participants_bytes(block->count);
  if (length < kHeaderBytes + bytes) return ParseError::kParticipants;
  participants->count = block->count;
  const std::byte* const shards = message + kHeaderBytes + sizeof(ParticipantsHeader);
  for (uint32_t i = 0; i < block->count; ++i) {
    const auto shard = load<ShardId>(shards + i * 2);
    for (uint32_t j = 0; j < i; ++j) {
      if (participants->shards[j] == shard) return ParseError::kParticipants;
    }
    if (shard == kNoShard) return ParseError::kParticipants;
    participants->shards[i] = shard;
  }
  for (uint32_t at = block->count * 2; at < bytes - sizeof(ParticipantsHeader); ++at) {
    if (shards[at] != std::byte{0}) return ParseError::kReserved;
  }
  return ParseError::kNone;
}

// What each type may carry. `body`: the bytes behind the participants.
ParseError check_commit_fields(const CommitMessage& m, const Header& h, const ParticipantsHeader& block,
                               uint32_t body) {
  const uint32_t receiver = m.participants.index_of(m.shard);
  if (receiver == Participants::kNotThere || m.sender >= m.participants.count || receiver == m.sender) {
    return ParseError::kParticipants;
  }
  const bool is_yes = m.type == Type::kVote && block.vote == static_cast<uint8_t>(Vote::kYes);
  const bool votes = block.vote >= static_cast<uint8_t>(Vote::kYes) && block.vote <= static_cast<uint8_t>(Vote::kNever);
  if (m.type == Type::kVote ? !votes : block.vote != 0) return ParseError::kReserved;
  if (is_yes ? body < 8 : body != 0) return ParseError::kBody;
  if (h.operation_count > (is_yes ? limits::kOperationsMax : 0)) return ParseError::kOperationCount;
  const bool has_result = m.type == Type::kDecision || (m.type == Type::kVote && !is_yes);
  if (!has_result && (h.result | h.detail) != 0) return ParseError::kReserved;
  // Votes and acknowledgements go to the coordinator, questions for a vote come from it; the others go either way.
  const bool to_coordinator = m.type == Type::kVote || m.type == Type::kAcknowledge;
  if (to_coordinator && receiver != 0) return ParseError::kParticipants;
  if (m.type == Type::kAsk && m.sender != 0) return ParseError::kParticipants;
  if (m.type == Type::kVote && !is_yes && m.result == Result::kCommitted) return ParseError::kReserved;
  return ParseError::kNone;
}

}  // namespace

uint32_t build_commit_message(const CommitMessage& message, MutableBytes buffer) {
  const bool is_yes = message.type == Type::kVote && message.vote == Vote::kYes;
  const size_t body = participants_bytes(message.participants.count) + (is_yes ? 8 + message.values.size() : 0);
  const size_t length = kHeaderBytes + body;
  if (length > buffer.size() || length > limits::kMessageBytesMax) return 0;
  Header h = request_header(message.type, message.id.session, message.id.sequence, make_stamp(message.incarnation, 0));
  h.length = static_cast<uint16_t>(length);
  h.operation_count = is_yes ? message.value_count : uint8_t{0};
  h.result = static_cast<uint8_t>(message.result);
  h.detail = message.detail;
  h.shard = message.shard;
  h.map_epoch = message.participants.map_epoch;
  write_header(buffer.data(), h);
  const uint8_t vote = message.type == Type::kVote ? static_cast<uint8_t>(message.vote) : uint8_t{0};
  write_participants(buffer.data() + kHeaderBytes, message.participants, message.sender, vote);
  if (is_yes) {
    std::byte* const at = buffer.data() + prepare_fixed_bytes(message.participants.count);
    store(at, message.version);
    if (!message.values.empty()) std::memcpy(at + 8, message.values.data(), message.values.size());
  }
  return static_cast<uint32_t>(length);
}

ParseError parse_commit_message(const std::byte* message, uint32_t length, CommitMessage* out) {
  if (length < kHeaderBytes) return ParseError::kShort;
  const Header h = read_header(message);
  if (h.magic != kMagic) return ParseError::kBadMagic;
  if (h.length != length || length > limits::kMessageBytesMax) return ParseError::kLength;
  if (!is_between_participants(static_cast<Type>(h.type))) return ParseError::kType;
  if (h.version != kVersion) return ParseError::kBadVersion;
  if ((h.flags | h.watermark_lag | h.view_epoch | h.fragment_index) != 0 || h.fragment_count > 1 ||
      static_cast<uint32_t>(h.stamp) != 0) {
    return ParseError::kReserved;
  }
  if (h.session == 0 || h.sequence == 0) return ParseError::kSession;
  ParticipantsHeader block;
  CommitMessage& m = *out;
  ParseError error = parse_participants(message, length, &block, &m.participants);
  if (error != ParseError::kNone) return error;
  m.type = static_cast<Type>(h.type);
  m.vote = static_cast<Vote>(block.vote);
  m.result = static_cast<Result>(h.result);
  m.detail = h.detail;
  m.sender = block.sender;
  m.value_count = h.operation_count;
  m.shard = h.shard;
  m.incarnation = stamp_incarnation(h.stamp);
  m.id = {h.session, h.sequence};
  m.participants.map_epoch = h.map_epoch;
  m.version = 0;
  m.values = {};
  const uint32_t fixed = prepare_fixed_bytes(m.participants.count);
  error = check_commit_fields(m, h, block, length - fixed);
  if (error != ParseError::kNone || length == fixed) return error;
  m.version = load<Version>(message + fixed);
  m.values = Bytes(message + fixed + 8, length - fixed - 8);
  // The sender may only speak for itself: its values carry its own place.
  error = parse_value_list(m.values.data(), message + length, m.value_count, m.participants.count, nullptr);
  for (const std::byte* at = m.values.data(); error == ParseError::kNone && at != message + length;) {
    const auto value = load<ValueHeader>(at);
    if (value.participant != m.sender) return ParseError::kCode;
    at += sizeof value + value.value_length;
  }
  return error;
}

ParseError parse_prepare(const std::byte* message, const Header& header, Participants* participants,
                         Operation* operations) {
  ParticipantsHeader block;
  const ParseError error = parse_participants(message, header.length, &block, participants);
  if (error != ParseError::kNone) return error;
  if ((block.sender | block.vote) != 0) return ParseError::kReserved;
  participants->map_epoch = header.map_epoch;
  if (participants->index_of(header.shard) == Participants::kNotThere) return ParseError::kParticipants;
  return parse_operations(message, header, operations, prepare_fixed_bytes(participants->count));
}

ExecuteBuilder::ExecuteBuilder(MutableBytes buffer, const Participants& participants) : ExecuteBuilder(buffer) {
  assert(participants.count >= 2 && participants.count <= limits::kParticipantsMax);
  assert(buffer.size() >= prepare_fixed_bytes(participants.count));
  write_participants(base_ + kHeaderBytes, participants, 0, 0);
  used_ = prepare_fixed_bytes(participants.count);
}

void begin_prepared(std::byte* buffer, const TransactionId& id, Stamp stamp, const Participants& participants,
                    const Version* versions) {
  Header h = request_header(Type::kPrepared, id.session, id.sequence, stamp);
  h.flags = kReplyFlagDecided;
  h.shard = participants.coordinator();
  h.map_epoch = participants.map_epoch;
  h.length = static_cast<uint16_t>(prepared_fixed_bytes(participants.count));
  write_header(buffer, h);
  write_participants(buffer + kHeaderBytes, participants, 0, 0);
  std::byte* const at = buffer + prepare_fixed_bytes(participants.count);
  std::memcpy(at, versions, participants.count * sizeof(Version));
}

void finish_prepared(std::byte* buffer, uint32_t length, uint32_t value_count) {
  Header h = read_header(buffer);
  h.length = static_cast<uint16_t>(length);
  h.operation_count = static_cast<uint8_t>(value_count);
  write_header(buffer, h);
}

ParseError parse_prepared(const std::byte* message, const Header& header, uint32_t* count, Version* versions,
                          Value* values) {
  *count = 0;
  if (header.operation_count > limits::kOperationsMax) return ParseError::kOperationCount;
  if (header.length == kHeaderBytes) return header.operation_count == 0 ? ParseError::kNone : ParseError::kOperationCut;
  const bool decided = (header.flags & kReplyFlagDecided) != 0;
  if (!decided || header.result != static_cast<uint8_t>(Result::kCommitted)) return ParseError::kBody;
  ParticipantsHeader block;
  Participants participants;
  const ParseError error = parse_participants(message, header.length, &block, &participants);
  if (error != ParseError::kNone) return error;
  if (header.length < prepared_fixed_bytes(participants.count)) return ParseError::kBody;
  std::memcpy(versions, message + prepare_fixed_bytes(participants.count), participants.count * sizeof(Version));
  *count = participants.count;
  return parse_value_list(message + prepared_fixed_bytes(participants.count), message + header.length,
                          header.operation_count, participants.count, values);
}

}  // namespace txnic::wire
