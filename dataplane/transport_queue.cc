// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/transport_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include "dataplane/neighbour.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kSendAttempts = 16;          // of a full burst before a new message is dropped
constexpr uint32_t kPrefetchAhead = 4;
constexpr TimeNs kArpIntervalNs = 200'000'000;

uint8_t* frame_of(rte_mbuf* packet) { return rte_pktmbuf_mtod(packet, uint8_t*); }

void write_mac(uint8_t* at, uint64_t mac) { std::memcpy(at, &mac, 6); }

void set_length(rte_mbuf* packet, uint32_t length) {
  packet->data_len = static_cast<uint16_t>(length);
  packet->pkt_len = length;
}

Check from_flags(uint64_t state, uint64_t good, uint64_t none, uint64_t bad) {
  if (state == good || state == none) return Check::kGood;
  return state == bad ? Check::kBad : Check::kVerify;
}

}  // namespace

uint32_t TransportShared::add_peer(Endpoint base) {
  const std::lock_guard lock(adding);
  const uint32_t count = peer_count.load();
  for (uint32_t i = 0; i < count; ++i) {
    if (peers[i].base == base) return i;
  }
  if (count == peers.size()) return limits::kNodesMax;
  peers[count].base = base;
  peers[count].wanted.store(true);
  peer_count.store(count + 1, std::memory_order_release);
  return count;
}

bool TransportShared::all_known() const {
  for (uint32_t i = 0; i < peer_count.load(std::memory_order_acquire); ++i) {
    if (peers[i].mac.load() == 0) return false;
  }
  return true;
}

TransportQueue::TransportQueue(TransportShared* shared, uint32_t index)
    : shared_(shared), index_(index), checksum_off_(shared->options.checksum == ChecksumPolicy::kOff) {
  const TransportOptions& o = shared->options;
  filter_ = {byte_swap(o.own_address), o.own_base_port, static_cast<uint16_t>(o.queues * kFlowsPerQueue)};
  refresh_peers();
}

void TransportQueue::prepare_header(uint32_t peer) {
  using namespace frame_at;
  uint8_t* h = headers_[peer].bytes.data();
  std::memcpy(h + kSourceMac, shared_->own_mac.data(), 6);
  store<uint16_t>(h + kEthertype, 0x0008);
  h[kIp] = 0x45;
  h[kIpFragment] = 0x40;  // do not fragment
  h[kIpTtl] = kReplyTtl;
  h[kIpProtocol] = kProtocolUdp;
  store(h + kIpSource, byte_swap(shared_->options.own_address));
  store(h + kIpDestination, byte_swap(shared_->peers[peer].base.address));
  headers_[peer].ip_constant_sum = ip_header_sum(h);
}

TransportQueue::~TransportQueue() {
  free_received();
  if (stocked_ != 0) rte_pktmbuf_free_bulk(stock_.data(), stocked_);
  if (gathered_ != 0) rte_pktmbuf_free_bulk(gathered_packets_.data(), gathered_);
}

// New peers, and MAC addresses that have become known or others.
void TransportQueue::refresh_peers() {
  const uint32_t count = shared_->peer_count.load(std::memory_order_acquire);
  for (; prepared_ < count; ++prepared_) prepare_header(prepared_);
  for (uint32_t peer = 0; peer < count; ++peer) {
    PeerHeader& header = headers_[peer];
    const uint64_t mac = shared_->peers[peer].mac.load(std::memory_order_relaxed);
    if (mac == header.mac) [[likely]] continue;
    header.mac = mac;
    write_mac(header.bytes.data() + frame_at::kDestinationMac, mac);
  }
}

bool TransportQueue::take_packet(rte_mbuf** packet) {
  if (stocked_ == 0) [[unlikely]] {
    if (rte_pktmbuf_alloc_bulk(shared_->pool, stock_.data(), limits::kBurstMax) != 0) return false;
    stocked_ = limits::kBurstMax;
  }
  *packet = stock_[--stocked_];
  return true;
}

// The burst is full: send it, and if the port takes none of it now, try a few times.
bool TransportQueue::make_room() {
  for (uint32_t attempt = 0; attempt < kSendAttempts; ++attempt) {
    flush();
    if (gathered_ < limits::kBurstMax) return true;
    rte_pause();
  }
  return false;
}

