// SPDX-License-Identifier: BSD-3-Clause
// What the front on a SmartNIC holds of the host's store: versions and values of hot keys, in memory that is given at
// the start and never grows. A miss is a question to the host, never an error.
//
//   memory  | buckets | log: ... | dead | entry | entry | entry | ...        |
//                                ^ tail                         ^ head
//
// Entries of any length lie in a circular log (MICA, NSDI 2014): new ones are written at its head, and a sweep frees
// the place at its tail. The sweep is CLOCK, the second-chance algorithm (Corbato 1968, for Multics): an entry that was
// used since it was written is written again at the head, without its mark; one that was not is evicted. Pinned
// entries are always written again. So there are no size classes that could starve each other, and no search for a
// victim. Index: an array of buckets of one cache line, eight slots each; more keys than that chain through the
// entries.
//
// An entry is one of
//   present  the key's version and value;
//   absent   the key is known not to be there (its version is the absence filter's, cache/absence.h);
//   asked    the host was asked for it; the answer turns it into one of the other two.
// It is pinned while it is asked, dirty (changed here by an APPEND that the back has not taken) or locked (written by
// a prepared transaction). All others are clean: the host has the same, so they may go at any time.
//
// Caveats first: a pointer to an entry is stable until the next sweep() or fill(), and until a put() of the same key.
// `hash` is always table_hash of the key. Writers ask can_take() before the first put() of a transaction.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "txn/limits.h"
#include "txn/prefetch.h"
#include "txn/types.h"

namespace txnic::offload {

struct CacheEntry {
  enum class State : uint8_t { kPresent, kAbsent, kAsked, kDead };

  Version version;
  Lsn position;   // present, absent: dirty until the back has taken the link's entries up to here; asked: of the FETCH
  uint32_t next;  // in the bucket's chain, kNone at its end
  TableId table;
  uint16_t local_shard;
  uint8_t key_length;
  State state : 2;
  bool is_locked : 1;
  bool is_used : 1;   // since it was written to the log; the use for which it was fetched does not count
  bool is_fresh : 1;  // came from the host, and nobody has used it yet
  uint16_t value_length;
  uint16_t units;  // size of the entry's place
  uint16_t epoch;  // cache off: the sweep after which it was used

  std::byte* key() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* key() const { return reinterpret_cast<const std::byte*>(this + 1); }
  std::byte* value() { return key() + key_length; }
  const std::byte* value() const { return key() + key_length; }
};
static_assert(sizeof(CacheEntry) == 32);

// A key as the cache takes it; `key` is valid during the call.
struct CacheKey {
  uint64_t hash;
  const std::byte* key;
  uint32_t local_shard;
  TableId table;
  uint8_t length;
};

struct CacheOptions {
  bool is_on = true;          // off: what is not in flight is a miss (an ablation)
  uint32_t entry_bytes = 96;  // of a typical entry, header (32) and key counted in: sizes the index, and the place that
                              // is kept for an answer (another is found for a longer one)
};

struct CacheCounters {
  uint64_t hits = 0;    // keys that a transaction named and that were here, first asking only
  uint64_t misses = 0;  // asked of the host
  uint64_t joined = 0;  // already on their way
  uint64_t evictions = 0;
  uint64_t kept = 0;     // written again by the sweep: a second chance, or pinned
  uint64_t no_room = 0;  // everything is pinned, or more is needed at once than the sweep has freed
};

class Cache {
 public:
  static constexpr uint32_t kUnitBytes = 16;
  static constexpr uint32_t kEntryUnitsMax =
      (sizeof(CacheEntry) + limits::kKeyBytesMax + limits::kValueBytesMax + kUnitBytes - 1) / kUnitBytes;
  static constexpr uint64_t kMinimumBytes = 256u << 10;  // a transaction of the largest size fits several times
  static constexpr uint64_t kMaximumBytes = uint64_t{kUnitBytes} << 32;
  // Entries looked at in one sweep: so many, and for each that was written since the last one so many more (one that
  // makes its place free, and one that has a second chance), but never more than the last.
  static constexpr uint32_t kSweepStep = 64, kSweepPerWrite = 2, kSweepStepMax = 4096;

  // `memory`: 64-aligned, outlives this. False: too little or too much of it, or not aligned.
  bool init(MutableBytes memory, const CacheOptions& options);

  // ---- lookup, in stages as the store's: prefetch_bucket for a whole burst, prefetch_record for it, then find.
  void prefetch_bucket(uint64_t hash) const { prefetch(&bucket(hash)); }
  // Answers whether there may be an entry.
  bool prefetch_record(uint64_t hash) const;
  // Null: nothing is known of the key.
  CacheEntry* find(const CacheKey& key);

