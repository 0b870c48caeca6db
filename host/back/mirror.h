// SPDX-License-Identifier: BSD-3-Clause
// With placement NIC: what the back keeps of its front's memory, in every durability mode, so that the front's death
// loses nothing (DESIGN 6): session windows, and transactions over several shards that are not over. It reads the
// records that the front appends, as recovery would read them from the log, and tells them to the next front (or to
// RecoveredState) in a checkpoint's form. All memory is taken at start.
//
// Transactions are kept as the bytes of their newest record. What is kept how long is KeptTransactions' rule
// (host/log/kept_transactions.h); but promises without a session, which only a restart would forget there, are dropped
// oldest first when there are as many as the front keeps transactions.
#pragma once

#include <memory>
#include <vector>

#include "txn/record/transaction_record.h"
#include "txn/session.h"

namespace txnic::back {

struct MirrorConfig {
  uint32_t worker = 0;
  uint32_t worker_count = 1;
  SessionLimits sessions;                                      // the front's
  uint32_t transactions = limits::kCommitTransactionsDefault;  // the front's
};

class Mirror {
 public:
  explicit Mirror(const MirrorConfig& config);

  // The next record, of which is known: its header makes sense, and if it is about a transaction over several shards
  // `entry` is it, taken apart, else null. False: there is no room for its session or transaction, though the front had
  // room: the two do not agree.
  bool apply(Bytes record, const log::TransactionEntry* entry);

  // The record of a transaction that is prepared, or empty; and whether memory for its writes is set aside, which the
  // caller does and notes here.
  Bytes prepared(const TransactionId& id, ShardId shard, bool* is_set_aside) const;
  void note_set_aside(const TransactionId& id, ShardId shard, bool is_set_aside) {
    slots_[find(id, shard)].is_set_aside = is_set_aside;
  }

  // ---- hand-over: shard versions are the caller's, they come first.
  struct Cursor {
    uint32_t slot = 0, session = 0, entry = 0;
    bool session_told = false;
  };
  // Lays the next records of what is kept, whole ones, and answers how many bytes; 0: that was all.
  uint32_t tell(Cursor* cursor, MutableBytes room) const;

  // ---- for checkpoints: slots of transactions; one stays in its slot as long as it is kept.
  uint32_t capacity() const { return static_cast<uint32_t>(slots_.size()); }
  Bytes kept(uint32_t slot) const { return slots_[slot].length == 0 ? Bytes() : bytes_of(slot); }
  SessionTable& sessions() { return sessions_; }
  const SessionTable& sessions() const { return sessions_; }
  uint32_t transactions() const { return used_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint32_t kSlotBytes = log::kTransactionBytesMax;
  struct Slot {
    TransactionId id;
    uint64_t age = 0;       // when it became a promise without a session
    uint32_t length = 0;    // of the record; 0: free
    uint32_t next = kNone;  // of the same bucket, or free
    ShardId shard = 0;
    bool is_prepared = false;
    bool is_set_aside = false;
    bool is_over = false;  // decided, and nobody waits to be told: only the outcome is kept
  };

  Bytes bytes_of(uint32_t slot) const { return {records_.get() + size_t{slot} * kSlotBytes, slots_[slot].length}; }
  uint32_t& bucket(const TransactionId& id) {
    return buckets_[(id.session * 0x9e3779b97f4a7c15 + id.sequence * 0xbf58476d1ce4e5b9) >> bucket_shift_];
  }
  uint32_t find(const TransactionId& id, ShardId shard) const;
  uint32_t insert(const TransactionId& id, ShardId shard);
  void remove(uint32_t slot);
  bool on_transaction(const log::TransactionEntry& entry, ShardId shard);
  bool on_outcome(SessionId session, ShardId shard, Outcome outcome, Sequence watermark);
  bool on_open(Bytes record);
  void on_close(SessionId session);
  Session* session_of(SessionId id);
  uint32_t local_shard(ShardId shard) const { return shard / config_.worker_count; }
  bool tell_session(const Session& session, Cursor* cursor, MutableBytes room, uint32_t* used) const;

  const MirrorConfig config_;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> session_memory_;
  SessionTable sessions_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> records_;
  std::vector<uint32_t> buckets_;
  uint32_t bucket_shift_ = 0;
  uint32_t free_ = kNone;
  uint32_t used_ = 0, over_ = 0;
  uint64_t age_ = 0;
};

}  // namespace txnic::back
