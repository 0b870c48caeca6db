// SPDX-License-Identifier: BSD-3-Clause
// What the front asks of the back: lookups, and commits of validated write sets. With placement HOST the back
// is the shard store and the log of the same lcore and every call is inlined; with placement NIC it is a cache
// in front of the host link. A compile-time interface (a concept), because the difference between an inlined
// call and an indirect one is a third of a small transaction.
#pragma once

#include <concepts>

#include "txn/result.h"
#include "txn/types.h"
#include "txn/wire/parse.h"

namespace txnic::offload {

// A record as the front sees it. `handle` is the back's own (a record pointer); null for an absent key, and then
// `version` is the absence version (its bucket's last change).
struct Found {
  void* handle = nullptr;
  Version version = 0;
  const std::byte* value = nullptr;
  uint32_t value_length = 0;
  bool present() const { return handle != nullptr; }
};

// One write of a validated transaction, with its final value: ADD arrives as the sum. At most one Write per key
// and transaction. Pointers are valid during the call.
struct Write {
  const std::byte* key;
  const std::byte* value;
  uint64_t hash;  // table_hash
  void* handle;   // Found::handle of the lookup: null = the key is absent
  TableId table;
  uint16_t value_length;
  uint8_t key_length;
  bool is_delete;
};

struct CommitRequest {
  SessionId session;
  Sequence sequence;
  Sequence watermark;
  bool is_replay;  // static session: logged without an outcome
  uint32_t local_shard;
  std::span<const Write> writes;
};

// `local_shard` is shard / worker_count: the worker's own numbering.
template <class B>
concept Back = requires(B back, const B constant, uint32_t local_shard, uint64_t hash, TableId table,
                        const std::byte* key, uint32_t key_length, const CommitRequest& request, Version version,
                        SessionId session, Endpoint from, Stamp stamp, Sequence attempt, TimeNs now) {
  { constant.knows_table(table) } -> std::same_as<bool>;
  {constant.prefetch_bucket(local_shard, hash)};
  {constant.prefetch_record(local_shard, hash)};
  { back.find(local_shard, table, key, key_length, hash) } -> std::same_as<Found>;
  // kNone if commit() of this request cannot fail; else why not.
  { back.can_commit(request) } -> std::same_as<BusyReason>;
  // Takes a new version, applies the writes, appends the redo record. Answers the commit version.
  { back.commit(request) } -> std::same_as<Version>;
  // Sessions are logged too, so that a recovered node knows that a window is complete. False: log full.
  { back.log_session_open(session, from, stamp, attempt) } -> std::same_as<bool>;
  { back.log_session_close(session) } -> std::same_as<bool>;
  // The log position that an answer has to wait for, if it depends on versions up to `version` of this shard:
  // 0 if it may go at once (it is durable already, or the durability mode does not wait).
  { constant.dependency(local_shard, version) } -> std::same_as<Lsn>;
  // The same for everything appended so far.
  { constant.dependency_on_all() } -> std::same_as<Lsn>;
  // Answers with a dependency up to this position may go.
  { constant.durable() } -> std::same_as<Lsn>;
  // One bounded step of background work: log completions, checkpoint. Answers how much was done.
  { back.poll(now) } -> std::same_as<uint32_t>;
  // Nothing is in flight: a clean stop may go on.
  { constant.quiet() } -> std::same_as<bool>;
};

}  // namespace txnic::offload
