// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port as a client's way to a node: the load generator's transport. Life:
//
//   auto transport = Transport::open(options, &error);     // after start_eal()
//   transport->start(&error);
//   transport->resolve(5000, &error);                       // waits for the link, then finds the node by ARP
//   launch_worker(q, [&] { TransportQueue& queue = transport->queue(q);
//     while (running) { n = queue.receive(received); …; queue.send(message, length, flow, worker); queue.flush(); } });
//   main: every 10 ms  for (note : transport->housekeep()) print(note);   // the node may die and come back
//
// One thread polls a queue. A reply that arrives at another queue than its flow's (by RSS, or because the node's
// workers each answer on their own queue) goes to the right one over a ring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/port.h"
#include "dataplane/transport_queue.h"

namespace txnic::dataplane {

class Peers;

class Transport {
 public:
  static std::unique_ptr<Transport> open(const TransportOptions& options, std::string* error);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  bool start(std::string* error);
  // Before other threads poll: keeps housekeeping until the link is up and all peers have answered ARP (raw: until the
  // link is up). False after `timeout_ms`, with the reason.
  bool resolve(uint32_t timeout_ms, std::string* error);
  // A further node on the same link: its number for TransportQueue::send. Any thread, at any time; the same for one
  // that is there already; limits::kNodesMax: no room. Peer 0 is that of the options. It is asked for by ARP at once;
  // what is sent before it has answered is dropped and counted.
  uint32_t add_peer(Endpoint base) { return shared_.add_peer(base); }
  bool knows(uint32_t peer) const { return shared_.peers[peer].mac.load(std::memory_order_relaxed) != 0; }
  std::vector<std::string> housekeep();
  bool link_is_up() const;

  TransportQueue& queue(uint32_t index) { return *queues_[index]; }
  uint32_t queue_count() const { return static_cast<uint32_t>(queues_.size()); }
  const Port& port() const { return ports_.front(); }
  const Clock& clock() const { return shared_.clock; }

 private:
  Transport() = default;
  bool create_queues(std::string* error);
  std::string missing_peer() const;

  TransportShared shared_;
  std::vector<Port> ports_;  // one
  std::vector<std::unique_ptr<TransportQueue>> queues_;
  std::unique_ptr<Peers> peers_;
  std::vector<std::string> notes_;
  bool was_up_ = false;
};

}  // namespace txnic::dataplane
