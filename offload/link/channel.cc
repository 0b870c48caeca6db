// SPDX-License-Identifier: BSD-3-Clause
#include "offload/link/channel.h"

#include <algorithm>
#include <cassert>

namespace txnic::link {

void Channel::init(Sender self, uint16_t worker, uint32_t window, FramePort* port) {
  counters_ = {};
  port_ = port;
  self_ = self;
  worker_ = worker;
  window_ = window;
  frame_bytes_ = limits::kLinkFrameBytesMin;
  builder_ = {};
  begin_epoch(0);
}

void Channel::begin_epoch(uint64_t epoch) {
  epoch_ = epoch;
  next_sequence_ = 1;
  received_ = 0;
  peer_limit_ = 0;
  builder_ = {};  // what was not sent belonged to the old one; the port gives the same room again
}

bool Channel::accept(Bytes frame, FrameHeader* header) {
  const FrameCheck check = read_frame(frame, header);
  if (check == FrameCheck::kVersion) {
    ++counters_.other_version;
    return false;
  }
  if (check != FrameCheck::kGood || header->sender == static_cast<uint8_t>(self_) || header->worker != worker_) {
    ++counters_.not_ours;
    return false;
  }
  ++counters_.frames_received;
  counters_.bytes_received += header->length;
  counters_.entries_received += header->entries;
  return true;
}

void Channel::take_header(const FrameHeader& header) {
  const auto ahead = static_cast<int32_t>(header.sequence - received_);
  if (ahead > 0) {
    counters_.missed += static_cast<uint32_t>(ahead) - 1;
    received_ = header.sequence;
  } else {
    ++counters_.reordered;
  }
  if (static_cast<int32_t>(header.limit - peer_limit_) > 0) peer_limit_ = header.limit;
}

bool Channel::open_frame(bool is_urgent) {
  if (!is_urgent && !has_credit()) {
    ++counters_.no_credit;
    return false;
  }
  const MutableBytes room = port_->room();
  if (room.empty()) {
    ++counters_.no_room;
    return false;
  }
  assert(room.size() >= frame_bytes_);
  builder_.begin(room.first(frame_bytes_ & ~7u));
  return true;
}

std::byte* Channel::add(EntryType type, uint8_t flags, uint32_t number, uint32_t body_bytes, bool is_urgent) {
  if (!builder_.is_open() && !open_frame(is_urgent)) return nullptr;
  if (std::byte* const at = builder_.add(type, flags, number, body_bytes); at != nullptr) return at;
  flush();
  return open_frame(is_urgent) ? builder_.add(type, flags, number, body_bytes) : nullptr;
}

uint32_t Channel::body_room() const {
  const uint32_t left =
      builder_.is_open() ? builder_.left() : frame_bytes_ - static_cast<uint32_t>(sizeof(FrameHeader));
  return left <= sizeof(EntryHeader) ? 0 : left - static_cast<uint32_t>(sizeof(EntryHeader));
}

bool Channel::flush() {
  if (!builder_.is_open() || builder_.entries() == 0) return false;
  FrameHeader header{};
  header.epoch = epoch_;
  header.sequence = next_sequence_++;
  header.received = received_;
  header.limit = received_ + window_;
  send(header);
  return true;
}

std::byte* Channel::open_alone(EntryType type, uint32_t body_bytes) {
  flush();
  return open_frame(true) ? builder_.add(type, 0, 0, body_bytes) : nullptr;
}

void Channel::close_alone() { send(FrameHeader{}); }

void Channel::send(FrameHeader header) {
  header.sender = static_cast<uint8_t>(self_);
  header.worker = worker_;
  counters_.entries_sent += builder_.entries();
  const uint32_t bytes = builder_.finish(header);
  ++counters_.frames_sent;
  counters_.bytes_sent += bytes;
  port_->send(bytes);
}

}  // namespace txnic::link
