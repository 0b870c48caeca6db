// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/outbox.h"

#include <cassert>
#include <cstring>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "dataplane/modes/mode.h"
#include "dataplane/neighbour.h"

namespace txnic::dataplane {
namespace {

uint8_t* frame_of(rte_mbuf* packet) { return rte_pktmbuf_mtod(packet, uint8_t*); }

constexpr uint32_t aligned(uint32_t length) { return (length + kMessageAlignment - 1) & ~(kMessageAlignment - 1); }

void set_length(rte_mbuf* packet, uint32_t length) {
  packet->data_len = static_cast<uint16_t>(length);
  packet->pkt_len = length;
}

}  // namespace

uint32_t outbox_frames_max(const ShardMap& map) {
  uint32_t frames = 0;
  for (uint32_t node = 0; node < map.node_count; ++node) frames += map.nodes[node].workers;
  return frames;
}

WorkerOutbox::WorkerOutbox(uint32_t worker, const DataplaneOptions& options, std::span<const Port> ports,
                           NextHops* hops, Exchange* exchange, Transmitter* transmitter, WorkerCounters* counters)
    : worker_(worker),
      map_(*options.map),
      own_{options.address, static_cast<uint16_t>(options.base_port + worker)},
      checksum_(options.checksum),
      hops_(hops),
      questions_(hops),
      exchange_(exchange),
      transmitter_(transmitter),
      statistics_(&counters->outbox),
      pool_(ports.front().pool) {
  assert(map_.nodes[map_.self].workers == exchange->workers());
  for (const Port& port : ports) port_ids_.push_back(port.id);
  for (uint32_t n = 0; n < map_.node_count; ++n) {
    const ShardMap::Node& node = map_.nodes[n];
    first_[n] = static_cast<uint32_t>(lanes_.size());
    for (uint32_t w = 0; w < node.workers; ++w) {
      Lane lane;
      lane.entry = hops->of_node(n);
      lane.to = {node.base.address, static_cast<uint16_t>(node.base.port + w)};
      lane.worker = static_cast<uint8_t>(w);
      lanes_.push_back(lane);
    }
  }
  used_.reserve(lanes_.size());
  // So that the first messages find their way.
  if (worker == 0) questions_.want_all();
}

void WorkerOutbox::send(ShardId shard, Bytes message) {
  assert(message.size() <= limits::kMessageBytesMax);
  const auto length = static_cast<uint32_t>(message.size());
  statistics_->messages.add();
  if (shard >= map_.shard_count || (map_.is_mine(shard) && map_.worker_of(shard) == worker_)) [[unlikely]] {
    statistics_->lost[static_cast<size_t>(Lost::kNoShard)].add();
    return;
  }
  Lane& lane = lanes_[first_[map_.places[shard].node] + map_.worker_of(shard)];
  if (lane.open != nullptr && aligned(lane.length) + length > limits::kMessageBytesMax) close_frame(lane);
  if (lane.open == nullptr) {
    if (!open_frame(lane)) [[unlikely]] return;
    if (!lane.is_used) used_.push_back(static_cast<uint32_t>(&lane - lanes_.data()));
    lane.is_used = true;
  }
  uint8_t* const payload = frame_of(lane.open) + frame_at::kPayload;
  const uint32_t at = aligned(lane.length);
  std::memset(payload + lane.length, 0, at - lane.length);
  std::memcpy(payload + at, message.data(), length);
  lane.length = at + length;
  ++lane.messages;
}

bool WorkerOutbox::open_frame(Lane& lane) {
  lane.open = rte_pktmbuf_alloc(pool_);
  lane.length = 0;
  lane.messages = 0;
  if (lane.open != nullptr) [[likely]] return true;
  statistics_->lost[static_cast<size_t>(Lost::kNoPacket)].add();
  return false;
}

void WorkerOutbox::close_frame(Lane& lane) {
  rte_mbuf* const packet = lane.open;
  lane.open = nullptr;
  set_length(packet, kHeadersBytes + lane.length);
  if (lane.entry == NextHops::kNone) {
    close_to_worker(lane, packet);
  } else {
    close_to_node(lane, packet);
  }
}

void WorkerOutbox::close_to_worker(Lane& lane, rte_mbuf* packet) {
  // The receiving worker reads length and sender from the headers, as of every packet.
  build_message_headers(frame_of(packet), {}, {}, own_, lane.to, lane.length, UdpChecksum::kNone);
  packet->port = port_ids_.front();
  *note_of(packet) = {kFromWorkerTag, NoteKind::kProcess, {}};
  rte_ring* const ring = exchange_->ring(worker_, lane.worker);
  if (rte_ring_sp_enqueue(ring, packet) != 0) return lose(lane, packet, Lost::kRingFull);
  statistics_->worker_frames.add();
  ++frames_;
}

void WorkerOutbox::close_to_node(Lane& lane, rte_mbuf* packet) {
  Way way;
  const bool is_known = hops_->find(lane.entry, &way);
  questions_.want(lane.entry, is_known);
  if (!is_known) [[unlikely]] return lose(lane, packet, Lost::kUnresolved);
  const UdpChecksum how = checksum_on(way.port);
  if (how == UdpChecksum::kHardware) {
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    packet->l2_len = frame_at::kIp;
    packet->l3_len = kIpHeaderBytes;
  }
  build_message_headers(frame_of(packet), transmitter_->mac(way.port), way.mac, own_, lane.to, lane.length, how);
  packet->port = way.port;
  transmitter_->send(way.port, packet);
  statistics_->frames.add();
  ++frames_;
}

void WorkerOutbox::lose(Lane& lane, rte_mbuf* packet, Lost why) {
  statistics_->lost[static_cast<size_t>(why)].add(lane.messages);
  rte_pktmbuf_free(packet);
}

// As for answers, but nobody has asked: without hardware the checksum is computed, unless the policy is kOff.
UdpChecksum WorkerOutbox::checksum_on(uint16_t port) const {
  if (transmitter_->computes_udp(port)) return UdpChecksum::kHardware;
  return checksum_ == ChecksumPolicy::kOff ? UdpChecksum::kNone : UdpChecksum::kSoftware;
}

uint32_t WorkerOutbox::flush(TimeNs now) {
  for (const uint32_t index : used_) {
    Lane& lane = lanes_[index];
    if (lane.open != nullptr) close_frame(lane);
    lane.is_used = false;
  }
  used_.clear();
  if (hops_->count() != 0 && questions_.is_due(now)) [[unlikely]] ask(now);
  const uint32_t frames = frames_;
  frames_ = 0;
  return frames;
}

void WorkerOutbox::ask(TimeNs now) {
  std::array<uint32_t, limits::kNodesMax> entries;
  uint32_t unanswered = 0;
  const uint32_t count = questions_.look(now, &entries, &unanswered);
  for (uint32_t i = 0; i < count; ++i) ask_on_all_ports(entries[i]);
  statistics_->arp_unanswered.add(unanswered);
}

void WorkerOutbox::ask_on_all_ports(uint32_t entry) {
  for (const uint16_t port : port_ids_) {
    rte_mbuf* const packet = rte_pktmbuf_alloc(pool_);
    if (packet == nullptr) return;  // the next question is not far
    build_arp_request(frame_of(packet), transmitter_->mac(port), byte_swap(own_.address), hops_->address_raw(entry));
    set_length(packet, kArpFrameBytes);
    packet->port = port;
    transmitter_->send(port, packet);
    statistics_->arp_requests.add();
  }
}

bool WorkerOutbox::learn(const uint8_t* frame, uint16_t port, TimeNs now) {
  uint32_t address_raw = 0;
  Mac mac{};
  if (!read_arp_sender(frame, &address_raw, &mac)) return false;
  const uint32_t entry = hops_->entry_of(address_raw);
  if (entry == NextHops::kNone) return false;
  hops_->learn(entry, {mac, port}, now);
  return true;
}

}  // namespace txnic::dataplane
