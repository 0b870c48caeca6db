// SPDX-License-Identifier: BSD-3-Clause
// Counters of one worker. One writer (the worker's lcore), any reader: plain loads and stores, no locked instruction.
// Every packet received ends in exactly one reason; the reasons of all workers add up to the packets received as soon
// as nothing is held by a mode or on its way between workers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "txn/limits.h"

namespace txnic::dataplane {

inline constexpr uint32_t kPortsMax = 32;
inline constexpr uint32_t kReasonsMax = 128;

class Counter {
 public:
  void add(uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void raise_to(uint64_t n) {
    if (n > value_.load(std::memory_order_relaxed)) value_.store(n, std::memory_order_relaxed);
  }
  uint64_t read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// How a packet ended. Modes add their own with register_reason().
using Reason = uint8_t;
namespace reason {
enum BuiltIn : Reason {
  // Answered.
  kReplied,
  kArpAnswered,
  kArpLearned,       // ARP of another node: its answer to our question, or its own question to somebody else
  kIcmpAnswered,
  // Dropped.
  kTruncated,        // shorter than the headers it claims
  kVlan,
  kIpv6,
  kArpOther,         // ARP that is not a request for our address
  kOtherEthertype,
  kIpVersion,        // IPv4 by its ethertype, something else by its version or header length
  kIpOptions,
  kIpFragment,
  kIpLength,         // total length beyond the frame, or shorter than its headers
  kIpChecksum,
  kOtherAddress,     // IPv4 for somebody else
  kOwnSource,        // claims to come from our own address: it could be taken for a worker's
  kIcmpOther,        // ICMP that is not a good echo request
  kNotUdp,
  kUdpLength,
  kUdpChecksum,
  kOtherPort,        // UDP to a port that no worker listens on
  kMultiSegment,     // in several buffers, and too long for one
  kReplyTooLong,     // a mode wanted to answer more than the packet has room for
  kRingFull,         // the ring to the packet's worker was full
  kBridged,          // not ours: passed from the wire to the host, or back
  kStopped,          // still held or under way when the node stopped
  kOther,            // must stay zero: a drop without a reason
  kFirstOfModes,
};
}  // namespace reason

// Names a drop reason of a mode ("txn_bad_magic"): the same name gives the same reason. Only before workers start.
Reason register_reason(const char* name);
const char* reason_name(Reason reason);
uint32_t reason_count();

// One receive queue, polled by one worker.
struct QueueCounters {
  uint16_t port = 0;  // id
  uint16_t queue = 0;
  Counter packets;
  Counter misdirected;  // messages for another worker: a rule of the port would have saved the ring
};

struct PortCounters {
  Counter rx_packets, rx_bytes;
  Counter tx_packets, tx_bytes;
  Counter tx_dropped;  // the port's transmit ring stayed full
};

// Why messages of an outbox were lost. Their sender's timer sends them again.
enum class Lost : uint8_t {
  kNoPacket,     // no free packet in the pool
  kRingFull,     // the ring to the worker
  kUnresolved,   // the next hop's MAC address is not known
  kNoShard,      // must stay zero: a shard that the map does not have, or the caller's own
};
inline constexpr uint32_t kLostCount = 4;
const char* lost_name(Lost why);

// What a worker has sent on its own account, not as an answer. None of it counts as received here.
struct OutboxCounters {
  Counter messages;        // given to it; those of `lost` too
  Counter frames;          // to other nodes, given to the port (whose own counters may say tx_dropped)
  Counter worker_frames;   // to workers of this node
  std::array<Counter, kLostCount> lost;  // messages
  Counter arp_requests;    // frames, one a port
  Counter arp_unanswered;  // rounds of them in vain
};

// The host link, as one worker's end sees it.
struct LinkCounters {
  Counter rx_frames, rx_bytes;
  Counter tx_frames, tx_bytes;
  Counter no_packet;  // a frame was not sent: no free packet in the pool
};

// What a worker is doing: written with plain stores all the time, read by the watchdog.
enum class Stage : uint8_t { kNotStarted, kReceive, kParse, kProcess, kPoll, kTransmit, kIdle, kStopped };
inline constexpr uint32_t kStages = 8;
const char* stage_name(Stage stage);

struct alignas(64) Progress {
  std::atomic<uint64_t> last_poll_ns{0};
  std::atomic<Stage> stage{Stage::kNotStarted};
  void enter(Stage s) { stage.store(s, std::memory_order_relaxed); }
};

inline constexpr uint32_t kStepBuckets = 40;  // bucket b counts loop steps of 2^b to 2^(b+1) nanoseconds

struct alignas(64) WorkerCounters {
  std::array<Counter, kReasonsMax> ended;

  Counter received;          // from ports, and from_workers
  Counter from_workers;      // frames with messages of other workers' outboxes
  Counter forwarded;         // to the worker that the UDP port names
  Counter passed;            // to another worker, by the mode
  Counter taken;             // from other workers: what they have forwarded or passed
  Counter held, given_back;  // by the mode
  Counter checksums_unfinished;  // a local kernel left the UDP checksum to hardware that is not there: accepted

  Counter busy_ns, idle_ns;
  Counter emulated_ns;  // of busy_ns: waited for because a hardware profile says so
  Counter busy_steps, idle_steps;
  // Placement NIC with the back in the same worker: of busy_ns and idle_ns, the turns of the back.
  Counter back_busy_ns, back_idle_ns, back_busy_turns;
  Counter longest_step_ns;
  std::array<Counter, kStepBuckets> step_buckets;

  OutboxCounters outbox;
  LinkCounters link;
  std::array<PortCounters, kPortsMax> ports;

  // For modes: the reason of a packet whose verdict is kDrop. Exactly one call for each such packet.
  void drop(Reason why) {
    ended[why].add();
    ++drops_named_;
  }
  // For the loop.
  void end(Reason how, uint64_t packets = 1) { ended[how].add(packets); }
  void expect_named_drops(uint64_t packets) { drops_expected_ += packets; }
  // Drops that the mode did not name go to kOther, so that the sum stays right and the bug shows.
  void settle_drops() {
    if (drops_expected_ > drops_named_) {
      ended[reason::kOther].add(drops_expected_ - drops_named_);
      drops_named_ = drops_expected_;
    }
  }
  uint64_t ended_total() const {
    uint64_t sum = 0;
    for (const Counter& c : ended) sum += c.read();
    return sum;
  }

 private:
  uint64_t drops_named_ = 0;
  uint64_t drops_expected_ = 0;
};

}  // namespace txnic::dataplane
