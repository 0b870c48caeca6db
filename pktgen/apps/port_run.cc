// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/apps/port_run.h"

#include <time.h>

#include <atomic>

#include "dataplane/lcores.h"
#include "dataplane/preflight.h"
#include "dataplane/transport.h"
#include "pktgen/load/port_transport.h"
#include "pktgen/workload/random.h"

namespace txnic::pktgen {

namespace {

constexpr uint32_t kResolveSliceMs = 1000;
constexpr long kHousekeepingNs = 10'000'000;
// Our UDP ports when none is given: another one for each run, so that late replies to an earlier run find nobody.
constexpr uint16_t kLocalPortFirst = 20'000;
constexpr uint64_t kLocalPortCount = 30'000;

// Asks the port what it is. A software device's other end is a process of this machine, and IPv4 lets a sender leave
// the UDP checksum out; the answers then come without one, too.
dataplane::ChecksumPolicy checksum_policy(const Options& o, uint32_t port_id) {
  if (o.checksums == Checksums::kOff) return dataplane::ChecksumPolicy::kOff;
  const std::vector<uint16_t> ids = dataplane::available_ports();
  dataplane::Port port;
  std::string error;
  const bool known = port_id < ids.size() && dataplane::examine_port(ids[port_id], {}, &port, &error);
  if (o.checksums == Checksums::kAuto && known && port.is_virtual) return dataplane::ChecksumPolicy::kOff;
  return dataplane::ChecksumPolicy::kAuto;
}

// Link `i` leads to the i-th node that was given. All have one address of ours, and one UDP port.
dataplane::TransportOptions transport_options(const Options& o, uint32_t i, uint16_t own_port) {
  const Endpoint node = i == 0 ? o.node : o.more_nodes[i - 1];
  dataplane::TransportOptions t;
  t.port_index = o.port_id + i;
  t.queues = o.queues;
  t.own_address = o.local.address;
  t.peer_address = node.address;
  t.own_base_port = own_port;
  t.peer_base_port = node.port;
  t.rx_descriptors = t.tx_descriptors = o.descriptors;
  t.raw = o.raw;
  t.checksum = checksum_policy(o, t.port_index);
  return t;
}

void tell(const std::vector<std::string>& notes, bool quiet) {
  for (const std::string& note : notes) {
    if (!quiet) remark(note);
  }
}

// Link up and node found; false: said already why not.
bool find_node(dataplane::Transport& port, const Options& options, const Live& live) {
  const TimeNs limit = clock_now() + options.load.give_up_ns;
  std::string error;
  while (!port.resolve(kResolveSliceMs, &error)) {
    if (live.stop_requests.load(std::memory_order_relaxed) != 0) {
      remark("stopped before the node was found");
      return false;
    }
    if (clock_now() >= limit) {
      complain("given up after " + std::to_string(options.load.give_up_ns / kSecondNs) + " s: " + error);
      return false;
    }
  }
  return true;
}

// The generator has a worker's lcore for itself; this thread keeps house meanwhile.
int run_on_worker(const Options& options, const std::vector<std::string>& arguments,
                  const std::vector<std::unique_ptr<dataplane::Transport>>& ports, Live& live) {
  std::vector<PortTransport::Link> links;
  for (size_t i = 0; i < ports.size(); ++i) {
    links.push_back({ports[i].get(), i == 0 ? options.node : options.more_nodes[i - 1]});
  }
  PortTransport transport(std::move(links));
  std::atomic<int> code{kExitCannotStart};
  std::string error;
  const auto body = [&] { code.store(run_generator(options, arguments, transport, live)); };
  if (!dataplane::launch_worker(0, body, &error)) {
    complain(error);
    return kExitCannotStart;
  }
  while (dataplane::worker_is_running(0)) {
    for (const auto& port : ports) tell(port->housekeep(), options.quiet);
    const timespec pause{0, kHousekeepingNs};
    nanosleep(&pause, nullptr);
  }
  dataplane::join_worker(0);
  return code.load();
}

// A link for each node that was given, up and with its node found; false: said already why not.
bool open_ports(const Options& options, const Live& live, std::vector<std::unique_ptr<dataplane::Transport>>* ports) {
  Random random(static_cast<uint64_t>(clock_now()), 0);
  const uint16_t own_port = options.local.port != 0
                                ? options.local.port
                                : static_cast<uint16_t>(kLocalPortFirst + random.below(kLocalPortCount));
  std::string error;
  for (uint32_t i = 0; i <= options.more_nodes.size(); ++i) {
    ports->push_back(dataplane::Transport::open(transport_options(options, i, own_port), &error));
    if (ports->back() == nullptr || !ports->back()->start(&error)) {
      complain(error);
      return false;
    }
  }
  for (const auto& port : *ports) {
    if (!find_node(*port, options, live)) return false;
    if (!options.quiet) remark(port->port().summary);
  }
  return true;
}

}  // namespace

int run_over_port(const Options& options, const dataplane::CommandLine& line,
                  const std::vector<std::string>& arguments, Live& live) {
  dataplane::EalStart eal = dataplane::start_eal(line);
  tell(eal.notes, options.quiet);
  if (!eal.ok) {
    complain(eal.error);
    return kExitCannotStart;
  }
  const auto problems = dataplane::preflight({});
  for (const auto& problem : problems) {
    if (problem.severity == dataplane::Severity::kError) {
      complain(problem.text);
    } else if (!options.quiet) {
      remark(dataplane::format(problem));
    }
  }
  int code = kExitCannotStart;
  std::vector<std::unique_ptr<dataplane::Transport>> ports;
  if (!dataplane::has_errors(problems) && open_ports(options, live, &ports)) {
    code = run_on_worker(options, arguments, ports, live);
  }
  ports.clear();
  dataplane::stop_eal();
  return code;
}

}  // namespace txnic::pktgen
