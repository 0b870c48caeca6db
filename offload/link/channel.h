// SPDX-License-Identifier: BSD-3-Clause
// What both ends of a host link have in common: frames with a sequence, credits, and the frame that is being filled.
// The ends are front_end.h (placement NIC, in front of a cache) and back_end.h (in the host's loop). Pure: the time is
// passed in, frames go out through FramePort, memory is given at init. Not thread-safe: one owner.
//
// Frames are not sent again; what they carry is, by the end that needs it: every kind of entry has a position or a
// number of its own, and to take one twice changes nothing. So credits only keep an end from sending more than the
// other one's ring holds, and lost credits come back with the next frame.
#pragma once

#include "offload/link/messages.h"

namespace txnic::link {

// Where frames go: a port of the dataplane, a test's lossy link.
class FramePort {
 public:
  // Room for the next frame, at least the end's frame_bytes; empty: none now. The same room is given until send().
  virtual MutableBytes room() = 0;
  // Sends the first `bytes` of it, or loses it.
  virtual void send(uint32_t bytes) = 0;

 protected:
  ~FramePort() = default;
};

struct ChannelCounters {
  uint64_t frames_sent = 0, bytes_sent = 0, entries_sent = 0;
  uint64_t frames_received = 0, bytes_received = 0, entries_received = 0;
  uint64_t no_credit = 0;  // frames held back because the other end had given no credit
  uint64_t no_room = 0;    // frames not sent because the port had no room
  uint64_t missed = 0;     // frames of the other end that never came, by their sequence
  uint64_t reordered = 0;  // came after a newer one, or twice
  // Frames that were not looked at
  uint64_t not_ours = 0;  // magic, sender, worker, length
  uint64_t other_version = 0;
  uint64_t other_epoch = 0;  // COMMIT 19
  uint64_t malformed = 0;
};

class Channel {
 public:
  const ChannelCounters& counters() const { return counters_; }
  uint64_t epoch() const { return epoch_; }

 protected:
  // `window`: frames that may be on their way to us, at most what our ring holds.
  void init(Sender self, uint16_t worker, uint32_t window, FramePort* port);
  // A new epoch: sequences and credits start again.
  void begin_epoch(uint64_t epoch);
  void set_frame_bytes(uint32_t bytes) { frame_bytes_ = bytes; }

  // Checks a frame as far as both ends do it alike. False: counted, and it is not to be looked at. Says nothing of the
  // epoch.
  bool accept(Bytes frame, FrameHeader* header);
  // Of a frame of our epoch: its sequence and credits.
  void take_header(const FrameHeader& header);

  // Room for an entry, in the frame that is being filled or in the next; null: the port has no room, or the other end
  // has given no credit and `is_urgent` does not help. An urgent entry (HELLO, leases, what a timer repeats) needs
  // none.
  std::byte* add(EntryType type, uint8_t flags, uint32_t number, uint32_t body_bytes, bool is_urgent);
  template <class Body>
  bool add_body(EntryType type, uint8_t flags, uint32_t number, const Body& body, bool is_urgent) {
    std::byte* const at = add(type, flags, number, sizeof body, is_urgent);
    if (at != nullptr) store(at, body);
    return at != nullptr;
  }
  // A frame of one entry that belongs to no epoch: HELLO and what refuses. Lost if the port has no room.
  template <class Body>
  void send_alone(EntryType type, const Body& body) {
    if (std::byte* const at = open_alone(type, sizeof body); at != nullptr) store(at, body), close_alone();
  }
  // Body bytes that one more entry of the open frame, or of a new one, may have.
  uint32_t body_room() const;
  // Sends the frame that is being filled. Answers whether there was one.
  bool flush();
  bool has_credit() const { return static_cast<int32_t>(peer_limit_ - next_sequence_) >= 0; }

  ChannelCounters counters_;

 private:
  bool open_frame(bool is_urgent);
  std::byte* open_alone(EntryType type, uint32_t body_bytes);
  void close_alone();
  void send(FrameHeader header);

  FramePort* port_ = nullptr;
  FrameBuilder builder_;
  Sender self_ = Sender::kFront;
  uint16_t worker_ = 0;
  uint32_t window_ = 0;
  uint32_t frame_bytes_ = limits::kLinkFrameBytesMin;
  uint64_t epoch_ = 0;
  uint32_t next_sequence_ = 1;
  uint32_t received_ = 0;    // newest sequence of the other end
  uint32_t peer_limit_ = 0;  // we may send up to here
};

}  // namespace txnic::link
