// SPDX-License-Identifier: BSD-3-Clause
// A run over a DPDK port: EAL, port and link around run_generator().
#pragma once

#include "dataplane/eal.h"
#include "pktgen/apps/run.h"

namespace txnic::pktgen {

int run_over_port(const Options& options, const dataplane::CommandLine& line,
                  const std::vector<std::string>& arguments, Live& live);

}  // namespace txnic::pktgen
