// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/loop.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <ctime>

#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include "dataplane/neighbour.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kPrefetchAhead = 4;
constexpr uint32_t kWarmBurst = 16;        // a smaller burst does not say that the next one is worth preparing for
constexpr uint32_t kWarmFrameBytes = 256;  // of each packet
constexpr uint32_t kReleasesPerStep = 8;  // calls of Mode::release in one step

uint8_t* frame_of(rte_mbuf* packet) { return rte_pktmbuf_mtod(packet, uint8_t*); }

// Bytes that a frame may have in this packet.
uint32_t room_of(const rte_mbuf* packet) { return uint32_t{packet->buf_len} - packet->data_off; }

Check from_flags(uint64_t flags, uint64_t mask, uint64_t good, uint64_t bad, uint64_t none) {
  const uint64_t state = flags & mask;
  if (state == good || state == none) return Check::kGood;  // none: not finished, but known to be intact
  return state == bad ? Check::kBad : Check::kVerify;
}

void set_length(rte_mbuf* packet, uint32_t length) {
  packet->data_len = static_cast<uint16_t>(length);
  packet->pkt_len = length;
}

}  // namespace

Worker::Worker(uint32_t index, const DataplaneOptions& options, std::span<const Port> ports, NextHops* hops,
               Exchange* exchange, const Clock& clock)
    : index_(index),
      workers_(exchange->workers()),
      options_(options),
      filter_{byte_swap(options.address), options.base_port, static_cast<uint16_t>(workers_)},
      link_filter_(options.link ? FrameFilter{byte_swap(options.link->own_address), options.link->udp_port,
                                              static_cast<uint16_t>(workers_)}
                                : FrameFilter{}),
      clock_(clock),
      exchange_(exchange),
      transmitter_(index, ports, exchange, &gate_, &counters_, options.transmit_patience_milliseconds * 1'000'000ull),
      emulates_(!options.emulation.profile.is_empty()),
      lost_time_(options.emulation.is_soc ? options.emulation.profile.soc_slowdown_milli : 1000),
      outgoing_(workers_) {
  assert(options.burst >= 1 && options.burst <= limits::kBurstMax);
  if (options.map) outbox_.emplace(index, options, ports, hops, exchange, &transmitter_, &counters_);
  if (options.link) link_port_.emplace(index, options, ports, &transmitter_, &counters_);
  const uint32_t link = options.emulation.link_port_index;
  if (link < ports.size() && options.emulation.profile.shapes_link()) {
    transmitter_.emulate_link(ports[link].id, options.emulation.profile);
  }
  if (options.steering.bridge) {
    bridge_table_ = steering::make_table(
        {static_cast<uint32_t>(ports.size()), workers_, options.base_port, options.steering});
  }
  for (uint32_t i = 0; i < ports.size(); ++i) {
    port_ids_.push_back(ports[i].id);
    for (uint16_t q = 0; q < ports[i].rx_queues; ++q) {
      if (queue_owner(i, q, ports[i].rx_queues, workers_) == index) {
        QueueCounters& counters = queue_counters_.emplace_back();
        counters.port = ports[i].id;
        counters.queue = q;
        sources_.push_back({ports[i].id, q, ports[i].checks_ip, ports[i].checks_udp, ports[i].pool, i,
                            options.link && options.link->port_index == i, &counters});
      }
    }
  }
}

void Worker::run() {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // a sleep of 50 µs shall not last 100
  TimeNs now = clock_.now();
  for (;;) {
    progress_.last_poll_ns.store(now, std::memory_order_relaxed);
    const Phase phase = phase_.load(std::memory_order_acquire);
    if (phase == Phase::kExit) break;
    const uint32_t work = step(now, phase == Phase::kRun);
    if (phase == Phase::kDrain) {
      const bool quiet = work == 0 && !mode_->busy() && !transmitter_.congested() &&
                         transmitter_.delayed() == 0;
      quiet_steps_.store(quiet ? quiet_steps_.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_release);
    }
    const TimeNs after = clock_.now();
    if (emulates_ && work != 0) [[unlikely]] lost_time_.worked(after - emulated_until_ns_);  // sending, too
    account(now, after, work);
    now = after;
    if (work == 0) {
      progress_.enter(Stage::kIdle);
      rest();
      if (options_.idle != Idle::kPoll) {
        now = clock_.now();
        counters_.idle_ns.add(now - after);
      }
    } else {
      empty_steps_ = 0;
    }
  }
  progress_.enter(Stage::kStopped);
}