bool TransportQueue::send(const std::byte* message, uint32_t length, uint32_t flow, uint32_t worker, uint32_t peer) {
  using namespace frame_at;
  assert(length <= limits::kMessageBytesMax && flow < kFlowsPerQueue && peer < shared_->peer_count.load());
  const PeerHeader& header = headers_[peer];
  if (header.mac == 0) [[unlikely]] refresh_peers();
  if (header.mac == 0) [[unlikely]] {
    shared_->peers[peer].wanted.store(true, std::memory_order_relaxed);
    counters_.tx_dropped.add();
    return false;
  }
  rte_mbuf* packet = nullptr;
  if ((gathered_ == limits::kBurstMax && !make_room()) || !take_packet(&packet)) [[unlikely]] {
    counters_.tx_dropped.add();
    return false;
  }
  uint8_t* frame = frame_of(packet);
  std::memcpy(frame, header.bytes.data(), 48);
  std::memcpy(frame + kPayload, message, length);
  const uint32_t udp_length = length + kUdpHeaderBytes;
  const uint16_t ip_length_raw = byte_swap(static_cast<uint16_t>(udp_length + kIpHeaderBytes));
  store(frame + kIpTotalLength, ip_length_raw);
  store(frame + kIpChecksum, checksum_finish(header.ip_constant_sum + ip_length_raw));
  const TransportOptions& o = shared_->options;
  store(frame + kUdpSource, byte_swap(static_cast<uint16_t>(o.own_base_port + index_ * kFlowsPerQueue + flow)));
  store(frame + kUdpDestination, byte_swap(static_cast<uint16_t>(shared_->peers[peer].base.port + worker)));
  store(frame + kUdpLength, byte_swap(static_cast<uint16_t>(udp_length)));
  set_length(packet, kHeadersBytes + length);
  if (!checksum_off_) [[unlikely]] {
    write_udp_checksum(frame, shared_->computes_udp ? UdpChecksum::kHardware : UdpChecksum::kSoftware);
    if (shared_->computes_udp) {
      packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
      packet->l2_len = kIp;
      packet->l3_len = kIpHeaderBytes;
    }
  }
  gathered_packets_[gathered_++] = packet;
  return true;
}

void TransportQueue::flush() {
  if (gathered_ == 0) return;
  if (!gate_.enter(shared_->port)) {
    // Nobody is there: what waits is lost, as on a wire that is unplugged.
    rte_pktmbuf_free_bulk(gathered_packets_.data(), gathered_);
    counters_.tx_dropped.add(gathered_);
    gathered_ = 0;
    return;
  }
  rte_mbuf** packets = gathered_packets_.data();
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < gathered_; ++i) bytes += packets[i]->pkt_len;
  const auto count = static_cast<uint16_t>(gathered_);
  const auto queue = static_cast<uint16_t>(index_);
  if (shared_->computes_udp) [[unlikely]] rte_eth_tx_prepare(shared_->port, queue, packets, count);
  const uint32_t sent = rte_eth_tx_burst(shared_->port, queue, packets, count);
  gate_.leave();
  for (uint32_t i = sent; i < gathered_; ++i) {
    bytes -= packets[i]->pkt_len;
    packets[i - sent] = packets[i];
  }
  gathered_ -= sent;
  counters_.tx_packets.add(sent);
  counters_.tx_bytes.add(bytes);
}

void TransportQueue::free_received() {
  if (kept_ != 0) rte_pktmbuf_free_bulk(kept_packets_.data(), kept_);
  kept_ = 0;
}

uint32_t TransportQueue::receive(std::span<Received> out) {
  free_received();
  refresh_peers();
  if (index_ == 0) ask_for_peers();
  const uint32_t most = static_cast<uint32_t>(std::min<size_t>(out.size(), limits::kBurstMax));
  uint32_t given = shared_->options.queues > 1 ? receive_strays(out.first(most)) : 0;
  if (given == most || !gate_.enter(shared_->port)) return given;
  std::array<rte_mbuf*, limits::kBurstMax> packets;
  const uint32_t count = rte_eth_rx_burst(shared_->port, static_cast<uint16_t>(index_), packets.data(),
                                          static_cast<uint16_t>(most - given));
  gate_.leave();
  if (count == 0) return given;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < std::min(count, kPrefetchAhead); ++i) rte_prefetch0(frame_of(packets[i]));
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kPrefetchAhead < count) rte_prefetch0(frame_of(packets[i + kPrefetchAhead]));
    bytes += packets[i]->pkt_len;
    const bool is_message =
        shared_->options.raw ? sort_in_raw(packets[i], &out[given]) : sort_in(packets[i], &out[given]);
    if (is_message) [[likely]] {
      kept_packets_[kept_++] = packets[i];
      ++given;
    }
  }
  counters_.rx_packets.add(count);
  counters_.rx_bytes.add(bytes);
  counters_.rx_messages.add(given);
  return given;
}

// True: a message for us, filled in. False: the packet is gone.
bool TransportQueue::sort_in(rte_mbuf* packet, Received* out) {
  if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) [[unlikely]] {
    counters_.rx_ignored.add();
    rte_pktmbuf_free(packet);
    return false;
  }
  Check ip = checksum_off_ ? Check::kGood : Check::kVerify;
  Check udp = ip;
  if (shared_->checks_ip) [[unlikely]] {
    ip = from_flags(packet->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
                    RTE_MBUF_F_RX_IP_CKSUM_NONE, RTE_MBUF_F_RX_IP_CKSUM_BAD);
  }
  if (shared_->checks_udp) [[unlikely]] {
    udp = from_flags(packet->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD,
                     RTE_MBUF_F_RX_L4_CKSUM_NONE, RTE_MBUF_F_RX_L4_CKSUM_BAD);
  }
  uint8_t* frame = frame_of(packet);
  const ParsedFrame parsed = parse_frame(frame, packet->data_len, filter_, ip, udp,
                                         shared_->options.checksum == ChecksumPolicy::kAuto);
  if (parsed.kind != FrameKind::kMessage) [[unlikely]] {
    handle_neighbour(packet, parsed);
    return false;
  }
  const uint32_t owner = parsed.port_index / kFlowsPerQueue;
  if (owner != index_) [[unlikely]] {
    if (rte_ring_mp_enqueue(shared_->stray[owner], packet) != 0) {
      counters_.rx_ignored.add();
      rte_pktmbuf_free(packet);
    } else {
      counters_.rx_strays.add();
    }
    return false;
  }
  *out = {reinterpret_cast<const std::byte*>(frame + frame_at::kPayload), parsed.payload_length,
          parsed.port_index % kFlowsPerQueue, sender_of(frame)};
  return true;
}

