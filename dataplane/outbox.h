// SPDX-License-Identifier: BSD-3-Clause
// One worker's outbox: messages of its front to other workers of this node and to other nodes. Messages for the same
// worker gather in one frame, each on a multiple of 8 bytes of the payload (its header tells its length), and leave
// when the frame is full or the loop's step ends. A frame to a worker of this node goes over the ring between the two,
// with kFromWorkerTag; one to another node is an ordinary UDP frame from our address and this worker's port.
//
// What cannot leave is dropped and counted by its reason, never kept: senders have timers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/counters.h"
#include "dataplane/exchange.h"
#include "dataplane/next_hop.h"
#include "dataplane/options.h"
#include "dataplane/port.h"
#include "dataplane/transmit.h"
#include "offload/outbox.h"
#include "txn/shard_map.h"

namespace txnic::dataplane {

inline constexpr uint32_t kMessageAlignment = 8;  // of each message in a frame's payload

// Frames that one worker's outbox may have open at once: one for each worker of the map. Sizes the packet pools.
uint32_t outbox_frames_max(const ShardMap& map);

class WorkerOutbox final : public offload::Outbox {
 public:
  // All outlive it. `options.map` is given.
  WorkerOutbox(uint32_t worker, const DataplaneOptions& options, std::span<const Port> ports, NextHops* hops,
               Exchange* exchange, Transmitter* transmitter, WorkerCounters* counters);
  WorkerOutbox(const WorkerOutbox&) = delete;
  WorkerOutbox& operator=(const WorkerOutbox&) = delete;

  // ---- the worker's lcore -----------------------------------------------------------------------
  void send(ShardId shard, Bytes message) override;
  // Once a step of the loop: what is open leaves, and next hops are asked for. Answers how many frames left.
  uint32_t flush(TimeNs now);
  // An ARP frame that arrived on `port`. True: another node, or the gateway, sent it.
  bool learn(const uint8_t* frame, uint16_t port, TimeNs now);

 private:
  // Where frames for one worker of the map go.
  struct Lane {
    rte_mbuf* open = nullptr;  // null: nothing gathered
    uint32_t length = 0;       // of its payload
    uint32_t messages = 0;
    uint32_t entry = NextHops::kNone;  // of next_hops; kNone: a worker of this node
    Endpoint to;
    uint8_t worker = 0;        // of the node that it leads to
    bool is_used = false;      // since the last flush
  };

  bool open_frame(Lane& lane);
  void close_frame(Lane& lane);
  void close_to_worker(Lane& lane, rte_mbuf* packet);
  void close_to_node(Lane& lane, rte_mbuf* packet);
  void lose(Lane& lane, rte_mbuf* packet, Lost why);
  void ask(TimeNs now);
  void ask_on_all_ports(uint32_t entry);
  UdpChecksum checksum_on(uint16_t port) const;

  const uint32_t worker_;
  const ShardMap map_;
  const Endpoint own_;
  const ChecksumPolicy checksum_;
  NextHops* const hops_;
  Questions questions_;
  Exchange* const exchange_;
  Transmitter* const transmitter_;
  OutboxCounters* const statistics_;
  rte_mempool* pool_ = nullptr;
  std::vector<uint16_t> port_ids_;
  std::vector<Lane> lanes_;                           // of all workers of the map, node by node
  std::array<uint32_t, limits::kNodesMax> first_{};   // a node's first lane
  std::vector<uint32_t> used_;                        // lanes used since the last flush
  uint32_t frames_ = 0;                               // that left since the last flush
};

}  // namespace txnic::dataplane