uint32_t Worker::step(TimeNs now, bool receiving) {
  uint32_t work = 0;
  if (receiving) {
    for (Source& source : sources_) work += receive(source, now);
  }
  for (uint32_t from = 0; from < workers_; ++from) {
    if (from != index_) work += take(from, now);
  }
  progress_.enter(Stage::kPoll);
  work += mode_->poll(now);
  work += release();
  if (outbox_) work += outbox_->flush(now);
  if (workers_ > 1) flush_forwards();
  progress_.enter(Stage::kTransmit);
  if (emulates_) [[unlikely]] now = emulate(now, work);
  transmitter_.flush_all(now);
  counters_.settle_drops();
  return work;
}

// The packets that a driver without hardware will fill next. With many packets held (answers that wait for the disk)
// they left the caches long ago, and a driver that copies into them one by one waits for each.
void Worker::warm_up_pool(const Source& source) {
  const rte_mempool_cache* cache = rte_mempool_default_cache(source.pool, rte_lcore_id());
  if (cache == nullptr) return;
  const uint32_t count = std::min(cache->len, source.last_count);
  for (uint32_t i = 1; i <= count; ++i) {
    auto* packet = static_cast<rte_mbuf*>(cache->objs[cache->len - i]);
    rte_prefetch0(packet);
    rte_prefetch0(&packet->pool);
    const char* frame = rte_mbuf_buf_addr(packet, source.pool) + RTE_PKTMBUF_HEADROOM;
    for (uint32_t at = 0; at < kWarmFrameBytes; at += 64) rte_prefetch0(frame + at);
  }
}

uint32_t Worker::receive(Source& source, TimeNs now) {
  progress_.enter(Stage::kReceive);
  if (!gate_.enter(source.port)) return 0;
  if (source.last_count >= kWarmBurst) warm_up_pool(source);
  const uint32_t count =
      rte_eth_rx_burst(source.port, source.queue, received_.data(), static_cast<uint16_t>(options_.burst));
  gate_.leave();
  source.last_count = count;
  if (count == 0) return 0;

  progress_.enter(Stage::kParse);
  for (uint32_t i = 0; i < std::min(count, kPrefetchAhead); ++i) rte_prefetch0(frame_of(received_[i]));
  uint64_t bytes = 0;
  uint32_t mine = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kPrefetchAhead < count) rte_prefetch0(frame_of(received_[i + kPrefetchAhead]));
    bytes += received_[i]->pkt_len;
    mine += sort_in(source, received_[i], now, &burst_[mine]) ? 1 : 0;
  }
  counters_.received.add(count);
  source.counters->packets.add(count);
  PortCounters& port = counters_.ports[source.port];
  port.rx_packets.add(count);
  port.rx_bytes.add(bytes);
  process(mine, now);
  return count;
}

