// SPDX-License-Identifier: BSD-3-Clause
// Parsing of messages from the network: every length is checked before a byte behind it is read.
#pragma once

#include "txn/wire/operation.h"

namespace txnic::wire {

// Why a message was refused. The first group is never answered (the sender does not speak our protocol, or the
// answer could be abused); the second is answered with BAD_REQUEST or BAD_VERSION.
enum class ParseError : uint8_t {
  kNone = 0,
  kShort = 1,  // shorter than a header
  kBadMagic = 2,
  kLength = 3,  // header.length differs from the datagram's length, or is above kMessageBytesMax
  kType = 4,    // unknown, or a type that only nodes send
  kFirstAnswered = 8,
  kBadVersion = 8,
  kReserved = 9,         // a reserved field or flag is not zero (result, fragments, authentication, epochs)
  kOperationCount = 10,  // zero operations, or more than kOperationsMax
  kOperationCut = 11,    // an operation reaches beyond the message
  kCode = 12,            // unknown; in a reply: an operation index out of order
  kKeyLength = 13,
  kValueLength = 14,
  kFlags = 15,         // flags that this operation does not have
  kTrailing = 16,      // bytes behind the last operation
  kBody = 17,          // a body of the wrong size
  kSession = 18,       // session 0, or a sequence of 0
  kParticipants = 19,  // too few or too many, one twice, or the message's shard or sender is not among them
};
inline constexpr uint32_t kParseErrorCount = 20;
const char* name(ParseError error);

inline constexpr bool is_answered(ParseError error) { return error >= ParseError::kFirstAnswered; }

// A parsed operation. Pointers lead into the message and live as long as it.
struct Operation {
  const std::byte* key;
  const std::byte* value;
  uint64_t key_hash;         // hash_key(key)
  Version expected_version;  // with kExpectVersion and for CHECK
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
// kOperationsMax; header.operation_count of them are filled in. `first`: where the first one begins (PREPARE: behind
// the participants).
ParseError parse_operations(const std::byte* message, const Header& header, Operation* operations,
                            uint32_t first = kHeaderBytes);

// ---- replies (the client's side) ----------------------------------------------------------------
// Checks a reply's header; unknown types and wrong lengths are refused.
ParseError parse_reply_header(const std::byte* message, uint32_t length, Header* header);

struct Value {
  const std::byte* data;
  Version version;
  uint16_t length;
  uint8_t operation;
  bool present;
  uint8_t participant;  // PREPARED: whose operation it is
};
// Parses the body of an EXECUTED: `values` has room for kOperationsMax; header.operation_count are filled in.
ParseError parse_values(const std::byte* message, const Header& header, Version* commit_version, Value* values);
// `count` values from `at`, which must end at `end`. They stand in the order of participants, which are below
// `participants`, and of their operations. `values` may be null: only checked.
ParseError parse_value_list(const std::byte* at, const std::byte* end, uint32_t count, uint32_t participants,
                            Value* values);

}  // namespace txnic::wire
