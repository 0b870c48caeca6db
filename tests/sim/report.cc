// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/report.h"

#include <cinttypes>

#include <sys/resource.h>
#include <unistd.h>

#include "tests/sim/mutants.h"

namespace txnic::sim {
namespace {

constexpr double kElsewhereEverySeconds = 10;

double simulated_seconds(const Statistics& statistics) { return static_cast<double>(statistics.simulated_ns) * 1e-9; }

// Of the runs, which are children.
double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

const double cpu_seconds_before = cpu_seconds();  // children of a shell that became this program by exec

}  // namespace

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(uint64_t done, uint64_t of, const Statistics& sum, double real_seconds) {
  if (!terminal_ && real_seconds - shown_at_ < kElsewhereEverySeconds) return;
  shown_at_ = real_seconds;
  std::fprintf(stderr, "%s%" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " committed, %" PRIu64 " crashes, %.0f s%s",
               terminal_ ? "\r\033[K" : "txsim: ", done, of, sum.committed, sum.crashes, real_seconds,
               terminal_ ? "" : "\n");
}

void Progress::clear() const {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void print_violation(const SeedResult& result, const std::string& rates) {
  std::printf("seed %" PRIu64 ": VIOLATION: %s\n  rates: %s\n  replay: %s\n", result.options.seed,
              result.violation.c_str(), rates.c_str(), result.options.command().c_str());
  std::fflush(stdout);
}

void print_summary(uint64_t first, uint64_t seeds, uint64_t violations, const Statistics& s, double real_seconds) {
  const double simulated = simulated_seconds(s), cpu = cpu_seconds() - cpu_seconds_before;
  std::printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " violations\n", seeds, first, violations);
  std::printf("  transactions  %" PRIu64 " committed, %" PRIu64 " aborted, %" PRIu64 " unknown, %" PRIu64 " refused\n",
              s.committed, s.aborted, s.unknown, s.refused);
  std::printf("  over several  %" PRIu64 " sent, %" PRIu64 " times prepared, %" PRIu64
              " in doubt after a restart, %" PRIu64 " votes asked for, %" PRIu64 " inquiries, %" PRIu64
              " promises, %" PRIu64 " orphans, %" PRIu64 " messages between nodes\n",
              s.over_several, s.prepared, s.in_doubt, s.asked, s.inquired, s.promises, s.orphaned, s.between_nodes);
  std::printf("  nodes         %" PRIu64 " crashes, %" PRIu64 " starts (%" PRIu64 " recoveries of %" PRIu64
              " records, %" PRIu64 " torn tails, %" PRIu64 " failed starts), %" PRIu64 " compared twice\n",
              s.crashes, s.restarts, s.recoveries, s.recovered_records, s.torn_tails, s.failed_starts,
              s.compared_recoveries);
  std::printf("  disks         %" PRIu64 " sync errors, %" PRIu64 " times slow, %" PRIu64 " times full, %" PRIu64
              " checkpoints\n",
              s.sync_errors, s.slow_disks, s.full_disks, s.checkpoints);
  std::printf("  network       %" PRIu64 " messages, %" PRIu64 " dropped, %" PRIu64 " doubled, %" PRIu64
              " late, %" PRIu64 " damaged, %" PRIu64 " partitions\n",
              s.messages, s.dropped, s.duplicated, s.late, s.corrupted, s.partitions);
  std::printf("  clients       %" PRIu64 " deaths, %" PRIu64 " sessions closed, %" PRIu64
              " duplicates answered, %" PRIu64 " clock jumps\n",
              s.client_deaths, s.session_closes, s.duplicates_answered, s.clock_jumps);
  std::printf("  time          %.0f s simulated in %.1f s: %.0f times real time (%.1f s of CPU: %.0f times a CPU)\n",
              simulated, real_seconds, real_seconds > 0 ? simulated / real_seconds : 0, cpu,
              cpu > 0 ? simulated / cpu : 0);
}

void print_rules(std::span<const uint64_t> needed) {
  std::printf("\n%-10s  %-64s  %s\n", "rule", "says", "mutants: seeds needed");
  for (const Rule& rule : rules()) {
    std::string text;
    for (size_t i = 0; i < mutants().size(); ++i) {
      if (!breaks(mutants()[i], rule)) continue;
      text += std::string(text.empty() ? "" : ", ") + mutants()[i].name + ": ";
      text += needed[i] == kNotHunted ? "not hunted" : needed[i] == 0 ? "SURVIVED" : std::to_string(needed[i]);
    }
    if (rule.why_none != nullptr) text = std::string("none (") + rule.why_none + ")";
    std::printf("%-10s  %-64s  %s\n", rule.name, rule.says, text.c_str());
  }
}

}  // namespace txnic::sim
