// SPDX-License-Identifier: BSD-3-Clause
// Records about transactions over several shards, laid and taken apart. Redo (the writes of one participant) is a row
// of writes as kCommit has them, so that the log, the store and recovery share one form.
#pragma once

#include <array>
#include <span>

#include "txn/commit/lock_table.h"
#include "txn/record/record.h"
#include "txn/result.h"
#include "txn/session.h"
#include "txn/transaction.h"

namespace txnic::log {

// One record, taken apart. What it points to is the caller's: of one that was parsed, the record and the array of
// locks.
struct TransactionEntry {
  RecordType type = RecordType::kPrepare;  // kPrepare, kPreparedCommit, kAbort or kEnd
  TransactionId id;
  Participants participants;
  uint8_t place = 0;                   // ours in the list; 0: we coordinate
  Result result = Result::kCommitted;  // kPreparedCommit: committed; kAbort, kEnd: the outcome
  uint8_t detail = 0;
  bool in_window = false;               // the session is open here
  bool forced = false;                  // decided by the operator, not by the coordinator
  Version version = 0;                  // reserved for the writes; 0: it writes nothing here
  Sequence watermark = 0;               // the session's
  std::span<const commit::Lock> locks;  // kPrepare
  Bytes values;                         // kPrepare: of our vote
  uint8_t value_count = 0;
  Bytes redo;  // kPrepare, kPreparedCommit
};
using LockArray = std::array<commit::Lock, limits::kOperationsMax>;

// The length of the record.
uint32_t transaction_bytes(const TransactionEntry& entry);
// Lays it at `at`, where transaction_bytes() have room. `shard`: the node's own number.
void lay_transaction(const TransactionEntry& entry, ShardId shard, std::byte* at);
// Takes a record apart; `room` bytes may be read. False: it does not make sense.
bool parse_transaction(const std::byte* record, uint32_t room, LockArray* locks, TransactionEntry* entry);

// What the session's window holds of a transaction that has ended: a commit under its reserved version, which its
// reader need not wait for; an abort depends on no version.
inline Outcome outcome_of(const TransactionId& id, Result result, uint8_t detail, Version version) {
  return Outcome::make(id.sequence, result, detail, result == Result::kCommitted ? version : 0);
}

inline constexpr uint32_t kTransactionBytesMax = static_cast<uint32_t>(sizeof(RecordHeader) + sizeof(TransactionBody)) +
                                                 limits::kParticipantsMax * 2 + limits::kOperationsMax * 8 + 8 +
                                                 limits::kMessageBytesMax + limits::kPreparedBytesMax;
static_assert(kTransactionBytesMax <= limits::kLogRecordBytesMax);

}  // namespace txnic::log
