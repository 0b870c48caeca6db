// SPDX-License-Identifier: BSD-3-Clause
// All that the commit machine asks of what is around it. Calls come from inside the machine's own calls and must not
// call it back.
#pragma once

#include "txn/commit/transaction_state.h"
#include "txn/wire/commit.h"

namespace txnic::commit {

enum class Record : uint8_t {
  kPrepare,  // participants, locks of both modes, redo, reserved version, values: all that restore() needs
  kCommit,   // of a prepared transaction; at the coordinator it is the decision
  kAbort,    // of a prepared one, or a promise; at the coordinator it is the decision
  kEnd,      // coordinator: everybody has acknowledged; the decision need not be kept
};

// What is known of a transaction that the machine does not keep (any more).
enum class Past : uint8_t {
  kNothing,
  kNoSession,  // its session is not open here: nothing, or forgotten with the session. No PREPARE that was sent so far
               // is taken any more: a session that is opened has a new stamp, and its client knows that it is a new one
  kForgotten,  // below the session's watermark (or its session is gone): no record, and none will be made
  kCommitted,  // from the window; durable
  kAborted,    // the same
};

// No record here that speaks about it.
inline constexpr bool is_nothing(Past past) { return past == Past::kNothing || past == Past::kNoSession; }

class Node {
 public:
  // Appends a record about `t`. False: the log is full now, nothing was appended; the machine tries again later. The
  // record is durable when on_durable() is called with at least `*lsn`.
  virtual bool append(Record record, const Transaction& t, Lsn* lsn) = 0;
  // Carries a message to the participant `m.shard`, wherever it is, or loses it. Pointers are valid during the call.
  virtual void send(const wire::CommitMessage& m) = 0;
  // Coordinator: tells the waiting client `t.client` the outcome. It is final. `t.client.copy` is given back with it.
  virtual void answer(const Transaction& t) = 0;
  // Nobody will be answered by way of this copy: a newer one came, or the transaction is not kept any more.
  virtual void let_go(const Client& client) = 0;
  // Carries out the writes of `t.redo()` under `t.version()`. Cannot fail: PREPARE has reserved what it needs.
  virtual void apply(const Transaction& t) = 0;
  // The transaction is aborted: gives back what PREPARE has reserved.
  virtual void give_back(const Transaction& t) = 0;
  // The outcome goes into the window, where past() finds it; it is durable. False: there is no such session, and the
  // machine keeps it as a promise.
  virtual bool remember(const Transaction& t) = 0;
  virtual Past past(const TransactionId& id, ShardId shard) const = 0;

 protected:
  ~Node() = default;
};

}  // namespace txnic::commit
