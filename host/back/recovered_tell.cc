// SPDX-License-Identifier: BSD-3-Clause
// What recovery has kept, as a checkpoint's records, and the way back: between recovery, the mirror of a front on the
// NIC, and that front.
#include "host/back/recovered_state.h"
#include "host/log/replay.h"

namespace txnic::back {
namespace {

using log::RecordHeader;
using log::RecordType;

log::TransactionEntry entry_of(const log::KeptTransaction& kept, bool has_session) {
  log::TransactionEntry entry;
  // A coordinator's decision that everybody has acknowledged is told apart from one that they have not.
  entry.type = kept.is_over && kept.place == 0 ? RecordType::kEnd : kept.type;
  entry.id = kept.id;
  entry.participants = kept.participants;
  entry.place = kept.place;
  entry.result = kept.result;
  entry.detail = kept.detail;
  entry.in_window = has_session && !kept.is_over;
  entry.forced = kept.forced;
  entry.version = kept.version;
  entry.watermark = kept.watermark;
  entry.locks = kept.locks;
  entry.values = kept.values;
  entry.value_count = kept.value_count;
  entry.redo = kept.redo;
  return entry;
}

RecordHeader header_of(RecordType type, ShardId shard, Version version, SessionId session, uint64_t sequence,
                       Sequence watermark) {
  return {sizeof(RecordHeader), static_cast<uint8_t>(type), 0, shard, version, session, sequence, watermark};
}

}  // namespace

bool RecoveredState::tell(uint32_t worker, uint32_t worker_count, const std::function<bool(Bytes)>& take) const {
  std::vector<std::byte> room(limits::kLogRecordBytesMax);
  const auto put = [&](const RecordHeader& header) {
    store(room.data(), header);
    return take(Bytes(room).first(sizeof header));
  };
  bool goes_on = true;
  for (size_t i = worker; i < streams_.size(); i += worker_count) {
    const Stream& stream = streams_[i];
    const auto shard = static_cast<ShardId>(i);
    goes_on = goes_on && put(header_of(RecordType::kShardState, shard, stream.newest, 0, 0, 0));
    stream.kept.for_each([&](const log::KeptTransaction& kept) {
      const log::TransactionEntry entry = entry_of(kept, stream.windows.contains(kept.id.session));
      const uint32_t bytes = log::transaction_bytes(entry);
      log::lay_transaction(entry, shard, room.data());
      goes_on = goes_on && take(Bytes(room).first(bytes));
    });
  }
  for (size_t i = worker; i < streams_.size(); i += worker_count) {
    for (const auto& [id, window] : streams_[i].windows) {
      // Its stamp is of another life.
      store(room.data(), RecordHeader{sizeof(RecordHeader) + sizeof(log::SessionBody),
                                      static_cast<uint8_t>(RecordType::kSessionOpen), 0, log::kNoShard, 0, id, 0,
                                      window->watermark});
      store(room.data() + sizeof(RecordHeader), log::SessionBody{kRecoveredStamp, 0, 0, 0});
      goes_on = goes_on && take(Bytes(room).first(sizeof(RecordHeader) + sizeof(log::SessionBody)));
      for (const Outcome& outcome : window->outcomes) {
        if (outcome.key == 0) continue;
        goes_on = goes_on && put(header_of(RecordType::kOutcome, static_cast<ShardId>(i), outcome.version, id,
                                           outcome.key, window->watermark));
      }
    }
  }
  return goes_on;
}

bool replay_kept(Bytes record, uint32_t worker, uint32_t worker_count, uint32_t shard_count, RecoveredState* state) {
  log::ReplayCounts counts;
  const auto header = load<RecordHeader>(record.data());
  const auto room = static_cast<uint32_t>(record.size());
  if (header.length != room) return false;
  if (header.shard != log::kNoShard) {
    return header.shard < shard_count && header.shard % worker_count == worker &&
           log::replay_record(record.data(), room, header.shard, state, &counts) == log::ReplayResult::kDone;
  }
  for (uint32_t shard = worker; shard < shard_count; shard += worker_count) {  // sessions: of each shard
    if (log::replay_record(record.data(), room, static_cast<ShardId>(shard), state, &counts) !=
        log::ReplayResult::kDone) {
      return false;
    }
  }
  return true;
}

}  // namespace txnic::back
