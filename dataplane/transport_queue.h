// SPDX-License-Identifier: BSD-3-Clause
// One thread's queue of a client port: UDP messages out, UDP messages in, in bursts. Made by transport.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "dataplane/clock.h"
#include "dataplane/counters.h"
#include "dataplane/frame.h"
#include "dataplane/poll_gate.h"
#include "txn/limits.h"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

namespace txnic::dataplane {

inline constexpr uint32_t kFlowsPerQueue = 256;  // own UDP ports of one queue
inline constexpr uint32_t kTransportQueuesMax = 64;

struct TransportOptions {
  uint32_t port_index = 0;            // the n-th port that the EAL has found
  uint32_t queues = 1;  // one for each polling thread; shared-memory links need the same number at both ends
  uint32_t own_address = 0x0a630002;  // host order (10.99.0.2)
  uint32_t peer_address = 0x0a630001; // 10.99.0.1: peer 0; further nodes by Transport::add_peer
  uint16_t own_base_port = 20000;     // flow f of queue q: own_base_port + q * kFlowsPerQueue + f
  uint16_t peer_base_port = 7700;     // worker w: peer_base_port + w
  uint32_t rx_descriptors = 1024;
  uint32_t tx_descriptors = 1024;
  ChecksumPolicy checksum = ChecksumPolicy::kAuto;  // kOff sends UDP checksum 0, which IPv4 allows: the fastest
  // Frames to a forwarder that swaps MAC addresses and sends everything back (testpmd macswap): no ARP, and any UDP
  // frame that comes back is a message, whatever its addresses.
  bool raw = false;
};

struct Received {
  const std::byte* message;  // UDP payload, valid until the queue's next receive()
  uint32_t length;
  uint32_t flow;             // our flow; raw: 0
  Endpoint from;
};

struct TransportCounters {
  Counter tx_packets, tx_bytes;
  Counter tx_dropped;   // the transmit ring stayed full, no packet was free, or the peer's MAC address is not known
  Counter rx_packets, rx_bytes;
  Counter rx_messages;  // given to the caller
  Counter rx_strays;    // belonged to another queue and went there
  Counter rx_neighbour; // ARP and ICMP
  Counter rx_ignored;   // everything else
};

// What the queues of a port share.
struct TransportShared {
  TransportOptions options;
  uint16_t port = 0;
  Mac own_mac{};
  bool computes_udp = false;
  bool checks_ip = false, checks_udp = false;
  rte_mempool* pool = nullptr;
  Clock clock;
  struct Peer {
    Endpoint base;                   // worker w: port + w
    std::atomic<uint64_t> mac{0};    // 0: not known
    std::atomic<bool> wanted{false};  // queue 0 asks for the MAC
  };
  std::array<Peer, limits::kNodesMax> peers;
  std::atomic<uint32_t> peer_count{0};  // grows only
  std::mutex adding;

  // Its number, also of one that is there already; kNodesMax if there is no room. Any thread.
  uint32_t add_peer(Endpoint base);
  void want_all() {
    for (uint32_t i = 0; i < peer_count.load(std::memory_order_acquire); ++i) peers[i].wanted.store(true);
  }
  bool all_known() const;
  std::array<rte_ring*, kTransportQueuesMax> stray{};  // to queue q from all others
};

class TransportQueue {
 public:
  TransportQueue(TransportShared* shared, uint32_t index);
  ~TransportQueue();
  TransportQueue(const TransportQueue&) = delete;
  TransportQueue& operator=(const TransportQueue&) = delete;

  // Copies the message behind prepared headers; it leaves with its burst, to that worker of that peer. False: dropped
  // and counted (the port does not take any more, or the peer has not answered ARP yet: it is asked).
  bool send(const std::byte* message, uint32_t length, uint32_t flow, uint32_t worker, uint32_t peer = 0);
  // Sends what has gathered. Call after each round of send().
  void flush();
  // False: a full burst waits and the port takes none of it now; send() would probably drop.
  bool can_send() {
    if (gathered_ < limits::kBurstMax) [[likely]] return true;
    flush();
    return gathered_ < limits::kBurstMax;
  }
  // At most limits::kBurstMax messages. Those of the last call are gone.
  uint32_t receive(std::span<Received> out);

  TimeNs now() const { return shared_->clock.now(); }
  const TransportCounters& counters() const { return counters_; }
  PollGate& gate() { return gate_; }

 private:
  bool take_packet(rte_mbuf** packet);
  bool make_room();
  void refresh_peers();
  void prepare_header(uint32_t peer);
  void ask_for_peers();
  bool sort_in(rte_mbuf* packet, Received* out);
  bool sort_in_raw(rte_mbuf* packet, Received* out);
  void handle_neighbour(rte_mbuf* packet, const ParsedFrame& parsed);
  uint32_t receive_strays(std::span<Received> out);
  void free_received();

  TransportShared* const shared_;
  const uint32_t index_;
  const bool checksum_off_;
  FrameFilter filter_;
  PollGate gate_;
  TransportCounters counters_;
  TimeNs next_arp_ = 0;

  struct PeerHeader {
    alignas(64) std::array<uint8_t, 48> bytes{};  // the 42 bytes in front of each message
    uint64_t mac = 0;  // in it; 0: not known
    uint64_t ip_constant_sum = 0;
  };
  uint32_t prepared_ = 0;  // headers
  std::array<PeerHeader, limits::kNodesMax> headers_{};
  uint32_t stocked_ = 0;
  uint32_t gathered_ = 0;
  uint32_t kept_ = 0;
  std::array<rte_mbuf*, limits::kBurstMax> stock_{};     // empty packets
  std::array<rte_mbuf*, limits::kBurstMax> gathered_packets_{};  // to send
  std::array<rte_mbuf*, limits::kBurstMax> kept_packets_{};      // given to the caller by receive()
};

}  // namespace txnic::dataplane
