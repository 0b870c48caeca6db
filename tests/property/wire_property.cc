// SPDX-License-Identifier: BSD-3-Clause
// Wire encode and decode: what the builder builds, the parser gives back; what is changed on the way is refused or
// parsed within its bounds (ASan watches).
#include <rapidcheck.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "txn/wire/build.h"
#include "txn/wire/commit.h"
#include "txn/wire/parse.h"

namespace {

using namespace txnic;
using wire::Code;
using wire::ParseError;

struct Operation {
  uint8_t code;
  TableId table;
  std::string key;
  std::string value;
  uint16_t flags;
  Version expected;
};

Bytes bytes(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
std::string text(const std::byte* at, size_t length) { return {reinterpret_cast<const char*>(at), length}; }

std::string some_bytes(size_t least, size_t most) {
  const auto length = *rc::gen::inRange<size_t>(least, most + 1);
  return *rc::gen::container<std::string>(length, rc::gen::arbitrary<char>());
}

Operation valid_operation() {
  Operation operation{};
  operation.code = *rc::gen::inRange<uint8_t>(1, wire::kCodeMax + 1);
  operation.table = *rc::gen::arbitrary<TableId>();
  operation.key = some_bytes(1, limits::kKeyBytesMax);
  const auto wanted = *rc::gen::arbitrary<uint16_t>();
  operation.flags = wanted & wire::kAllowedFlags[operation.code];
  const wire::OperationHeader header{operation.code, 1, 1, 0, operation.flags};
  if (!wire::flags_allowed(header)) operation.flags &= static_cast<uint16_t>(~wire::kExpectAbsent);
  if (wire::carries_version({operation.code, 1, 1, 0, operation.flags})) {
    operation.expected = *rc::gen::arbitrary<Version>();
  }
  switch (static_cast<Code>(operation.code)) {
    case Code::kPut:
    case Code::kInsert:
      operation.value = some_bytes(0, *rc::gen::element<size_t>(16, 200, limits::kValueBytesMax));
      break;
    case Code::kAdd: {
      const size_t length = (operation.flags & wire::kHasFloor) != 0 ? 16 : 8;
      operation.value = some_bytes(length, length);
      break;
    }
    default:
      break;
  }
  return operation;
}

struct Built {
  std::vector<std::byte> message;
  std::vector<Operation> operations;
};

// As many valid operations as were drawn and fit.
Built build_some(SessionId session, Sequence sequence, Stamp stamp, uint32_t lag, ShardId shard) {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  wire::ExecuteBuilder builder{buffer};
  Built built;
  const auto count = *rc::gen::inRange<uint32_t>(1, limits::kOperationsMax + 2);
  for (uint32_t i = 0; i < count; ++i) {
    const Operation operation = valid_operation();
    const size_t before = builder.size();
    if (builder.add_operation(static_cast<Code>(operation.code), operation.table, bytes(operation.key),
                              bytes(operation.value), operation.flags, operation.expected)) {
      built.operations.push_back(operation);
    } else {
      RC_ASSERT(builder.size() == before);
    }
  }
  const uint32_t length = builder.finish(session, sequence, stamp, lag, shard);
  built.message.assign(buffer.data(), buffer.data() + length);
  return built;
}

Built build_some() { return build_some(7, 1, make_stamp(1, 1), 0, 0); }

// Both parsers over exactly these bytes.
void parse_as_everybody(const std::vector<std::byte>& message) {
  const std::vector<std::byte> exact(message);
  const auto length = static_cast<uint32_t>(exact.size());
  wire::Header header;
  std::array<wire::Operation, limits::kOperationsMax> operations;
  if (wire::parse_request_header(exact.data(), length, &header) == ParseError::kNone &&
      header.type == static_cast<uint8_t>(wire::Type::kExecute) &&
      wire::parse_operations(exact.data(), header, operations.data()) == ParseError::kNone) {
    for (uint32_t i = 0; i < header.operation_count; ++i) {
      RC_ASSERT(operations[i].key >= exact.data());
      RC_ASSERT(operations[i].value + operations[i].value_length <= exact.data() + length);
    }
  }
  Participants participants;
  if (wire::parse_request_header(exact.data(), length, &header) == ParseError::kNone &&
      header.type == static_cast<uint8_t>(wire::Type::kPrepare) &&
      wire::parse_prepare(exact.data(), header, &participants, operations.data()) == ParseError::kNone) {
    RC_ASSERT(participants.index_of(header.shard) < participants.count);
    RC_ASSERT(operations[header.operation_count - 1].value <= exact.data() + length);
  }
  wire::CommitMessage commit;
  if (wire::parse_commit_message(exact.data(), length, &commit) == ParseError::kNone) {
    RC_ASSERT(commit.sender < commit.participants.count);
    RC_ASSERT(commit.values.empty() || commit.values.data() + commit.values.size() == exact.data() + length);
    // What is accepted is what would be built.
    std::array<std::byte, limits::kMessageBytesMax> again;
    RC_ASSERT(wire::build_commit_message(commit, again) == length);
  }
  std::array<wire::Value, limits::kOperationsMax> values;
  Version commit_version = 0;
  std::array<Version, limits::kParticipantsMax> versions;
  uint32_t count = 0;
  if (wire::parse_reply_header(exact.data(), length, &header) == ParseError::kNone &&
      header.type == static_cast<uint8_t>(wire::Type::kPrepared) &&
      wire::parse_prepared(exact.data(), header, &count, versions.data(), values.data()) == ParseError::kNone) {
    for (uint32_t i = 0; i < header.operation_count; ++i) RC_ASSERT(values[i].participant < count);
  }
  if (wire::parse_reply_header(exact.data(), length, &header) == ParseError::kNone &&
      header.type == static_cast<uint8_t>(wire::Type::kExecuted) &&
      wire::parse_values(exact.data(), header, &commit_version, values.data()) == ParseError::kNone) {
    for (uint32_t i = 0; i < header.operation_count; ++i) {
      RC_ASSERT(values[i].data + values[i].length <= exact.data() + length);
    }
  }
}

bool what_is_built_is_parsed() {
  return rc::check("every message that is built parses to the same header and operations", [] {
    const auto session = *rc::gen::distinctFrom(SessionId{0});
    const auto sequence = *rc::gen::distinctFrom(Sequence{0});
    const auto stamp = *rc::gen::arbitrary<Stamp>();
    const auto lag = *rc::gen::arbitrary<uint32_t>();
    const auto shard = *rc::gen::arbitrary<ShardId>();
    const Built built = build_some(session, sequence, stamp, lag, shard);
    RC_PRE(!built.operations.empty());
    RC_ASSERT(built.message.size() <= limits::kMessageBytesMax);

    wire::Header header;
    const auto length = static_cast<uint32_t>(built.message.size());
    RC_ASSERT(wire::parse_request_header(built.message.data(), length, &header) == ParseError::kNone);
    RC_ASSERT(header.session == session);
    RC_ASSERT(header.sequence == sequence);
    RC_ASSERT(header.stamp == stamp);
    RC_ASSERT(header.watermark_lag == lag);
    RC_ASSERT(header.shard == shard);
    RC_ASSERT(header.operation_count == built.operations.size());
    std::array<wire::Operation, limits::kOperationsMax> parsed;
    RC_ASSERT(wire::parse_operations(built.message.data(), header, parsed.data()) == ParseError::kNone);
    for (size_t i = 0; i < built.operations.size(); ++i) {
      const Operation& expected = built.operations[i];
      RC_ASSERT(parsed[i].code == expected.code);
      RC_ASSERT(parsed[i].table == expected.table);
      RC_ASSERT(parsed[i].flags == expected.flags);
      RC_ASSERT(parsed[i].expected_version == expected.expected);
      RC_ASSERT(text(parsed[i].key, parsed[i].key_length) == expected.key);
      RC_ASSERT(text(parsed[i].value, parsed[i].value_length) == expected.value);
      RC_ASSERT(parsed[i].key_hash == hash_key(parsed[i].key, parsed[i].key_length));
    }
  });
}

bool changed_messages_stay_in_bounds() {
  return rc::check("a message with changed bytes, cut or lengthened, is never read outside its bounds", [] {
    std::vector<std::byte> message = build_some().message;
    const bool as_reply = *rc::gen::arbitrary<bool>();
    if (as_reply) store(message.data() + offsetof(wire::Header, type), wire::Type::kExecuted);
    const auto changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::inRange<size_t>(0, message.size());
      message[at] = static_cast<std::byte>(*rc::gen::arbitrary<uint8_t>());
    }
    message.resize(*rc::gen::inRange<size_t>(0, message.size() + 4));
    const bool honest = *rc::gen::arbitrary<bool>();
    if (honest && message.size() >= wire::kHeaderBytes) {
      store(message.data(), wire::kMagic);
      store(message.data() + offsetof(wire::Header, length), static_cast<uint16_t>(message.size()));
    }
    parse_as_everybody(message);
  });
}

bool cut_messages_are_refused() {
  return rc::check("a message that lost its end is refused, also when its length says the truth", [] {
    std::vector<std::byte> message = build_some().message;
    RC_PRE(message.size() > wire::kHeaderBytes);
    message.resize(*rc::gen::inRange<size_t>(wire::kHeaderBytes, message.size()));
    store(message.data() + offsetof(wire::Header, length), static_cast<uint16_t>(message.size()));
    const std::vector<std::byte> exact(message);
    wire::Header header;
    std::array<wire::Operation, limits::kOperationsMax> parsed;
    RC_ASSERT(wire::parse_request_header(exact.data(), static_cast<uint32_t>(exact.size()), &header) ==
              ParseError::kNone);
    RC_ASSERT(wire::parse_operations(exact.data(), header, parsed.data()) != ParseError::kNone);
  });
}

bool noise_stays_in_bounds() {
  return rc::check("random bytes are never read outside their bounds", [] {
    const std::string noise = *rc::gen::arbitrary<std::string>();
    const Bytes message = bytes(noise);
    parse_as_everybody({message.begin(), message.end()});
  });
}

bool values_are_parsed_back() {
  return rc::check("values parse to what was written", [] {
    std::vector<std::byte> message(wire::kExecutedFixedBytes);
    const auto commit_version = *rc::gen::arbitrary<Version>();
    store(message.data() + wire::kHeaderBytes, commit_version);
    std::vector<std::pair<wire::ValueHeader, std::string>> written;
    const auto wanted = *rc::gen::inRange<uint32_t>(0, limits::kOperationsMax + 1);
    for (uint32_t i = 0; i < wanted; ++i) {
      const std::string value = some_bytes(0, 60);
      const wire::ValueHeader header{*rc::gen::arbitrary<Version>(), static_cast<uint16_t>(value.size()),
                                     static_cast<uint8_t>(i), static_cast<uint8_t>(!value.empty()), 0};
      if (message.size() + sizeof header + value.size() > limits::kMessageBytesMax) break;
      const size_t at = message.size();
      message.resize(at + sizeof header + value.size());
      store(message.data() + at, header);
      std::memcpy(message.data() + at + sizeof header, value.data(), value.size());
      written.emplace_back(header, value);
    }
    wire::Header header = wire::request_header(wire::Type::kExecuted, 7, 1, 1);
    header.length = static_cast<uint16_t>(message.size());
    header.operation_count = static_cast<uint8_t>(written.size());
    wire::write_header(message.data(), header);
    std::array<wire::Value, limits::kOperationsMax> values;
    Version parsed_version = 0;
    RC_ASSERT(wire::parse_reply_header(message.data(), header.length, &header) == ParseError::kNone);
    RC_ASSERT(wire::parse_values(message.data(), header, &parsed_version, values.data()) == ParseError::kNone);
    RC_ASSERT(parsed_version == commit_version);
    for (size_t i = 0; i < written.size(); ++i) {
      RC_ASSERT(values[i].version == written[i].first.version);
      RC_ASSERT(values[i].present == (written[i].first.present != 0));
      RC_ASSERT(text(values[i].data, values[i].length) == written[i].second);
    }
  });
}

// Distinct shards, in any order.
Participants some_participants() {
  Participants participants;
  participants.count = *rc::gen::inRange<uint32_t>(2, limits::kParticipantsMax + 1);
  participants.map_epoch = *rc::gen::arbitrary<uint32_t>();
  const auto first = *rc::gen::inRange<ShardId>(0, 1000);
  const auto stride = *rc::gen::inRange<ShardId>(1, 60);
  for (uint32_t i = 0; i < participants.count; ++i) {
    participants.shards[i] = static_cast<ShardId>(first + (participants.count - i) * stride);
  }
  return participants;
}

wire::CommitMessage some_commit_message(std::vector<std::byte>& values) {
  wire::CommitMessage m;
  m.type = *rc::gen::element(wire::Type::kVote, wire::Type::kDecision, wire::Type::kAcknowledge, wire::Type::kAsk,
                             wire::Type::kInquire);
  m.participants = some_participants();
  m.id = {*rc::gen::distinctFrom(SessionId{0}), *rc::gen::distinctFrom(Sequence{0})};
  m.incarnation = *rc::gen::arbitrary<uint32_t>();
  const auto other = *rc::gen::inRange<uint8_t>(1, static_cast<uint8_t>(m.participants.count));
  const bool from_coordinator = m.type == wire::Type::kDecision || m.type == wire::Type::kAsk;
  m.sender = from_coordinator ? uint8_t{0} : other;
  m.shard = m.participants.shards[from_coordinator ? other : 0];
  if (m.type == wire::Type::kDecision) m.result = *rc::gen::element(Result::kCommitted, Result::kConflict);
  if (m.type != wire::Type::kVote) return m;
  m.vote = *rc::gen::element(wire::Vote::kYes, wire::Vote::kNo, wire::Vote::kNever);
  if (m.vote != wire::Vote::kYes) {
    m.result = *rc::gen::element(Result::kLocked, Result::kNotFound);
    m.detail = *rc::gen::arbitrary<uint8_t>();
    return m;
  }
  m.version = *rc::gen::arbitrary<Version>();
  const auto wanted = *rc::gen::inRange<uint32_t>(0, 8);
  for (uint8_t i = 0; i < wanted; ++i) {
    const std::string value = some_bytes(0, 40);
    const size_t at = values.size();
    values.resize(at + sizeof(wire::ValueHeader) + value.size());
    store(values.data() + at, wire::ValueHeader{i + 1u, static_cast<uint16_t>(value.size()), i, 1, m.sender, {}});
    std::memcpy(values.data() + at + sizeof(wire::ValueHeader), value.data(), value.size());
    ++m.value_count;
  }
  m.values = values;
  return m;
}

bool commit_messages_are_parsed_back() {
  return rc::check("a message between participants parses to what was built, and not when it is cut", [] {
    std::vector<std::byte> values;
    const wire::CommitMessage m = some_commit_message(values);
    std::array<std::byte, limits::kMessageBytesMax> buffer;
    const uint32_t length = wire::build_commit_message(m, buffer);
    RC_ASSERT(length != 0);
    const std::vector<std::byte> exact(buffer.data(), buffer.data() + length);
    wire::CommitMessage p;
    RC_ASSERT(wire::parse_commit_message(exact.data(), length, &p) == ParseError::kNone);
    RC_ASSERT(p.type == m.type && p.shard == m.shard && p.sender == m.sender && p.id == m.id);
    RC_ASSERT(p.participants == m.participants && p.incarnation == m.incarnation && p.version == m.version);
    RC_ASSERT(p.result == m.result && p.detail == m.detail && p.value_count == m.value_count);
    RC_ASSERT(m.type != wire::Type::kVote || p.vote == m.vote);
    RC_ASSERT(p.values.size() == m.values.size());
    RC_ASSERT(m.values.empty() || std::memcmp(p.values.data(), m.values.data(), m.values.size()) == 0);

    std::vector<std::byte> cut(exact);
    cut.resize(*rc::gen::inRange<size_t>(wire::kHeaderBytes, length));
    store(cut.data() + offsetof(wire::Header, length), static_cast<uint16_t>(cut.size()));
    RC_ASSERT(wire::parse_commit_message(cut.data(), static_cast<uint32_t>(cut.size()), &p) != ParseError::kNone);
  });
}

bool changed_commit_messages_stay_in_bounds() {
  return rc::check("a changed message between participants is never read outside its bounds", [] {
    std::vector<std::byte> values;
    std::array<std::byte, limits::kMessageBytesMax> buffer;
    const uint32_t length = wire::build_commit_message(some_commit_message(values), buffer);
    std::vector<std::byte> message(buffer.data(), buffer.data() + length);
    const auto changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i) {
      message[*rc::gen::inRange<size_t>(4, message.size())] = static_cast<std::byte>(*rc::gen::arbitrary<uint8_t>());
    }
    const auto type = *rc::gen::element(uint8_t{10}, uint8_t{11}, static_cast<uint8_t>(message[3]));
    store(message.data() + offsetof(wire::Header, type), type);
    message.resize(*rc::gen::inRange<size_t>(wire::kHeaderBytes, message.size() + 4));
    store(message.data() + offsetof(wire::Header, length), static_cast<uint16_t>(message.size()));
    parse_as_everybody(message);
  });
}

