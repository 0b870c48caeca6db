// SPDX-License-Identifier: BSD-3-Clause
// One run from the sessions' opening to the result: load, measure, check, report.
#pragma once

#include <string>
#include <vector>

#include "pktgen/apps/options.h"
#include "pktgen/load/live.h"
#include "pktgen/load/transport.h"

namespace txnic::pktgen {

enum ExitCode : int {
  kExitOk = 0,
  kExitCheckFailed = 1,
  kExitUsage = 2,
  kExitCannotStart = 3,
  kExitCannotGoOn = 4,
};

// `arguments`: the whole command line, for the result file.
int run_generator(const Options& options, const std::vector<std::string>& arguments, Transport& transport, Live& live);
int write_templates(const Options& options);

// "txgen: error: …" on standard error.
void complain(const std::string& text);
void remark(const std::string& text);

}  // namespace txnic::pktgen
