// SPDX-License-Identifier: BSD-3-Clause
// An emulated link's one direction, at its sender: packets wait here until the link would have delivered them, in
// order. Bounded: what finds it full is the sender's to drop and count.
#pragma once

#include <memory>

#include "offload/emulation/link_model.h"

struct rte_mbuf;

namespace txnic::dataplane {

inline constexpr uint32_t kDelayedPacketsMax = 16384;  // of one worker; a power of two

class DelayLine {
 public:
  explicit DelayLine(const offload::HardwareProfile& profile)
      : model_(profile), waiting_(std::make_unique<Waiting[]>(kDelayedPacketsMax)) {}

  // Takes the packet; it starts with the next send_off(). False: full.
  bool push(rte_mbuf* packet, uint32_t frame_bytes) {
    if (size() == kDelayedPacketsMax) return false;
    waiting_[tail_++ & kMask] = {0, packet, frame_bytes};
    return true;
  }
  // What was pushed since the last call starts now: packets leave a core in bursts, at its doorbell.
  void send_off(TimeNs now) {
    for (; started_ != tail_; ++started_) {
      Waiting& waiting = waiting_[started_ & kMask];
      waiting.due = model_.arrival(now, waiting.frame_bytes);
    }
  }
  // The next packet that has arrived by now, or null.
  rte_mbuf* pop(TimeNs now) {
    if (head_ == started_ || waiting_[head_ & kMask].due > now) return nullptr;
    return waiting_[head_++ & kMask].packet;
  }
  // Whatever is there, at the end.
  rte_mbuf* pop_any() {
    send_off(0);
    return head_ == tail_ ? nullptr : waiting_[head_++ & kMask].packet;
  }
  uint32_t size() const { return tail_ - head_; }

 private:
  static constexpr uint32_t kMask = kDelayedPacketsMax - 1;
  struct Waiting {
    TimeNs due;
    rte_mbuf* packet;
    uint32_t frame_bytes;
  };
  offload::LinkModel model_;
  std::unique_ptr<Waiting[]> waiting_;
  uint32_t head_ = 0, started_ = 0, tail_ = 0;
};

}  // namespace txnic::dataplane
