// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/report/progress.h"

#include <sched.h>

#include <chrono>
#include <cstdio>

#include "pktgen/load/clock.h"
#include "pktgen/report/row.h"

namespace txnic::pktgen {

namespace {
constexpr std::chrono::milliseconds kLook{20};  // how late "measuring" may be told
}

LiveLook look_at(const Live& live) {
  const auto get = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  LiveLook look;
  look.phase = get(live.phase);
  look.executed = get(live.executed);
  look.good = get(live.good);
  look.aborted = get(live.aborted);
  look.unknown = get(live.unknown);
  look.refused = get(live.refused);
  look.retransmissions = get(live.retransmissions);
  look.reopens = get(live.reopens);
  look.units_total = get(live.units_total);
  look.units_done = get(live.units_done);
  look.p50_ns = get(live.p50_ns);
  look.p99_ns = get(live.p99_ns);
  look.silent_ns = get(live.silent_ns);
  look.is_warm = get(live.is_warm);
  return look;
}

std::string format_live(const LiveLook& before, const LiveLook& now, double seconds, uint64_t elapsed_seconds) {
  // A new phase counts from zero.
  const bool same = before.phase == now.phase;
  const auto per_second = [seconds, same](uint64_t earlier, uint64_t later) {
    const uint64_t grown = same && later >= earlier ? later - earlier : later;
    return with_commas(static_cast<uint64_t>(static_cast<double>(grown) / seconds + 0.5));
  };
  char head[64];
  std::snprintf(head, sizeof head, "[%4llu s] %-9s ", static_cast<unsigned long long>(elapsed_seconds), now.phase);
  std::string line = head;
  if (now.units_total != 0) {
    char part[32];
    const double share = 100 * static_cast<double>(now.units_done) / static_cast<double>(now.units_total);
    std::snprintf(part, sizeof part, "%5.1f %% ", share);
    line += part + per_second(before.units_done, now.units_done) + " /s";
  } else {
    line += per_second(before.executed, now.executed) + " tx/s  good " + per_second(before.good, now.good) + " /s";
  }
  line += "  aborted " + per_second(before.aborted, now.aborted) + " /s";
  if (now.p99_ns != 0) {
    line += "  p50 " + format_ns(static_cast<double>(now.p50_ns)) + "  p99 " +
            format_ns(static_cast<double>(now.p99_ns));
  }
  if (now.refused != 0) line += "  refused " + with_commas(now.refused);
  if (now.unknown != 0) line += "  unknown " + with_commas(now.unknown);
  if (now.retransmissions != 0) line += "  resent " + with_commas(now.retransmissions);
  if (now.reopens != 0) line += "  reopened " + with_commas(now.reopens);
  if (now.silent_ns != 0) {
    line += "  node silent for " + std::to_string(now.silent_ns / kSecondNs) + " s, retrying";
  }
  return line;
}

ProgressPrinter::ProgressPrinter(const Live& live, bool rewrite)
    : live_(live), rewrite_(rewrite), thread_([this] { run(); }) {}

ProgressPrinter::~ProgressPrinter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressPrinter::run() {
  // Not on the generator's core only, should the thread that made this one be pinned there.
  cpu_set_t all;
  CPU_ZERO(&all);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  sched_setaffinity(0, sizeof all, &all);
  const TimeNs begin = clock_now();
  TimeNs last = begin;
  LiveLook before = look_at(live_);
  bool was_warm = before.is_warm;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLook, [this] { return stop_; })) {
    const TimeNs now = clock_now();
    const bool is_warm = live_.is_warm.load(std::memory_order_relaxed);
    // For scripts that look at a node while it is under load.
    if (is_warm && !was_warm && !rewrite_) std::fputs("txgen: measuring\n", stderr);
    was_warm = is_warm;
    if (now - last < kSecondNs) continue;
    const LiveLook look = look_at(live_);
    const std::string line =
        format_live(before, look, static_cast<double>(now - last) / 1e9, (now - begin) / kSecondNs);
    std::fprintf(stderr, rewrite_ ? "\r\033[K%s" : "%s\n", line.c_str());
    std::fflush(stderr);
    last = now;
    before = look;
  }
  if (rewrite_) std::fprintf(stderr, "\r\033[K");
}

}  // namespace txnic::pktgen
