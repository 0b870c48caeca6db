// SPDX-License-Identifier: BSD-3-Clause
// The builder refuses what would not parse, and leaves the message as it was.
#include "txn/wire/build.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/txn/message.h"

namespace txnic::test {
namespace {

using wire::Code;
using wire::ExecuteBuilder;

class Build : public ::testing::Test {
 protected:
  std::array<std::byte, 2 * limits::kMessageBytesMax> buffer_{};
  ExecuteBuilder builder_{buffer_};
  const std::string key_ = std::string(limits::kKeyBytesMax, 'k');
  const std::string value_ = std::string(limits::kValueBytesMax, 'v');

  Message finish() {
    const uint32_t length = builder_.finish(7, 1, make_stamp(3, 1), 0, 0);
    return {buffer_.data(), buffer_.data() + length};
  }
  void expect_refused(bool answer, const char* what) {
    EXPECT_FALSE(answer) << what;
    EXPECT_EQ(builder_.size(), wire::kHeaderBytes) << what;
    EXPECT_EQ(builder_.operation_count(), 0u) << what;
  }
};

TEST_F(Build, RefusesLengthsOutOfRange) {
  expect_refused(builder_.get(1, {}), "an empty key");
  expect_refused(builder_.get(1, bytes(key_ + "k")), "a key of 65 bytes");
  expect_refused(builder_.put(1, bytes("k"), bytes(value_ + "v")), "a value of 1025 bytes");
  expect_refused(builder_.insert(1, bytes("k"), bytes(std::string(70000, 'v'))), "a value beyond 16 bits");
  EXPECT_TRUE(builder_.put(1, bytes(key_), bytes(value_)));
  EXPECT_EQ(parse_request(finish()), wire::ParseError::kNone);
}

TEST_F(Build, RefusesWhatTheParserWouldRefuse) {
  const Bytes key = bytes("k");
  expect_refused(builder_.add_operation(static_cast<Code>(0), 1, key, {}, 0, 0), "code 0");
  expect_refused(builder_.add_operation(static_cast<Code>(7), 1, key, {}, 0, 0), "code 7");
  expect_refused(builder_.add_operation(Code::kGet, 1, key, bytes("v"), 0, 0), "GET with a value");
  expect_refused(builder_.add_operation(Code::kAdd, 1, key, bytes("v"), 0, 0), "ADD of one byte");
  expect_refused(builder_.add_operation(Code::kInsert, 1, key, {}, wire::kExpectVersion, 1), "INSERT with a version");
  expect_refused(builder_.add_operation(Code::kPut, 1, key, {}, wire::kExpectAbsent, 1), "absent without a version");
  expect_refused(builder_.check(1, key, 1, 0x100), "an unknown flag");
}

TEST_F(Build, StopsAt64Operations) {
  for (uint32_t i = 0; i < limits::kOperationsMax; ++i) EXPECT_TRUE(builder_.get(1, bytes("k")));
  const size_t size = builder_.size();
  EXPECT_FALSE(builder_.get(1, bytes("k")));
  EXPECT_EQ(builder_.size(), size);
  EXPECT_EQ(parse_request(finish()), wire::ParseError::kNone);
}

TEST_F(Build, StopsAtTheMessageLimitAlsoInALargerBuffer) {
  EXPECT_TRUE(builder_.put(1, bytes(key_), bytes(value_)));
  const size_t room = limits::kMessageBytesMax - builder_.size() - sizeof(wire::OperationHeader) - 1;
  EXPECT_FALSE(builder_.put(1, bytes("k"), bytes(value_.substr(0, room + 1))));
  EXPECT_TRUE(builder_.put(1, bytes("k"), bytes(value_.substr(0, room))));
  EXPECT_EQ(builder_.size(), limits::kMessageBytesMax);
  EXPECT_EQ(parse_request(finish()), wire::ParseError::kNone);
}

TEST_F(Build, StopsAtASmallBuffer) {
  ExecuteBuilder builder{MutableBytes{buffer_.data(), wire::kHeaderBytes + sizeof(wire::OperationHeader) + 3}};
  EXPECT_FALSE(builder.get(1, bytes("four")));
  EXPECT_TRUE(builder.get(1, bytes("tri")));
  EXPECT_FALSE(builder.get(1, bytes("k")));
  EXPECT_EQ(buffer_[builder.size()], std::byte{0});
}

TEST_F(Build, FinishMayBeCalledAgain) {
  builder_.put(1, bytes("k"), bytes("v"));
  const Message first = finish();
  const uint32_t length = builder_.finish(7, 1, make_stamp(4, 1), 9, 3);
  EXPECT_EQ(length, first.size());
  const wire::Header header = wire::read_header(buffer_.data());
  EXPECT_EQ(header.stamp, make_stamp(4, 1));
  EXPECT_EQ(header.watermark_lag, 9u);
  EXPECT_EQ(header.shard, 3);
  EXPECT_EQ(std::memcmp(first.data() + wire::kHeaderBytes, buffer_.data() + wire::kHeaderBytes, length - 48), 0);
}

TEST_F(Build, OpenCarriesTheHeldStampAndIsNotShorterThanItsAnswers) {
  uint8_t cookie[wire::kCookieBytes];
  std::fill(std::begin(cookie), std::end(cookie), uint8_t{0xaa});
  EXPECT_EQ(wire::build_open(buffer_.data(), 7, 2, cookie, 99), wire::kOpenBytes);
  EXPECT_EQ(wire::read_header(buffer_.data()).stamp, 99u);
  EXPECT_EQ(std::memcmp(buffer_.data() + wire::kHeaderBytes, cookie, sizeof cookie), 0);
  EXPECT_GE(wire::kOpenBytes, wire::kChallengeBytes);
  EXPECT_GE(wire::kOpenBytes, wire::kOpenedBytes);
}

}  // namespace
}  // namespace txnic::test
