// SPDX-License-Identifier: BSD-3-Clause
// Wire encode and decode: what the builder builds, the parser gives back; what is changed on the way is refused or
// parsed within its bounds (ASan watches).
#include <rapidcheck.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "txn/wire/build.h"
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
    default: break;
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
  std::array<wire::Value, limits::kOperationsMax> values;
  Version commit_version = 0;
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

}  // namespace

int main() {
  bool holds = what_is_built_is_parsed();
  holds &= changed_messages_stay_in_bounds();
  holds &= cut_messages_are_refused();
  holds &= noise_stays_in_bounds();
  holds &= values_are_parsed_back();
  return holds ? 0 : 1;
}
