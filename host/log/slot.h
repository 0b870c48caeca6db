// SPDX-License-Identifier: BSD-3-Clause
// What a worker's log and the keeper's thread exchange: a few segments each way through a ring with one writer and
// one reader, and published positions. Neither side ever waits for the other.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "host/log/disk.h"

namespace txnic::log {

// A segment on its way to a worker (prepared) or back (written full).
struct Segment {
  uint64_t number = 0;
  uint64_t seed = 0;
  uint64_t bytes = 0;
  std::unique_ptr<LogFile> file;
};

// One producer, one consumer, kSize - 1 entries at most by the callers' protocol (a full ring refuses).
template <class T, uint32_t kSize>
class SingleRing {
 public:
  bool push(T&& value) {
    const uint32_t at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kSize) return false;
    entries_[at % kSize] = std::move(value);
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  bool pop(T* value) {
    const uint32_t at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return false;
    *value = std::move(entries_[at % kSize]);
    read_.store(at + 1, std::memory_order_release);
    return true;
  }
  uint32_t size() const { return written_.load(std::memory_order_acquire) - read_.load(std::memory_order_acquire); }

 private:
  std::array<T, kSize> entries_;
  alignas(64) std::atomic<uint32_t> written_{0};
  alignas(64) std::atomic<uint32_t> read_{0};
};

struct WorkerSlot {
  SingleRing<Segment, 8> ready;    // keeper -> worker
  SingleRing<Segment, 8> retired;  // worker -> keeper
  // Written by the worker:
  alignas(64) std::atomic<Lsn> durable{0};
  std::atomic<uint64_t> written_bytes{0};
  // Written by the keeper: it cannot go on, so neither can the log.
  alignas(64) std::atomic<bool> keeper_failed{false};
};

}  // namespace txnic::log
