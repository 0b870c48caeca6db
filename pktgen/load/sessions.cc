// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/sessions.h"

#include <new>
#include <random>

#include "txn/wire/map.h"

namespace txnic::pktgen {

Sessions::Sessions(Transport& transport, uint32_t count, uint32_t window, Endpoint node)
    : transport_(transport), node_(node) {
  client::MachineLimits limits;
  limits.window = window;
  limits.nodes = kNodesMax;
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

// All machines number the nodes alike, and so does the transport.
std::string Sessions::use_map(const client::Event& event, TimeNs now) {
  ShardMap& map = maps_[next_map_];
  if (wire::parse_mapped(event.message, event.header, &map) != wire::ParseError::kNone) return "its map is malformed";
  if (map.epoch == maps_[next_map_ ^ 1].epoch && machines_[0].map() != nullptr) return {};  // another session was first
  const uint32_t first = map.node_at(node_);
  for (auto& machine : machines_) {
    if (!machine.use_map(&map, first, now)) {
      return "the map has " + std::to_string(map.node_count) + " nodes, at most " + std::to_string(kNodesMax - 1) +
             " can be loaded";
    }
  }
  next_map_ ^= 1;
  for (uint32_t node = 1; node < kNodesMax; ++node) {
    const Endpoint base = machines_[0].node_base(node);
    if (base.port != 0 && !transport_.reach(node, base)) return "the port has no room for another node";
  }
  return {};
}

bool Sessions::all_open() const {
  for (const auto& machine : machines_) {
    if (machine.state() != client::MachineState::kOpen || machine.awaits_map()) return false;
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
