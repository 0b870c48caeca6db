// SPDX-License-Identifier: BSD-3-Clause
// What the machine knows of one node: the session's opening there, and when it heard from us.
#pragma once

#include "txn/wire/header.h"

namespace txnic::client {

enum class MachineState : uint8_t { kClosed, kOpening, kOpen, kReopening, kClosing };

inline constexpr TimeNs kNever = ~TimeNs{0};

struct alignas(64) Node {
  Stamp stamp = 0;                    // 0: none
  uint32_t workers = 1;
  MachineState state = MachineState::kClosed;
  bool has_cookie = false;
  bool keeps_alive = false;           // kOpen, and an OPEN that says so is under way
  uint32_t window = 0;                // the node's; 0: never opened
  Sequence attempt = 0;               // of all nodes different, so that it names the node that answers
  TimeNs due = kNever;                // the next OPEN or CLOSE
  TimeNs opened_at = 0;
  uint32_t tries = 0;
  uint32_t cookie_tries = 0;
  Endpoint base;                      // from the map; 0: not known here
  uint8_t cookie[wire::kCookieBytes] = {};
  wire::OpenedBody opened{};
  TimeNs worker_sent[limits::kWorkersMax] = {};  // newest message to each worker, for keep-alive

  bool is_opening() const { return state == MachineState::kOpening || state == MachineState::kReopening; }
  bool awaits_opened() const { return is_opening() || keeps_alive; }
  // When the worker that has heard least of us heard from us.
  TimeNs oldest_contact() const {
    TimeNs oldest = kNever;
    for (uint32_t w = 0; w < workers; ++w) {
      if (worker_sent[w] < oldest) oldest = worker_sent[w];
    }
    return oldest;
  }
  // Each worker forgets a session that it has not seen for the expiry time, also while others are busy with it.
  TimeNs keep_alive_due() const {
    if (state != MachineState::kOpen || keeps_alive || opened.idle_expiry_seconds == 0) return kNever;
    return oldest_contact() + opened.idle_expiry_seconds * 1'000'000'000ull / 3;
  }
};

}  // namespace txnic::client
