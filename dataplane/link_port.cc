// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/link_port.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <rte_mbuf.h>

namespace txnic::dataplane {
namespace {

constexpr uint32_t kIpMtu = 1500;  // what ports are set up for (PortOptions::mtu)

}  // namespace

LinkPort::LinkPort(uint32_t worker, const DataplaneOptions& options, std::span<const Port> ports,
                   Transmitter* transmitter, WorkerCounters* counters)
    : own_{options.link->own_address, static_cast<uint16_t>(options.link->udp_port + worker)},
      peer_{options.link->peer_address, static_cast<uint16_t>(options.link->udp_port + worker)},
      // A point-to-point link inside one machine, and the channel checks lengths; kSoftware is for who doubts that.
      checksum_(options.checksum == ChecksumPolicy::kSoftware ? UdpChecksum::kSoftware : UdpChecksum::kNone),
      port_(ports[options.link->port_index].id),
      pool_(ports[options.link->port_index].pool),
      transmitter_(transmitter),
      counters_(&counters->link) {
  const uint32_t room = rte_pktmbuf_data_room_size(pool_) - RTE_PKTMBUF_HEADROOM - kHeadersBytes;
  frame_bytes_max_ = std::min({limits::kMessageBytesMax, room, kIpMtu - kIpHeaderBytes - kUdpHeaderBytes}) & ~7u;
}

LinkPort::~LinkPort() { rte_pktmbuf_free(open_); }

MutableBytes LinkPort::room() {
  if (open_ == nullptr) open_ = rte_pktmbuf_alloc(pool_);
  if (open_ == nullptr) [[unlikely]] {
    counters_->no_packet.add();
    return {};
  }
  return {rte_pktmbuf_mtod_offset(open_, std::byte*, frame_at::kPayload), frame_bytes_max_};
}

void LinkPort::send(uint32_t bytes) {
  assert(open_ != nullptr && bytes <= frame_bytes_max_);
  rte_mbuf* const packet = std::exchange(open_, nullptr);
  build_message_headers(rte_pktmbuf_mtod(packet, uint8_t*), transmitter_->mac(port_), peer_mac_, own_, peer_, bytes,
                        checksum_);
  packet->data_len = static_cast<uint16_t>(kHeadersBytes + bytes);
  packet->pkt_len = kHeadersBytes + bytes;
  packet->port = port_;
  transmitter_->send(port_, packet);
  counters_->tx_frames.add();
  counters_->tx_bytes.add(bytes);
}

void LinkPort::learn(const uint8_t* frame) {
  std::memcpy(peer_mac_.data(), frame + frame_at::kSourceMac, peer_mac_.size());
}

}  // namespace txnic::dataplane
