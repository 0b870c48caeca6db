// SPDX-License-Identifier: BSD-3-Clause
// Rings between workers: one for each ordered pair, so that each has one producer and one consumer. A packet carries a
// note that says what the receiving worker shall do with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_ring.h>

namespace txnic::dataplane {

inline constexpr uint32_t kWorkerRingPackets = 1024;  // in one ring; a power of two

enum class NoteKind : uint8_t {
  kProcess,   // a parsed message: give it to the mode, with the tag
  kTransmit,  // a finished answer: send it on the packet's port (the sender has no transmit queue there)
};

struct Note {
  uint32_t tag;
  NoteKind kind;
  uint8_t unused[3];
};
static_assert(sizeof(Note) == 8);

// The note of a packet: a dynamic field, so that drivers keep the rest of the packet header.
extern int g_note_offset;
bool register_note(std::string* error);
inline Note* note_of(rte_mbuf* packet) { return RTE_MBUF_DYNFIELD(packet, g_note_offset, Note*); }

class Exchange {
 public:
  Exchange() = default;
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool create(uint32_t workers, std::string* error);
  rte_ring* ring(uint32_t from, uint32_t to) const { return rings_[from * workers_ + to]; }
  uint32_t workers() const { return workers_; }
  bool is_empty() const;  // of all rings, at some moment

 private:
  uint32_t workers_ = 0;
  std::vector<rte_ring*> rings_;
};

}  // namespace txnic::dataplane
