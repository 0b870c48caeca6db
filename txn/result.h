// SPDX-License-Identifier: BSD-3-Clause
// The result codes of DESIGN 4.1, as they stand on the wire (docs/PROTOCOL.md, "Results").
#pragma once

#include <cstdint>

namespace txnic {

enum class Result : uint8_t {
  kCommitted = 0,
  // Recorded in the exactly-once window: a duplicate gets the same answer.
  kConflict = 1,     // a version in the read set has changed
  kCheckFailed = 2,  // an explicit CHECK did not hold
  kExists = 3,       // INSERT of a present key
  kNotFound = 4,     // DELETE or ADD of an absent key
  kBelowFloor = 5,   // ADD would go below its floor
  // Not recorded: nothing was executed, the same id may be sent again (COMMIT 5).
  kLocked = 16,
  kTooLarge = 17,        // the reply would not fit a message; ADD: the value is not 8 bytes, or the sum overflows
  kBusy = 18,            // a named limit was reached; `detail` is a BusyReason
  kWrongShard = 19,      // this node does not own the shard
  kUnknownTable = 20,
  kBadSession = 21,      // `detail` is a BadSessionReason
  kOldSequence = 22,     // below the session's watermark: the client has said it needs no answer
  kUnknownOutcome = 23,  // a third result, never an abort: of clients, and of a coordinator that has forgotten
  kCrossShard = 24,      // operations name keys of more than one shard (needs two-phase commit)
  kBadRequest = 25,      // malformed; `detail` is a wire::ParseError
  kBadVersion = 26,      // protocol version not spoken; the header's version field names ours
};
inline constexpr uint32_t kResultCount = 27;

enum class BusyReason : uint8_t {
  kNone = 0,
  kMemory = 1,       // the store's arena or a table's capacity is used up
  kLogFull = 2,      // the log's buffer or disk is full or slow
  kWindow = 3,       // sequence beyond watermark + window
  kSessions = 4,     // session table full
  kHeldReplies = 5,  // too many answers wait for the disk
  kNotReady = 6,     // still recovering
  kInDoubt = 7,      // OPEN anew, CLOSE: transactions over several shards of this session are not over yet
  kTransactions = 8, // too many transactions over several shards, or locks of them, at once
  kFetching = 9,     // placement NIC: too many transactions wait for keys, or the cache has no room for this one's
  kLink = 10,        // placement NIC: too much is on its way to the host
};

enum class BadSessionReason : uint8_t {
  kUnknown = 1,       // no window here: what was in flight has an unknown outcome
  kOldStamp = 2,      // the window survived: open again and send the request again
  kWrongAddress = 3,  // opened from another address; open again
};

// True for outcomes that the window records. Everything else may be sent again under the same id.
inline constexpr bool is_recorded(Result r) { return static_cast<uint8_t>(r) < 16; }
// Executed to its business end (DESIGN 4.1: a business outcome is not a conflict abort).
inline constexpr bool is_business(Result r) {
  return r == Result::kCheckFailed || r == Result::kExists || r == Result::kNotFound ||
         r == Result::kBelowFloor;
}

inline constexpr const char* name(Result r) {
  switch (r) {
    case Result::kCommitted: return "COMMITTED";
    case Result::kConflict: return "CONFLICT";
    case Result::kCheckFailed: return "CHECK_FAILED";
    case Result::kExists: return "EXISTS";
    case Result::kNotFound: return "NOT_FOUND";
    case Result::kBelowFloor: return "BELOW_FLOOR";
    case Result::kLocked: return "LOCKED";
    case Result::kTooLarge: return "TOO_LARGE";
    case Result::kBusy: return "BUSY";
    case Result::kWrongShard: return "WRONG_SHARD";
    case Result::kUnknownTable: return "UNKNOWN_TABLE";
    case Result::kBadSession: return "BAD_SESSION";
    case Result::kOldSequence: return "OLD_SEQUENCE";
    case Result::kUnknownOutcome: return "UNKNOWN_OUTCOME";
    case Result::kCrossShard: return "CROSS_SHARD";
    case Result::kBadRequest: return "BAD_REQUEST";
    case Result::kBadVersion: return "BAD_VERSION";
  }
  return "?";
}

}  // namespace txnic
