// SPDX-License-Identifier: BSD-3-Clause
// Parking: with placement NIC a key that a transaction names may be in the host's store and not in the cache. The
// transaction then waits, as it came, until all its keys are here, and is taken up again from the beginning: session,
// window and locks may have changed meanwhile, so admission decides once more, and what must not run twice does not.
//
// Fetched keys come in the order in which they were asked for, so a ring is enough: nothing is searched for. A key may
// be evicted again before the last of its transaction's comes; such a transaction is parked anew, a bounded number of
// times.
//
// For a back that never misses (placement HOST) none of this is compiled.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

// True if the transaction can be executed now: every key that it names is here. Else the request is parked, or refused.
template <Back B>
inline bool Front<B>::has_keys(Request& request, const Parsed& parsed) {
  if constexpr (kMayMiss<B>) {
    Lsn fetched_at = 0;
    for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
      const wire::Operation& operation = operations_[parsed.first_operation + i];
      const Want want = back_->want(parsed.local_shard, operation.table, operation.key, operation.key_length,
                                    hashes_[parsed.first_operation + i]);
      if (want.busy != BusyReason::kNone) {
        refuse(request, parsed.header, Result::kBusy, static_cast<uint8_t>(want.busy));
        return false;
      }
      fetched_at = std::max(fetched_at, want.fetched_at);
    }
    if (fetched_at == 0) [[likely]]
      return true;
    park(request, parsed, fetched_at);
    return false;
  }
  return true;
}

template <Back B>
void Front<B>::park(Request& request, const Parsed& parsed, Lsn fetched_at) {
  if constexpr (kMayMiss<B>) {
    const wire::Header& header = parsed.header;
    Parking& p = parking_;
    // A copy of what waits is dropped. Where two transactions share a place here the later one is remembered: a copy of
    // the other then waits too, and the window answers it.
    uint32_t& newest = p.newest[(header.session * 0x9e3779b97f4a7c15 + header.sequence) % p.newest.size()];
    if (newest - p.head < p.tail - p.head) {
      const wire::Header waits = wire::read_header(p.ring[newest % p.ring.size()].request.message);
      if (waits.session == header.session && waits.sequence == header.sequence && waits.stamp == header.stamp &&
          waits.shard == header.shard && waits.type == header.type) {
        ++counters_.parked_copies;
        request.action = Action::kTaken;
        return;
      }
    }
    if (parked() == limits::kParkedMax || request.times_parked == limits::kParkedTimesMax) {
      refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kFetching));
      return;
    }
    newest = p.tail;
    // The order of the ring: a key that another transaction has asked for already may come earlier than what stands
    // in front of this one, and waits for it.
    p.newest_position = std::max(p.newest_position, fetched_at);
    Parked& parked = p.ring[p.tail++ % p.ring.size()];
    parked = {request, p.newest_position};
    ++parked.request.times_parked;
    ++counters_.parked;
    request.action = Action::kHold;
  }
}

// Takes up a burst of those whose keys have come. Answers how many.
template <Back B>
uint32_t Front<B>::resume(TimeNs now) {
  if constexpr (kMayMiss<B>) {
    Parking& p = parking_;
    std::array<Request, limits::kBurstMax> burst;
    uint32_t count = 0;
    const Lsn fetched = back_->fetched();
    while (count < burst.size() && p.head != p.tail && p.ring[p.head % p.ring.size()].fetched_at <= fetched) {
      burst[count] = p.ring[p.head++ % p.ring.size()].request;
      // Counted when it came.
      const uint8_t type = wire::read_header(burst[count].message).type;
      const bool is_execute = type == static_cast<uint8_t>(wire::Type::kExecute);
      --(is_execute ? counters_.requests : counters_.prepares);
      ++count;
    }
    if (count == 0) return 0;
    step({burst.data(), count}, now);
    for (const Request& request : std::span(burst.data(), count)) {
      if (request.action == Action::kHold) continue;
      const Action action = request.action == Action::kReply ? Action::kReply : Action::kDrop;
      p.done[p.done_tail++ % p.done.size()] = {request.handle, request.reply_length, action, 0};
    }
    return count;
  }
  return 0;
}

}  // namespace txnic::offload
