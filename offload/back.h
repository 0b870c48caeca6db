// SPDX-License-Identifier: BSD-3-Clause
// What the front asks of the back: lookups, and commits of validated write sets. With placement HOST the back
// is the shard store and the log of the same lcore and every call is inlined; with placement NIC it is a cache
// in front of the host link. A compile-time interface (a concept), because the difference between an inlined
// call and an indirect one is a third of a small transaction.
#pragma once

#include <concepts>

#include "txn/commit/node.h"
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

// A record about a transaction over several shards (txn/commit/node.h), for the log.
struct TransactionRecord {
  commit::Record kind;
  const commit::Transaction* transaction;
  uint32_t local_shard;
  bool in_window;       // its session is open here: the outcome belongs into the window
  Sequence watermark;   // the session's
};

// What a transaction over several shards needs of the back, from PREPARE to its end. `redo` is the writes in the
// back's own form, at most kPreparedBytesMax bytes; the keys are locked all the while.
template <class B>
concept CommitBack = requires(B back, uint32_t local_shard, std::span<const Write> writes, MutableBytes room,
                              Bytes redo, Version version, const TransactionRecord& record, Lsn* lsn) {
  // The writes as redo; answers its length.
  { back.encode_redo(writes, room) } -> std::same_as<uint32_t>;
  // Sets aside the memory that apply() of them will need (DESIGN 4.4, trap 16). False: there is none.
  { back.set_aside(local_shard, writes) } -> std::same_as<bool>;
  {back.give_back(local_shard, redo)};
  // A version for its writes (COMMIT 17). False: see BusyReason.
  { back.take_version(local_shard) } -> std::same_as<Version>;
  // Writes everything under `version`, in the memory that was set aside.
  {back.apply(local_shard, version, redo)};
  // Appends a record. False: the log is full. `*lsn`: it is durable when durable() has come so far; 0 without a log.
  { back.log_transaction(record, lsn) } -> std::same_as<bool>;
};

// `local_shard` counts the worker's own shards (ShardMap::local_shard).
template <class B>
concept Back = CommitBack<B> && requires(B back, const B constant, uint32_t local_shard, uint64_t hash, TableId table,
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
  // Records up to this position are durable: what log_transaction() has given counts by it. Answers with a dependency
  // up to this position may go, unless the back has answerable(), see below.
  { constant.durable() } -> std::same_as<Lsn>;
  // One bounded step of background work: log completions, checkpoint. Answers how much was done.
  { back.poll(now) } -> std::same_as<uint32_t>;
  // Nothing is in flight: a clean stop may go on.
  { constant.quiet() } -> std::same_as<bool>;
};

// Answers with a dependency up to this position may go. A back on the other side of a link has a position of its own
// for that: a commit of one shard in mode `async` waits until the host has it, and not until it is on disk (COMMIT 18).
template <class B>
inline Lsn answerable(const B& back) {
  if constexpr (requires { back.answerable(); }) {
    return back.answerable();
  } else {
    return back.durable();
  }
}

// What a back that may miss says about a key that a transaction names.
struct Want {
  BusyReason busy = BusyReason::kNone;  // it cannot be fetched now, and nothing else may be answered from the cache
  Lsn fetched_at = 0;  // 0: it is here, until the next call of poll(). Else: when fetched() has come so far
};

// A back with `static constexpr bool kMayMiss = true` holds only some of the keys (placement NIC): before the front
// looks a transaction's keys up it asks for all of them, and waits for those that are not here (front/park.h).
template <class B>
concept MissingBack = Back<B> && requires(B back, const B constant, uint32_t local_shard, uint64_t hash, TableId table,
                                          const std::byte* key, uint32_t key_length, TimeNs now) {
  // Before a burst, with a time that was read after its messages came: what the cache has may be told if there is a
  // lease at that time (COMMIT 21). Without one want() is kNotReady.
  {back.begin_burst(now)};
  // Asks for the key if nobody has yet. Does not evict anything.
  { back.want(local_shard, table, key, key_length, hash) } -> std::same_as<Want>;
  // Everything that was asked for up to this position has come. Positions count what was asked for, from 1, and rise.
  { constant.fetched() } -> std::same_as<Lsn>;
};

template <class B>
inline constexpr bool kMayMiss = [] {
  if constexpr (requires { B::kMayMiss; }) {
    static_assert(!B::kMayMiss || MissingBack<B>);
    return B::kMayMiss;
  }
  return false;
}();

}  // namespace txnic::offload
