// SPDX-License-Identifier: BSD-3-Clause
// Operations of an EXECUTE and values of an EXECUTED, as they stand on the wire.
#pragma once

#include "txn/wire/header.h"

namespace txnic::wire {

enum class Code : uint8_t {
  kGet = 1,
  kPut = 2,     // write, present or not
  kInsert = 3,  // EXISTS if present
  kDelete = 4,  // NOT_FOUND if absent
  kAdd = 5,     // signed 64-bit add in place; NOT_FOUND if absent, BELOW_FLOOR if the sum is below the floor
  kCheck = 6,   // version unchanged
};
inline constexpr uint8_t kCodeMax = 6;

// An operation: this header, then (with kExpectVersion, and always for CHECK) an 8-byte version, then the key,
// then the value. ADD's value is an 8-byte delta, and with kHasFloor an 8-byte floor behind it.
struct OperationHeader {
  uint8_t code;        // Code
  uint8_t key_length;  // 1–64
  uint16_t table;
  uint16_t value_length;  // PUT, INSERT: 0–1024; ADD: 8 or 16; else 0
  uint16_t flags;         // kExpectVersion …
};
static_assert(sizeof(OperationHeader) == 8);

// PUT, DELETE, ADD: validate the key against the version that follows first; CONFLICT if it differs.
inline constexpr uint16_t kExpectVersion = 0x1;
// With a version (CHECK or kExpectVersion): the key must be absent and the version is its absence version.
inline constexpr uint16_t kExpectAbsent = 0x2;
// ADD: a floor follows the delta.
inline constexpr uint16_t kHasFloor = 0x4;
// CHECK: part of a read set; a difference is reported as CONFLICT, not CHECK_FAILED.
inline constexpr uint16_t kReadSet = 0x8;

// Flags that each operation code may carry; the index is the code.
inline constexpr uint16_t kAllowedFlags[kCodeMax + 1] = {
    0,
    0,                                          // GET
    kExpectVersion | kExpectAbsent,             // PUT
    0,                                          // INSERT
    kExpectVersion,                             // DELETE
    kExpectVersion | kHasFloor,                 // ADD
    kExpectVersion | kExpectAbsent | kReadSet,  // CHECK; kExpectVersion says nothing new there
};
// The rules that builder and parser share; the code must be a valid one.
inline constexpr bool carries_version(const OperationHeader& op) {
  return (op.flags & kExpectVersion) != 0 || op.code == static_cast<uint8_t>(Code::kCheck);
}
inline constexpr bool flags_allowed(const OperationHeader& op) {
  return (op.flags & ~kAllowedFlags[op.code]) == 0 && ((op.flags & kExpectAbsent) == 0 || carries_version(op));
}
inline constexpr bool value_length_allowed(const OperationHeader& op) {
  switch (static_cast<Code>(op.code)) {
    case Code::kPut:
    case Code::kInsert:
      return op.value_length <= limits::kValueBytesMax;
    case Code::kAdd:
      return op.value_length == ((op.flags & kHasFloor) != 0 ? 16 : 8);
    default:
      return op.value_length == 0;
  }
}

// A value in an EXECUTED, in the order of the GET and ADD operations of the request.
// ADD returns the sum, as 8 bytes. What the transaction itself has written carries the commit version.
struct ValueHeader {
  uint64_t version;  // the record's, or the absent key's (its bucket's last change)
  uint16_t value_length;
  uint8_t operation;    // index of the operation in the request
  uint8_t present;      // 1, or 0 for an absent key
  uint8_t participant;  // PREPARED, VOTE: place of the participant whose operation it is; EXECUTED: 0
  uint8_t reserved[3];
};
static_assert(sizeof(ValueHeader) == 16);

// EXECUTED: header, u64 commit version (0 if nothing was written), then `operation_count` values.
inline constexpr uint32_t kExecutedFixedBytes = kHeaderBytes + 8;

inline constexpr bool code_writes(uint8_t code) {
  return code >= static_cast<uint8_t>(Code::kPut) && code <= static_cast<uint8_t>(Code::kAdd);
}
inline constexpr bool code_returns_value(uint8_t code) {
  return code == static_cast<uint8_t>(Code::kGet) || code == static_cast<uint8_t>(Code::kAdd);
}

}  // namespace txnic::wire
