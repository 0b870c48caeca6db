// SPDX-License-Identifier: BSD-3-Clause
// A node has lost the session's window, or refuses the session for good: what becomes of the requests that it may have
// seen (COMMIT 8).
#include "txn/client/machine.h"

namespace txnic::client {

bool SessionMachine::involves(const Slot& slot, uint32_t node) const {
  if (slot.participants == 0) return slot.node == node;
  const FanOut& fan = fan_of(&slot);
  for (uint32_t i = 0; i < slot.participants; ++i) {
    if (fan.nodes[i] == node) return true;
  }
  return false;
}

// The node does not know the outcomes any more, so nobody can say whether a request that writes and was sent has been
// executed: it must never see its id again. Sequences go on.
void SessionMachine::lose_window(Node& node) {
  ++statistics_.windows_lost;
  forsake(number_of(node), false);
  node.stamp = 0;
}

// Of several shards, only the coordinator's window decides: what it has committed it still says, and what it has not it
// asks the others for. A participant that has lost its window and saw the id again would take it for a new transaction
// and execute it a second time, if the coordinator tells it of its old commit; not seeing it, it answers the
// coordinator's question by "never". So the id goes to the coordinator only from then on, and its outcome is told.
// `is_gone`: the node takes no requests any more.
void SessionMachine::forsake(uint32_t node, bool is_gone) {
  for (Sequence s = watermark_; s != next_sequence_; ++s) {
    Slot& slot = slots_[s & mask_];
    if (slot.sequence != s || slot.list == kDoomedList) continue;
    const bool waits = slot.state == kQueued || slot.state == kInFlight;
    if ((!waits && slot.state != kHeld) || !involves(slot, node)) continue;
    const bool is_decider = slot.participants == 0 || fan_of(&slot).nodes[0] == node;
    if (slot.state == kHeld) {
      if (is_decider) slot.resumable = false;
      continue;
    }
    if (slot.state == kQueued) {
      if (is_gone) doom(&slot);
      continue;
    }
    if (is_decider) {
      // A read of one shard does no harm when it is executed again.
      if (is_gone || slot.participants != 0 || !slot.read_only) doom(&slot);
      continue;
    }
    FanOut& fan = fan_of(&slot);
    for (uint32_t i = 0; i < slot.participants; ++i) {
      if (fan.nodes[i] == node) fan.lost = static_cast<uint16_t>(fan.lost | 1u << i);
    }
  }
}

}  // namespace txnic::client
