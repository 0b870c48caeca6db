// SPDX-License-Identifier: BSD-3-Clause
// Messages of a transaction over several shards (docs/PROTOCOL.md, section 18). PREPARE and PREPARED are between client
// and node; VOTE, DECISION, ACKNOWLEDGE, ASK and INQUIRE between participants, whoever carries them: a ring between two
// workers or the network between two nodes.
//
// All of them have, behind the header, the same block: ParticipantsHeader and the shards, padded to 8 bytes.
#pragma once

#include "txn/transaction.h"
#include "txn/wire/parse.h"

namespace txnic::wire {

struct ParticipantsHeader {
  uint8_t count;   // 2 to kParticipantsMax
  uint8_t sender;  // messages between participants: place of the sender in the list; else 0
  uint8_t vote;    // VOTE: Vote; else 0
  uint8_t reserved_byte;
  uint32_t reserved;
};
static_assert(sizeof(ParticipantsHeader) == 8);

inline constexpr uint32_t participants_bytes(uint32_t count) {
  return static_cast<uint32_t>(sizeof(ParticipantsHeader)) + ((count * 2 + 7) & ~7u);
}
// Where the operations of a PREPARE begin.
inline constexpr uint32_t prepare_fixed_bytes(uint32_t count) { return kHeaderBytes + participants_bytes(count); }

enum class Vote : uint8_t {
  kYes = 1,    // prepared, durably
  kNo = 2,     // refused; forgotten by a restart of the sender
  kNever = 3,  // promised durably never to prepare it: the answer to ASK
};

// One message between participants, taken apart. Pointers lead into the message and live as long as it.
struct CommitMessage {
  Type type = Type::kVote;
  Vote vote = Vote::kYes;              // VOTE
  Result result = Result::kCommitted;  // VOTE no, never: why; DECISION: the outcome
  uint8_t detail = 0;                  // the same: index of the operation that decided
  uint8_t sender = 0;                  // place of the sender in the list
  uint8_t value_count = 0;             // VOTE yes: values, as in an EXECUTED
  ShardId shard = 0;                   // the participant that it is for
  uint32_t incarnation = 0;            // of the sender's node
  TransactionId id;
  Participants participants;
  Version version = 0;  // VOTE yes: reserved for the sender's writes (COMMIT 17); 0: it writes nothing
  Bytes values;         // VOTE yes: `value_count` times ValueHeader and value

  bool from_coordinator() const { return sender == 0; }
};

// Answers the length, or 0 if it does not fit `buffer` (or a message).
uint32_t build_commit_message(const CommitMessage& message, MutableBytes buffer);
// Everything is checked; a message that is refused is dropped, never answered.
ParseError parse_commit_message(const std::byte* message, uint32_t length, CommitMessage* out);

// A PREPARE whose header has been checked (parse_request_header): its participants and operations. `operations` has
// room for kOperationsMax.
ParseError parse_prepare(const std::byte* message, const Header& header, Participants* participants,
                         Operation* operations);

// ---- PREPARED: the coordinator's answer to the client -------------------------------------------
// A committed one has, behind the participants, a commit version for each (0: it wrote nothing), then the values of all
// participants in their order. Everything else is a header alone.
inline constexpr uint32_t prepared_fixed_bytes(uint32_t participants) {
  return kHeaderBytes + participants_bytes(participants) + participants * 8;
}
// Writes the outcome of `id` as a committed PREPARED without values into `buffer` (at least prepared_fixed_bytes); the
// caller puts the values behind it and calls finish_prepared.
void begin_prepared(std::byte* buffer, const TransactionId& id, Stamp stamp, const Participants& participants,
                    const Version* versions);
void finish_prepared(std::byte* buffer, uint32_t length, uint32_t value_count);

// `versions`: room for kParticipantsMax; `values`: for kOperationsMax. `*count` participants (0: no body).
ParseError parse_prepared(const std::byte* message, const Header& header, uint32_t* count, Version* versions,
                          Value* values);

}  // namespace txnic::wire
