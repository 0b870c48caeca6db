// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/transport.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include <rte_errno.h>
#include <rte_mempool.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "dataplane/peers.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kPacketsPerQueue = 4096;  // bursts under way, strays, and the pool's per-lcore cache
constexpr uint32_t kStrayPackets = 1024;
constexpr uint64_t kRawPeerMac = 0x010000000002;  // 02:00:00:00:00:01, locally administered

void nap_microseconds(long microseconds) {
  const timespec time{0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

}  // namespace

std::unique_ptr<Transport> Transport::open(const TransportOptions& options, std::string* error) {
  std::unique_ptr<Transport> transport(new Transport);
  const std::vector<uint16_t> ids = available_ports();
  if (options.port_index >= ids.size()) {
    *error = "no port " + std::to_string(options.port_index) + " (there are " + std::to_string(ids.size()) +
             "): give one with --vdev=… or -a … in front of \"--\"";
    return nullptr;
  }
  if (options.queues == 0 || options.queues > kTransportQueuesMax ||
      options.own_base_port + options.queues * kFlowsPerQueue > 65536) {
    *error = "queues must be 1 to " + std::to_string(kTransportQueuesMax) + ", and their ports below 65536";
    return nullptr;
  }
  PortOptions wanted;
  wanted.workers = options.queues;
  wanted.queues = options.queues;
  wanted.rx_descriptors = options.rx_descriptors;
  wanted.tx_descriptors = options.tx_descriptors;
  wanted.checksum = options.checksum;
  Port port;
  if (!examine_port(ids[options.port_index], wanted, &port, error)) return nullptr;
  if (port.rx_queues < options.queues) {
    *error = "port " + std::to_string(port.id) + " (" + port.name + ") has " + std::to_string(port.rx_queues) +
             " queues, need " + std::to_string(options.queues) + ": use fewer polling threads";
    return nullptr;
  }
  const uint32_t packets = port_packet_count(port) + options.queues * kPacketsPerQueue;
  TransportShared& shared = transport->shared_;
  shared.options = options;
  shared.pool = create_packet_pool("client" + std::to_string(port.id), packets, port.numa_node, error);
  if (shared.pool == nullptr || !configure_port(wanted, shared.pool, &port, error)) return nullptr;
  shared.port = port.id;
  shared.own_mac = port.mac;
  shared.computes_udp = port.computes_udp;
  shared.checks_ip = port.checks_ip;
  shared.checks_udp = port.checks_udp;
  shared.clock = Clock::calibrated();
  shared.add_peer({options.peer_address, options.peer_base_port});
  shared.peers[0].wanted.store(false);  // until resolve(): the link is not up yet
  if (options.raw) shared.peers[0].mac.store(kRawPeerMac);
  transport->ports_.push_back(std::move(port));
  if (!transport->create_queues(error)) return nullptr;
  return transport;
}

bool Transport::create_queues(std::string* error) {
  std::vector<PollGate*> gates;
  for (uint32_t q = 0; q < shared_.options.queues; ++q) {
    const std::string name = "stray" + std::to_string(shared_.port) + "_" + std::to_string(q);
    shared_.stray[q] = rte_ring_create(name.c_str(), kStrayPackets, SOCKET_ID_ANY, RING_F_SC_DEQ | RING_F_EXACT_SZ);
    if (shared_.stray[q] == nullptr) {
      *error = std::string("cannot create a ring: ") + rte_strerror(rte_errno) + ". Give the EAL more memory";
      return false;
    }
    queues_.push_back(std::make_unique<TransportQueue>(&shared_, q));
    gates.push_back(&queues_.back()->gate());
  }
  peers_ = std::make_unique<Peers>(&ports_, gates);
  return true;
}

Transport::~Transport() {
  for (Port& port : ports_) close_port(&port);
  for (rte_ring* ring : shared_.stray) {
    void* packet = nullptr;
    while (ring != nullptr && rte_ring_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
    rte_ring_free(ring);
  }
  queues_.clear();
  rte_mempool_free(shared_.pool);
}

bool Transport::start(std::string* error) {
  if (!peers_->start(shared_.clock.now(), &notes_, error)) return false;
  was_up_ = false;  // the link may be up already: housekeep() takes that for a change, and asks who is there
  return true;
}

std::vector<std::string> Transport::housekeep() {
  peers_->tick(shared_.clock.now(), &notes_);
  const bool up = peers_->all_up();
  // Who answers now may be another process with another MAC address.
  if (up && !was_up_ && !shared_.options.raw) shared_.want_all();
  was_up_ = up;
  return std::exchange(notes_, {});
}

bool Transport::link_is_up() const { return peers_->all_up(); }

std::string Transport::missing_peer() const {
  for (uint32_t i = 0; i < shared_.peer_count.load(); ++i) {
    const uint32_t a = shared_.peers[i].base.address;
    if (knows(i)) continue;
    char text[16];
    std::snprintf(text, sizeof text, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
    return text;
  }
  return {};
}

bool Transport::resolve(uint32_t timeout_ms, std::string* error) {
  const TimeNs deadline = shared_.clock.now() + TimeNs{timeout_ms} * 1'000'000;
  if (!shared_.options.raw) shared_.want_all();
  std::vector<std::string> told;
  while (shared_.clock.now() < deadline) {
    for (std::string& note : housekeep()) told.push_back(std::move(note));
    if (link_is_up()) {
      std::array<Received, limits::kBurstMax> ignored;
      queues_.front()->receive(ignored);
      queues_.front()->flush();
      if (shared_.all_known()) {
        notes_ = std::move(told);
        return true;
      }
    }
    nap_microseconds(500);
  }
  const std::string where = "port " + std::to_string(shared_.port) + " (" + ports_.front().name + ")";
  *error = link_is_up()
               ? where + ": nobody answers ARP for the node's address " + missing_peer() +
                     ". Is it right, and is the node on this link?"
               : where + ": no peer within " + std::to_string(timeout_ms) +
                     " ms. Is the node running, with the same socket or interface, the other role, and as many "
                     "queues?";
  notes_ = std::move(told);
  return false;
}

}  // namespace txnic::dataplane
