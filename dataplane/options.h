// SPDX-License-Identifier: BSD-3-Clause
// What a dataplane is told at start.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/checksum.h"
#include "dataplane/steering/rules.h"
#include "offload/emulation/profile.h"
#include "txn/limits.h"
#include "txn/shard_map.h"

namespace txnic::dataplane {

// What a worker does when there is nothing to do.
enum class Idle : uint8_t {
  kPoll,   // polls on: one CPU for each worker
  kYield,  // offers the CPU to others after a while
  kSleep,  // sleeps kIdleSleepMicroseconds at a time after a while
};
bool parse_idle(const char* text, Idle* idle);  // "poll", "yield", "sleep"

inline constexpr uint32_t kIdleStepsBeforeYield = 16;
inline constexpr uint32_t kIdleStepsBeforeSleep = 1024;
inline constexpr uint32_t kIdleSleepMicroseconds = 50;

// A node or a gateway whose MAC address is known beforehand.
struct StaticNextHop {
  uint32_t address = 0;  // host order
  std::array<uint8_t, 6> mac{};
  uint32_t port_index = 0;  // which of our ports leads there
};

struct NextHopOptions {
  std::vector<StaticNextHop> fixed;
  uint32_t gateway = 0;        // 0: none; else for nodes outside our subnet
  uint32_t prefix_length = 0;  // of our subnet, where there is a gateway: 1–31
};

// A hardware profile, emulated in real time.
struct EmulationOptions {
  static constexpr uint32_t kNoLink = 0xffffffff;
  offload::HardwareProfile profile;
  bool is_soc = false;               // the workers are as slow as the profile's SoC
  uint32_t link_port_index = kNoLink;  // which of our ports is the link; each side emulates what it sends
};

// The host link between the front on the NIC and the back on the host (placement NIC), on a port of its own.
struct LinkOptions {
  uint32_t port_index = 0;
  // Addresses that only the link has, host order: link-local ones do.
  uint32_t own_address = 0;
  uint32_t peer_address = 0;
  uint16_t udp_port = 7800;  // worker w uses udp_port + w
};

struct DataplaneOptions {
  uint32_t address = 0x0a630001;     // IPv4 address that we answer for, host order (10.99.0.1)
  uint16_t base_port = 7700;         // worker w listens on base_port + w
  std::vector<uint16_t> port_ids;    // the ports to serve; empty: all that the EAL has found
  uint32_t workers = 0;              // 0: as many as the EAL has lcores for
  uint32_t queues = 0;  // of each port; 0: by what the port can do (port.cc). Shared-memory links: both ends alike
  uint32_t rx_descriptors = 1024;
  uint32_t tx_descriptors = 1024;
  uint32_t burst = limits::kBurstMax;
  ChecksumPolicy checksum = ChecksumPolicy::kAuto;
  Idle idle = Idle::kPoll;
  uint32_t held_packets_max = limits::kHeldRepliesMax;  // of one worker's mode at once: sizes the packet pools
  uint32_t transmit_patience_milliseconds = 100;  // a ring that takes nothing for so long has no reader: drop
  uint32_t drain_milliseconds = 2000;                   // at a clean stop, for what is held or under way
  // Given, each worker has an outbox: for the other workers of this node, and for the map's other nodes.
  std::optional<ShardMap> map;
  NextHopOptions next_hops;  // to the other nodes
  EmulationOptions emulation;
  std::optional<LinkOptions> link;
  steering::SteeringOptions steering;  // who steers, and whether this process sits between the wire and a host
};

}  // namespace txnic::dataplane
