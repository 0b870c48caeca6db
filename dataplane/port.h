// SPDX-License-Identifier: BSD-3-Clause
// One DPDK port, set up by what it says it can do, never by its driver's name. What it cannot do is left out and told
// in one line; nothing that is missing is fatal, except a queue to receive from and one to send to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame.h"

struct rte_mempool;

namespace txnic::dataplane {

struct PortOptions {
  uint32_t workers = 1;
  uint32_t queues = 0;              // 0: choose (see port.cc); else this many each way, as far as the port has them
  uint32_t rx_descriptors = 1024;   // a multiple and within limits: the port adjusts them
  uint32_t tx_descriptors = 1024;
  uint32_t mtu = 1500;
  ChecksumPolicy checksum = ChecksumPolicy::kAuto;
  bool promiscuous = true;
};

struct Port {
  uint16_t id = 0;
  std::string name;
  Mac mac{};
  int numa_node = -1;
  uint16_t rx_queues = 0, tx_queues = 0;
  uint16_t rx_descriptors = 0, tx_descriptors = 0;
  bool spreads = false;          // RSS is on
  bool checks_ip = false;        // hardware checks received IPv4 header checksums
  bool checks_udp = false;
  bool computes_udp = false;     // hardware computes the UDP checksums of what we send
  bool is_virtual = false;       // a software device: its link is another process, and a restart costs nothing
  bool listens = false;          // made with role=server: waits for its peers by itself
  bool promiscuous = false;
  bool started = false;
  uint32_t starts = 0;           // how often it has been started
  rte_mempool* pool = nullptr;   // its packets; set by configure_port
  std::string summary;           // one line: what was chosen
};

// Ids of the ports that the EAL has found.
std::vector<uint16_t> available_ports();

// What the port will need from the packet pool.
uint32_t port_packet_count(const Port& port);

// Finds out what the port can do and chooses queues and descriptors. Configures nothing yet.
bool examine_port(uint16_t id, const PortOptions& options, Port* port, std::string* error);
// Configures queues with packets from `pool`.
bool configure_port(const PortOptions& options, rte_mempool* pool, Port* port, std::string* error);
// Starts it. A virtual port whose peer is not there yet may refuse: peers.h tries again.
bool start_port(Port* port, std::string* error);
void stop_port(Port* port);
void close_port(Port* port);
bool port_link_is_up(const Port& port);

// A pool for this port's packets, on its NUMA node. `packets`: what everybody may hold at once.
rte_mempool* create_packet_pool(const std::string& name, uint32_t packets, int numa_node, std::string* error);
// Bytes that such a pool takes from the EAL's memory.
uint64_t packet_pool_bytes(uint32_t packets);

}  // namespace txnic::dataplane
