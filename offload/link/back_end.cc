// SPDX-License-Identifier: BSD-3-Clause
// The back's end: who is served, under which epoch, and for how long.
#include "offload/link/back_end.h"

#include <algorithm>
#include <cassert>

namespace txnic::link {

size_t BackEnd::memory_bytes() {
  return align64(RecordReader::kMemoryBytes) + align64(kKeptBytes) + BackEvents::kFillStep * sizeof(uint64_t);
}

void BackEnd::init(const BackEndConfig& config, MutableBytes memory, FramePort* port, BackEvents* events) {
  assert(memory.size() >= memory_bytes());
  *this = BackEnd();
  Channel::init(Sender::kBack, config.worker, config.window, port);
  config_ = config;
  config_.frame_bytes = std::min(config.frame_bytes, limits::kLinkFrameBytesMax);
  events_ = events;
  records_.init(memory.data());
  kept_ = memory.data() + align64(RecordReader::kMemoryBytes);
  hashes_ = reinterpret_cast<uint64_t*>(kept_ + align64(kKeptBytes));
}

void BackEnd::on_frame(Bytes frame, TimeNs now) {
  FrameHeader header;
  const uint64_t other_version = counters_.other_version;
  if (!accept(frame, &header)) {
    if (counters_.other_version != other_version) refuse(Refusal::kVersion, 0, 0, 0);
    return;
  }
  if (header.epoch == 0) {
    on_hello(frame, header, now);
    return;
  }
  if (header.epoch != epoch() || !has_front()) {
    ++counters_.other_epoch;
    refuse(Refusal::kEpoch, 0, header.epoch, 0);
    return;
  }
  take_header(header);
  prefetch(frame, header);
  EntryReader reader(frame, header);
  Entry entry;
  while (has_front() && reader.next(&entry)) on_entry(entry, now);
  if (has_front() && reader.is_malformed()) malformed();
}

void BackEnd::on_entry(const Entry& entry, TimeNs now) {
  switch (entry.type) {
    case EntryType::kAppend:
      return on_append(entry);
    case EntryType::kFetch:
      return on_fetch(entry);
    case EntryType::kMirrorAsk:
      return on_mirror_ask(entry);
    case EntryType::kFillAsk:
      return on_fill_ask(entry);
    case EntryType::kLeaseAsk:
      // Counted from now on: the front counts from when it asked, which was before.
      front_until_ns_ = std::max(front_until_ns_, now + config_.lease_ns + config_.lease_margin_ns);
      ++back_counters_.leases;
      add_body(EntryType::kLease, 0, entry.number, LeaseBody{config_.lease_ns}, true);
      durable_due_ = true;
      return;
    case EntryType::kRelease:
      return on_release(entry);
    default:
      return malformed();
  }
}

// A frame of no epoch: nothing but a hello means something.
void BackEnd::on_hello(Bytes frame, const FrameHeader& header, TimeNs now) {
  EntryReader reader(frame, header);
  Entry entry;
  if (!reader.next(&entry) || entry.type != EntryType::kHello) {
    ++counters_.malformed;
    return;
  }
  const auto body = load<HelloBody>(entry.body.data());
  ++back_counters_.hellos;
  if (body.instance == 0) return;
  if (body.build != config_.build) return refuse(Refusal::kBuild, body.instance, 0, 0);
  if (body.configuration_hash != config_.configuration_hash) {
    return refuse(Refusal::kConfiguration, body.instance, 0, 0);
  }
  if (std::min(body.frame_bytes, config_.frame_bytes) < limits::kLinkFrameBytesMin) {
    return refuse(Refusal::kFrameBytes, body.instance, 0, 0);
  }
  if (body.instance == instance_) {
    welcome_due_ = true;
    return;
  }
  if (has_front() && now < front_until_ns_) {
    return refuse(Refusal::kOccupied, body.instance, 0, front_until_ns_ - now);
  }
  if (is_open_) {
    wanted_ = body.instance;
    wanted_frame_bytes_ = body.frame_bytes;
  }
  refuse(Refusal::kNotReady, body.instance, 0, 0);
}

void BackEnd::admit(uint64_t epoch, uint32_t incarnation, TimeNs now) {
  assert(wants_front() && epoch != 0 && epoch != this->epoch());
  assert((!has_front() || front_is_dead(now)) && "two fronts would serve the same shards");
  ++back_counters_.admitted;
  instance_ = wanted_;
  wanted_ = 0;
  incarnation_ = incarnation;
  peer_frame_bytes_ = std::min(wanted_frame_bytes_, config_.frame_bytes) & ~7u;
  begin_epoch(epoch);
  set_frame_bytes(peer_frame_bytes_);
  front_until_ns_ = now + config_.lease_ns + config_.lease_margin_ns;
  records_.forget();
  taken_ = told_taken_ = told_durable_ = 0;
  told_full_ = durable_due_ = gap_ = put_off_ = false;
  kept_start_ = kept_bytes_ = 0;
  kept_began_ = kept_last_ = false;
  welcome_due_ = true;
}

void BackEnd::expel() {
  instance_ = 0;
  welcome_due_ = durable_due_ = false;
  begin_epoch(0);
}

void BackEnd::welcome() {
  WelcomeBody body{};
  body.instance = instance_;
  body.incarnation = incarnation_;
  body.frame_bytes = peer_frame_bytes_;
  body.lease_ns = config_.lease_ns;
  welcome_due_ = !add_body(EntryType::kWelcome, 0, 0, body, true);
}

void BackEnd::refuse(Refusal refusal, uint64_t instance, uint64_t epoch, TimeNs wait_ns) {
  ++back_counters_.refused;
  if (has_refused_) return;
  has_refused_ = true;
  RefusedBody body{};
  body.instance = instance;
  body.epoch = epoch;
  body.wait_ns = wait_ns;
  body.configuration_hash = config_.configuration_hash;
  body.build = config_.build;
  body.refusal = static_cast<uint8_t>(refusal);
  send_alone(EntryType::kRefused, body);
}

void BackEnd::malformed() {
  ++counters_.malformed;
  refuse(Refusal::kMalformed, 0, epoch(), 0);
}

uint32_t BackEnd::poll(Lsn durable, bool store_is_full) {
  const uint64_t before = counters_.frames_sent;
  has_refused_ = false;
  if (has_front()) {
    if (welcome_due_) welcome();
    assert(durable <= taken_);
    if (durable_due_ || taken_ != told_taken_ || durable != told_durable_ || store_is_full != told_full_) {
      const auto flags = static_cast<uint8_t>((gap_ ? kGap : 0) | (store_is_full ? kStoreFull : 0));
      if (add_body(EntryType::kDurable, flags, 0, DurableBody{taken_, durable}, true)) {
        told_taken_ = taken_;
        told_durable_ = durable;
        told_full_ = store_is_full;
        durable_due_ = gap_ = false;
      }
    }
  }
  flush();
  return static_cast<uint32_t>(counters_.frames_sent - before);
}

}  // namespace txnic::link