// True: a message for our mode, filled in at `out`.
bool Worker::sort_in(const Source& source, rte_mbuf* packet, TimeNs now, Packet* out) {
  if (packet->nb_segs > 1 && !make_contiguous(packet)) [[unlikely]] return false;
  if (!bridge_table_.empty() && bridge(source, packet)) return false;
  Check ip = Check::kVerify;
  Check udp = Check::kVerify;
  if (options_.checksum == ChecksumPolicy::kOff) ip = udp = Check::kGood;
  if (source.checks_ip) [[unlikely]] {
    ip = from_flags(packet->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
                    RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_IP_CKSUM_NONE);
  }
  if (source.checks_udp) [[unlikely]] {
    udp = from_flags(packet->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD,
                     RTE_MBUF_F_RX_L4_CKSUM_BAD, RTE_MBUF_F_RX_L4_CKSUM_NONE);
  }
  const ParsedFrame parsed = parse_frame(frame_of(packet), packet->data_len, source.is_link ? link_filter_ : filter_,
                                         ip, udp, options_.checksum == ChecksumPolicy::kAuto);
  const uint32_t tag = source.is_link ? kLinkTag : 0;
  if (parsed.kind == FrameKind::kMessage) [[likely]] {
    if (parsed.checksum_unfinished) counters_.checksums_unfinished.add();
    if (parsed.port_index == index_) [[likely]] {
      fill(packet, parsed.payload_length, tag, out);
      return true;
    }
    counters_.forwarded.add();
    source.counters->misdirected.add();
    forward(parsed.port_index, packet, tag);
    return false;
  }
  if (parsed.kind == FrameKind::kDrop) {
    counters_.end(parsed.why);
    rte_pktmbuf_free(packet);
  } else {
    answer_neighbour(packet, parsed, now);
  }
  return false;
}

// True: the table sends it out of another port, and so it was.
bool Worker::bridge(const Source& source, rte_mbuf* packet) {
  const std::optional<steering::Rule> rule =
      steering::match_frame(bridge_table_, source.port_index, frame_of(packet), packet->data_len);
  if (!rule || rule->target != steering::Target::kPort) return false;
  counters_.end(reason::kBridged);
  packet->ol_flags = 0;
  transmitter_.send(port_ids_[rule->to], packet);
  return true;
}

bool Worker::make_contiguous(rte_mbuf* packet) {
  if (rte_pktmbuf_linearize(packet) == 0) return true;
  counters_.end(reason::kMultiSegment);
  rte_pktmbuf_free(packet);
  return false;
}

void Worker::answer_neighbour(rte_mbuf* packet, const ParsedFrame& parsed, TimeNs now) {
  const Mac& mac = transmitter_.mac(packet->port);
  if (parsed.kind == FrameKind::kArp) {
    const bool is_learned = outbox_ && outbox_->learn(frame_of(packet), packet->port, now);
    if (answer_arp(frame_of(packet), filter_.address_raw, mac)) {
      counters_.end(reason::kArpAnswered);
      set_length(packet, kArpFrameBytes);
      packet->ol_flags = 0;
      transmitter_.send(packet->port, packet);
      return;
    }
    counters_.end(is_learned ? reason::kArpLearned : reason::kArpOther);
  } else {
    if (answer_icmp(frame_of(packet), parsed.payload_length, mac)) {
      counters_.end(reason::kIcmpAnswered);
      set_length(packet, frame_at::kUdp + uint32_t{parsed.payload_length});
      packet->ol_flags = 0;
      transmitter_.send(packet->port, packet);
      return;
    }
    counters_.end(reason::kIcmpOther);
  }
  rte_pktmbuf_free(packet);
}

void Worker::fill(rte_mbuf* packet, uint32_t payload_length, uint32_t tag, Packet* out) {
  uint8_t* frame = frame_of(packet);
  const uint32_t room = room_of(packet) - kHeadersBytes;
  out->message = reinterpret_cast<std::byte*>(frame + frame_at::kPayload);
  out->mbuf = packet;
  out->from = sender_of(frame);
  out->length = static_cast<uint16_t>(payload_length);
  out->room = static_cast<uint16_t>(std::min(room, limits::kMessageBytesMax));
  out->reply_length = 0;
  out->to_worker = 0;
  out->verdict = Verdict::kDrop;
  out->tag = tag;
  if (tag == kLinkTag) {
    counters_.link.rx_frames.add();
    counters_.link.rx_bytes.add(payload_length);
    link_port_->learn(frame);
  }
}