bool TransportQueue::sort_in_raw(rte_mbuf* packet, Received* out) {
  const uint8_t* frame = frame_of(packet);
  const uint32_t length = packet->data_len;
  if (length >= kHeadersBytes && frame[frame_at::kIpProtocol] == kProtocolUdp &&
      load<uint16_t>(frame + frame_at::kEthertype) == 0x0008) [[likely]] {
    const uint32_t udp_length = byte_swap(load<uint16_t>(frame + frame_at::kUdpLength));
    if (udp_length >= kUdpHeaderBytes && udp_length + frame_at::kUdp <= length) [[likely]] {
      *out = {reinterpret_cast<const std::byte*>(frame + frame_at::kPayload), udp_length - kUdpHeaderBytes, 0,
              sender_of(frame)};
      return true;
    }
  }
  counters_.rx_ignored.add();
  rte_pktmbuf_free(packet);
  return false;
}

void TransportQueue::handle_neighbour(rte_mbuf* packet, const ParsedFrame& parsed) {
  uint8_t* frame = frame_of(packet);
  bool answered = false;
  if (parsed.kind == FrameKind::kArp) {
    counters_.rx_neighbour.add();
    for (uint32_t i = 0; i < prepared_; ++i) {
      Mac mac{};
      TransportShared::Peer& peer = shared_->peers[i];
      if (!read_arp(frame, packet->data_len, byte_swap(peer.base.address), &mac)) continue;
      uint64_t value = 0;
      std::memcpy(&value, mac.data(), mac.size());
      peer.mac.store(value, std::memory_order_relaxed);
      peer.wanted.store(false, std::memory_order_relaxed);
    }
    answered = answer_arp(frame, filter_.address_raw, shared_->own_mac);
    if (answered) set_length(packet, kArpFrameBytes);
  } else if (parsed.kind == FrameKind::kIcmp) {
    counters_.rx_neighbour.add();
    answered = answer_icmp(frame, parsed.payload_length, shared_->own_mac);
    if (answered) set_length(packet, frame_at::kUdp + uint32_t{parsed.payload_length});
  } else {
    counters_.rx_ignored.add();
  }
  if (answered && (gathered_ < limits::kBurstMax || make_room())) {
    packet->ol_flags = 0;
    gathered_packets_[gathered_++] = packet;
    return;
  }
  rte_pktmbuf_free(packet);
}

uint32_t TransportQueue::receive_strays(std::span<Received> out) {
  rte_ring* ring = shared_->stray[index_];
  if (rte_ring_empty(ring) != 0) return 0;
  std::array<rte_mbuf*, limits::kBurstMax> packets;
  const uint32_t count = rte_ring_sc_dequeue_burst(ring, reinterpret_cast<void**>(packets.data()),
                                                   static_cast<unsigned>(out.size()), nullptr);
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* frame = frame_of(packets[i]);
    const uint32_t port_index = static_cast<uint32_t>(byte_swap(load<uint16_t>(frame + frame_at::kUdpDestination))) -
                                filter_.base_port;
    out[i] = {reinterpret_cast<const std::byte*>(frame + frame_at::kPayload),
              byte_swap(load<uint16_t>(frame + frame_at::kUdpLength)) - kUdpHeaderBytes, port_index % kFlowsPerQueue,
              sender_of(frame)};
    kept_packets_[kept_++] = packets[i];
  }
  return count;
}

void TransportQueue::ask_for_peers() {
  TimeNs now = 0;
  for (uint32_t i = 0; i < prepared_; ++i) {
    if (!shared_->peers[i].wanted.load(std::memory_order_relaxed)) [[likely]] continue;
    if (now == 0) now = shared_->clock.now();
    if (now < next_arp_) return;
    rte_mbuf* packet = nullptr;
    if ((gathered_ == limits::kBurstMax && !make_room()) || !take_packet(&packet)) break;
    build_arp_request(frame_of(packet), shared_->own_mac, byte_swap(shared_->options.own_address),
                      byte_swap(shared_->peers[i].base.address));
    set_length(packet, kArpFrameBytes);
    gathered_packets_[gathered_++] = packet;
  }
  if (now == 0) return;
  next_arp_ = now + kArpIntervalNs;
  flush();
}

}  // namespace txnic::dataplane
