// SPDX-License-Identifier: BSD-3-Clause
// Answers to PREPARE (docs/PROTOCOL.md 18.2): the coordinator's outcome, which is final under whatever stamp, or a
// participant's refusal of one copy, which is no outcome.
#include "txn/client/machine.h"

namespace txnic::client {
namespace {

// Refusals that lie in the message itself: the coordinator gives the same to every copy, and so never prepares it.
bool is_lasting(Result result) {
  return result == Result::kUnknownTable || result == Result::kCrossShard || result == Result::kBadRequest ||
         result == Result::kBadVersion;
}

}  // namespace

void SessionMachine::on_prepared(Event* event, TimeNs now) {
  const wire::Header& h = event->header;
  Slot* const slot = awaiting(h);
  if (slot == nullptr) return;
  if (slot->participants == 0) {
    ++statistics_.unmatched;
    return;
  }
  if ((h.flags & wire::kReplyFlagDecided) == 0) {
    on_prepare_refused(event, slot, now);
    return;
  }
  uint32_t count = 0;
  std::array<Version, limits::kParticipantsMax> versions;
  const bool is_sound = wire::parse_prepared(event->message, h, &count, versions.data(), nullptr) ==
                        wire::ParseError::kNone;
  if (!is_sound || (count != 0 && count != slot->participants) || h.shard != slot->shard) {
    ++statistics_.malformed;
    return;
  }
  for (uint32_t i = count; i != 0; --i) {
    if (versions[i - 1] != 0) event->commit_version = versions[i - 1];
  }
  event->detail = h.detail;
  event->reply_flags = h.flags;
  ++statistics_.answers;
  settle(slot, static_cast<Result>(h.result), event);
}

void SessionMachine::on_prepare_refused(Event* event, Slot* slot, TimeNs now) {
  const wire::Header& h = event->header;
  const auto result = static_cast<Result>(h.result);
  const FanOut& fan = fan_of(slot);
  uint32_t place = 0;
  while (place < slot->participants && fan.shards[place] != h.shard) ++place;
  if (place == slot->participants || result == Result::kCommitted) {
    ++statistics_.malformed;
    return;
  }
  Node& node = nodes_[fan.nodes[place]];
  const bool went_last = (fan.current >> place & 1) != 0;
  if (result == Result::kBadSession) {
    on_bad_session(*event, node, went_last, now);
    return;
  }
  const bool is_current = went_last && (h.stamp == node.stamp || result == Result::kBadVersion);
  if (!is_current || slot->list == kDoomedList || slot->list == kResendList) {
    ++statistics_.stale;
    return;
  }
  slot->refusal = result;
  slot->refusal_detail = h.detail;
  if (result == Result::kWrongShard && limits_.nodes > 1) ask_map(now);
  const bool is_final = place == 0 && (is_lasting(result) || result == Result::kOldSequence);
  if (!is_final) {  // later, or the coordinator tells it, which is asked meanwhile
    retry_later(slot, now);
    return;
  }
  ++statistics_.answers;
  event->detail = h.detail;
  const bool uncertain = result == Result::kOldSequence || (!slot->read_only && slot->restamped);
  settle(slot, uncertain ? Result::kUnknownOutcome : result, event);
}

}  // namespace txnic::client