uint32_t Worker::take(uint32_t from, TimeNs now) {
  rte_ring* ring = exchange_->ring(from, index_);
  if (rte_ring_empty(ring) != 0) return 0;
  const uint32_t count = rte_ring_sc_dequeue_burst(ring, reinterpret_cast<void**>(received_.data()),
                                                   options_.burst, nullptr);
  uint32_t mine = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rte_mbuf* packet = received_[i];
    const Note note = *note_of(packet);
    if (note.kind == NoteKind::kTransmit) {
      transmitter_.send(packet->port, packet);
      continue;
    }
    // The worker that received it has checked the headers.
    const uint32_t udp_length = byte_swap(load<uint16_t>(frame_of(packet) + frame_at::kUdpLength));
    fill(packet, udp_length - kUdpHeaderBytes, note.tag, &burst_[mine++]);
    count_taken(note);
  }
  process(mine, now);
  return count;
}

// A frame of another worker's outbox is received here as one from a port is; other packets were received there.
void Worker::count_taken(const Note& note) {
  if (note.tag == kFromWorkerTag) {
    counters_.received.add();
    counters_.from_workers.add();
  } else {
    counters_.taken.add();
  }
}

void Worker::process(uint32_t count, TimeNs now) {
  if (count == 0) return;
  progress_.enter(Stage::kProcess);
  const std::span<Packet> burst(burst_.data(), count);
  mode_->process(burst, now);
  settle(burst);
}

uint32_t Worker::release() {
  uint32_t total = 0;
  for (uint32_t i = 0; i < kReleasesPerStep && !transmitter_.congested(); ++i) {
    const uint32_t count = mode_->release(burst_);
    assert(count <= burst_.size());
    counters_.given_back.add(count);
    warm_up(std::span<const Packet>(burst_.data(), count));
    settle(std::span<Packet>(burst_.data(), count));
    total += count;
    if (count < burst_.size()) break;
  }
  return total;
}

// Packets that waited for the disk have left the caches: about five misses each, which overlap when asked for together.
void Worker::warm_up(std::span<const Packet> packets) {
  for (const Packet& packet : packets) {
    rte_prefetch0(packet.mbuf);
    rte_prefetch0(&packet.mbuf->pool);  // its second cache line
  }
  for (const Packet& packet : packets) {
    rte_prefetch0(frame_of(packet.mbuf));
    rte_prefetch0(frame_of(packet.mbuf) + 64);
  }
}

void Worker::settle(std::span<Packet> packets) {
  uint32_t replies = 0;
  for (Packet& packet : packets) {
    switch (packet.verdict) {
      case Verdict::kReply:
        if (kHeadersBytes + uint32_t{packet.reply_length} > room_of(packet.mbuf)) [[unlikely]] {
          counters_.end(reason::kReplyTooLong);
          rte_pktmbuf_free(packet.mbuf);
          break;
        }
        reply(packet);
        ++replies;
        break;
      case Verdict::kDrop:
        counters_.expect_named_drops(1);
        rte_pktmbuf_free(packet.mbuf);
        break;
      case Verdict::kHold: counters_.held.add(); break;
      case Verdict::kForward:
        counters_.passed.add();
        forward(packet.to_worker, packet.mbuf, 0);
        break;
      case Verdict::kPass:
        counters_.passed.add();
        forward(packet.to_worker, packet.mbuf, packet.tag);
        break;
    }
  }
  counters_.end(reason::kReplied, replies);
}

void Worker::reply(Packet& packet) {
  rte_mbuf* mbuf = packet.mbuf;
  uint8_t* frame = frame_of(mbuf);
  const uint16_t port = mbuf->port;
  UdpChecksum how = UdpChecksum::kSoftware;
  mbuf->ol_flags = 0;
  if (transmitter_.computes_udp(port)) [[unlikely]] {
    how = UdpChecksum::kHardware;
    mbuf->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    mbuf->l2_len = frame_at::kIp;
    mbuf->l3_len = kIpHeaderBytes;
  } else if (options_.checksum == ChecksumPolicy::kOff ||
             (options_.checksum == ChecksumPolicy::kAuto && load<uint16_t>(frame + frame_at::kUdpChecksum) == 0)) {
    how = UdpChecksum::kNone;
  }
  set_length(mbuf, kHeadersBytes + uint32_t{packet.reply_length});
  build_reply(frame, transmitter_.mac(port), packet.reply_length, how);
  transmitter_.send(port, mbuf);
}

