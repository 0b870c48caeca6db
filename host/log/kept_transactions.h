// SPDX-License-Identifier: BSD-3-Clause
// What the records of one shard leave to be kept of transactions over several shards, as they are read one after the
// other: the prepared ones, the decisions that not everybody has acknowledged, and outcomes that no window could take.
// It does what commit::Machine did when the records were written.
#pragma once

#include <map>
#include <vector>

#include "txn/record/transaction_record.h"

namespace txnic::log {

struct KeptTransaction {
  RecordType type = RecordType::kPrepare;  // kPrepare, or what it ended with: kPreparedCommit or kAbort
  // Decided, and nobody waits to be told: only the outcome is kept, as a promise, because the session was not open. It
  // goes into the window once there is one, and is forgotten with the session.
  bool is_over = false;
  bool forced = false;  // by the operator: kept, so that what the coordinator says later is compared with it
  TransactionId id;
  Participants participants;
  uint8_t place = 0;
  Result result = Result::kCommitted;
  uint8_t detail = 0;
  Version version = 0;
  Sequence watermark = 0;
  // kPrepare
  std::vector<commit::Lock> locks;
  std::vector<std::byte> values, redo;
  uint8_t value_count = 0;
};

class KeptTransactions {
 public:
  // The next record about a transaction. Of an outcome that is in the window (entry.in_window) nothing is kept once
  // nobody waits for it; that it comes into the window is the caller's part.
  void on_transaction(const TransactionEntry& entry);
  // The session is open from here on: calls take(transaction) for each of its outcomes that goes into the window now.
  template <class Take>
  void on_session_open(SessionId session, Take&& take) {
    if (over_ != 0) remove_over(session, take);
  }
  // COMMIT 9: a session ends when nothing of it is prepared or waits to be acknowledged; what would is kept.
  void on_session_close(SessionId session) {
    if (over_ != 0) remove_over(session, [](const KeptTransaction&) {});
  }
  // In ascending order of ids.
  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& [key, transaction] : transactions_) each(transaction);
  }
  size_t size() const { return transactions_.size(); }

 private:
  using Key = std::pair<SessionId, Sequence>;
  template <class Take>
  void remove_over(SessionId session, Take&& take) {
    for (auto at = transactions_.lower_bound({session, 0}); at != transactions_.end() && at->first.first == session;) {
      if (!at->second.is_over) {
        ++at;
        continue;
      }
      take(static_cast<const KeptTransaction&>(at->second));
      --over_;
      at = transactions_.erase(at);
    }
  }

  std::map<Key, KeptTransaction> transactions_;
  size_t over_ = 0;
};

}  // namespace txnic::log
