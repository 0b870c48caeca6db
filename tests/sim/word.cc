// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/word.h"

#include "txn/wire/commit.h"
#include "txn/wire/parse.h"

namespace txnic::sim {

Word word_between(const std::vector<std::byte>& message) {
  wire::CommitMessage m;
  if (wire::parse_commit_message(message.data(), static_cast<uint32_t>(message.size()), &m) !=
      wire::ParseError::kNone) {
    return Word::kOther;
  }
  switch (m.type) {
    case wire::Type::kVote:
      return m.vote == wire::Vote::kYes ? Word::kVoteYes : m.vote == wire::Vote::kNo ? Word::kVoteNo : Word::kVoteNever;
    case wire::Type::kDecision: return Word::kDecision;
    case wire::Type::kAcknowledge: return Word::kAcknowledge;
    default: return Word::kOther;
  }
}

Word word_to_client(const std::vector<std::byte>& message) {
  wire::Header header{};
  if (wire::parse_reply_header(message.data(), static_cast<uint32_t>(message.size()), &header) !=
      wire::ParseError::kNone) {
    return Word::kOther;
  }
  const auto type = static_cast<wire::Type>(header.type);
  if (type != wire::Type::kExecuted && type != wire::Type::kPrepared) return Word::kOther;
  return header.result == static_cast<uint8_t>(Result::kCommitted) ? Word::kCommit : Word::kAbort;
}

}  // namespace txnic::sim
