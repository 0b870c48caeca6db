// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/arguments.h"

#include <cerrno>
#include <cstdlib>
#include <random>

#include "tests/sim/mutants.h"

namespace txnic::sim {
namespace {

bool parse_number(const char* text, uint64_t least, uint64_t most, uint64_t* number) {
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || errno != 0 || value < least || value > most) return false;
  *number = value;
  return true;
}

bool parse_minutes(const char* text, double* minutes) {
  char* end = nullptr;
  *minutes = std::strtod(text, &end);
  return end != text && *end == 0 && *minutes > 0 && *minutes <= 100'000;
}

struct Number {
  const char* name;
  uint32_t Options::*value;
  uint32_t most;
};
constexpr Number kNumbers[] = {{"--nodes", &Options::nodes, 64},
                               {"--workers", &Options::workers_max, 16},
                               {"--shards", &Options::shards, 64},
                               {"--clients", &Options::clients, 1000},
                               {"--processes", &Options::processes_max, 8}};

// An argument with a value. False: it is wrong or unknown.
bool take_value(const std::string& name, const char* value, Arguments* arguments) {
  uint64_t number = 0;
  if (name == "--seed" && std::string(value) == "fresh") {
    arguments->options.seed = std::random_device{}() | uint64_t{1} << 32;
    return true;
  }
  if (name == "--seed") return parse_number(value, 0, ~uint64_t{0} >> 1, &arguments->options.seed);
  if (name == "--seeds") return parse_number(value, 1, 1'000'000'000, &arguments->seeds);
  if (name == "--minutes") return parse_minutes(value, &arguments->options.minutes);
  if (name == "--history") return arguments->history_file = value, true;
  if (name == "--jobs") {
    if (!parse_number(value, 1, 1024, &number)) return false;
    arguments->processes = static_cast<uint32_t>(number);
    return true;
  }
  if (name == "--mode") {
    for (const Durability mode : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
      if (std::string(value) != sim::name(mode)) continue;
      arguments->options.durability = mode;
      return true;
    }
    return false;
  }
  if (name == "--mutant") {
    const Mutant* const mutant = find_mutant(value);
    if (mutant != nullptr) arguments->options = hunt(*mutant, arguments->options);
    return mutant != nullptr;
  }
  for (const Number& one : kNumbers) {
    if (name != one.name) continue;
    if (!parse_number(value, 1, one.most, &number)) return false;
    arguments->options.*one.value = static_cast<uint32_t>(number);
    return true;
  }
  return false;
}

}  // namespace

const char* usage() {
  return R"(txsim [OPTION…]: whole nodes and clients over a simulated network, clock and disk, with faults
  --seed S         the first seed (1); fresh: some seed that nobody has chosen
  --seeds N        how many seeds, one after the other; uses all cores (1)
  --minutes M      simulated minutes of load and faults of each seed (0.5)
  --trace          prints everything that happens; one seed
  --history FILE   the list-append history as EDN for Jepsen's Elle (mode sync); of the one seed, or the first to fail
  --mutants        breaks one rule after the other and tells how many seeds it takes to notice; --seeds: at most
  --quick          --mutants without those that take hundreds of seeds
  --mutant NAME    with one rule broken
  --harsh          every node dies every few seconds
  --mode MODE      durability sync, async or none (the seed draws it, mostly sync)
  --nodes N --workers W --shards S --clients C --processes P   the size (3, up to 3, 4 a node, 5, up to 3 a client)
  --jobs N         processes at once (one a core)
Exit code: 0 no violation, 1 a violation, 2 wrong arguments, 130 interrupted.
)";
}

bool parse_arguments(int count, char** values, Arguments* arguments, std::string* error) {
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--trace") {
      arguments->options.trace = true;
    } else if (name == "--harsh") {
      arguments->options.harsh = true;
    } else if (name == "--mutants") {
      arguments->mutants = true;
    } else if (name == "--quick") {
      arguments->quick = true;
    } else if (name == "--help" || name == "-h") {
      arguments->help = true;
    } else if (i + 1 == count) {
      *error = "unknown argument, or its value is missing: " + name;
      return false;
    } else if (!take_value(name, values[++i], arguments)) {
      *error = "wrong argument: " + name + " " + values[i];
      return false;
    }
  }
  if (arguments->options.trace && (arguments->seeds != 1 || arguments->mutants)) {
    *error = "--trace is for one seed";
    return false;
  }
  // A history is for judges of strict serializability, which the other modes do not promise.
  Options& options = arguments->options;
  if (!arguments->history_file.empty() && !options.durability) options.durability = Durability::kSync;
  return true;
}

}  // namespace txnic::sim
