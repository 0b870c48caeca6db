// SPDX-License-Identifier: BSD-3-Clause
// The host link inside one process and one worker: front and back share the lcore and say to each other, in whole
// frames that are written and read as over a port, what they would say over one. So offload on and off can be compared
// on two cores, and a hardware profile gives the link its latency, rate and cost.
//
// Bounded: a ring holds what the credits of the link allow; a full one has no room, as a port's.
#pragma once

#include <array>
#include <memory>

#include "offload/emulation/link_model.h"
#include "offload/link/channel.h"

namespace txnic::dataplane {

// One direction, written by one end and read by the other.
class LocalDirection final : public link::FramePort {
 public:
  explicit LocalDirection(const offload::HardwareProfile& profile)
      : model_(profile),
        message_cost_ns_(profile.link_message_cost_ns),
        slots_(std::make_unique_for_overwrite<Slot[]>(kSlots)) {}

  // ---- the sender
  MutableBytes room() override {
    if (tail_ - head_ == kSlots) return {};
    return {slots_[tail_ % kSlots].frame.data(), kFrameBytes};
  }
  void send(uint32_t bytes) override {
    slots_[tail_++ % kSlots].bytes = bytes;
    ++frames_;
    bytes_ += bytes;
    owed_ns_ += message_cost_ns_;
  }
  // What was sent since the last call starts now: frames leave a core at its doorbell.
  void send_off(TimeNs now) {
    for (; started_ != tail_; ++started_) {
      Slot& slot = slots_[started_ % kSlots];
      slot.due_ns = model_.arrival(now, slot.bytes + kHeadersBytes);
    }
  }
  // Time that the sending core owes since the last call.
  TimeNs take_owed_ns() {
    const TimeNs owed = owed_ns_;
    owed_ns_ = 0;
    return owed;
  }

  // ---- the receiver. Calls f(frame) for what has arrived by now; answers how many.
  template <class F>
  uint32_t deliver(TimeNs now, F&& f) {
    uint32_t count = 0;
    while (count < kBurst && head_ != started_ && slots_[head_ % kSlots].due_ns <= now) {
      const Slot& slot = slots_[head_ % kSlots];
      f(Bytes(slot.frame.data(), slot.bytes));
      ++head_;
      ++count;
    }
    return count;
  }
  bool is_empty() const { return head_ == tail_; }
  uint64_t frames() const { return frames_; }  // sent
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr uint32_t kSlots = 2 * limits::kLinkWindowFrames;
  static constexpr uint32_t kFrameBytes = limits::kMessageBytesMax;  // as over a port
  static constexpr uint32_t kHeadersBytes = 42;                     // Ethernet, IPv4 and UDP, on an emulated wire
  static constexpr uint32_t kBurst = limits::kBurstMax;
  static_assert(kFrameBytes >= limits::kLinkFrameBytesMin && kFrameBytes % 8 == 0);
  struct Slot {
    TimeNs due_ns;
    uint32_t bytes;
    alignas(64) std::array<std::byte, kFrameBytes> frame;
  };

  offload::LinkModel model_;
  uint32_t message_cost_ns_;
  std::unique_ptr<Slot[]> slots_;
  uint32_t head_ = 0, started_ = 0, tail_ = 0;
  TimeNs owed_ns_ = 0;
  uint64_t frames_ = 0, bytes_ = 0;
};

struct LocalLink {
  explicit LocalLink(const offload::HardwareProfile& profile) : to_back(profile), to_front(profile) {}
  LocalDirection to_back, to_front;
};

}  // namespace txnic::dataplane
