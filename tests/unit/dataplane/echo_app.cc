// SPDX-License-Identifier: BSD-3-Clause
// A node and a client of the dataplane alone, for tests of two processes and for measuring the floor by hand:
//   echo_app EAL… -- node [seconds]
//   echo_app EAL… -- client|raw [seconds [window [message bytes]]]
// The client keeps `window` ECHO messages under way and sends lost ones again after 20 ms of silence.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "dataplane/dataplane.h"
#include "dataplane/eal.h"
#include "dataplane/lcores.h"
#include "dataplane/modes/registry.h"
#include "dataplane/statistics.h"
#include "dataplane/transport.h"
#include "dataplane/unmap_guard.h"
#include "txn/wire/header.h"

namespace {

using namespace txnic;
using namespace txnic::dataplane;

std::atomic<bool> g_stop{false};
void on_signal(int) { g_stop.store(true); }

uint32_t argument(const std::vector<std::string>& ours, size_t index, uint32_t otherwise) {
  return index < ours.size() ? static_cast<uint32_t>(std::atoi(ours[index].c_str())) : otherwise;
}

void tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(stderr, "%s\n", note.c_str());
}

int fail(const std::string& error) {
  std::fprintf(stderr, "error: %s\n", error.c_str());
  return 1;
}

int run_node(uint32_t seconds, Idle idle) {
  DataplaneOptions options;
  options.held_packets_max = 0;
  options.idle = idle;
  std::string error;
  auto plane = Dataplane::open(options, &error);
  if (plane == nullptr) return fail(error);
  for (const Port& port : plane->ports()) std::fprintf(stderr, "%s\n", port.summary.c_str());
  std::vector<std::unique_ptr<Mode>> modes;
  for (uint32_t w = 0; w < plane->worker_count(); ++w) {
    modes.push_back(make_mode("echo", {w, plane->worker_count(), &plane->counters(w)}, &error));
    plane->set_mode(w, modes.back().get());
  }
  if (!plane->start(&error)) return fail(error);
  std::fprintf(stderr, "ready\n");
  const TimeNs end = plane->clock().now() + TimeNs{seconds} * 1'000'000'000;
  while (!g_stop.load() && plane->clock().now() < end) {
    tell(plane->housekeep());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!plane->stop(&error)) return fail(error);
  const Totals totals = read_totals(*plane);
  std::printf("%s%s%s\n", forward_statistics(totals).c_str(), counters_table(totals).c_str(), to_json(totals).c_str());
  std::printf("unmaps under guard: %lu\n", static_cast<unsigned long>(unmap_guard_waits()));
  return totals.received == totals.ended_total && totals.ended[reason::kOther] == 0 ? 0 : 1;
}

struct ClientLoop {
  TransportQueue* queue;
  uint32_t window;
  uint32_t bytes;
  TimeNs end;
  uint64_t answered = 0, resent = 0;

  void run() {
    constexpr TimeNs kSilenceNs = 20'000'000;
    std::array<std::byte, limits::kMessageBytesMax> message{};
    wire::Header header = wire::request_header(wire::Type::kEcho, 1, 1, 0);
    header.length = static_cast<uint16_t>(bytes);
    wire::write_header(message.data(), header);
    std::array<Received, limits::kBurstMax> received;
    uint32_t outstanding = 0;
    TimeNs now = queue->now();
    TimeNs heard = now;
    while (!g_stop.load(std::memory_order_relaxed) && (now = queue->now()) < end) {
      const uint32_t count = queue->receive(received);
      if (count != 0) heard = now;
      answered += count;
      outstanding -= std::min(outstanding, count);
      if (outstanding != 0 && now - heard > kSilenceNs) {
        resent += outstanding;
        outstanding = 0;
        heard = now;
      }
      const uint32_t more = std::min<uint32_t>(window - outstanding, limits::kBurstMax);
      for (uint32_t i = 0; i < more; ++i) queue->send(message.data(), bytes, 0, 0);
      outstanding += more;
      queue->flush();
    }
  }
};

int run_client(const std::vector<std::string>& ours, bool raw) {
  TransportOptions options;
  options.checksum = ChecksumPolicy::kOff;
  options.raw = raw;
  std::string error;
  auto transport = Transport::open(options, &error);
  if (transport == nullptr || !transport->start(&error) || !transport->resolve(60'000, &error)) return fail(error);
  ClientLoop loop{&transport->queue(0), argument(ours, 2, 512), argument(ours, 3, 120),
                  transport->clock().now() + TimeNs{argument(ours, 1, 5)} * 1'000'000'000};
  const TimeNs began = transport->clock().now();
  if (!launch_worker(0, [&loop] { loop.run(); }, &error)) return fail(error);
  while (worker_is_running(0)) {
    tell(transport->housekeep());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  join_worker(0);
  const double seconds = static_cast<double>(transport->clock().now() - began) / 1e9;
  std::printf("answered %lu resent %lu rate %.3f M/s\n", static_cast<unsigned long>(loop.answered),
              static_cast<unsigned long>(loop.resent), static_cast<double>(loop.answered) / seconds / 1e6);
  return loop.answered != 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const EalStart eal = start_eal(split_command_line(argc, argv));
  tell(eal.notes);
  if (!eal.ok) return fail(eal.error);
  const std::string what = eal.ours.empty() ? "" : eal.ours.front();
  int result = 2;
  if (what == "node" || what == "node-sleep") {
    result = run_node(argument(eal.ours, 1, 10), what == "node" ? Idle::kPoll : Idle::kSleep);
  } else if (what == "client" || what == "raw") {
    result = run_client(eal.ours, what == "raw");
  } else {
    std::fprintf(stderr, "usage: echo_app EAL… -- node [seconds] | client|raw [seconds [window [message bytes]]]\n");
  }
  stop_eal();
  return result;
}
