// SPDX-License-Identifier: BSD-3-Clause
// Measures one shard: lookups in prefetched batches of 64, rewrites, memory a record, and the longest step while
// the table grows from 1 k records. Not a test: it prints, and asserts only what must hold anyway.
//   store-bench [records] [value_bytes] [key_bytes]      default: 1000000 and 10000000, 40, 8
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "host/store/shard.h"
#include "txn/hash.h"

namespace {

using namespace txnic;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kBatch = 64;
constexpr TableId kTable = 1;
constexpr uint32_t kBatchesTimed = 8;
constexpr uint32_t kRounds = 40;
constexpr uint64_t kLookupsPerRound = 512 * 400;
constexpr uint32_t kKeyBytesMax = limits::kKeyBytesMax;

double elapsed_ns(Clock::time_point from) {
  return std::chrono::duration<double, std::nano>(Clock::now() - from).count();
}

// Huge pages where the kernel gives them, touched beforehand as the engine's memory is.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : bytes_((bytes + (2u << 20) - 1) & ~uint64_t{(2u << 20) - 1}) {
    void* const address =
        mmap(nullptr, bytes_ + (2u << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
      std::fprintf(stderr, "store-bench: cannot map %" PRIu64 " MiB: use fewer records\n", bytes_ >> 20);
      std::exit(1);
    }
    mapped_ = address;
    start_ = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(address) + (2u << 20) - 1) &
                                          ~uintptr_t{(2u << 20) - 1});
    madvise(start_, bytes_, MADV_HUGEPAGE);
    std::memset(start_, 0, bytes_);
  }
  ~Memory() { munmap(mapped_, bytes_ + (2u << 20)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  MutableBytes all(uint64_t bytes) const { return {start_, bytes}; }

 private:
  uint64_t bytes_;
  void* mapped_;
  std::byte* start_;
};

struct Shape {
  uint64_t records;
  uint32_t value_bytes;
  uint32_t key_bytes;
  uint32_t record_bytes() const { return storage::kRecordHeaderBytes + key_bytes + value_bytes; }
};

struct Key {
  std::byte bytes[kKeyBytesMax] = {};
  uint64_t hash = 0;
  Key() = default;
  Key(uint64_t number, uint32_t length) {
    store(bytes, number);
    hash = table_hash(hash_key(bytes, length), kTable);
  }
};

const std::byte kValue[limits::kValueBytesMax] = {};

void fill(storage::Shard& shard, const Shape& shape) {
  for (uint64_t i = 0; i < shape.records; ++i) {
    const Key key(i, shape.key_bytes);
    if (!shard.load(kTable, key.bytes, shape.key_bytes, key.hash, kValue, shape.value_bytes, i + 1)) {
      std::fprintf(stderr, "store-bench: full at %" PRIu64 " records: shard_memory_bytes() promised more\n", i);
      std::exit(1);
    }
  }
}

// The time this thread has run: other processes take the CPU now and then.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Runs `use(found, key)` on random keys, in batches; answers nanoseconds an operation: the best of many rounds.
template <class Use>
double measure(storage::Shard& shard, const Shape& shape, uint64_t first_key, Use&& use) {
  std::vector<Key> keys(kBatch * kBatchesTimed);
  uint64_t random = 1;
  double best = 1e9;
  for (uint32_t round = 0; round < kRounds; ++round) {
    double total = 0;
    for (uint64_t done = 0; done < kLookupsPerRound; done += keys.size()) {
      for (Key& key : keys) {
        random = mix64(random + 0x9e3779b97f4a7c15ull);
        key = Key(first_key + random % shape.records, shape.key_bytes);
      }
      const double from = thread_ns();
      for (uint64_t batch = 0; batch < keys.size(); batch += kBatch) {
        const std::span<const Key> burst(keys.data() + batch, kBatch);
        for (const Key& key : burst) shard.prefetch_bucket(key.hash);
        for (const Key& key : burst) shard.prefetch_record(key.hash);
        for (const Key& key : burst) use(shard.find(kTable, key.bytes, shape.key_bytes, key.hash), key);
      }
      total += thread_ns() - from;
    }
    best = std::min(best, total / static_cast<double>(kLookupsPerRound));
  }
  return best;
}

void report(const char* label, storage::Shard& shard, const Shape& shape) {
  uint64_t sum = 0, missing = 0;
  const double find_ns = measure(shard, shape, 0, [&](const storage::Lookup& found, const Key&) {
    if (found.record == nullptr) {
      ++missing;
      return;
    }
    sum += found.record->version;
    for (uint32_t at = 0; at + 8 <= shape.value_bytes; at += 8) sum += load<uint64_t>(found.record->value() + at);
  });
  if (missing != 0) std::exit(1);
  const double absent_ns = measure(shard, shape, uint64_t{1} << 40,
                                   [&](const storage::Lookup& found, const Key&) { sum += found.absence_version; });
  const double put_ns = measure(shard, shape, 0, [&](const storage::Lookup& found, const Key& key) {
    shard.put(kTable, key.bytes, shape.key_bytes, key.hash, kValue, shape.value_bytes, ++sum, found.record);
  });
  const double put_room_ns = measure(shard, shape, 0, [&](const storage::Lookup& found, const Key& key) {
    const storage::Need need = {0, shape.record_bytes(), false};
    if (!shard.room({&need, 1})) std::exit(1);
    shard.put(kTable, key.bytes, shape.key_bytes, key.hash, kValue, shape.value_bytes, ++sum, found.record);
    shard.maintain();
  });
  const storage::ShardStatistics s = shard.statistics();
  std::printf("%-10s %9" PRIu64
              " records  find %5.1f ns  absent %5.1f ns  find+rewrite %5.1f ns  with room %5.1f ns  "
              "load %4.1f %%  overflow buckets %4.1f %%  bytes/record %6.1f (%4.1f beside key and value)  [%" PRIu64
              "]\n",
              label, s.records, find_ns, absent_ns, put_ns, put_room_ns, 100 * s.load(),
              100.0 * static_cast<double>(s.overflow_buckets) / static_cast<double>(s.buckets), s.bytes_per_record(),
              s.overhead_per_record(), sum % 10);
}

// Growth, several times over the same keys. The machine interrupts now and then, so that a step's time is the
// least of its times.
void report_growth(const Memory& memory, const Shape& shape) {
  const storage::Table table = {kTable, shape.records};
  std::vector<uint32_t> steps(shape.records, ~0u);
  uint32_t worst_single = 0;
  double total_ns = 0;
  for (uint32_t round = 0; round < 4; ++round) {
    storage::Shard shard;
    shard.init(memory.all(storage::shard_memory_bytes(shape.records, shape.record_bytes())), {&table, 1}, 1000, 1);
    total_ns = 0;
    std::vector<Key> keys(kBatch);
    for (uint64_t i = 0; i < shape.records; ++i) {
      if (i % kBatch == 0) {  // staged, as the engine does it
        for (uint64_t j = 0; j < kBatch; ++j) {
          keys[j] = Key(i + j, shape.key_bytes);
          shard.prefetch_bucket(keys[j].hash);
        }
        for (const Key& key : keys) shard.prefetch_record(key.hash);
      }
      const Key& key = keys[i % kBatch];
      const storage::Need need = {0, shape.record_bytes(), true, key.hash};
      const Clock::time_point from = Clock::now();
      if (!shard.room({&need, 1})) std::exit(1);
      shard.put(kTable, key.bytes, shape.key_bytes, key.hash, kValue, shape.value_bytes, i + 1, nullptr);
      shard.maintain();
      const double ns = elapsed_ns(from);
      total_ns += ns;
      const auto rounded = static_cast<uint32_t>(ns);
      worst_single = std::max(worst_single, rounded);
      steps[i] = std::min(steps[i], rounded);
    }
  }
  std::sort(steps.begin(), steps.end());
  std::printf("growth     1000 -> %" PRIu64
              " records: %.1f ns a step (room, put, maintain), least-of-4 p99.99 %u ns, "
              "longest %u ns; longest of all single steps %u ns (interruptions included)\n",
              shape.records, total_ns / static_cast<double>(shape.records),
              steps[steps.size() - 1 - steps.size() / 10000], steps.back(), worst_single);
}

void run(const Shape& shape) {
  const uint64_t bytes = storage::shard_memory_bytes(shape.records, shape.record_bytes());
  const Memory memory(bytes);
  const storage::Table table = {kTable, shape.records};
  for (const bool is_sized : {true, false}) {
    storage::Shard shard;
    if (!shard.init(memory.all(bytes), {&table, 1}, is_sized ? shape.records : 1000, 1)) std::exit(1);
    fill(shard, shape);
    report(is_sized ? "presized" : "grown", shard, shape);
  }
  report_growth(memory, shape);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint64_t> sizes = {1'000'000, 10'000'000};
  if (argc > 1) sizes = {std::strtoull(argv[1], nullptr, 10)};
  const auto value_bytes = static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 40);
  const auto key_bytes = static_cast<uint32_t>(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 8);
  if (sizes[0] == 0 || value_bytes > limits::kValueBytesMax || key_bytes < 8 || key_bytes > limits::kKeyBytesMax) {
    std::fprintf(stderr, "usage: store-bench [records] [value_bytes 0-1024] [key_bytes 8-64]\n");
    return 2;
  }
  for (const uint64_t records : sizes) run({records, value_bytes, key_bytes});
  return 0;
}
