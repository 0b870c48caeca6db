// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/replay.h"

#include "txn/limits.h"

namespace txnic::log {
namespace {

// How many records ahead of their turn keys are announced to the sink: enough for its memory to come.
constexpr int kPrefetchRecords = 6;
constexpr uint32_t kPrefetchKeys = 4;

ReplayResult replay_writes(const std::byte* at, uint32_t room, uint32_t count, ShardId shard, Version version,
                           RecoverySink* sink, ReplayCounts* counts) {
  LoggedWrite write;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bytes = read_write(at, room, &write);
    if (bytes == 0) return ReplayResult::kMalformed;
    const bool taken = write.is_delete ? sink->on_delete(shard, write.table, write.key, version)
                                       : sink->on_put(shard, write.table, write.key, write.value, version);
    if (!taken) return ReplayResult::kNoMemory;
    at += bytes;
    room -= bytes;
  }
  counts->rows += count;
  return ReplayResult::kDone;
}

// A transaction over several shards: its writes when they are committed, where its record stands (COMMIT 17); its
// outcome, if the session was open; then what is to be kept of it.
ReplayResult replay_transaction(const std::byte* record, uint32_t room, ShardId shard, RecoverySink* sink,
                                ReplayCounts* counts) {
  TransactionEntry entry;
  LockArray locks;
  if (!parse_transaction(record, room, &locks, &entry)) return ReplayResult::kMalformed;
  if (entry.type == RecordType::kPreparedCommit) {
    const ReplayResult result =
        replay_writes(entry.redo.data(), static_cast<uint32_t>(entry.redo.size()),
                      load<RecordHeader>(record).write_count, shard, entry.version, sink, counts);
    if (result != ReplayResult::kDone) return result;
  }
  if (entry.in_window && entry.type != RecordType::kPrepare) {
    ++counts->outcomes;
    const Outcome outcome = outcome_of(entry.id, entry.result, entry.detail, entry.version);
    if (!sink->on_outcome(shard, entry.id.session, outcome.key, outcome.version, entry.watermark)) {
      return ReplayResult::kNoMemory;
    }
  }
  return sink->on_transaction(shard, entry) ? ReplayResult::kDone : ReplayResult::kNoMemory;
}

// Tells the sink the first keys of a record.
void announce(const std::byte* record, ShardId shard, RecoverySink* sink) {
  const auto header = load<RecordHeader>(record);
  if (header.type > static_cast<uint8_t>(RecordType::kClean)) return;  // its writes do not follow the header
  const std::byte* at = record + sizeof header;
  uint32_t room = header.length - static_cast<uint32_t>(sizeof header);
  for (uint32_t i = 0; i < header.write_count && i < kPrefetchKeys && room >= sizeof(WriteHeader); ++i) {
    const auto write = load<WriteHeader>(at);
    const uint32_t bytes = write_bytes(write.key_length, write.value_length);
    if (bytes > room) return;
    sink->prefetch(shard, write.table, Bytes(at + sizeof write, write.key_length));
    at += bytes;
    room -= bytes;
  }
}

}  // namespace

ReplayResult replay_record(const std::byte* record, uint32_t room, ShardId shard, RecoverySink* sink,
                           ReplayCounts* counts) {
  const auto header = load<RecordHeader>(record);
  const std::byte* body = record + sizeof header;
  const uint32_t body_bytes = room - static_cast<uint32_t>(sizeof header);
  bool taken = true;
  switch (static_cast<RecordType>(header.type)) {
    case RecordType::kCommit:
    case RecordType::kRow: {
      const ReplayResult result =
          replay_writes(body, body_bytes, header.write_count, shard, header.version, sink, counts);
      if (result != ReplayResult::kDone || header.session == 0) return result;
      ++counts->outcomes;
      // A commit's outcome has result kCommitted (0) and no detail.
      taken = sink->on_outcome(shard, header.session, header.sequence << 16, header.version, header.watermark);
      break;
    }
    case RecordType::kOutcome:
      ++counts->outcomes;
      taken = sink->on_outcome(shard, header.session, header.sequence, header.version, header.watermark);
      break;
    case RecordType::kShardState:
      taken = sink->on_shard_version(shard, header.version);
      break;
    case RecordType::kSessionOpen: {
      if (body_bytes < sizeof(SessionBody)) return ReplayResult::kMalformed;
      const auto session = load<SessionBody>(body);
      taken = sink->on_session_open(shard, header.session, Endpoint{session.address, session.port}, session.stamp,
                                    header.sequence, header.watermark);
      break;
    }
    case RecordType::kSessionClose:
      taken = sink->on_session_close(shard, header.session);
      break;
    case RecordType::kPrepare:
    case RecordType::kPreparedCommit:
    case RecordType::kAbort:
    case RecordType::kEnd:
      return replay_transaction(record, room, shard, sink, counts);
    default:
      return ReplayResult::kMalformed;
  }
  return taken ? ReplayResult::kDone : ReplayResult::kNoMemory;
}

ReplayResult replay_slice(const Slice& slice, uint32_t local_shard, ShardId shard, RecoverySink* sink,
                          ReplayCounts* counts) {
  const ChainEntry* entries = slice.entries.data();
  uint32_t ahead = slice.head[local_shard];
  for (int i = 0; i < kPrefetchRecords && ahead != kChainEnd; ++i) {
    announce(entries[ahead].record, shard, sink);
    ahead = entries[ahead].next;
  }
  for (uint32_t at = slice.head[local_shard]; at != kChainEnd; at = entries[at].next) {
    if (ahead != kChainEnd) {
      announce(entries[ahead].record, shard, sink);
      ahead = entries[ahead].next;
    }
    const std::byte* record = entries[at].record;
    const ReplayResult result = replay_record(record, load<uint32_t>(record), shard, sink, counts);
    if (result != ReplayResult::kDone) return result;
  }
  return ReplayResult::kDone;
}

}  // namespace txnic::log
