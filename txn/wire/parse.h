// SPDX-License-Identifier: BSD-3-Clause
// Parsing of messages from the network: every length is checked before a byte behind it is read.
#pragma once

#include "txn/wire/operation.h"

namespace txnic::wire {

// Why a message was refused. The first group is never answered (the sender does not speak our protocol, or the
// answer could be abused); the second is answered with BAD_REQUEST or BAD_VERSION.
enum class ParseError : uint8_t {
  kNone = 0,
  kShort = 1,    // shorter than a header
  kBadMagic = 2,
  kLength = 3,   // header.length differs from the datagram's length, or is above kMessageBytesMax
  kType = 4,     // unknown, or a type that only nodes send
  kFirstAnswered = 8,
  kBadVersion = 8,
  kReserved = 9,         // a reserved field or flag is not zero (result, fragments, authentication, epochs)
  kOperationCount = 10,  // zero operations, or more than kOperationsMax
  kOperationCut = 11,    // an operation reaches beyond the message
  kCode = 12,            // unknown; in a reply: an operation index out of order
  kKeyLength = 13,
  kValueLength = 14,
  kFlags = 15,           // flags that this operation does not have
  kTrailing = 16,        // bytes behind the last operation
  kBody = 17,            // a body of the wrong size
  kSession = 18,         // session 0, or a sequence of 0
};
inline constexpr uint32_t kParseErrorCount = 19;
const char* name(ParseError error);

inline constexpr bool is_answered(ParseError error) { return error >= ParseError::kFirstAnswered; }

// A parsed operation. Pointers lead into the message and live as long as it.
struct Operation {
  const std::byte* key;
  const std::byte* value;
  uint64_t key_hash;          // hash_key(key)
  Version expected_version;   // with kExpectVersion and for CHECK
  uint16_t table;
  uint16_t value_length;
  uint16_t flags;
  uint8_t code;
  uint8_t key_length;
};

// Checks what every request has: magic, length, type, version, reserved fields. `length` is the datagram's
// payload. On kNone and on every answered error, `*header` is filled in.
ParseError parse_request_header(const std::byte* message, uint32_t length, Header* header);

// Parses the operations of an EXECUTE whose header has been checked. `operations` has room for
// kOperationsMax; header.operation_count of them are filled in.
ParseError parse_operations(const std::byte* message, const Header& header, Operation* operations);

// ---- replies (the client's side) ----------------------------------------------------------------
// Checks a reply's header; unknown types and wrong lengths are refused.
ParseError parse_reply_header(const std::byte* message, uint32_t length, Header* header);

struct Value {
  const std::byte* data;
  Version version;
  uint16_t length;
  uint8_t operation;
  bool present;
};
// Parses the body of an EXECUTED: `values` has room for kOperationsMax; header.operation_count are filled in.
ParseError parse_values(const std::byte* message, const Header& header, Version* commit_version, Value* values);

}  // namespace txnic::wire
