// SPDX-License-Identifier: BSD-3-Clause
// One worker's end of the host link on an ordinary port: a frame of the link is the payload of a UDP datagram between
// two addresses that only the link has. The other end's MAC address is learned from its frames; until then, and where
// both ends are point to point, broadcast does.
//
// What cannot leave is dropped and counted: the channel above sends it again.
#pragma once

#include "dataplane/counters.h"
#include "dataplane/frame.h"
#include "dataplane/options.h"
#include "dataplane/port.h"
#include "dataplane/transmit.h"
#include "offload/link/channel.h"

namespace txnic::dataplane {

class LinkPort final : public link::FramePort {
 public:
  // All outlive it. `options.link` is given.
  LinkPort(uint32_t worker, const DataplaneOptions& options, std::span<const Port> ports, Transmitter* transmitter,
           WorkerCounters* counters);
  ~LinkPort();
  LinkPort(const LinkPort&) = delete;
  LinkPort& operator=(const LinkPort&) = delete;

  // ---- the worker's lcore -----------------------------------------------------------------------
  // In a packet of the port's; empty if none is free.
  MutableBytes room() override;
  void send(uint32_t bytes) override;
  // A frame of the other end has come.
  void learn(const uint8_t* frame);
  // What fits the port's MTU and a packet's room, a multiple of 8.
  uint32_t frame_bytes_max() const { return frame_bytes_max_; }

 private:
  const Endpoint own_, peer_;
  const UdpChecksum checksum_;
  const uint16_t port_;
  uint32_t frame_bytes_max_;
  rte_mempool* pool_;
  Transmitter* transmitter_;
  LinkCounters* counters_;
  rte_mbuf* open_ = nullptr;  // whose room was given
  Mac peer_mac_{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
};

}  // namespace txnic::dataplane
