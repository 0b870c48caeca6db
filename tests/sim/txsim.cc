// SPDX-License-Identifier: BSD-3-Clause
// The simulator's program: one seed, many seeds, or the mutants.
#include <chrono>
#include <cinttypes>

#include "tests/sim/arguments.h"
#include "tests/sim/mutants.h"
#include "tests/sim/report.h"

namespace {

using namespace txnic::sim;

constexpr int kExitViolation = 1, kExitUsage = 2, kExitInterrupted = 130;

class Stopwatch {  // of the real time: for progress and summary only
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string rates_of(const Options& options) { return World(options).rates().describe(); }

int run_seeds(const Arguments& arguments) {
  const Stopwatch time;
  Progress progress;
  Statistics sum;
  uint64_t planned = 0, done = 0, violations = 0;
  const auto next = [&](Runner::Plan* plan) {
    if (planned == arguments.seeds) return false;
    plan->options = arguments.options;
    plan->options.seed += planned++;
    if (arguments.seeds == 1) plan->history_file = arguments.history_file;
    return true;
  };
  const auto take = [&](const SeedResult& result) {
    ++done;
    sum.add(result.statistics);
    if (result.violation.empty()) return true;
    progress.clear();
    print_violation(result, rates_of(result.options));
    if (++violations == 1 && arguments.seeds > 1 && !arguments.history_file.empty()) {
      run_seed(result.options, arguments.history_file);
    }
    return true;
  };
  const auto tick = [&] { progress.show(done, arguments.seeds, sum, time.seconds()); };
  const uint32_t processes = arguments.processes != 0 ? arguments.processes : cores();
  const bool complete = Runner(processes).run(next, take, tick);
  progress.clear();
  if (arguments.seeds == 1 && done == 1) {
    std::printf("seed %" PRIu64 ", rates: %s\ntrace hash %016" PRIx64 " of %" PRIu64 " events\n",
                arguments.options.seed, rates_of(arguments.options).c_str(), sum.trace_hash, sum.events);
  }
  if (!complete) std::printf("interrupted\n");
  print_summary(arguments.options.seed, done, violations, sum, time.seconds());
  return !complete ? kExitInterrupted : violations != 0 ? kExitViolation : 0;
}

// Hunts one mutant. 0: it survived; else the seeds that it took. `*complete` is false after Ctrl-C.
uint64_t hunt_one(const Mutant& mutant, const Arguments& arguments, std::string* violation, bool* complete) {
  const uint64_t most = arguments.seeds > 1 ? arguments.seeds : mutant.seeds_max;
  uint64_t planned = 0, done = 0, found = 0;
  const auto next = [&](Runner::Plan* plan) {
    if (planned == most) return false;
    plan->options = hunt(mutant, arguments.options);
    plan->options.seed += planned++;
    return true;
  };
  const auto take = [&](const SeedResult& result) {
    ++done;
    if (found == 0 && !result.violation.empty()) {
      found = done;
      *violation = result.violation;
    }
    return found == 0;
  };
  const uint32_t processes = arguments.processes != 0 ? arguments.processes : cores();
  *complete = Runner(processes).run(next, take, [] {});
  return found;
}

int run_mutants(const Arguments& arguments) {
  uint32_t hunted = 0, survivors = 0;
  std::vector<uint64_t> needed;
  std::printf("%-20s %-28s %5s  %s\n", "rule", "mutant", "seeds", "noticed as");
  for (const Mutant& mutant : mutants()) {
    needed.push_back(kNotHunted);
    if (arguments.quick && mutant.is_slow) continue;
    ++hunted;
    std::string violation;
    bool complete = true;
    const uint64_t seeds = hunt_one(mutant, arguments, &violation, &complete);
    if (!complete) return kExitInterrupted;
    needed.back() = seeds;
    survivors += seeds == 0;
    std::printf("%-20s %-28s %5s  %s\n", mutant.rule, mutant.name, seeds == 0 ? "-" : std::to_string(seeds).c_str(),
                seeds == 0 ? "SURVIVED" : violation.c_str());
    std::fflush(stdout);
  }
  print_rules(needed);
  std::printf("%u mutants, %u survived\n", hunted, survivors);
  return survivors == 0 ? 0 : kExitViolation;
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  std::string error;
  if (!parse_arguments(count, values, &arguments, &error)) {
    std::fprintf(stderr, "txsim: %s\n%s", error.c_str(), usage());
    return kExitUsage;
  }
  if (arguments.help) {
    std::fputs(usage(), stdout);
    return 0;
  }
  return arguments.mutants ? run_mutants(arguments) : run_seeds(arguments);
}
