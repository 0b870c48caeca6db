// SPDX-License-Identifier: BSD-3-Clause
#include "txn/commit/transaction_table.h"

#include <bit>
#include <cassert>
#include <new>

#include "txn/hash.h"

namespace txnic::commit {
namespace {

constexpr size_t kFarBytes = align64(Transaction::kContentBytesMax);
uint32_t chains(uint32_t transactions) { return std::bit_ceil(transactions * 2); }

}  // namespace

size_t TransactionTable::memory_bytes(uint32_t transactions) {
  return align64(chains(transactions) * sizeof(uint32_t)) + align64(transactions * sizeof(Transaction)) +
         size_t{transactions} * kFarBytes;
}

void TransactionTable::init(uint32_t transactions, MutableBytes memory) {
  assert(transactions != 0 && memory.size() >= memory_bytes(transactions));
  capacity_ = transactions;
  mask_ = chains(transactions) - 1;
  size_ = 0;
  heads_ = reinterpret_cast<uint32_t*>(memory.data());
  for (uint32_t i = 0; i <= mask_; ++i) heads_[i] = kEnd;
  std::byte* const at = memory.data() + align64((size_t{mask_} + 1) * sizeof(uint32_t));
  transactions_ = reinterpret_cast<Transaction*>(at);
  std::byte* const far = at + align64(transactions * sizeof(Transaction));
  free_ = 0;
  for (uint32_t i = 0; i < transactions; ++i) {
    new (&transactions_[i]) Transaction;
    transactions_[i].far = far + i * kFarBytes;
    transactions_[i].next = i + 1 < transactions ? i + 1 : kEnd;
  }
}

uint32_t& TransactionTable::chain(const TransactionId& id, ShardId shard) {
  const uint64_t hash = mix64(id.session ^ mix64(id.sequence << 16 | shard));
  return heads_[static_cast<uint32_t>(hash) & mask_];
}

Transaction* TransactionTable::find(const TransactionId& id, ShardId shard) {
  for (uint32_t slot = chain(id, shard); slot != kEnd; slot = transactions_[slot].next) {
    Transaction& t = transactions_[slot];
    if (t.id == id && t.shard == shard) return &t;
  }
  return nullptr;
}

Transaction* TransactionTable::insert(const TransactionId& id, ShardId shard) {
  assert(find(id, shard) == nullptr);
  if (free_ == kEnd) return nullptr;
  const uint32_t slot = free_;
  Transaction& t = transactions_[slot];
  free_ = t.next;
  const uint32_t generation = t.generation + 1;
  std::byte* const far = t.far;
  new (&t) Transaction;  // the arrays stay as they are
  t.far = far;
  t.generation = generation;
  t.id = id;
  t.shard = shard;
  t.in_use = true;
  uint32_t& head = chain(id, shard);
  t.next = head;
  head = slot;
  ++size_;
  return &t;
}

void TransactionTable::erase(Transaction* transaction) {
  assert(transaction->in_use);
  const uint32_t slot = slot_of(transaction);
  uint32_t* link = &chain(transaction->id, transaction->shard);
  while (*link != slot) link = &transactions_[*link].next;
  *link = transaction->next;
  transaction->in_use = false;
  transaction->next = free_;
  free_ = slot;
  --size_;
}

}  // namespace txnic::commit
