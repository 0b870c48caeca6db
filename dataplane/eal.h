// SPDX-License-Identifier: BSD-3-Clause
// Starts DPDK's environment (EAL) from a command line "program EAL-arguments -- our-arguments".
#pragma once

#include <string>
#include <vector>

namespace txnic::dataplane {

struct EalStart {
  bool ok = false;
  std::string error;               // cause and next step; empty when ok
  std::vector<std::string> ours;   // what stood behind "--"
  std::vector<std::string> notes;  // what was done on the way (dead sockets removed)
};

// Splits without starting anything: a program can check its own arguments (or answer --help) first.
struct CommandLine {
  std::vector<std::string> eal;  // with the program's name in front
  std::vector<std::string> ours;
};
CommandLine split_command_line(int argc, char** argv);

// Once per process. Also removes sockets that a killed process left behind (see remove_dead_sockets).
EalStart start_eal(const CommandLine& line);
// Last of all: closes the ports that are still open; afterwards only leave the process. Does not call
// rte_eal_cleanup(): it unmaps memory under the running interrupt thread, which now and then crashes a program that is
// done; what it would tidy up, the next start tidies up as well.
void stop_eal();

// A port that listens on a socket path cannot bind while the socket file of a dead process is in the way. For every
// --vdev argument with role=server and socket=PATH: removes the file if it is a socket and nobody listens there.
std::vector<std::string> remove_dead_sockets(const std::vector<std::string>& eal_arguments);

}  // namespace txnic::dataplane
