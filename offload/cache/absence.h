// SPDX-License-Identifier: BSD-3-Clause
// Which keys of a shard are certainly absent, and since when: lets the front on the NIC answer for an absent key
// without asking the host. A blocked Bloom filter (Putze, Sanders, Singler 2007: all bits of a key in one cache line)
// whose blocks carry a version each.
//
// Filled once with every key that the back has, then kept by the front's own inserts: under its lease nobody else
// changes the shard. A delete leaves the bits, so the filter only gets less sharp: "maybe" is a question to the host.
//
// The version of an absent key (DESIGN 4.4, trap 2). It must differ from every version read before whenever the key
// was inserted or deleted in between. changed() is called with the commit version of every insert and delete, and the
// block keeps the newest; so after an insert at version w the block's version is at least w, and what was read before
// is below w, because versions of a shard rise: never equal again. A prepared transaction takes w early and is applied
// after others of the block; its key is locked all that time, so nobody reads the key's absence between the two, and
// the maximum stays right (COMMIT 17). The caller must therefore look at the locks before it asks here. The block's
// version is used for every absent key of it, however the absence was learned (here, from the cache, or by a fetch).
// Mixing in the version of the host's bucket would be as safe, but a read answered by one and validated by the other
// would fail without need. Blocks start at the incarnation's first version: a read under another incarnation never
// equals one of this (COMMIT 14, 21).
#pragma once

#include <algorithm>
#include <array>
#include <cassert>

#include "txn/prefetch.h"
#include "txn/types.h"

namespace txnic::offload {

class Absence {
 public:
  // At this number of keys a block 1.1 % of absent keys are a maybe (measured: 2,201 of 200,000); more keys, more.
  static constexpr uint32_t kKeysPerBlock = 44;
  static constexpr uint32_t kBlockBytes = 64;

  static size_t memory_bytes(uint64_t keys) { return (keys / kKeysPerBlock + 1) * kBlockBytes; }

  // `memory`: kBlockBytes-aligned, at least one block, outlives this; as many blocks as fit. `first`: the incarnation's
  // first version. Until fill_done() every key is a maybe.
  void init(MutableBytes memory, Version first) {
    assert(memory.size() >= kBlockBytes);
    blocks_ = reinterpret_cast<Block*>(memory.data());
    count_ = std::min<uint64_t>(memory.size() / kBlockBytes, UINT32_MAX);
    start(first);
  }
  // Empty again, under another incarnation.
  void start(Version first) {
    std::fill_n(blocks_, count_, Block{first, {}});
    is_filled_ = false;
  }

  // The back has this key. `hash`: table_hash.
  void fill(uint64_t hash) { set(blocks_[index(hash)], hash); }
  // That were all keys of the shard, as of a moment after which every change is reported by changed().
  void fill_done() { is_filled_ = true; }
  bool is_filled() const { return is_filled_; }

  // The key was inserted or deleted under `version`.
  void changed(uint64_t hash, Version version, bool is_present) {
    Block& block = blocks_[index(hash)];
    block.version = std::max(block.version, version);
    if (is_present) set(block, hash);
  }

  // True: the key is certainly not there. False: it may be.
  bool is_absent(uint64_t hash) const {
    if (!is_filled_) return false;
    const Block& block = blocks_[index(hash)];
    uint64_t missing = 0;
    each_bit(hash, [&](uint32_t word, uint64_t bit) { missing |= ~block.bits[word] & bit; });
    return missing != 0;
  }
  // Of an absent key.
  Version version(uint64_t hash) const { return blocks_[index(hash)].version; }

  void prefetch(uint64_t hash) const { txnic::prefetch(&blocks_[index(hash)]); }

 private:
  static constexpr uint32_t kWords = 7;
  static constexpr uint32_t kBitsPerKey = 6;
  struct alignas(kBlockBytes) Block {
    Version version;
    std::array<uint64_t, kWords> bits;
  };
  static_assert(sizeof(Block) == kBlockBytes);

  // Keys of one shard share some of their hash's bits, so it is mixed once more.
  uint64_t index(uint64_t hash) const { return ((hash * 0x9e3779b97f4a7c15 >> 32) * count_) >> 32; }

  template <class F>
  static void each_bit(uint64_t hash, F&& f) {
    uint64_t mixed = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
    mixed ^= mixed >> 32;
    for (uint32_t i = 0; i < kBitsPerKey; ++i, mixed >>= 9) {
      const auto bit = static_cast<uint32_t>(((mixed & 511) * (kWords * 64)) >> 9);
      f(bit / 64, uint64_t{1} << bit % 64);
    }
  }
  static void set(Block& block, uint64_t hash) {
    each_bit(hash, [&](uint32_t word, uint64_t bit) { block.bits[word] |= bit; });
  }

  Block* blocks_ = nullptr;
  uint64_t count_ = 0;
  bool is_filled_ = false;
};

}  // namespace txnic::offload