  // What want() of a back asks first: true if the key is here until the next sweep(). Else `*entry` is the asked entry,
  // or null if nobody asks yet. Marks and counts.
  bool has(const CacheKey& key, Lsn taken, CacheEntry** entry);
  // Whether ask() has room.
  bool can_ask(uint32_t key_length) const { return can_take(std::max(units_of(key_length, 0), asked_units_)); }
  // Notes that the host was asked for a key of which nothing is known. Null: no room. Evicts nothing.
  CacheEntry* ask(const CacheKey& key, Lsn position);
  // The host's answer for an asked entry. May sweep. Null: no room; the key is not asked any more.
  CacheEntry* fill(CacheEntry* asked, Version version, Bytes value, Lsn taken);
  void fill_absent(CacheEntry* asked);

  // ---- writes. Units of the log that a put() of this takes; 0 if it goes where `existing` (may be null) stands.
  static uint32_t units_of(uint32_t key_length, uint32_t value_length) {
    return static_cast<uint32_t>((sizeof(CacheEntry) + key_length + value_length + kUnitBytes - 1) / kUnitBytes);
  }
  static uint32_t put_units(const CacheEntry* existing, uint32_t key_length, uint32_t value_length) {
    const uint32_t units = units_of(key_length, value_length);
    return existing != nullptr && existing->units >= units ? 0 : units;
  }
  bool can_take(uint64_t units) const { return static_cast<int64_t>(units) <= available(); }
  // Writes the key's value; dirty until `position` is taken. `existing`: find()'s, or null. Cannot fail after
  // can_take() or set_aside() (asserted). `value` must not lie in the cache, except in `existing`.
  CacheEntry* put(const CacheKey& key, CacheEntry* existing, Version version, Bytes value, Lsn position);
  // The key is deleted. Needs no room if there is an entry; units_of(key, 0) if there is none.
  void erase(const CacheKey& key, CacheEntry* existing, Lsn position);

  // ---- writes of prepared transactions (DESIGN 4.4, trap 16): their keys are locked, in the front's lock table and
  // here, from set_aside() to give_back(), which frees what was set aside for whatever follows at once. False: no room.
  // To be told the same lengths both times; `existing` is looked up anew each time.
  bool set_aside(CacheEntry* existing, uint32_t key_length, uint32_t value_length);
  void give_back(CacheEntry* existing, uint32_t key_length, uint32_t value_length);

  // ---- one bounded step of eviction, so that there is room for the next burst. `taken`: the link's position up to
  // which the back has everything. Answers how many entries it looked at.
  uint32_t sweep(Lsn taken);

  const CacheCounters& counters() const { return counters_; }
  uint64_t entries() const { return entries_; }
  uint64_t log_bytes() const { return uint64_t{end_ - kFirst} * kUnitBytes; }
  uint64_t used_bytes() const { return uint64_t{occupied_} * kUnitBytes; }

 private:
  using Reference = uint32_t;  // a place in the log in units; unit 0 is not used
  static constexpr Reference kNone = 0;
  static constexpr uint32_t kFirst = 4;
  static constexpr uint32_t kSlots = 8;
  // Never given away. Up to one largest entry is lost at the log's end while head and tail are on different rounds, and
  // an entry is written at the head before its old place is freed.
  static constexpr uint32_t kSpareUnits = 2 * kEntryUnitsMax;

  struct alignas(64) Bucket {
    std::array<uint16_t, kSlots> tags;  // of used slots
    std::array<Reference, kSlots> references;
    Reference chain;  // entries that found no slot
  };
  static_assert(sizeof(Bucket) == 64);

  // The upper half of the hash once more mixed: keys of one shard share its top bits.
  static uint64_t mix(uint64_t hash) { return (hash ^ hash >> 31) * 0x9e3779b97f4a7c15; }
  Bucket& bucket(uint64_t hash) const { return buckets_[((mix(hash) >> 32) * bucket_count_) >> 32]; }
  static uint16_t tag_of(uint64_t hash) { return static_cast<uint16_t>(mix(hash)); }
  static uint32_t match(const Bucket& bucket, uint16_t tag);
  static uint64_t hash_of(const CacheEntry& entry);
  CacheEntry* at(Reference reference) const {
    return reinterpret_cast<CacheEntry*>(log_ + uint64_t{reference} * kUnitBytes);
  }
  Reference reference_of(const CacheEntry* entry) const {
    return static_cast<Reference>(static_cast<uint64_t>(reinterpret_cast<const std::byte*>(entry) - log_) / kUnitBytes);
  }
  static bool is_key(const CacheEntry* entry, const CacheKey& key);
  static bool is_pinned(const CacheEntry* entry, Lsn taken) {
    return entry->is_locked || entry->state == CacheEntry::State::kAsked || entry->position > taken;
  }
  int64_t available() const {
    return static_cast<int64_t>(end_ - kFirst) - occupied_ - aside_ - static_cast<int64_t>(kSpareUnits);
  }
  // What sweep() keeps free: an eighth, at most what a burst of full messages may write.
  int64_t wanted() const {
    constexpr int64_t kMessageUnits =
        (limits::kMessageBytesMax + limits::kOperationsMax * sizeof(CacheEntry)) / kUnitBytes;
    return std::min<int64_t>((end_ - kFirst) / 8, limits::kBurstMax * kMessageUnits);
  }

