// SPDX-License-Identifier: BSD-3-Clause
// The transactions that a worker keeps, found by (session, sequence, shard). Memory is given; nothing moves.
#pragma once

#include "txn/commit/transaction_state.h"
#include "txn/prefetch.h"

namespace txnic::commit {

class TransactionTable {
 public:
  static size_t memory_bytes(uint32_t transactions);
  // `memory`: memory_bytes(transactions), 64-aligned, the caller's for the life of the table.
  void init(uint32_t transactions, MutableBytes memory);

  Transaction* find(const TransactionId& id, ShardId shard);
  // find() of many, in stages, so that their cache misses overlap.
  void prefetch_chain(const TransactionId& id, ShardId shard) { prefetch(&chain(id, shard)); }
  void prefetch_first(const TransactionId& id, ShardId shard) {
    const uint32_t slot = chain(id, shard);
    if (slot == kEnd) return;
    const Transaction& t = transactions_[slot];
    prefetch(&t);
    prefetch(&t.client);
    prefetch(&t.parts);
    prefetch(&t.near);
    prefetch(t.near.data() + 64);
  }
  // Adds one, which must not be there; null when the table is full.
  Transaction* insert(const TransactionId& id, ShardId shard);
  void erase(Transaction* transaction);

  Transaction& at(uint32_t slot) { return transactions_[slot]; }
  const Transaction& at(uint32_t slot) const { return transactions_[slot]; }
  uint32_t slot_of(const Transaction* transaction) const { return static_cast<uint32_t>(transaction - transactions_); }
  uint32_t capacity() const { return capacity_; }
  uint32_t size() const { return size_; }

 private:
  static constexpr uint32_t kEnd = 0xffffffff;
  uint32_t& chain(const TransactionId& id, ShardId shard);

  uint32_t* heads_ = nullptr;
  Transaction* transactions_ = nullptr;
  uint32_t capacity_ = 0;
  uint32_t mask_ = 0;
  uint32_t size_ = 0;
  uint32_t free_ = kEnd;
};

}  // namespace txnic::commit
