// SPDX-License-Identifier: BSD-3-Clause
#include "txn/commit/lock_table.h"

#include <bit>
#include <cassert>

namespace txnic::commit {

// Twice as many slots as locks: probes stay short, and there is always a free slot to end them.
size_t LockTable::memory_bytes(uint32_t locks) { return std::bit_ceil(size_t{locks} * 2) * sizeof(Slot); }

void LockTable::init(uint32_t locks, MutableBytes memory) {
  assert(locks != 0 && memory.size() >= memory_bytes(locks));
  mask_ = static_cast<uint32_t>(std::bit_ceil(size_t{locks} * 2) - 1);
  limit_ = locks;
  used_ = 0;
  slots_ = reinterpret_cast<Slot*>(memory.data());
  for (uint32_t i = 0; i <= mask_; ++i) slots_[i] = Slot{};
}

LockTable::Taken LockTable::acquire(std::span<const Lock> locks) {
  if (used_ + locks.size() > limit_) return Taken::kFull;
  for (size_t i = 0; i < locks.size(); ++i) {
    if (acquire_one(locks[i])) continue;
    release(locks.first(i));
    return Taken::kConflict;
  }
  return Taken::kYes;
}

void LockTable::release(std::span<const Lock> locks) {
  for (const Lock& lock : locks) release_one(lock);
}

bool LockTable::acquire_one(const Lock& lock) {
  uint32_t at = home(lock.key);
  while (slots_[at].holders != 0 && slots_[at].key != lock.key) at = (at + 1) & mask_;
  Slot& slot = slots_[at];
  if (slot.holders == 0) {
    slot = {lock.key, 1, lock.exclusive};
    ++used_;
    return true;
  }
  if (slot.exclusive || lock.exclusive) return false;
  ++slot.holders;
  return true;
}

void LockTable::release_one(const Lock& lock) {
  uint32_t at = home(lock.key);
  while (slots_[at].key != lock.key || slots_[at].holders == 0) {
    assert(slots_[at].holders != 0 && "a lock is released that nobody holds");
    at = (at + 1) & mask_;
  }
  assert(slots_[at].exclusive == lock.exclusive);
  if (--slots_[at].holders != 0) return;
  --used_;
  // Close the gap: a later slot moves up if its home is not between the gap and itself.
  uint32_t gap = at;
  for (uint32_t next = (gap + 1) & mask_; slots_[next].holders != 0; next = (next + 1) & mask_) {
    const uint32_t from_home = (next - home(slots_[next].key)) & mask_;
    if (from_home >= ((next - gap) & mask_)) {
      slots_[gap] = slots_[next];
      slots_[next].holders = 0;
      gap = next;
    }
  }
}

}  // namespace txnic::commit
