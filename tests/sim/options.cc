// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/options.h"

#include <cstdio>

namespace txnic::sim {

std::string Options::command() const {
  const Options usual;
  std::string text = "./txnic sim --seed " + std::to_string(seed);
  const auto number = [&](const char* name, uint32_t value, uint32_t is_usual) {
    if (value != is_usual) text += std::string(" --") + name + " " + std::to_string(value);
  };
  if (minutes != usual.minutes) {
    char part[48];
    std::snprintf(part, sizeof part, " --minutes %.17g", minutes);
    text += part;
  }
  number("nodes", nodes, usual.nodes);
  number("workers", workers_max, usual.workers_max);
  number("shards", shards, usual.shards);
  number("clients", clients, usual.clients);
  number("processes", processes_max, usual.processes_max);
  if (harsh) text += " --harsh";
  if (durability && mutant.empty()) text += std::string(" --mode ") + name(*durability);
  if (!mutant.empty()) text += " --mutant " + mutant;
  return text + " --trace";
}

}  // namespace txnic::sim
