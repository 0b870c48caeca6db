// SPDX-License-Identifier: BSD-3-Clause
// The engine without a network: front, back and store of one worker fed with bursts of ready messages. Prints
// nanoseconds per transaction for `get` and `rmw2`, mode none. The floor under what the node can do on one core.
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "host/back/host_back.h"
#include "offload/front.h"
#include "txn/wire/build.h"

namespace {

using namespace txnic;

std::byte* map_memory(size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  madvise(at, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(at);
}

struct Random {
  uint64_t state = 88172645463325252ull;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

struct Bench {
  static constexpr uint32_t kBurst = limits::kBurstMax;
  static constexpr uint32_t kSlot = 2048;

  const uint32_t records;
  storage::Shard shard;
  SessionTable sessions;
  std::unique_ptr<back::HostBack> back;
  std::unique_ptr<offload::Front<back::HostBack>> front;
  Session* session = nullptr;
  Sequence sequence = 0;
  Random random;
  std::vector<Version> versions;
  std::byte* slots = map_memory(kBurst * kSlot);
  std::array<offload::Request, kBurst> burst;

  explicit Bench(uint32_t record_count) : records(record_count), versions(record_count) {
    const storage::Table table{1, 2 * records};
    const size_t bytes = storage::shard_memory_bytes(2 * records, 64);
    if (!shard.init({map_memory(bytes), bytes}, {&table, 1}, records, first_version(1))) std::abort();
    const SessionLimits limits{.sessions = 64, .window = 1024, .shards = 1};
    sessions.init(limits, {map_memory(SessionTable::memory_bytes(limits)), SessionTable::memory_bytes(limits)});
    back::HostBackConfig config;
    config.first_version = first_version(1);
    back = std::make_unique<back::HostBack>(config, std::span(&table, 1), std::vector<storage::Shard*>{&shard}, nullptr,
                                            nullptr, &sessions);
    const offload::FrontConfig settings;
    const size_t commit_bytes = offload::Front<back::HostBack>::commit_memory_bytes(settings);
    front = std::make_unique<offload::Front<back::HostBack>>(settings, back.get(), &sessions,
                                                             MutableBytes{map_memory(commit_bytes), commit_bytes});
    session = sessions.insert(7);
    session->stamp = 5;
    session->opened_from = {1, 1};
  }

  template <class Build>
  void run_burst(Build&& build) {
    for (uint32_t i = 0; i < kBurst; ++i) {
      std::byte* const message = slots + i * kSlot;
      wire::ExecuteBuilder builder({message, limits::kMessageBytesMax});
      build(i, builder);
      ++sequence;
      const uint32_t length = builder.finish(7, sequence, 5, sequence > 512 ? 512 : 0, 0);
      burst[i] = {.message = message, .handle = nullptr, .from = {1, 1}, .length = length, .room = 1472};
    }
    const auto begin = std::chrono::steady_clock::now();
    front->step({burst.data(), kBurst}, sequence);
    spent_ns += static_cast<double>((std::chrono::steady_clock::now() - begin).count());
  }

  void expect_committed(const char* what) {
    for (const auto& request : burst) {
      const auto header = wire::read_header(request.message);
      if (header.result != 0) {
        std::fprintf(stderr, "%s: %s\n", what, name(static_cast<Result>(header.result)));
        std::exit(1);
      }
    }
  }
  double spent_ns = 0;
};

Bytes key_bytes(const uint64_t& key) { return std::as_bytes(std::span(&key, 1)); }

}  // namespace

// front_bench [RECORDS [BURSTS]]: a multiple of 64 records.
int main(int argc, char** argv) {
  Bench bench(argc > 1 ? static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)) : 1'000'000);
  std::byte value[40] = {};
  for (uint64_t at = 0; at < bench.records; at += Bench::kBurst) {
    bench.run_burst([&](uint32_t i, wire::ExecuteBuilder& builder) {
      const uint64_t key = at + i;
      builder.put(1, key_bytes(key), value);
    });
    bench.expect_committed("load");
    for (uint32_t i = 0; i < Bench::kBurst; ++i) {
      bench.versions[at + i] = load<uint64_t>(bench.burst[i].message + wire::kHeaderBytes);
    }
  }
  std::printf("load   %6.1f ns/transaction\n", bench.spent_ns / bench.records);
  const uint32_t bursts = argc > 2 ? static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 100'000;
  bench.spent_ns = 0;
  for (uint32_t n = 0; n < bursts; ++n) {
    bench.run_burst([&](uint32_t, wire::ExecuteBuilder& builder) {
      const uint64_t key = bench.random.next() % bench.records;
      builder.get(1, key_bytes(key));
    });
    bench.expect_committed("get");
  }
  std::printf("get    %6.1f ns/transaction\n", bench.spent_ns / (bursts * Bench::kBurst));
  bench.spent_ns = 0;
  std::array<uint64_t, 2 * Bench::kBurst> keys;
  for (uint32_t n = 0; n < bursts; ++n) {
    bench.run_burst([&](uint32_t i, wire::ExecuteBuilder& builder) {
      // Distinct inside a burst, so that every version is known: stripes of the key space.
      const uint64_t stripe = bench.records / keys.size();
      for (uint32_t k = 0; k < 2; ++k) {
        const uint64_t key = (2 * i + k) * stripe + bench.random.next() % stripe;
        keys[2 * i + k] = key;
        builder.put_if(1, key_bytes(key), value, bench.versions[key]);
      }
    });
    bench.expect_committed("rmw2");
    for (uint32_t i = 0; i < keys.size(); ++i) {
      bench.versions[keys[i]] = load<uint64_t>(bench.burst[i / 2].message + wire::kHeaderBytes);
    }
  }
  std::printf("rmw2   %6.1f ns/transaction\n", bench.spent_ns / (bursts * Bench::kBurst));
}
