// SPDX-License-Identifier: BSD-3-Clause
// The fixed message header and the message types. docs/PROTOCOL.md is the specification; this file and that
// one change together, and tests/golden holds a packet of each type.
#pragma once

#include "txn/limits.h"
#include "txn/result.h"
#include "txn/types.h"

namespace txnic::wire {

inline constexpr uint16_t kMagic = 0x5854;  // the bytes "TX"
inline constexpr uint8_t kVersion = 1;
inline constexpr uint16_t kBasePortDefault = 7700;

enum class Type : uint8_t {
  kOpen = 1,       // client → node: open a session; body OpenBody
  kChallenge = 2,  // node → client: send OPEN again with this cookie; body Cookie
  kOpened = 3,     // node → client: body OpenedBody; header.stamp is the session's stamp
  kClose = 4,      // client → node: no body
  kClosed = 5,     // node → client: no body
  kExecute = 6,    // client → node: one transaction; body: operations
  kExecuted = 7,   // node → client: its outcome; body: commit version, then values
  kEcho = 8,       // client → node: any body, answered by the dataplane without the engine
  kEchoed = 9,     // node → client: the same body
  // Transactions over several shards: txn/wire/commit.h.
  kPrepare = 10,   // client → each participant: the participants; that one's operations
  kPrepared = 11,  // coordinator → client: the outcome; or any participant's refusal of that copy
  kMap = 12,       // client → node: which node has which shard? No body
  kMapped = 13,    // node → client: the shard map (txn/wire/map.h)
  // Between participants; clients neither send nor get them.
  kVote = 16,         // participant → coordinator: yes, no or never
  kDecision = 17,     // coordinator → participant, and any participant that knows it → one in doubt
  kAcknowledge = 18,  // participant → coordinator: the decision is durable here
  kAsk = 19,          // coordinator → participant: vote, or promise never to
  kInquire = 20,      // participant in doubt → coordinator or another participant: what was decided?
};

// Types keep their number and direction in all versions, so that no version ever answers an answer.
inline constexpr bool is_request(Type type) {
  return type == Type::kOpen || type == Type::kClose || type == Type::kExecute || type == Type::kEcho ||
         type == Type::kPrepare || type == Type::kMap;
}
inline constexpr bool is_between_participants(Type type) { return type >= Type::kVote && type <= Type::kInquire; }

// 48 bytes, little-endian. Requests and replies share it; a reply echoes session, sequence, shard.
struct Header {
  uint16_t magic;
  uint8_t version;
  uint8_t type;             // Type
  uint16_t length;          // of the whole message, header included
  uint8_t operation_count;  // EXECUTE: operations; EXECUTED: values in the body; else 0
  uint8_t result;           // replies: Result; requests: 0
  uint64_t session;
  uint64_t sequence;       // OPEN: the client's opening attempt, rising
  uint64_t stamp;          // the session's stamp, echoed by replies. OPEN: the stamp held so far, 0 for a new session;
                           // OPENED: the new one; BAD_SESSION: the node's incarnation in the high half
  uint32_t watermark_lag;  // requests: sequence - lag is the lowest sequence whose answer is still wanted
  uint16_t shard;
  uint8_t flags;           // requests: kFlag… below; replies: kReplyFlag…
  uint8_t detail;          // replies: index of the operation that decided, or the reason of the refusal
  uint32_t map_epoch;      // transactions over several shards: the shard map's; else 0 (reserved)
  uint16_t view_epoch;     // reserved for replication: 0
  uint8_t fragment_index;  // reserved for messages larger than a frame: 0
  uint8_t fragment_count;  // reserved: 0 or 1
};
static_assert(sizeof(Header) == 48 && alignof(Header) == 8);
inline constexpr uint32_t kHeaderBytes = sizeof(Header);

// Reserved: the message ends in a 16-byte authentication tag. Refused by version 1.
inline constexpr uint8_t kFlagAuthenticated = 0x01;
// EXECUTED: the answer of an earlier execution; outcome and commit version stand, values are not repeated.
inline constexpr uint8_t kReplyFlagDuplicate = 0x02;
// EXECUTED: executed for a static replay session, outside any window.
inline constexpr uint8_t kReplyFlagReplay = 0x04;
// PREPARED: the transaction's outcome, durable and final. Without it: a refusal of that copy of the PREPARE only.
inline constexpr uint8_t kReplyFlagDecided = 0x08;

inline constexpr uint32_t kCookieBytes = 16;
struct OpenBody {  // an OPEN is as long as the longest answer to it, so that nobody is sent more than he sent
  uint8_t cookie[kCookieBytes];  // zeros, or the cookie of a CHALLENGE
  uint8_t padding[32];           // zeros
};
static_assert(sizeof(OpenBody) == 48);

struct OpenedBody {
  uint16_t shard_count;
  uint16_t worker_count;
  uint16_t base_port;  // shard s is served on UDP port base_port + s % worker_count
  uint16_t reserved;
  uint32_t window;  // sequences in the exactly-once window
  uint32_t idle_expiry_seconds;
  uint8_t window_survived;  // 1: the OPEN carried the stamp held so far, and every outcome is still known. (Where it
                            // is not, the answer is BAD_SESSION and nothing is opened.) 0: a new session
  uint8_t durability;       // Durability
  uint8_t padding[14];
};
static_assert(sizeof(OpenedBody) == 32);

inline constexpr uint32_t kOpenBytes = kHeaderBytes + sizeof(OpenBody);
inline constexpr uint32_t kChallengeBytes = kHeaderBytes + kCookieBytes;
inline constexpr uint32_t kOpenedBytes = kHeaderBytes + sizeof(OpenedBody);
static_assert(kChallengeBytes <= kOpenBytes && kOpenedBytes <= kOpenBytes);

inline constexpr ShardId kNoShard = 0xffff;
inline constexpr uint32_t worker_of(ShardId shard, uint32_t worker_count) { return shard % worker_count; }

inline Header read_header(const std::byte* message) { return load<Header>(message); }
inline void write_header(std::byte* message, const Header& header) { store(message, header); }

// A request header with everything that every request has.
inline Header request_header(Type type, SessionId session, Sequence sequence, Stamp stamp) {
  Header h{};
  h.magic = kMagic;
  h.version = kVersion;
  h.type = static_cast<uint8_t>(type);
  h.length = kHeaderBytes;
  h.session = session;
  h.sequence = sequence;
  h.stamp = stamp;
  return h;
}

}  // namespace txnic::wire
