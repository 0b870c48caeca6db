// SPDX-License-Identifier: BSD-3-Clause
// What a node says, by what it binds itself to: faults strike at such moments (FaultRates::die_after).
#pragma once

#include <cstdint>
#include <vector>

namespace txnic::sim {

enum class Word : uint8_t { kVoteYes, kVoteNo, kVoteNever, kAcknowledge, kDecision, kAbort, kCommit, kOther };
inline constexpr uint32_t kWords = static_cast<uint32_t>(Word::kOther);
inline constexpr const char* kWordNames[] = {"vote yes", "vote no", "vote never", "acknowledge",
                                             "decision", "abort",   "commit",     "other"};

// Words that a delayed copy of may contradict what is said later.
inline constexpr bool is_held(Word word) {
  return word == Word::kVoteNo || word == Word::kVoteNever || word == Word::kAcknowledge || word == Word::kDecision ||
         word == Word::kAbort;
}

// Of a message between participants. An abort that answers a question is a kDecision too.
Word word_between(const std::vector<std::byte>& message);
// Of a reply to a client: kAbort, kCommit, or kOther.
Word word_to_client(const std::vector<std::byte>& message);

}  // namespace txnic::sim
