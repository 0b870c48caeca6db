// SPDX-License-Identifier: BSD-3-Clause
// Reply headers, and answers that wait for the disk.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

template <Back B>
wire::Type Front<B>::reply_type(uint8_t request_type) {
  // Each request type is followed by its reply's; OPEN by CHALLENGE, and OPENED stands behind that.
  if (request_type == static_cast<uint8_t>(wire::Type::kOpen)) return wire::Type::kOpened;
  return static_cast<wire::Type>(request_type + 1);
}

// Refuses with a header alone: never longer than the request, so it is safe towards an unproven address.
template <Back B>
void Front<B>::refuse(Request& request, const wire::Header& header, Result result, uint8_t detail) {
  wire::Header reply = header;
  reply.version = wire::kVersion;
  reply.type = static_cast<uint8_t>(reply_type(header.type));
  reply.length = wire::kHeaderBytes;
  reply.operation_count = 0;
  reply.result = static_cast<uint8_t>(result);
  reply.flags = 0;
  reply.detail = detail;
  reply.view_epoch = 0;
  reply.fragment_index = reply.fragment_count = 0;
  if (result == Result::kWrongShard) reply.map_epoch = config_.map.epoch;
  if (result == Result::kBadSession) reply.stamp = make_stamp(config_.incarnation, 0);
  wire::write_header(request.message, reply);
  request.reply_length = wire::kHeaderBytes;
  request.action = Action::kReply;
  ++counters_.results[static_cast<uint8_t>(result)];
}

// The reply stands in `message`: it goes now, or when the log is durable up to `depends_on`.
template <Back B>
inline void Front<B>::answer(Request& request, Lsn depends_on) {
  if (depends_on > answerable(*back_)) [[unlikely]] {
    hold(request, depends_on, Action::kReply);
  } else {
    request.action = Action::kReply;
  }
}

// The ring cannot overflow: a request is only executed while there is room for its answer (admit.h). Positions
// rise, so the oldest is always released first.
template <Back B>
void Front<B>::hold(Request& request, Lsn depends_on, Action action) {
  Held& held = held_[held_tail_++ % limits::kHeldRepliesMax];
  held.depends_on = depends_on;
  held.released = {request.handle, request.reply_length, action, request.to_worker};
  request.action = Action::kHold;
  txnic::prefetch(&held_[(held_tail_ + kHeldAhead) % limits::kHeldRepliesMax]);
  ++counters_.held;
}

template <Back B>
uint32_t Front<B>::release(std::span<Released> out) {
  const Lsn durable = answerable(*back_);
  uint32_t count = 0;
  while (count < out.size() && done_head_ != done_tail_) out[count++] = done_[done_head_++ % done_.size()];
  if constexpr (kMayMiss<B>) {
    Parking& p = parking_;
    while (count < out.size() && p.done_head != p.done_tail) out[count++] = p.done[p.done_head++ % p.done.size()];
  }
  while (count < out.size() && held_head_ != held_tail_) {
    const Held& held = held_[held_head_ % limits::kHeldRepliesMax];
    if (held.depends_on > durable) break;
    out[count++] = held.released;
    ++held_head_;
  }
  return count;
}

template <Back B>
template <class F>
void Front<B>::abandon(F&& give_back) {
  for (; done_head_ != done_tail_; ++done_head_) give_back(done_[done_head_ % done_.size()].handle);
  for (; held_head_ != held_tail_; ++held_head_) {
    give_back(held_[held_head_ % limits::kHeldRepliesMax].released.handle);
  }
  for (Copy& copy : copies_) {
    if (copy.handle != nullptr) give_back(copy.handle);
    copy.handle = nullptr;
  }
  if constexpr (kMayMiss<B>) {
    Parking& p = parking_;
    for (; p.done_head != p.done_tail; ++p.done_head) give_back(p.done[p.done_head % p.done.size()].handle);
    for (; p.head != p.tail; ++p.head) give_back(p.ring[p.head % p.ring.size()].request.handle);
  }
}

}  // namespace txnic::offload
