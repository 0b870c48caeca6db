// SPDX-License-Identifier: BSD-3-Clause
// What names a transaction over several shards: its id, and the participants that the id is bound to (COMMIT 7).
#pragma once

#include <array>

#include "txn/limits.h"
#include "txn/types.h"

namespace txnic {

// Given by the client; windows, votes and promises are keyed by this and a shard (COMMIT 12).
struct TransactionId {
  SessionId session = 0;
  Sequence sequence = 0;
  friend bool operator==(const TransactionId&, const TransactionId&) = default;
};

// The participants in the client's order: the first one is the coordinator. Distinct shards, at least two.
struct Participants {
  static constexpr uint32_t kNotThere = 0xffffffff;

  uint32_t count = 0;
  uint32_t map_epoch = 0;  // of the shard map by which the client chose them
  std::array<ShardId, limits::kParticipantsMax> shards{};

  ShardId coordinator() const { return shards[0]; }
  // The place of a shard in the list, or kNotThere.
  uint32_t index_of(ShardId shard) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (shards[i] == shard) return i;
    }
    return kNotThere;
  }
  // One bit a participant.
  uint32_t all() const { return (1u << count) - 1; }

  friend bool operator==(const Participants& a, const Participants& b) {
    if (a.count != b.count || a.map_epoch != b.map_epoch) return false;
    for (uint32_t i = 0; i < a.count; ++i) {
      if (a.shards[i] != b.shards[i]) return false;
    }
    return true;
  }
};
static_assert(limits::kParticipantsMax < 32, "masks have a bit a participant");

}  // namespace txnic
