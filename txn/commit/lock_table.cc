// SPDX-License-Identifier: BSD-3-Clause
#include "txn/commit/lock_table.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace txnic::commit {
namespace {

// A full table has chains of four to eight; the usual one is nearly empty, and its heads fit a cache.
uint32_t chains(uint32_t locks) { return std::max(std::bit_ceil(locks) / 4, 16u); }

}  // namespace

size_t LockTable::memory_bytes(uint32_t locks) {
  return align64(chains(locks) * sizeof(uint32_t)) + align64(locks * sizeof(Node));
}

void LockTable::init(uint32_t locks, MutableBytes memory) {
  assert(locks != 0 && memory.size() >= memory_bytes(locks));
  mask_ = chains(locks) - 1;
  limit_ = locks;
  used_ = 0;
  heads_ = reinterpret_cast<uint32_t*>(memory.data());
  std::fill_n(heads_, size_t{mask_} + 1, kEnd);
  nodes_ = reinterpret_cast<Node*>(memory.data() + align64((size_t{mask_} + 1) * sizeof(uint32_t)));
  for (uint32_t i = 0; i < locks; ++i) nodes_[i].next = i + 1 < locks ? i + 1 : kEnd;
  free_ = 0;
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
  uint32_t& first = head(lock.key);
  for (uint32_t at = first; at != kEnd; at = nodes_[at].next) {
    Node& node = nodes_[at];
    if (node.key != lock.key) continue;
    if (node.exclusive != 0 || lock.exclusive) return false;
    ++node.holders;
    return true;
  }
  const uint32_t at = free_;
  assert(at != kEnd);
  free_ = nodes_[at].next;
  nodes_[at] = {lock.key, first, 1, lock.exclusive};
  first = at;
  ++used_;
  return true;
}

void LockTable::release_one(const Lock& lock) {
  uint32_t* link = &head(lock.key);
  while (*link != kEnd && nodes_[*link].key != lock.key) link = &nodes_[*link].next;
  assert(*link != kEnd && "a lock is released that nobody holds");
  const uint32_t at = *link;
  Node& node = nodes_[at];
  assert(node.exclusive == lock.exclusive);
  if (--node.holders != 0) return;
  --used_;
  *link = node.next;
  node.next = free_;
  free_ = at;
}

}  // namespace txnic::commit
