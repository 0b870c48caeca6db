// SPDX-License-Identifier: BSD-3-Clause
// From a record's bytes to calls of the recovery sink.
#pragma once

#include "host/log/recovery.h"
#include "host/log/stream.h"
#include "txn/record/record.h"

namespace txnic::log {

struct ReplayCounts {
  uint64_t rows = 0;
  uint64_t outcomes = 0;
};

enum class ReplayResult : uint8_t {
  kDone,
  kNoMemory,   // the sink refused
  kMalformed,  // the record does not make sense inside
};

// Hands one shard's records of a slice to the sink, in order. Records have been verified as far as their headers go
// (Stream::verify).
ReplayResult replay_slice(const Slice& slice, uint32_t local_shard, ShardId shard, RecoverySink* sink,
                          ReplayCounts* counts);

// One record; `room` bytes from its start may be read.
ReplayResult replay_record(const std::byte* record, uint32_t room, ShardId shard, RecoverySink* sink,
                           ReplayCounts* counts);

}  // namespace txnic::log
