// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/describe.h"

#include "host/client/expected.h"
#include "txn/wire/parse.h"

namespace txnic {
namespace {

std::string busy_text(uint8_t detail) {
  switch (static_cast<BusyReason>(detail)) {
    case BusyReason::kMemory: return "the store's memory or the table's capacity is used up: delete, or configure more";
    case BusyReason::kLogFull: return "the node's log is full or its disk is slow: try later, look at the disk";
    case BusyReason::kWindow: return "the session's window is full: keep fewer requests in flight";
    case BusyReason::kSessions: return "the node's session table is full: close sessions, or configure more";
    case BusyReason::kHeldReplies: return "too many answers wait for the node's disk: send less at a time";
    case BusyReason::kNotReady: return "the node is still recovering: try again soon";
    case BusyReason::kInDoubt:
      return "transactions of this session over several shards are not over yet: try again soon";
    case BusyReason::kTransactions:
      return "the node has too many transactions over several shards, or locks of them, at once: send fewer at a time";
    case BusyReason::kFetching:
      return "too many transactions wait for keys that are not in the SmartNIC's cache: send fewer at a time";
    case BusyReason::kLink: return "too much is on its way from the SmartNIC to the host: send less at a time";
    case BusyReason::kNone: break;
  }
  return "a limit of the node was reached: try later";
}

}  // namespace

const char* name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kAborted: return "aborted";
    case ErrorKind::kRefused: return "refused";
    case ErrorKind::kTimeout: return "timeout";
    case ErrorKind::kInvalid: return "invalid";
    case ErrorKind::kSystem: return "system";
    case ErrorKind::kClosed: return "closed";
    case ErrorKind::kUnknownOutcome: return "unknown outcome";
  }
  return "?";
}

std::string abort_text(Result result) {
  switch (result) {
    case Result::kConflict: return "somebody else changed what this transaction had read; begin it again";
    case Result::kCheckFailed: return "a checked key is not as expected";
    case Result::kExists: return "the key to insert is there already";
    case Result::kNotFound: return "the key to remove or to add to is not there";
    case Result::kBelowFloor: return "the sum would be below the floor";
    default: return "the node aborted it for a reason that this library does not know; update the library";
  }
}

std::string refusal_text(Result result, uint8_t detail) {
  const std::string code = std::string(name(result)) + ": ";
  switch (result) {
    case Result::kBusy: return code + busy_text(detail);
    case Result::kLocked: return code + "another transaction holds a key: try again";
    case Result::kTooLarge:
      return code + "the values do not fit one message (ask for fewer at a time), or ADD on what is not a number, or a "
                    "sum beyond 64 bits (operation " + std::to_string(detail) + ")";
    case Result::kWrongShard: return code + "the node has another number of shards than it told: connect again";
    case Result::kUnknownTable:
      return code + "the table of operation " + std::to_string(detail) + " is not declared in the node's configuration";
    case Result::kBadSession: return code + "the node does not know the session: connect again";
    case Result::kCrossShard:
      return code + "operation " + std::to_string(detail) + " names a key of another shard: connect again, the number "
                    "of shards may have changed";
    case Result::kBadRequest:
      return code + "the node cannot read the request (" +
             (detail < wire::kParseErrorCount ? wire::name(static_cast<wire::ParseError>(detail)) : "?") +
             "): report this as a bug of the library";
    case Result::kBadVersion: return code + "the node speaks another protocol version: use its library";
    default: return code + "refused, code " + std::to_string(static_cast<int>(result)) + "; update the library";
  }
}

}  // namespace txnic
