// SPDX-License-Identifier: BSD-3-Clause
// Memory, lists, settling, the watermark.
#include "txn/client/machine.h"

#include "txn/session.h"

namespace txnic::client {
namespace {

constexpr size_t kLine = 64;

// A ring of at least one word of settled bits.
uint32_t ring_size(const MachineLimits& limits) {
  const uint32_t window = limits.window < 64 ? 64 : limits.window;
  return std::bit_ceil(window < limits::kWindowMax ? window : limits::kWindowMax);
}

// An odd number of cache lines, so that the first lines of the messages spread over all sets of the cache.
size_t message_stride(const MachineLimits& limits) {
  const size_t lines = (limits.slot_bytes + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

size_t bits_bytes(uint32_t ring) { return (ring / 8 + kLine - 1) / kLine * kLine; }

}  // namespace

size_t SessionMachine::memory_bytes(const MachineLimits& limits) {
  const size_t ring = ring_size(limits);
  return ring * (sizeof(Slot) + sizeof(FanOut)) + limits.nodes * sizeof(Node) +
         bits_bytes(static_cast<uint32_t>(ring)) + ring * message_stride(limits);
}

void SessionMachine::init(const MachineLimits& limits, MutableBytes memory, SessionId session, Emit emit,
                          void* context) {
  assert(session != 0 && emit != nullptr && limits.window != 0 && limits.retransmit_first_ns != 0);
  assert(limits.slot_bytes >= wire::kHeaderBytes && limits.slot_bytes <= limits::kMessageBytesMax);
  assert(limits.nodes != 0 && limits.nodes <= limits::kNodesMax + 1);
  assert(memory.size() >= memory_bytes(limits) && reinterpret_cast<uintptr_t>(memory.data()) % kLine == 0);
  *this = SessionMachine();
  limits_ = limits;
  session_ = session;
  emit_ = emit;
  context_ = context;
  const uint32_t ring = ring_size(limits);
  mask_ = ring - 1;
  window_ = limits.window < ring ? limits.window : ring;

  std::byte* at = memory.data();
  slots_ = reinterpret_cast<Slot*>(at);
  at += ring * sizeof(Slot);
  fans_ = reinterpret_cast<FanOut*>(at);
  at += ring * sizeof(FanOut);
  nodes_ = reinterpret_cast<Node*>(at);
  for (uint32_t i = 0; i < limits.nodes; ++i) nodes_[i] = Node{};
  at += limits.nodes * sizeof(Node);
  settled_bits_ = reinterpret_cast<uint64_t*>(at);
  std::memset(at, 0, bits_bytes(ring));
  at += bits_bytes(ring);
  for (uint32_t i = 0; i < ring; ++i) {
    slots_[i] = Slot{};
    slots_[i].message = at;
    slots_[i].capacity = limits.slot_bytes;
    at += message_stride(limits);
  }

  TimeNs retransmit = limits.retransmit_first_ns;
  TimeNs busy = limits.busy_retry_ns;
  for (uint32_t level = 0; level < kLevels; ++level) {
    if (retransmit > limits.retransmit_max_ns) retransmit = limits.retransmit_max_ns;
    if (busy > limits.retransmit_max_ns) busy = limits.retransmit_max_ns;
    wait_ns_[kRetransmitLists + level] = retransmit;
    wait_ns_[kBusyLists + level] = busy;
    retransmit *= 2;
    busy *= 2;
  }
}

void SessionMachine::append(Slot* slot, uint8_t list) {
  List& l = lists_[list];
  const uint32_t index = index_of(slot);
  slot->list = list;
  slot->next = kNil;
  slot->previous = l.tail;
  if (l.tail == kNil) {
    l.head = index;
  } else {
    slots_[l.tail].next = index;
  }
  l.tail = index;
}

void SessionMachine::unlink(Slot* slot) {
  List& l = lists_[slot->list];
  if (slot->previous == kNil) {
    l.head = slot->next;
  } else {
    slots_[slot->previous].next = slot->next;
  }
  if (slot->next == kNil) {
    l.tail = slot->previous;
  } else {
    slots_[slot->next].previous = slot->previous;
  }
  slot->list = kNoList;
}

// The watermark moves over whole runs of settled sequences; the bits that it has passed are cleared, because their
// places belong to later sequences from then on.
void SessionMachine::mark_settled(Sequence sequence) {
  const uint64_t place = sequence & mask_;
  settled_bits_[place >> 6] |= uint64_t{1} << (place & 63);
  if (sequence != watermark_) return;
  while (true) {
    const uint64_t at = watermark_ & mask_;
    const uint32_t shift = at & 63;
    uint64_t& word = settled_bits_[at >> 6];
    const auto run = static_cast<uint32_t>(std::countr_one(word >> shift));
    if (run == 0) break;
    word &= ~((run == 64 ? ~uint64_t{0} : (uint64_t{1} << run) - 1) << shift);
    watermark_ += run;
    if (run + shift != 64) break;
  }
  update_limit();
}

void SessionMachine::update_limit() {
  const Sequence limit = watermark_ + window_;
  sequence_limit_ = !is_usable_ ? 0 : limit <= kSequenceMax ? limit : kSequenceMax + 1;
}

void SessionMachine::settle(Slot* slot, Result result, Event* event) {
  unlink(slot);
  slot->resumable = event->timed_out && result == Result::kUnknownOutcome;
  if (slot->resumable) [[unlikely]] {
    slot->state = kHeld;
  } else {
    slot->state = kSettled;
    mark_settled(slot->sequence);
  }
  --outstanding_;
  ++statistics_.settled;
  if (result == Result::kCommitted) [[likely]] {
    ++statistics_.committed;
  } else if (result == Result::kUnknownOutcome) {
    ++statistics_.unknown;
  } else if (is_recorded(result) || (event->reply_flags & wire::kReplyFlagDecided) != 0) {
    ++statistics_.aborted;
  } else if (event->timed_out) {
    ++statistics_.timed_out;
  } else {
    ++statistics_.refused;
  }
  event->kind = EventKind::kSettled;
  event->slot = slot;
  event->result = result;
}

// Settles a request at its deadline.
void SessionMachine::give_up(Slot* slot, Event* event) {
  event->timed_out = true;
  if (slot->read_only || slot->sends == 0) {
    event->detail = slot->refusal == Result::kBusy ? slot->refusal_detail : uint8_t{0};
    settle(slot, Result::kBusy, event);
    return;
  }
  // Only one copy was sent, and the node said that it did not execute it. (Of several shards another participant may
  // have prepared it.)
  const bool certain = slot->participants == 0 && slot->sends == 1 && slot->refusal != Result::kCommitted;
  event->detail = slot->refusal_detail;
  if (certain) event->timed_out = false;
  settle(slot, certain ? slot->refusal : Result::kUnknownOutcome, event);
}

void SessionMachine::doom(Slot* slot) {
  unlink(slot);
  append(slot, kDoomedList);
  wake_at(0);
}

// Everything that is submitted and not settled will be settled by poll(), without an answer.
void SessionMachine::doom_outstanding() {
  for (Sequence s = watermark_; s != next_sequence_; ++s) {
    Slot& slot = slots_[s & mask_];
    if (slot.sequence == s && (slot.state == kQueued || slot.state == kInFlight)) doom(&slot);
  }
}

bool SessionMachine::resume(Slot* slot, TimeNs deadline_ns, TimeNs now) {
  assert(slot->state == kHeld);
  if (!slot->resumable || !is_active_) return false;
  slot->resumable = false;
  slot->state = kInFlight;
  slot->deadline_ns = deadline_ns;
  slot->backoff = 0;
  if (slot->participants != 0) fan_of(slot).lost = static_cast<uint16_t>(~1u);
  ++outstanding_;
  ++statistics_.submitted;
  ++statistics_.resumed;
  append(slot, kResendList);
  wake_at(now);
  return true;
}

}  // namespace txnic::client