bool prepares_are_parsed_back() {
  return rc::check("a PREPARE parses to its participants and operations", [] {
    const Participants participants = some_participants();
    std::array<std::byte, limits::kMessageBytesMax> buffer;
    wire::ExecuteBuilder builder(buffer, participants);
    const auto wanted = *rc::gen::inRange<uint32_t>(1, 6);
    std::vector<Operation> added;
    for (uint32_t i = 0; i < wanted; ++i) {
      const Operation o = valid_operation();
      if (builder.add_operation(static_cast<Code>(o.code), o.table, bytes(o.key), bytes(o.value), o.flags, o.expected))
        added.push_back(o);
    }
    RC_PRE(!added.empty());
    const ShardId shard = participants.shards[*rc::gen::inRange<uint32_t>(0, participants.count)];
    const uint32_t length = builder.finish_prepare({9, 4}, make_stamp(3, 2), 1, shard, participants.map_epoch);
    const std::vector<std::byte> exact(buffer.data(), buffer.data() + length);
    wire::Header header;
    RC_ASSERT(wire::parse_request_header(exact.data(), length, &header) == ParseError::kNone);
    Participants parsed;
    std::array<wire::Operation, limits::kOperationsMax> operations;
    RC_ASSERT(wire::parse_prepare(exact.data(), header, &parsed, operations.data()) == ParseError::kNone);
    RC_ASSERT(parsed == participants && header.shard == shard && header.operation_count == added.size());
    for (size_t i = 0; i < added.size(); ++i) {
      RC_ASSERT(text(operations[i].key, operations[i].key_length) == added[i].key);
      RC_ASSERT(text(operations[i].value, operations[i].value_length) == added[i].value);
    }
  });
}

}  // namespace

int main() {
  bool holds = what_is_built_is_parsed();
  holds &= changed_messages_stay_in_bounds();
  holds &= cut_messages_are_refused();
  holds &= noise_stays_in_bounds();
  holds &= values_are_parsed_back();
  holds &= commit_messages_are_parsed_back();
  holds &= changed_commit_messages_stay_in_bounds();
  holds &= prepares_are_parsed_back();
  return holds ? 0 : 1;
}
