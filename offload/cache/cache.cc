// SPDX-License-Identifier: BSD-3-Clause
#include "offload/cache/cache.h"

#include <algorithm>

#include "txn/hash.h"

namespace txnic::offload {

using State = CacheEntry::State;

bool Cache::init(MutableBytes memory, const CacheOptions& options) {
  if (memory.size() < kMinimumBytes || memory.size() > kMaximumBytes) return false;
  if (reinterpret_cast<uintptr_t>(memory.data()) % 64 != 0 || options.entry_bytes < sizeof(CacheEntry)) return false;
  // Four of eight slots used when the log is full of typical entries.
  bucket_count_ = std::max<uint64_t>(memory.size() / (4 * uint64_t{options.entry_bytes} + sizeof(Bucket)), 1);
  bucket_count_ = std::min(bucket_count_, memory.size() / 4 / sizeof(Bucket));
  buckets_ = reinterpret_cast<Bucket*>(memory.data());
  std::fill_n(buckets_, bucket_count_, Bucket{});
  log_ = memory.data() + bucket_count_ * sizeof(Bucket);
  end_ = static_cast<uint32_t>((memory.size() - bucket_count_ * sizeof(Bucket)) / kUnitBytes);
  head_ = tail_ = kFirst;
  wrap_ = occupied_ = aside_ = in_vain_ = written_ = 0;
  last_taken_ = 0;
  entries_ = 0;
  asked_units_ = std::min(options.entry_bytes / kUnitBytes, kEntryUnitsMax);
  epoch_ = 0;
  is_on_ = options.is_on;
  counters_ = {};
  return true;
}

uint64_t Cache::hash_of(const CacheEntry& entry) {
  return table_hash(hash_key(entry.key(), entry.key_length), entry.table);
}

// ---- the log
CacheEntry* Cache::allocate(uint32_t units) {
  if (wrap_ == 0 && head_ + units > end_) {
    wrap_ = head_;
    head_ = kFirst;
  }
  CacheEntry* const entry = at(head_);
  head_ += units;
  occupied_ += units;
  assert(head_ <= (wrap_ != 0 ? tail_ : end_) && "who writes has asked for the room");
  entry->units = static_cast<uint16_t>(units);
  return entry;
}

// Looks at the oldest entry. False: there is none.
bool Cache::sweep_one(Lsn taken) {
  if (tail_ == wrap_) {
    tail_ = kFirst;
    wrap_ = 0;
  }
  if (occupied_ == 0) return false;
  CacheEntry* const entry = at(tail_);
  const uint32_t units = entry->units;
  const bool stays = entry->state != State::kDead && (is_pinned(entry, taken) || entry->is_used);
  if (stays) {
    const uint32_t used = entry->state == State::kPresent ? entry->value_length : 0;
    // Not larger than it has to be, unless what was set aside counts on its place.
    const bool keeps_units = entry->is_locked || entry->state == State::kAsked;
    const uint32_t copied_units = keeps_units ? units : units_of(entry->key_length, used);
    CacheEntry* const copied = allocate(copied_units);
    std::memcpy(copied, entry, sizeof(CacheEntry) + entry->key_length + used);
    copied->units = static_cast<uint16_t>(copied_units);
    copied->is_used = false;
    relink(entry, copied, hash_of(*entry));
    ++counters_.kept;
    in_vain_ += units;
  } else {
    if (entry->state != State::kDead) {
      unlink(entry, hash_of(*entry));
      ++counters_.evictions;
      --entries_;
    }
    in_vain_ = 0;
  }
  tail_ += units;
  occupied_ -= units;
  if (occupied_ == 0) {
    head_ = tail_ = kFirst;
    wrap_ = 0;
  }
  return true;
}

uint32_t Cache::sweep(Lsn taken) {
  ++epoch_;
  if (taken != last_taken_) in_vain_ = 0;
  last_taken_ = taken;
  uint32_t looked_at = 0;
  const uint32_t most = std::min(kSweepStep + kSweepPerWrite * written_, kSweepStepMax);
  written_ = 0;
  // Twice round: once to take the marks away. Then all is pinned, and there is nothing to do until that changes.
  while (looked_at < most && available() < wanted() && in_vain_ <= 2 * uint64_t{occupied_} && sweep_one(taken)) {
    ++looked_at;
  }
  return looked_at;
}

// ---- the index
void Cache::link(CacheEntry* entry, uint64_t hash) {
  Bucket& b = bucket(hash);
  entry->next = kNone;
  for (uint32_t i = 0; i < kSlots; ++i) {
    if (b.references[i] != kNone) continue;
    b.references[i] = reference_of(entry);
    b.tags[i] = tag_of(hash);
    return;
  }
  entry->next = b.chain;
  b.chain = reference_of(entry);
}

void Cache::relink(const CacheEntry* from, CacheEntry* to, uint64_t hash) {
  Bucket& b = bucket(hash);
  const Reference old = reference_of(from);
  for (Reference& r : b.references) {
    if (r != old) continue;
    r = reference_of(to);
    return;
  }
  Reference* r = &b.chain;
  while (*r != old) r = &at(*r)->next;
  *r = reference_of(to);
  to->next = from->next;
}

void Cache::unlink(const CacheEntry* entry, uint64_t hash) {
  Bucket& b = bucket(hash);
  const Reference old = reference_of(entry);
  for (uint32_t i = 0; i < kSlots; ++i) {
    if (b.references[i] != old) continue;
    b.references[i] = b.chain;  // the first of the chain moves up
    if (b.chain == kNone) return;
    CacheEntry* const first = at(b.chain);
    b.tags[i] = tag_of(hash_of(*first));
    b.chain = first->next;
    first->next = kNone;
    return;
  }
  Reference* r = &b.chain;
  while (*r != old) r = &at(*r)->next;
  *r = entry->next;
}

void Cache::kill(CacheEntry* entry, uint64_t hash) {
  unlink(entry, hash);
  entry->state = State::kDead;
  entry->is_locked = false;
  --entries_;
  in_vain_ = 0;
}

// ---- entries
CacheEntry* Cache::write(const CacheKey& key, uint32_t value_length, uint32_t units) {
  CacheEntry* const entry = allocate(units);
  *entry = CacheEntry{};
  entry->units = static_cast<uint16_t>(units);
  entry->table = key.table;
  entry->local_shard = static_cast<uint16_t>(key.local_shard);
  entry->key_length = key.length;
  entry->value_length = static_cast<uint16_t>(value_length);
  entry->epoch = epoch_;
  ++written_;
  copy(entry->key(), key.key, key.length);
  ++entries_;
  return entry;
}

CacheEntry* Cache::ask(const CacheKey& key, Lsn position) {
  const uint32_t units = std::max(units_of(key.length, 0), asked_units_);
  if (!can_ask(key.length)) {
    ++counters_.no_room;
    return nullptr;
  }
  ++counters_.misses;
  CacheEntry* const entry = write(key, 0, units);
  entry->state = State::kAsked;
  entry->position = position;
  link(entry, key.hash);
  return entry;
}

CacheEntry* Cache::fill(CacheEntry* asked, Version version, Bytes value, Lsn taken) {
  assert(asked->state == State::kAsked);
  // A copy, because the sweep may move the entry.
  std::array<std::byte, limits::kKeyBytesMax> bytes;
  copy(bytes.data(), asked->key(), asked->key_length);
  const CacheKey key{hash_of(*asked), bytes.data(), asked->local_shard, asked->table, asked->key_length};
  const uint32_t units = units_of(key.length, static_cast<uint32_t>(value.size()));
  for (uint32_t i = 0; i < kSweepStep && !can_take(units) && sweep_one(taken); ++i) {
  }
  asked = find(key);
  if (asked->units < units && !can_take(units)) {
    kill(asked, key.hash);
    ++counters_.no_room;
    return nullptr;
  }
  CacheEntry* const entry = put(key, asked, version, value, 0);
  entry->is_fresh = true;
  return entry;
}

void Cache::fill_absent(CacheEntry* asked) {
  assert(asked->state == State::kAsked);
  asked->state = State::kAbsent;
  asked->position = 0;
  asked->is_fresh = true;
}

CacheEntry* Cache::put(const CacheKey& key, CacheEntry* existing, Version version, Bytes value, Lsn position) {
  const auto length = static_cast<uint32_t>(value.size());
  CacheEntry* entry = existing;
  if (put_units(existing, key.length, length) == 0) [[likely]] {
    copy(entry->value(), value.data(), length);
  } else {
    entry = write(key, length, units_of(key.length, length));
    copy(entry->value(), value.data(), length);
    if (existing == nullptr) {
      link(entry, key.hash);
    } else {
      entry->next = kNone;
      relink(existing, entry, key.hash);
      existing->state = State::kDead;
      existing->is_locked = false;
      in_vain_ = 0;
      --entries_;
    }
  }
  entry->state = State::kPresent;
  entry->version = version;
  entry->position = position;
  entry->value_length = static_cast<uint16_t>(length);
  entry->is_fresh = false;
  return entry;
}

void Cache::erase(const CacheKey& key, CacheEntry* existing, Lsn position) {
  CacheEntry* entry = existing;
  if (entry == nullptr) {
    entry = write(key, 0, units_of(key.length, 0));
    link(entry, key.hash);
  }
  entry->state = State::kAbsent;
  entry->position = position;
  entry->value_length = 0;
  entry->is_fresh = false;
}

// ---- prepared transactions
bool Cache::set_aside(CacheEntry* existing, uint32_t key_length, uint32_t value_length) {
  const bool is_here = existing != nullptr && existing->state != State::kAsked;
  const uint32_t units = put_units(is_here ? existing : nullptr, key_length, value_length);
  if (!can_take(units)) {
    ++counters_.no_room;
    return false;
  }
  aside_ += units;
  if (is_here) existing->is_locked = true;
  return true;
}

void Cache::give_back(CacheEntry* existing, uint32_t key_length, uint32_t value_length) {
  // What was not here then may have come since (fetched by a question that was older); it is not locked, and the
  // room was set aside.
  const bool was_here = existing != nullptr && existing->is_locked;
  aside_ -= put_units(was_here ? existing : nullptr, key_length, value_length);
  if (was_here) existing->is_locked = false;
  in_vain_ = 0;
}

}  // namespace txnic::offload
