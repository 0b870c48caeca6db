// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/preflight.h"

#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "dataplane/lcores.h"
#include "dataplane/memory.h"
#include "dataplane/port.h"

namespace txnic::dataplane {
namespace {

constexpr uint64_t kMebibyte = 1u << 20;

std::string mebibytes(uint64_t bytes) { return std::to_string((bytes + kMebibyte - 1) / kMebibyte) + " MiB"; }

void check_ports(const Needs& needs, std::vector<Problem>* problems) {
  const uint32_t ports = rte_eth_dev_count_avail();
  if (ports >= needs.ports) return;
  problems->push_back(
      {Severity::kError,
       (ports == 0 ? std::string("no port. ")
                   : "only " + std::to_string(ports) + " ports, need " + std::to_string(needs.ports) + ". ") +
           "Give one in front of \"--\", for example\n"
           "  --vdev=net_memif0,role=server,id=0,socket=/tmp/txnic.sock,socket-abstract=no   another local process\n"
           "  --vdev=net_tap0,iface=txnic0                                                   the local kernel (root)\n"
           "  --vdev=net_af_packet0,iface=eth1                                               a kernel interface "
           "(root)\n"
           "  -a 0000:3b:00.0                                                                a NIC bound to vfio-pci"});
}

void check_workers(const Needs& needs, std::vector<Problem>* problems) {
  const uint32_t have = worker_lcore_count();
  if (rte_lcore_count() == 1) {
    problems->push_back({Severity::kNote,
                         "one lcore: the worker shares it with housekeeping. Give two for steady latency (-l 0,1; on "
                         "one CPU: --lcores 0@0,1@0)"});
  }
  if (needs.workers > have) {
    problems->push_back({Severity::kError, "need " + std::to_string(needs.workers) + " workers, have " +
                                               std::to_string(have) + ". Give " + std::to_string(needs.workers + 1) +
                                               " lcores (-l 0-" + std::to_string(needs.workers) +
                                               "): the first is for housekeeping"});
  }
}

void check_memory(const Needs& needs, std::vector<Problem>* problems) {
  const uint64_t eal_free = eal_free_bytes();
  if (eal_has_hugepages()) {
    const uint64_t need = needs.region_bytes + needs.packet_bytes;
    if (need > eal_free) {
      problems->push_back({Severity::kError,
                           "not enough hugepages: need " + mebibytes(need) + ", have " + mebibytes(eal_free) +
                               ". As root: echo " + std::to_string(need / (2 * kMebibyte) + 1) +
                               " > /proc/sys/vm/nr_hugepages; or run with --no-huge -m " +
                               std::to_string(needs.packet_bytes / kMebibyte + 64)});
    }
    return;
  }
  if (needs.packet_bytes > eal_free) {
    problems->push_back({Severity::kError, "not enough packet memory: need " + mebibytes(needs.packet_bytes) +
                                               ", have " + mebibytes(eal_free) + ". Run with --no-huge -m " +
                                               std::to_string(needs.packet_bytes / kMebibyte + 64)});
  }
  const uint64_t available = available_memory_bytes();
  if (needs.region_bytes > available) {
    problems->push_back({Severity::kError, "not enough memory: need " + mebibytes(needs.region_bytes) + ", have " +
                                               mebibytes(available) + ". Configure smaller tables, or free memory"});
  }
}

void check_numa(std::vector<Problem>* problems) {
  for (const uint16_t port : available_ports()) {
    const int port_node = rte_eth_dev_socket_id(port);
    if (port_node < 0) continue;
    for (uint32_t w = 0; w < worker_lcore_count(); ++w) {
      const int worker_node = worker_numa_node(w);
      if (worker_node >= 0 && worker_node != port_node) {
        problems->push_back({Severity::kWarning,
                             "port " + std::to_string(port) + " is on NUMA node " + std::to_string(port_node) +
                                 ", worker " + std::to_string(w) + " on node " + std::to_string(worker_node) +
                                 ": choose lcores of the port's node (-l)"});
      }
    }
  }
}

}  // namespace

std::vector<Problem> preflight(const Needs& needs) {
  std::vector<Problem> problems;
  check_ports(needs, &problems);
  check_workers(needs, &problems);
  check_memory(needs, &problems);
  check_numa(&problems);
  return problems;
}

bool has_errors(const std::vector<Problem>& problems) {
  for (const Problem& p : problems) {
    if (p.severity == Severity::kError) return true;
  }
  return false;
}

std::string format(const Problem& problem) {
  switch (problem.severity) {
    case Severity::kNote: return "note: " + problem.text;
    case Severity::kWarning: return "warning: " + problem.text;
    case Severity::kError: return "error: " + problem.text;
  }
  return problem.text;
}

}  // namespace txnic::dataplane
