// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/sessions.h"

#include <new>
#include <random>

namespace txnic::pktgen {

Sessions::Sessions(Transport& transport, uint32_t count, uint32_t window) {
  client::MachineLimits limits;
  limits.window = window;
  const size_t stride = (client::SessionMachine::memory_bytes(limits) + 63) / 64 * 64;
  memory_.reset(static_cast<std::byte*>(::operator new[](stride * count, std::align_val_t{64})));
  machines_.resize(count);
  // Ids have to be unique among all clients that the node ever saw, so they do not come from the run's seed.
  std::random_device entropy;
  for (uint32_t i = 0; i < count; ++i) {
    const SessionId id = static_cast<SessionId>(entropy()) << 32 | (entropy() & 0xffff0000u) | i;
    machines_[i].init(limits, {memory_.get() + stride * i, stride}, id != 0 ? id : 1ull << 32, emit, &transport);
  }
}

void Sessions::open_all(TimeNs now) {
  for (auto& machine : machines_) {
    if (machine.state() == client::MachineState::kClosed) machine.open(now);
  }
}

bool Sessions::all_open() const {
  for (const auto& machine : machines_) {
    if (machine.state() != client::MachineState::kOpen) return false;
  }
  return true;
}

uint32_t Sessions::window() const {
  uint32_t least = limits::kWindowMax;
  for (const auto& machine : machines_) least = std::min(least, machine.window());
  return least;
}

client::MachineStatistics Sessions::statistics() const {
  client::MachineStatistics sum;
  for (const auto& machine : machines_) add_to(&sum, machine.statistics());
  return sum;
}

}  // namespace txnic::pktgen
