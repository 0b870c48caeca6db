// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/kept_transactions.h"

namespace txnic::log {

void KeptTransactions::on_transaction(const TransactionEntry& entry) {
  const Key key{entry.id.session, entry.id.sequence};
  const bool is_prepare = entry.type == RecordType::kPrepare;
  const bool is_forced = entry.forced && entry.place != 0;
  const bool is_over = !is_prepare && !is_forced && (entry.type == RecordType::kEnd || entry.place != 0);
  if (const auto found = transactions_.find(key); found != transactions_.end() && found->second.is_over) --over_;
  if (is_over && entry.in_window) {
    transactions_.erase(key);
    return;
  }
  KeptTransaction kept;
  kept.type = is_prepare                           ? RecordType::kPrepare
              : entry.result == Result::kCommitted ? RecordType::kPreparedCommit
                                                   : RecordType::kAbort;
  kept.is_over = is_over;
  kept.forced = is_forced;
  over_ += is_over;
  kept.id = entry.id;
  kept.participants = entry.participants;
  kept.place = entry.place;
  kept.result = entry.result;
  kept.detail = entry.detail;
  kept.version = entry.version;
  kept.watermark = entry.watermark;
  if (is_prepare) {
    kept.locks.assign(entry.locks.begin(), entry.locks.end());
    kept.values.assign(entry.values.begin(), entry.values.end());
    kept.redo.assign(entry.redo.begin(), entry.redo.end());
    kept.value_count = entry.value_count;
  }
  transactions_[key] = std::move(kept);
}

}  // namespace txnic::log
