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
    const Slot* const slot = find(key);
    return slot != nullptr && slot->exclusive;
  }
  // A write of this key must fail.
  bool is_locked(uint64_t key) const { return find(key) != nullptr; }

  // All of them or none. A key stands in `locks` once, with the stronger of its modes.
  Taken acquire(std::span<const Lock> locks);
  void release(std::span<const Lock> locks);

  uint32_t size() const { return used_; }

 private:
  struct Slot {
    uint64_t key;
    uint32_t holders;  // 0: free
    bool exclusive;
  };
  uint32_t home(uint64_t key) const { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15ull) >> 32) & mask_; }
  const Slot* find(uint64_t key) const {
    for (uint32_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].holders == 0) return nullptr;
      if (slots_[at].key == key) return &slots_[at];
    }
  }
  bool acquire_one(const Lock& lock);
  void release_one(const Lock& lock);

  Slot* slots_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t used_ = 0;
  uint32_t limit_ = 0;
};

}  // namespace txnic::commit