void Worker::forward(uint32_t to, rte_mbuf* packet, uint32_t tag) {
  if (to >= workers_ || to == index_) [[unlikely]] {  // a mode's mistake: it shows in the counter that must stay zero
    counters_.end(reason::kOther);
    rte_pktmbuf_free(packet);
    return;
  }
  *note_of(packet) = {tag, NoteKind::kProcess, {}};
  Outgoing& out = outgoing_[to];
  out.packets[out.count++] = packet;
  if (out.count == out.packets.size()) flush_forwards();
}

void Worker::flush_forwards() {
  for (uint32_t to = 0; to < workers_; ++to) {
    Outgoing& out = outgoing_[to];
    if (out.count == 0) continue;
    const uint32_t done = rte_ring_sp_enqueue_burst(
        exchange_->ring(index_, to), reinterpret_cast<void* const*>(out.packets.data()), out.count, nullptr);
    if (done < out.count) {
      counters_.end(reason::kRingFull, out.count - done);
      rte_pktmbuf_free_bulk(out.packets.data() + done, out.count - done);
    }
    out.count = 0;
  }
}

// What the step has done so far takes longer on the emulated hardware; what leaves now leaves behind that.
TimeNs Worker::emulate(TimeNs began, uint32_t work) {
  if (work == 0) return clock_.now();  // what is owed waits for the next busy step
  lost_time_.worked(clock_.now() - began, transmitter_.take_owed_ns());
  TimeNs lost = 0;
  emulated_until_ns_ = lost_time_.lose(clock_, &lost);
  counters_.emulated_ns.add(lost);
  return emulated_until_ns_;
}

void Worker::account(TimeNs began, TimeNs ended, uint32_t work) {
  const TimeNs took = ended - began;
  if (work == 0) {
    counters_.idle_ns.add(took);
    counters_.idle_steps.add();
    return;
  }
  counters_.busy_ns.add(took);
  counters_.busy_steps.add();
  counters_.longest_step_ns.raise_to(took);
  const auto bucket = static_cast<uint32_t>(std::bit_width(took | 1)) - 1;
  counters_.step_buckets[std::min(bucket, kStepBuckets - 1)].add();
}

void Worker::rest() {
  ++empty_steps_;
  if (options_.idle == Idle::kYield && empty_steps_ > kIdleStepsBeforeYield) {
    sched_yield();
  } else if (options_.idle == Idle::kSleep && empty_steps_ > kIdleStepsBeforeSleep) {
    const timespec time{0, kIdleSleepMicroseconds * 1000L};
    nanosleep(&time, nullptr);
  } else {
    rte_pause();
  }
}

void Worker::abandon() {
  for (uint32_t from = 0; from < workers_; ++from) {
    if (from == index_) continue;
    void* packet = nullptr;
    while (rte_ring_sc_dequeue(exchange_->ring(from, index_), &packet) == 0) {
      auto* mbuf = static_cast<rte_mbuf*>(packet);
      if (note_of(mbuf)->kind == NoteKind::kTransmit) {
        counters_.ports[mbuf->port].tx_dropped.add();
      } else {
        count_taken(*note_of(mbuf));
        counters_.end(reason::kStopped);
      }
      rte_pktmbuf_free(mbuf);
    }
  }
  transmitter_.drop_all();
  // What the mode still holds stays with it: its packets go when the pool goes.
  const uint64_t held = counters_.held.read() - counters_.given_back.read();
  counters_.end(reason::kStopped, held);
  counters_.given_back.add(held);
  counters_.settle_drops();
}

}  // namespace txnic::dataplane
