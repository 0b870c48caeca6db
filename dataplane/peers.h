// SPDX-License-Identifier: BSD-3-Clause
// Ports whose peers come and go. The other side may start later, die, and come back; our side goes on. A virtual port
// that connects (rather than listens) finds its peer again only when it is stopped and started: housekeeping does so,
// with every poller shut out of the port meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/poll_gate.h"
#include "dataplane/port.h"
#include "txn/types.h"

namespace txnic::dataplane {

inline constexpr TimeNs kReconnectFirstNs = 100'000'000;  // after the link was lost; then doubled
inline constexpr TimeNs kReconnectMaxNs = 1'000'000'000;
// After a start that found somebody: a net_memif listener panics if we hang up before it has come round to us.
inline constexpr TimeNs kHandshakePatienceNs = 2'000'000'000;
inline constexpr uint32_t kLeaveDriverMilliseconds = 200;  // for all pollers to leave the port

class Peers {
 public:
  // `ports` and `gates` outlive this object. One gate for each thread that polls these ports.
  Peers(std::vector<Port>* ports, std::vector<PollGate*> gates);

  // Starts all ports, before any poller runs. A port whose peer is not there stays closed until tick() gets it up; only
  // a port that is not virtual must start at once.
  bool start(TimeNs now, std::vector<std::string>* notes, std::string* error);
  // Looks at the links; call every few milliseconds. Tells changes in *notes.
  void tick(TimeNs now, std::vector<std::string>* notes);
  bool all_up() const;
  bool is_up(size_t port_index) const { return states_[port_index].up; }
  // Called with a port's index before it is stopped for a restart.
  void set_before_stop(std::function<void(size_t)> call) { before_stop_ = std::move(call); }

 private:
  struct State {
    bool up = false;
    TimeNs next_attempt = 0;
    TimeNs backoff = kReconnectFirstNs;
  };
  bool shut_out(uint16_t port);
  void let_in(uint16_t port);
  void reconnect(size_t index, TimeNs now);

  std::vector<Port>* ports_;
  std::vector<PollGate*> gates_;
  std::vector<State> states_;
  std::function<void(size_t)> before_stop_ = [](size_t) {};
};

}  // namespace txnic::dataplane
