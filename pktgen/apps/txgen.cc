// SPDX-License-Identifier: BSD-3-Clause
// The load generator. EAL arguments first, "--", then ours; see --help.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "pktgen/apps/port_run.h"
#include "pktgen/load/socket_transport.h"

namespace {

using namespace txnic::pktgen;

Live live;

void on_signal(int) { live.stop_requests.fetch_add(1, std::memory_order_relaxed); }

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int run_over_socket(const Options& options, const std::vector<std::string>& arguments) {
  std::string error;
  const txnic::Endpoint local{options.has_local_address ? options.local.address : 0, options.local.port};
  const auto transport = SocketTransport::make(options.node, local, &error);
  if (transport == nullptr) {
    complain(error);
    return kExitCannotStart;
  }
  return run_generator(options, arguments, *transport, live);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  txnic::dataplane::CommandLine line = txnic::dataplane::split_command_line(argc, argv);
  const bool has_eal_part = std::find(arguments.begin(), arguments.end(), "--") != arguments.end();
  if (!has_eal_part) line.ours = arguments;
  Options options;
  std::string error;
  if (!parse_options(line.ours, &options, &error)) {
    complain(error);
    return kExitUsage;
  }
  if (options.help || (arguments.empty())) {
    std::fputs(help_text().c_str(), stdout);
    return options.help ? kExitOk : kExitUsage;
  }
  for (const std::string& note : options.notes) remark(note);
  if (!options.pcap_path.empty()) return write_templates(options);
  catch_signals();
  if (options.transport == TransportKind::kSocket) return run_over_socket(options, arguments);
  if (!has_eal_part) {
    complain("a DPDK port needs EAL arguments in front of '--' (txgen -l 0,1 --vdev=... -- ...); without DPDK use "
             "--transport socket");
    return kExitUsage;
  }
  return run_over_port(options, line, arguments, live);
}
