// SPDX-License-Identifier: BSD-3-Clause
// txsim's command line.
#pragma once

#include "tests/sim/options.h"

namespace txnic::sim {

struct Arguments {
  Options options;
  uint64_t seeds = 1;
  uint32_t processes = 0;    // 0: one a core
  std::string history_file;  // of the one seed, or of the first that is violated
  bool mutants = false;
  bool quick = false;  // without the mutants that take hundreds of seeds
  bool help = false;
};

// False: `error` says which argument is wrong.
bool parse_arguments(int count, char** values, Arguments* arguments, std::string* error);
const char* usage();

}  // namespace txnic::sim
