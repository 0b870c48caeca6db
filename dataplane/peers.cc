// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/peers.h"

#include <algorithm>

#include "dataplane/quiet_drivers.h"

namespace txnic::dataplane {
namespace {

std::string label(const Port& port) { return "port " + std::to_string(port.id) + " (" + port.name + ")"; }

}  // namespace

Peers::Peers(std::vector<Port>* ports, std::vector<PollGate*> gates)
    : ports_(ports), gates_(std::move(gates)), states_(ports->size()) {}

bool Peers::start(TimeNs now, std::vector<std::string>* notes, std::string* error) {
  for (size_t i = 0; i < ports_->size(); ++i) {
    Port& port = (*ports_)[i];
    std::string why;
    bool started = false;
    {
      const QuietDrivers quiet;  // a driver that does not find its peer says so at each attempt
      started = start_port(&port, &why);
    }
    if (!started && !port.is_virtual) {
      *error = why;
      return false;
    }
    if (!started) shut_out(port.id);
    states_[i].up = port_link_is_up(port);
    states_[i].next_attempt = now + (started ? kHandshakePatienceNs : kReconnectFirstNs);
    notes->push_back(label(port) + (states_[i].up ? ": peer connected" : ": peer not connected yet; waiting for it"));
  }
  return true;
}

void Peers::tick(TimeNs now, std::vector<std::string>* notes) {
  for (size_t i = 0; i < ports_->size(); ++i) {
    Port& port = (*ports_)[i];
    State& state = states_[i];
    const bool up = port_link_is_up(port);
    if (up != state.up) {
      state.up = up;
      state.backoff = kReconnectFirstNs;
      state.next_attempt = now + kReconnectFirstNs;
      notes->push_back(label(port) + (up ? ": peer connected" : ": peer gone; waiting for it"));
    }
    // A real link comes back by itself, and restarting it would only delay that; so does a port that listens.
    if (!up && port.is_virtual && (!port.listens || !port.started) && now >= state.next_attempt) {
      reconnect(i, now);
    }
  }
}

bool Peers::all_up() const {
  return std::all_of(states_.begin(), states_.end(), [](const State& s) { return s.up; });
}

bool Peers::shut_out(uint16_t port) {
  bool all_outside = true;
  for (PollGate* gate : gates_) all_outside = gate->close(port, kLeaveDriverMilliseconds) && all_outside;
  return all_outside;
}

void Peers::let_in(uint16_t port) {
  for (PollGate* gate : gates_) gate->open(port);
}

void Peers::reconnect(size_t index, TimeNs now) {
  Port* const port = &(*ports_)[index];
  State* const state = &states_[index];
  state->next_attempt = now + state->backoff;
  state->backoff = std::min(state->backoff * 2, kReconnectMaxNs);
  // A poller that was preempted inside the driver leaves as soon as it runs again: the next attempt finds it outside.
  if (!shut_out(port->id)) return;
  std::string why;
  const QuietDrivers quiet;
  before_stop_(index);
  stop_port(port);
  if (!start_port(port, &why)) return;
  state->next_attempt = now + kHandshakePatienceNs;
  let_in(port->id);
}

}  // namespace txnic::dataplane
