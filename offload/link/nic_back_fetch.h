// SPDX-License-Identifier: BSD-3-Clause
// Lookups of the back on the NIC: cache, filter, questions to the host.
#pragma once

#include "offload/link/nic_back.h"
#include "txn/hash.h"

namespace txnic::offload {

template <class Link>
bool NicBackOf<Link>::init(const NicBackConfig& config, std::span<const TableId> tables, MutableBytes cache,
                           MutableBytes filter, Link* link, KeptReader* kept) {
  config_ = config;
  link_ = link;
  kept_ = kept;
  is_serving_ = has_lease_ = false;
  counters_ = {};
  mark_head_ = mark_tail_ = 0;
  tables_.fill(0);
  for (const TableId table : tables) tables_[table / 64] |= uint64_t{1} << table % 64;
  if (config.shards == 0 || config.shards > limits::kShardsMax) return false;
  const size_t each = filter.size() / config.shards / Absence::kBlockBytes * Absence::kBlockBytes;
  if (each == 0) return false;
  for (uint32_t i = 0; i < config.shards; ++i) shards_[i].absence.init(filter.subspan(i * each, each), 0);
  return cache_.init(cache, config.cache);
}

template <class Link>
void NicBackOf<Link>::serve(uint32_t incarnation) {
  for (uint32_t i = 0; i < config_.shards; ++i) {
    Shard& shard = shards_[i];
    shard.newest = shard.answerable = first_version(incarnation);
    shard.absence.start(first_version(incarnation));
  }
  is_serving_ = true;
}

template <class Link>
inline Found NicBackOf<Link>::find(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length,
                                   uint64_t hash) {
  CacheEntry* const entry = cache_.find({hash, key, local_shard, table, static_cast<uint8_t>(key_length)});
  if (entry == nullptr || entry->state != CacheEntry::State::kPresent) {
    return {nullptr, shards_[local_shard].absence.version(hash), nullptr, 0};
  }
  return {entry, entry->version, entry->value(), entry->value_length};
}

template <class Link>
inline Want NicBackOf<Link>::want(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length,
                                  uint64_t hash) {
  if (!has_lease_) [[unlikely]] {
    ++counters_.no_lease;
    return {BusyReason::kNotReady, 0};
  }
  const CacheKey wanted{hash, key, local_shard, table, static_cast<uint8_t>(key_length)};
  CacheEntry* entry = nullptr;
  if (cache_.has(wanted, link_->taken(), &entry)) [[likely]]
    return {};
  if (entry != nullptr) return {BusyReason::kNone, entry->position};
  if (shards_[local_shard].absence.is_absent(hash)) {
    ++counters_.absent_by_filter;
    return {};
  }
  if (!cache_.can_ask(key_length)) [[unlikely]] {
    ++counters_.cache_full;
    return {BusyReason::kFetching, 0};
  }
  const Lsn number = link_->ask(local_shard, table, key, key_length);
  if (number == 0) [[unlikely]] {
    ++counters_.link_full;
    return {BusyReason::kLink, 0};
  }
  cache_.ask(wanted, number);
  return {BusyReason::kNone, number};
}

template <class Link>
void NicBackOf<Link>::on_fetched(Lsn number, const link::Question& question, const link::Answer& answer) {
  const uint64_t hash = table_hash(hash_key(question.key, question.key_length), question.table);
  const CacheKey key{hash, question.key, question.local_shard, question.table, question.key_length};
  CacheEntry* const entry = cache_.find(key);
  if (entry == nullptr || entry->state != CacheEntry::State::kAsked || entry->position != number) {
    ++counters_.stale;
    return;
  }
  if (!answer.is_present) {
    ++counters_.absent_by_host;
    cache_.fill_absent(entry);
  } else if (cache_.fill(entry, answer.version, answer.value, link_->taken()) == nullptr) {
    ++counters_.dropped;
  }
}

template <class Link>
void NicBackOf<Link>::on_fill(uint32_t local_shard, std::span<const uint64_t> hashes) {
  if (!config_.use_filter) return;
  for (const uint64_t hash : hashes) shards_[local_shard].absence.fill(hash);
}

template <class Link>
uint32_t NicBackOf<Link>::poll(TimeNs now) {
  uint32_t done = 0;
  const Lsn position = answerable();
  for (; mark_head_ != mark_tail_; ++mark_head_, ++done) {
    const Mark& mark = marks_[mark_head_ % marks_.size()];
    if (mark.position > position) break;
    Shard& shard = shards_[mark.local_shard];
    shard.answerable = std::max(shard.answerable, mark.version);
  }
  cache_.sweep(link_->taken());
  return done + link_->poll(now);
}

template <class Link>
NicBackCounters NicBackOf<Link>::counters() const {
  NicBackCounters all = counters_;
  const CacheCounters& cache = cache_.counters();
  all.hits = cache.hits;
  all.misses = cache.misses;
  all.joined = cache.joined;
  all.evictions = cache.evictions;
  all.kept = cache.kept;
  all.entries = cache_.entries();
  all.cache_bytes = cache_.log_bytes();
  all.cache_used_bytes = cache_.used_bytes();
  return all;
}

}  // namespace txnic::offload
