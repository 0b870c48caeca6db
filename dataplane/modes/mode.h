// SPDX-License-Identifier: BSD-3-Clause
// A forwarding mode: what the loop does with a burst of packets for our UDP ports (as testpmd's fwd engines). The
// loop has parsed Ethernet, IPv4 and UDP, answered ARP and ICMP, and counted what is not for us; it builds the reply's
// headers in the same mbuf when the mode asks for one.
#pragma once

#include <cstdint>
#include <span>

#include "txn/types.h"

struct rte_mbuf;

namespace txnic::dataplane {

// The tag of a packet with messages of another worker of this node (its outbox). Modes do not pass on this tag.
inline constexpr uint32_t kFromWorkerTag = ~uint32_t{0};
// The tag of a packet that came over the host link: its payload is a frame of the other end.
inline constexpr uint32_t kLinkTag = ~uint32_t{1};

enum class Verdict : uint8_t {
  kDrop,     // the mode is done with it and has counted why
  kReply,    // send the first `reply_length` bytes of `message` back to where it came from
  kHold,     // the mode keeps the packet and gives it back through release() later
  kForward,  // to worker `to_worker` over its ring, unchanged
  kPass,     // to worker `to_worker` over its ring, with `tag` (a session message on its round through the workers)
};

struct Packet {
  std::byte* message;     // UDP payload, inside the mbuf
  rte_mbuf* mbuf;
  Endpoint from;
  uint16_t length;        // of the payload
  uint16_t room;          // bytes that a reply may have at `message`
  uint16_t reply_length = 0;
  uint8_t to_worker = 0;
  Verdict verdict = Verdict::kDrop;
  uint32_t tag = 0;       // with a packet that came by kPass: what the sender set; kFromWorkerTag, kLinkTag; else 0
};

class Mode {
 public:
  virtual ~Mode() = default;
  virtual const char* name() const = 0;
  // One burst, at most kBurstMax. Sets each packet's verdict. `now` is the loop's one clock read.
  virtual void process(std::span<Packet> burst, TimeNs now) = 0;
  // Each loop iteration, after process: background work of bounded length (log completions, expiry, checkpoint
  // steps). Answers how much it did (0: idle).
  virtual uint32_t poll(TimeNs now) = 0;
  // Packets held earlier that may go now, with their verdict (kReply, kPass or kDrop): fills `out`, answers the count.
  virtual uint32_t release(std::span<Packet> out) = 0;
  // True when a held packet or unfinished work remains; the loop asks on the way to a clean stop.
  virtual bool busy() const = 0;
};

}  // namespace txnic::dataplane
