// SPDX-License-Identifier: BSD-3-Clause
// One node as a process: command line, EAL, preflight, engine, dataplane, housekeeping, clean stop.
#pragma once

namespace txnic::apps {

// Runs a node until it is told to stop. Answers the exit code (options.h).
int run_node(int argc, char** argv);

}  // namespace txnic::apps