  CacheEntry* allocate(uint32_t units);
  CacheEntry* write(const CacheKey& key, uint32_t value_length, uint32_t units);
  void link(CacheEntry* entry, uint64_t hash);
  void relink(const CacheEntry* from, CacheEntry* to, uint64_t hash);
  void unlink(const CacheEntry* entry, uint64_t hash);
  void kill(CacheEntry* entry, uint64_t hash);
  bool sweep_one(Lsn taken);
  static void copy(std::byte* to, const std::byte* from, size_t length) {
    if (length != 0) std::memmove(to, from, length);
  }

  Bucket* buckets_ = nullptr;
  std::byte* log_ = nullptr;
  uint64_t bucket_count_ = 0;
  uint32_t end_ = 0;       // of the log, in units
  uint32_t head_ = 0;      // where the next entry goes
  uint32_t tail_ = 0;      // the oldest one
  uint32_t wrap_ = 0;      // where the tail goes back to the start, as the head did; 0: the head has not
  uint32_t occupied_ = 0;  // units between tail and head, without what is lost at the end
  uint32_t aside_ = 0;     // units set aside
  uint32_t in_vain_ = 0;   // units swept since something was freed, or may be free since
  Lsn last_taken_ = 0;
  uint64_t entries_ = 0;
  uint32_t asked_units_ = 0;
  uint32_t written_ = 0;  // entries, since the last sweep
  uint16_t epoch_ = 0;
  bool is_on_ = true;
  CacheCounters counters_;
};

inline bool Cache::is_key(const CacheEntry* entry, const CacheKey& key) {
  return entry->table == key.table && entry->key_length == key.length && entry->local_shard == key.local_shard &&
         std::memcmp(entry->key(), key.key, key.length) == 0;
}

inline uint32_t Cache::match(const Bucket& bucket, uint16_t tag) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < kSlots; ++i) {
    found |= static_cast<uint32_t>(bucket.tags[i] == tag && bucket.references[i] != kNone) << i;
  }
  return found;
}

inline bool Cache::prefetch_record(uint64_t hash) const {
  const Bucket& b = bucket(hash);
  const uint32_t candidates = match(b, tag_of(hash));
  for (uint32_t found = candidates; found != 0; found &= found - 1) {
    const auto* const entry =
        reinterpret_cast<const std::byte*>(at(b.references[static_cast<uint32_t>(std::countr_zero(found))]));
    prefetch(entry);
    prefetch(entry + 64);
  }
  if (b.chain != kNone) [[unlikely]]
    prefetch(at(b.chain));
  return candidates != 0 || b.chain != kNone;
}

inline CacheEntry* Cache::find(const CacheKey& key) {
  const Bucket& b = bucket(key.hash);
  for (uint32_t found = match(b, tag_of(key.hash)); found != 0; found &= found - 1) {
    CacheEntry* const entry = at(b.references[static_cast<uint32_t>(std::countr_zero(found))]);
    if (is_key(entry, key)) [[likely]]
      return entry;
  }
  for (Reference r = b.chain; r != kNone; r = at(r)->next) {
    if (is_key(at(r), key)) return at(r);
  }
  return nullptr;
}

inline bool Cache::has(const CacheKey& key, Lsn taken, CacheEntry** entry) {
  CacheEntry* const found = find(key);
  *entry = found;
  if (found == nullptr) return false;
  if (found->state == CacheEntry::State::kAsked) {
    ++counters_.joined;
    return false;
  }
  const bool is_first = !found->is_fresh;
  if (!is_on_ && is_first && found->epoch != epoch_ && !is_pinned(found, taken)) [[unlikely]] {
    kill(found, key.hash);
    *entry = nullptr;
    return false;
  }
  counters_.hits += is_first;
  found->is_used |= is_first;
  found->is_fresh = false;
  found->epoch = epoch_;
  return true;
}

}  // namespace txnic::offload
