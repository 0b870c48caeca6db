// SPDX-License-Identifier: BSD-3-Clause
// What the parser refuses, as rows: what is done to a valid message, and the error that this is.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/unit/txn/message.h"

namespace txnic::test {
namespace {

using wire::Header;
using wire::ParseError;
using wire::Type;

struct Row {
  const char* description;
  std::function<Message()> message;
  ParseError expected;
};

template <class T>
Message execute_with(size_t offset, T value) {
  Message message = valid_execute();
  store(message.data() + offset, value);
  return message;
}

template <class T>
Message open_with(size_t offset, T value) {
  Message message = valid_open();
  store(message.data() + offset, value);
  return message;
}

// An EXECUTE whose body is given and whose header says `count` operations.
Message execute_body(uint8_t count, const Message& body) {
  Message message = valid_execute();
  message.resize(wire::kHeaderBytes);
  message.insert(message.end(), body.begin(), body.end());
  store(message.data() + offsetof(Header, operation_count), count);
  set_length(message);
  return message;
}

// One operation, then `rest`.
Message operation(uint8_t code, uint8_t key_length, uint16_t value_length, uint16_t flags, size_t rest) {
  Message body(sizeof(wire::OperationHeader) + rest, std::byte{'k'});
  store(body.data(), wire::OperationHeader{code, key_length, 1, value_length, flags});
  return execute_body(1, body);
}

Message cut_execute(size_t length) {
  Message message = valid_execute();
  message.resize(length);
  return message;
}

Message cut_and_honest(size_t length) {
  Message message = cut_execute(length);
  set_length(message);
  return message;
}

Message longer(Message message, size_t more) {
  message.resize(message.size() + more);
  set_length(message);
  return message;
}

Message newer_version(uint8_t type) {
  Message message = execute_with<uint8_t>(offsetof(Header, version), 2);
  store(message.data() + offsetof(Header, type), type);
  return message;
}

Message echo_with_everything_set() {
  Message message(wire::kHeaderBytes, std::byte{0xff});
  store(message.data(), wire::kMagic);
  store(message.data() + offsetof(Header, version), wire::kVersion);
  store(message.data() + offsetof(Header, type), Type::kEcho);
  set_length(message);
  return message;
}

Message operations(uint32_t count) {
  Message body;
  for (uint32_t i = 0; i < count; ++i) {
    append(body, wire::OperationHeader{1, 1, 1, 0, 0});
    append_text(body, "k");
  }
  return execute_body(static_cast<uint8_t>(count), body);
}

const Row kHeaderRows[] = {
    {"a valid EXECUTE", valid_execute, ParseError::kNone},
    {"a valid OPEN", valid_open, ParseError::kNone},
    {"nothing", [] { return Message{}; }, ParseError::kShort},
    {"one byte less than a header", [] { return cut_execute(47); }, ParseError::kShort},
    {"wrong magic", [] { return execute_with<uint16_t>(0, 0x5855); }, ParseError::kBadMagic},
    {"swapped magic", [] { return execute_with<uint16_t>(0, 0x5458); }, ParseError::kBadMagic},
    {"length one more than the datagram", [] { return execute_with<uint16_t>(4, 58); }, ParseError::kLength},
    {"length one less than the datagram", [] { return execute_with<uint16_t>(4, 56); }, ParseError::kLength},
    {"length 0", [] { return execute_with<uint16_t>(4, 0); }, ParseError::kLength},
    {"a datagram above the limit", [] { return longer(valid_execute(), 1473 - 57); }, ParseError::kLength},
    {"type 0", [] { return execute_with<uint8_t>(3, 0); }, ParseError::kType},
    {"type CHALLENGE, which only nodes send", [] { return execute_with<uint8_t>(3, 2); }, ParseError::kType},
    {"type OPENED, which only nodes send", [] { return execute_with<uint8_t>(3, 3); }, ParseError::kType},
    {"type CLOSED, which only nodes send", [] { return execute_with<uint8_t>(3, 5); }, ParseError::kType},
    {"type EXECUTED, which only nodes send", [] { return execute_with<uint8_t>(3, 7); }, ParseError::kType},
    {"type ECHOED, which only nodes send", [] { return execute_with<uint8_t>(3, 9); }, ParseError::kType},
    {"type PREPARED, which only nodes send", [] { return execute_with<uint8_t>(3, 11); }, ParseError::kType},
    {"type VOTE, which only participants send", [] { return execute_with<uint8_t>(3, 16); }, ParseError::kType},
    {"type 21", [] { return execute_with<uint8_t>(3, 21); }, ParseError::kType},
    {"type 255", [] { return execute_with<uint8_t>(3, 255); }, ParseError::kType},
    {"a newer version", [] { return newer_version(6); }, ParseError::kBadVersion},
    {"version 0", [] { return execute_with<uint8_t>(2, 0); }, ParseError::kBadVersion},
    {"a newer ECHO", [] { return newer_version(8); }, ParseError::kBadVersion},
    {"a newer node's answer is never answered", [] { return newer_version(7); }, ParseError::kType},
    {"result set", [] { return execute_with<uint8_t>(7, 1); }, ParseError::kReserved},
    {"authentication flag", [] { return execute_with<uint8_t>(38, 1); }, ParseError::kReserved},
    {"duplicate flag in a request", [] { return execute_with<uint8_t>(38, 2); }, ParseError::kReserved},
    {"detail set", [] { return execute_with<uint8_t>(39, 1); }, ParseError::kReserved},
    {"map epoch", [] { return execute_with<uint32_t>(40, 1u << 31); }, ParseError::kReserved},
    {"view epoch", [] { return execute_with<uint16_t>(44, 0x100); }, ParseError::kReserved},
    {"fragment index", [] { return execute_with<uint8_t>(46, 1); }, ParseError::kReserved},
    {"one fragment is no fragment", [] { return execute_with<uint8_t>(47, 1); }, ParseError::kNone},
    {"two fragments", [] { return execute_with<uint8_t>(47, 2); }, ParseError::kReserved},
    {"session 0", [] { return execute_with<uint64_t>(8, 0); }, ParseError::kSession},
    {"sequence 0", [] { return execute_with<uint64_t>(16, 0); }, ParseError::kSession},
    {"OPEN with session 0", [] { return open_with<uint64_t>(8, 0); }, ParseError::kSession},
    {"OPEN with attempt 0", [] { return open_with<uint64_t>(16, 0); }, ParseError::kSession},
    {"OPEN with a stamp", [] { return open_with<uint64_t>(24, 99); }, ParseError::kNone},
    {"OPEN too short", [] { Message m = valid_open(); m.resize(95); set_length(m); return m; }, ParseError::kBody},
    {"OPEN too long", [] { return longer(valid_open(), 1); }, ParseError::kBody},
    {"CLOSE with a body", [] { return execute_with<uint8_t>(3, 4); }, ParseError::kBody},
    {"ECHO with every other field set", echo_with_everything_set, ParseError::kNone},
};

const Row kOperationRows[] = {
    {"no operations", [] { return execute_body(0, {}); }, ParseError::kOperationCount},
    {"no operations, but bytes", [] { return execute_body(0, Message(8)); }, ParseError::kOperationCount},
    {"64 operations", [] { return operations(64); }, ParseError::kNone},
    {"65 operations", [] { return operations(65); }, ParseError::kOperationCount},
    {"255 operations", [] { return execute_with<uint8_t>(6, 255); }, ParseError::kOperationCount},
    {"one operation said, none there", [] { return execute_body(1, {}); }, ParseError::kOperationCut},
    {"cut in an operation's header", [] { return execute_body(1, Message(7)); }, ParseError::kOperationCut},
    {"cut before the key", [] { return cut_and_honest(56); }, ParseError::kOperationCut},
    {"cut in the key", [] { return operation(1, 64, 0, 0, 63); }, ParseError::kOperationCut},
    {"cut in the value", [] { return operation(2, 1, 1024, 0, 1024); }, ParseError::kOperationCut},
    {"cut in the expected version", [] { return operation(6, 1, 0, 0, 7); }, ParseError::kOperationCut},
    {"expected version, no key", [] { return operation(6, 1, 0, 0, 8); }, ParseError::kOperationCut},
    {"second operation missing", [] { return execute_with<uint8_t>(6, 2); }, ParseError::kOperationCut},
    {"code 0", [] { return operation(0, 1, 0, 0, 1); }, ParseError::kCode},
    {"code 7", [] { return operation(7, 1, 0, 0, 1); }, ParseError::kCode},
    {"code 255", [] { return operation(255, 1, 0, 0, 1); }, ParseError::kCode},
    {"empty key", [] { return operation(1, 0, 0, 0, 0); }, ParseError::kKeyLength},
    {"key of 65 bytes", [] { return operation(1, 65, 0, 0, 65); }, ParseError::kKeyLength},
    {"key of 64 bytes", [] { return operation(1, 64, 0, 0, 64); }, ParseError::kNone},
    {"GET with a value", [] { return operation(1, 1, 1, 0, 2); }, ParseError::kValueLength},
    {"DELETE with a value", [] { return operation(4, 1, 1, 0, 2); }, ParseError::kValueLength},
    {"CHECK with a value", [] { return operation(6, 1, 1, 0, 10); }, ParseError::kValueLength},
    {"PUT of 1024 bytes", [] { return operation(2, 1, 1024, 0, 1025); }, ParseError::kNone},
    {"PUT of 1025 bytes", [] { return operation(2, 1, 1025, 0, 1026); }, ParseError::kValueLength},
    {"INSERT of 65535 bytes", [] { return operation(3, 1, 65535, 0, 10); }, ParseError::kValueLength},
    {"INSERT of nothing", [] { return operation(3, 1, 0, 0, 1); }, ParseError::kNone},
    {"ADD of 8 bytes", [] { return operation(5, 1, 8, 0, 9); }, ParseError::kNone},
    {"ADD of 7 bytes", [] { return operation(5, 1, 7, 0, 8); }, ParseError::kValueLength},
    {"ADD of 16 bytes without the flag", [] { return operation(5, 1, 16, 0, 17); }, ParseError::kValueLength},
    {"ADD with a floor", [] { return operation(5, 1, 16, 4, 17); }, ParseError::kNone},
    {"ADD with the flag, no floor", [] { return operation(5, 1, 8, 4, 9); }, ParseError::kValueLength},
    {"GET with an expected version", [] { return operation(1, 1, 0, 1, 9); }, ParseError::kFlags},
    {"INSERT with an expected version", [] { return operation(3, 1, 0, 1, 9); }, ParseError::kFlags},
    {"PUT with a floor", [] { return operation(2, 1, 0, 4, 1); }, ParseError::kFlags},
    {"PUT in a read set", [] { return operation(2, 1, 0, 8, 1); }, ParseError::kFlags},
    {"PUT expecting absence without a version", [] { return operation(2, 1, 0, 2, 1); }, ParseError::kFlags},
    {"PUT expecting absence", [] { return operation(2, 1, 0, 3, 9); }, ParseError::kNone},
    {"DELETE expecting absence", [] { return operation(4, 1, 0, 3, 9); }, ParseError::kFlags},
    {"ADD expecting absence", [] { return operation(5, 1, 8, 3, 17); }, ParseError::kFlags},
    {"CHECK expecting absence", [] { return operation(6, 1, 0, 2, 9); }, ParseError::kNone},
    {"CHECK that says the version flag", [] { return operation(6, 1, 0, 1, 9); }, ParseError::kNone},
    {"an unknown flag", [] { return operation(6, 1, 0, 0x8000, 9); }, ParseError::kFlags},
    {"one byte behind the last operation", [] { return longer(valid_execute(), 1); }, ParseError::kTrailing},
};

TEST(ParseRequest, Header) {
  for (const Row& row : kHeaderRows) {
    const ParseError error = parse_request(row.message());
    EXPECT_EQ(error, row.expected) << row.description << ": " << wire::name(error);
  }
}

TEST(ParseRequest, Operations) {
  for (const Row& row : kOperationRows) {
    const ParseError error = parse_request(row.message());
    EXPECT_EQ(error, row.expected) << row.description << ": " << wire::name(error);
  }
}

TEST(ParseRequest, EveryCutOfAFullMessageIsRefused) {
  const Message full = operations(64);
  for (size_t length = 0; length < full.size(); ++length) {
    Message cut(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(parse_request(cut), ParseError::kNone);
    if (length < wire::kHeaderBytes) continue;
    set_length(cut);
    EXPECT_NE(parse_request(cut), ParseError::kNone);
  }
}

// Two nodes must never answer each other for ever, whatever versions they speak.
TEST(ParseRequest, NoReplyTypeIsEverAnswered) {
  for (uint32_t version = 0; version < 256; ++version) {
    for (const auto type : {Type::kChallenge, Type::kOpened, Type::kClosed, Type::kExecuted, Type::kEchoed}) {
      Message message = execute_with<uint8_t>(offsetof(Header, version), static_cast<uint8_t>(version));
      store(message.data() + offsetof(Header, type), type);
      EXPECT_FALSE(wire::is_answered(parse_request(message)));
    }
  }
}

TEST(ParseRequest, HeaderIsFilledInForEveryAnswer) {
  for (const Row& row : kHeaderRows) {
    if (!wire::is_answered(row.expected)) continue;
    const Message message = row.message();
    Header header{};
    wire::parse_request_header(message.data(), static_cast<uint32_t>(message.size()), &header);
    EXPECT_EQ(std::memcmp(&header, message.data(), sizeof header), 0) << row.description;
  }
}

Message executed(uint8_t result, uint8_t count, const Message& body) {
  Message message = execute_body(count, body);
  store(message.data() + offsetof(Header, type), Type::kExecuted);
  store(message.data() + offsetof(Header, result), result);
  return message;
}

Message values(std::initializer_list<wire::ValueHeader> headers) {
  Message body;
  append(body, uint64_t{0});
  for (const wire::ValueHeader& header : headers) {
    append(body, header);
    body.resize(body.size() + std::min<size_t>(header.value_length, 1100));
  }
  return executed(0, static_cast<uint8_t>(headers.size()), body);
}

Message opened_with(uint8_t result, size_t length) {
  Message message = valid_open();
  message.resize(length);
  store(message.data() + offsetof(Header, type), Type::kOpened);
  store(message.data() + offsetof(Header, result), result);
  set_length(message);
  return message;
}

Message of_version_2(Message message) {
  store(message.data() + offsetof(Header, version), uint8_t{2});
  return message;
}

Message of_type(uint8_t type) {
  Message message = valid_execute();
  message.resize(wire::kHeaderBytes);
  store(message.data() + offsetof(Header, type), type);
  set_length(message);
  return message;
}

const Row kReplyRows[] = {
    {"an abort, header only", [] { return executed(1, 0, {}); }, ParseError::kNone},
    {"an abort with a commit version of 0", [] { return executed(1, 0, Message(8)); }, ParseError::kNone},
    {"half a commit version", [] { return executed(0, 0, Message(4)); }, ParseError::kBody},
    {"a value without a body", [] { return executed(0, 1, {}); }, ParseError::kOperationCut},
    {"a value", [] { return values({{1, 5, 0, 1, 0}}); }, ParseError::kNone},
    {"values in order", [] { return values({{1, 5, 0, 1, 0}, {1, 0, 63, 0, 0}}); }, ParseError::kNone},
    {"values in disorder", [] { return values({{1, 5, 1, 1, 0}, {1, 0, 0, 0, 0}}); }, ParseError::kCode},
    {"the same operation twice", [] { return values({{1, 5, 1, 1, 0}, {1, 0, 1, 0, 0}}); }, ParseError::kCode},
    {"operation 64", [] { return values({{1, 5, 64, 1, 0}}); }, ParseError::kCode},
    {"a value above the limit", [] { return values({{1, 1025, 0, 1, 0}}); }, ParseError::kValueLength},
    {"a value that is cut", [] { Message m = values({{1, 5, 0, 1, 0}}); m.pop_back(); set_length(m); return m; },
     ParseError::kOperationCut},
    {"bytes behind the values", [] { return longer(values({{1, 5, 0, 1, 0}}), 1); }, ParseError::kTrailing},
    {"65 values", [] { return executed(0, 65, Message(8 + 65 * 16)); }, ParseError::kOperationCount},
    {"OPENED", [] { return opened_with(0, wire::kOpenedBytes); }, ParseError::kNone},
    {"OPENED without a body", [] { return opened_with(0, wire::kHeaderBytes); }, ParseError::kBody},
    {"OPENED, refused", [] { return opened_with(18, wire::kHeaderBytes); }, ParseError::kNone},
    {"OPENED, refused, with a body", [] { return opened_with(18, wire::kOpenedBytes); }, ParseError::kBody},
    {"CHALLENGE without a cookie", [] { return of_type(2); }, ParseError::kBody},
    {"CLOSED", [] { return of_type(5); }, ParseError::kNone},
    {"ECHOED", [] { return of_type(9); }, ParseError::kNone},
    {"a request", valid_execute, ParseError::kType},
    {"type 10", [] { return of_type(10); }, ParseError::kType},
    {"another version", [] { return of_version_2(executed(0, 0, {})); }, ParseError::kBadVersion},
    {"another version that says so", [] { return of_version_2(executed(26, 0, {})); }, ParseError::kNone},
};

TEST(ParseReply, Rows) {
  for (const Row& row : kReplyRows) {
    const ParseError error = parse_reply(row.message());
    EXPECT_EQ(error, row.expected) << row.description << ": " << wire::name(error);
  }
}

TEST(ParseError, EveryErrorHasItsOwnName) {
  std::set<std::string_view> names;
  uint32_t known = 0;
  for (uint32_t i = 0; i < wire::kParseErrorCount; ++i) {
    const std::string_view name = wire::name(static_cast<ParseError>(i));
    if (name == "?") continue;
    ++known;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), known);
  EXPECT_EQ(known, 17u);
}

TEST(Result, EveryResultHasItsOwnNameAndOnlyOutcomesAreRecorded) {
  std::set<std::string_view> names;
  uint32_t recorded = 0;
  for (uint32_t i = 0; i < kResultCount; ++i) {
    const auto result = static_cast<Result>(i);
    if (std::string_view(name(result)) == "?") continue;
    names.insert(name(result));
    recorded += is_recorded(result);
  }
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(recorded, 6u);
  EXPECT_FALSE(is_business(Result::kConflict));
  EXPECT_TRUE(is_business(Result::kBelowFloor));
}

}  // namespace
}  // namespace txnic::test
