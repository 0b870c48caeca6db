// SPDX-License-Identifier: BSD-3-Clause
// What the client's protocol machine costs: acquire + build + submit + on_message + release of a one-operation
// request, with a full window, against a peer in the same process that only writes a reply header. Prints one JSON
// object a row; "peer only" is the cost of the fake peer and the loop, which the other rows contain.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "txn/client/machine.h"

namespace txnic {
namespace {

constexpr int kPasses = 40;
constexpr uint32_t kReplyBytes = wire::kExecutedFixedBytes + sizeof(wire::ValueHeader) + 40;

// Keeps the answers to what was sent, in order.
struct FakePeer {
  static constexpr uint32_t kReplies = 2048;
  struct alignas(64) Reply { std::byte bytes[(kReplyBytes + 63) / 64 * 64]; };
  std::vector<Reply> replies = std::vector<Reply>(kReplies);
  uint64_t written = 0;
  uint64_t taken = 0;

  void answer(const std::byte* request) {
    std::byte* reply = replies[written++ % kReplies].bytes;
    wire::Header h = wire::read_header(request);
    switch (static_cast<wire::Type>(h.type)) {
      case wire::Type::kOpen: {
        h.type = static_cast<uint8_t>(wire::Type::kOpened);
        h.length = wire::kOpenedBytes;
        h.stamp = make_stamp(7, 1);
        wire::OpenedBody body{};
        body.shard_count = 1;
        body.worker_count = 1;
        body.window = limits::kWindowMax;
        store(reply + wire::kHeaderBytes, body);
        break;
      }
      default:
        h.type = static_cast<uint8_t>(wire::Type::kExecuted);
        h.length = kReplyBytes;
        h.operation_count = 1;
        store(reply + wire::kHeaderBytes, Version{9});
        store(reply + wire::kExecutedFixedBytes, wire::ValueHeader{9, 40, 0, 1, 0});
        break;
    }
    wire::write_header(reply, h);
  }
  const std::byte* take() { return replies[taken++ % kReplies].bytes; }
};

void emit(void* context, const std::byte* message, uint32_t, uint32_t, uint32_t) {
  static_cast<FakePeer*>(context)->answer(message);
}

// Processor time of this thread: other programs on the machine do not count.
double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Aligned {
  explicit Aligned(size_t bytes) : data(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {}
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  std::byte* data;
};

// Nanoseconds a request, best of many short passes.
double measure(uint32_t window, bool is_put, uint64_t requests) {
  client::MachineLimits limits;
  limits.window = window;
  const size_t bytes = client::SessionMachine::memory_bytes(limits);
  Aligned memory(bytes);
  FakePeer peer;
  auto machine = std::make_unique<client::SessionMachine>();
  machine->init(limits, {memory.data, bytes}, 1, emit, &peer);
  TimeNs now = 1;
  machine->open(now);
  const std::byte* opened = peer.take();
  machine->on_message(now, opened, wire::read_header(opened).length);

  std::byte value[40] = {};
  const auto send = [&](uint64_t key) {
    client::Slot* slot = machine->acquire();
    if (slot == nullptr) std::abort();
    wire::ExecuteBuilder builder(slot->buffer());
    std::byte key_bytes[8];
    store(key_bytes, key);
    if (is_put) {
      builder.put_if(1, key_bytes, value, key);
    } else {
      builder.get(1, key_bytes);
    }
    machine->submit(slot, builder, 0, now + 1'000'000'000, now);
  };
  for (uint32_t i = 0; i < window; ++i) send(i);
  double best = 1e18;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double start = now_ns();
    for (uint64_t i = 0; i < requests; ++i) {
      now += 60;
      const client::Event event = machine->on_message(now, peer.take(), kReplyBytes);
      if (event.kind != client::EventKind::kSettled) std::abort();
      machine->release(event.slot);
      send(i);
      machine->poll(now);
    }
    const double each = (now_ns() - start) / static_cast<double>(requests);
    if (each < best) best = each;
  }
  if (machine->statistics().submitted != machine->statistics().settled + machine->outstanding()) std::abort();
  return best;
}

double measure_peer(uint64_t requests) {
  FakePeer peer;
  alignas(64) std::byte request[64] = {};
  wire::write_header(request, wire::request_header(wire::Type::kExecute, 1, 1, 1));
  double best = 1e18;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double start = now_ns();
    for (uint64_t i = 0; i < requests; ++i) {
      store(request + offsetof(wire::Header, sequence), i);
      peer.answer(request);
      const std::byte* reply = peer.take();
      asm volatile("" : : "r"(reply) : "memory");
    }
    const double each = (now_ns() - start) / static_cast<double>(requests);
    if (each < best) best = each;
  }
  return best;
}

void print(const char* name, double value) {
  std::printf("{\"name\": \"%s\", \"value\": %.1f, \"unit\": \"ns/request\"}\n", name, value);
}

}  // namespace
}  // namespace txnic

int main(int argc, char** argv) {
  const uint64_t requests = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  using namespace txnic;
  print("machine peer only", measure_peer(requests));
  print("machine get window 32", measure(32, false, requests));
  print("machine get window 256", measure(256, false, requests));
  print("machine get window 1024", measure(1024, false, requests));
  print("machine put window 1024", measure(1024, true, requests));
  return 0;
}
