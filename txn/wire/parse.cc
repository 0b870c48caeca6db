// SPDX-License-Identifier: BSD-3-Clause
#include "txn/wire/parse.h"

#include "txn/hash.h"

namespace txnic::wire {

const char* name(ParseError error) {
  switch (error) {
    case ParseError::kNone: return "none";
    case ParseError::kShort: return "short";
    case ParseError::kBadMagic: return "magic";
    case ParseError::kLength: return "length";
    case ParseError::kType: return "type";
    case ParseError::kBadVersion: return "version";
    case ParseError::kReserved: return "reserved";
    case ParseError::kOperationCount: return "operation_count";
    case ParseError::kOperationCut: return "operation_cut";
    case ParseError::kCode: return "operation_code";
    case ParseError::kKeyLength: return "key_length";
    case ParseError::kValueLength: return "value_length";
    case ParseError::kFlags: return "operation_flags";
    case ParseError::kTrailing: return "trailing_bytes";
    case ParseError::kBody: return "body_length";
    case ParseError::kSession: return "session_zero";
    case ParseError::kParticipants: return "participants";
  }
  return "?";
}

namespace {

ParseError check_prefix(const std::byte* message, uint32_t length, Header* header) {
  if (length < kHeaderBytes) return ParseError::kShort;
  *header = read_header(message);
  if (header->magic != kMagic) return ParseError::kBadMagic;
  if (header->length != length || length > limits::kMessageBytesMax) return ParseError::kLength;
  return ParseError::kNone;
}

ParseError check_body(const Header& h) {
  switch (static_cast<Type>(h.type)) {
    case Type::kOpen: return h.length == kOpenBytes ? ParseError::kNone : ParseError::kBody;
    case Type::kClose:
    case Type::kMap: return h.length == kHeaderBytes ? ParseError::kNone : ParseError::kBody;
    default: return ParseError::kNone;
  }
}

}  // namespace

ParseError parse_request_header(const std::byte* message, uint32_t length, Header* header) {
  const ParseError prefix = check_prefix(message, length, header);
  if (prefix != ParseError::kNone) return prefix;
  const Header& h = *header;
  // The type is judged before the version: two nodes of different versions would else answer each other's answers
  // for ever. Types keep their direction in all versions.
  const auto type = static_cast<Type>(h.type);
  if (!is_request(type)) return ParseError::kType;
  if (h.version != kVersion) return ParseError::kBadVersion;
  if (type == Type::kEcho) return ParseError::kNone;
  if ((h.result | h.flags | h.detail | h.view_epoch | h.fragment_index) != 0 ||
      (h.map_epoch != 0 && type != Type::kPrepare) || h.fragment_count > 1) {
    return ParseError::kReserved;
  }
  if (h.session == 0 || h.sequence == 0) return ParseError::kSession;
  return check_body(h);
}

ParseError parse_operations(const std::byte* message, const Header& header, Operation* operations, uint32_t first) {
  if (header.operation_count == 0 || header.operation_count > limits::kOperationsMax) {
    return ParseError::kOperationCount;
  }
  const std::byte* at = message + first;
  const std::byte* const end = message + header.length;
  for (uint32_t i = 0; i < header.operation_count; ++i) {
    if (end - at < static_cast<ptrdiff_t>(sizeof(OperationHeader))) return ParseError::kOperationCut;
    const auto op = load<OperationHeader>(at);
    at += sizeof op;
    if (op.code == 0 || op.code > kCodeMax) return ParseError::kCode;
    if (op.key_length == 0 || op.key_length > limits::kKeyBytesMax) return ParseError::kKeyLength;
    if (!flags_allowed(op)) return ParseError::kFlags;
    if (!value_length_allowed(op)) return ParseError::kValueLength;
    const bool has_version = carries_version(op);
    const uint32_t need = (has_version ? 8u : 0u) + op.key_length + op.value_length;
    if (end - at < static_cast<ptrdiff_t>(need)) return ParseError::kOperationCut;
    Operation& out = operations[i];
    out.expected_version = 0;
    if (has_version) {
      out.expected_version = load<uint64_t>(at);
      at += 8;
    }
    out.key = at;
    out.value = at + op.key_length;
    out.key_hash = hash_key(at, op.key_length);
    out.table = op.table;
    out.value_length = op.value_length;
    out.flags = op.flags;
    out.code = op.code;
    out.key_length = op.key_length;
    at += op.key_length + op.value_length;
  }
  return at == end ? ParseError::kNone : ParseError::kTrailing;
}

ParseError parse_reply_header(const std::byte* message, uint32_t length, Header* header) {
  const ParseError prefix = check_prefix(message, length, header);
  if (prefix != ParseError::kNone) return prefix;
  const Header& h = *header;
  if (h.version != kVersion && static_cast<Result>(h.result) != Result::kBadVersion) return ParseError::kBadVersion;
  switch (static_cast<Type>(h.type)) {
    case Type::kChallenge: return length == kChallengeBytes ? ParseError::kNone : ParseError::kBody;
    case Type::kOpened:
      return length == (h.result == 0 ? kOpenedBytes : kHeaderBytes) ? ParseError::kNone : ParseError::kBody;
    case Type::kClosed: return length == kHeaderBytes ? ParseError::kNone : ParseError::kBody;
    case Type::kExecuted: return ParseError::kNone;
    case Type::kPrepared: return ParseError::kNone;
    case Type::kMapped: return h.result == 0 || length == kHeaderBytes ? ParseError::kNone : ParseError::kBody;
    case Type::kEchoed: return ParseError::kNone;
    default: return ParseError::kType;
  }
}

ParseError parse_values(const std::byte* message, const Header& header, Version* commit_version, Value* values) {
  *commit_version = 0;
  if (header.operation_count > limits::kOperationsMax) return ParseError::kOperationCount;
  if (header.length == kHeaderBytes) return header.operation_count == 0 ? ParseError::kNone : ParseError::kOperationCut;
  if (header.length < kExecutedFixedBytes) return ParseError::kBody;
  *commit_version = load<uint64_t>(message + kHeaderBytes);
  return parse_value_list(message + kExecutedFixedBytes, message + header.length, header.operation_count, 1, values);
}

ParseError parse_value_list(const std::byte* at, const std::byte* end, uint32_t count, uint32_t participants,
                            Value* values) {
  uint32_t next_place = 0;  // participant and operation as one number, rising
  for (uint32_t i = 0; i < count; ++i) {
    if (end - at < static_cast<ptrdiff_t>(sizeof(ValueHeader))) return ParseError::kOperationCut;
    const auto v = load<ValueHeader>(at);
    at += sizeof v;
    // Clients index by `operation` and copy by `value_length`: neither may leave its range, whoever sent this.
    const uint8_t participant = participants > 1 ? v.participant : uint8_t{0};
    const uint32_t place = participant * limits::kOperationsMax + v.operation;
    if (v.operation >= limits::kOperationsMax || participant >= participants || place < next_place) {
      return ParseError::kCode;
    }
    next_place = place + 1;
    if (v.value_length > limits::kValueBytesMax) return ParseError::kValueLength;
    if (end - at < static_cast<ptrdiff_t>(v.value_length)) return ParseError::kOperationCut;
    if (values != nullptr) values[i] = {at, v.version, v.value_length, v.operation, v.present != 0, participant};
    at += v.value_length;
  }
  return at == end ? ParseError::kNone : ParseError::kTrailing;
}

}  // namespace txnic::wire
