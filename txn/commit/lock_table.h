// SPDX-License-Identifier: BSD-3-Clause
// Locks of prepared transactions: exclusive for keys that are written, shared for keys that are read or checked (COMMIT
// 1). Nobody waits: a conflict is answered LOCKED.
//
// A lock is named by the key's table_hash, present or absent: an absent key has a lock of its own, which is finer
// than its bucket's and keeps it absent just as well. Two keys with one hash share a lock: needless conflicts, nothing
// worse.
#pragma once

#include <span>

#include "txn/types.h"

namespace txnic::commit {

struct Lock {
  uint64_t key;
  bool exclusive;
};

class LockTable {
 public:
  enum class Taken : uint8_t { kYes, kConflict, kFull };

  static size_t memory_bytes(uint32_t locks);
  // `memory`: memory_bytes(locks), 64-aligned, the caller's for the life of the table.
  void init(uint32_t locks, MutableBytes memory);

  // The one branch that a transaction of one shard pays while nothing is prepared.
  bool any() const { return used_ != 0; }
  // A read of this key must fail.
  bool is_write_locked(uint64_t key) const {
    const Node* const node = find(key);
    return node != nullptr && node->exclusive != 0;
  }
  // A write of this key must fail.
  bool is_locked(uint64_t key) const { return find(key) != nullptr; }

  // All of them or none. A key stands in `locks` once, with the stronger of its modes.
  Taken acquire(std::span<const Lock> locks);
  void release(std::span<const Lock> locks);

  uint32_t size() const { return used_; }

 private:
  static constexpr uint32_t kEnd = 0xffffffff;
  // Nodes are reused last in, first out: however large the table is, what is touched is as large as what is locked, and
  // stays in the processor's caches.
  struct Node {
    uint64_t key;
    uint32_t next;
    uint32_t holders : 31;
    uint32_t exclusive : 1;
  };
  uint32_t& head(uint64_t key) const { return heads_[(key * 0x9e3779b97f4a7c15ull) >> 32 & mask_]; }
  const Node* find(uint64_t key) const {
    for (uint32_t at = head(key); at != kEnd; at = nodes_[at].next) {
      if (nodes_[at].key == key) return &nodes_[at];
    }
    return nullptr;
  }
  bool acquire_one(const Lock& lock);
  void release_one(const Lock& lock);

  uint32_t* heads_ = nullptr;
  Node* nodes_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t used_ = 0;
  uint32_t limit_ = 0;
  uint32_t free_ = kEnd;
};

}  // namespace txnic::commit
