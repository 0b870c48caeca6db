// SPDX-License-Identifier: BSD-3-Clause
#include "offload/records.h"

namespace txnic::offload {

log::TransactionEntry entry_of(commit::Record kind, const commit::Transaction& t, bool in_window, Sequence watermark) {
  log::TransactionEntry entry;
  entry.id = t.id;
  entry.participants = t.participants;
  entry.place = t.place;
  entry.in_window = in_window;
  entry.forced = t.forced;
  entry.version = t.version();
  entry.watermark = watermark;
  switch (kind) {
    case commit::Record::kPrepare:
      entry.type = log::RecordType::kPrepare;
      entry.locks = t.held_locks();
      entry.values = t.values_of(t.place);
      entry.value_count = t.parts[t.place].value_count;
      entry.redo = t.redo();
      return entry;
    case commit::Record::kCommit:
      entry.type = log::RecordType::kPreparedCommit;
      entry.redo = t.redo();
      return entry;
    case commit::Record::kAbort:
      entry.type = log::RecordType::kAbort;
      break;
    case commit::Record::kEnd:
      entry.type = log::RecordType::kEnd;
      if (t.state == commit::State::kCommitted) return entry;
  }
  entry.result = t.result;
  entry.detail = t.detail;
  return entry;
}

}  // namespace txnic::offload
