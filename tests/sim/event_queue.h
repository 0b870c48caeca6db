// SPDX-License-Identifier: BSD-3-Clause
// What will happen, in order of simulated time; what happens at the same nanosecond, in the order of its planning.
#pragma once

#include <queue>
#include <vector>

#include "txn/types.h"

namespace txnic::sim {

enum class EventKind : uint8_t {
  kToNode,      // who: node; detail: message
  kToClient,    // who: client; detail: message
  kWakeNode,    // who: node
  kWakeClient,  // who: client
  kDice,        // the faults throw their dice
  kDie,         // who: node; detail: how often it had died when this was planned
  kStartNode,   // who: node; detail: how often it had died when this was planned
  kEndFault,    // detail: fault
  kNewClient,   // who: client
  kEndOfLoad,
  kGiveUp,  // the quiet time is over: whoever still waits, waits for ever
};

struct Event {
  TimeNs at;
  uint64_t order;
  uint64_t detail;
  uint32_t who;
  EventKind kind;
};

class EventQueue {
 public:
  void plan(TimeNs at, EventKind kind, uint32_t who, uint64_t detail = 0) {
    queue_.push({at < now_ ? now_ : at, ++order_, detail, who, kind});
  }
  // Moves the time on to the next event. There always is one: kGiveUp is planned from the start.
  Event next() {
    const Event event = queue_.top();
    queue_.pop();
    now_ = event.at;
    return event;
  }
  TimeNs now() const { return now_; }
  const TimeNs* clock() const { return &now_; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  };
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  uint64_t order_ = 0;
  TimeNs now_ = 0;
};

}  // namespace txnic::sim
