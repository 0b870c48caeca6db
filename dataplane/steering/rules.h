// SPDX-License-Identifier: BSD-3-Clause
// What shall happen to a frame, before anybody asks who can do it: one table for ports and for software. The first
// rule of the frame's port that matches decides. Built from two questions: where is the front, and is this process a
// bump in the wire (BlueField) or an end of it. Pure: no DPDK here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace txnic::dataplane::steering {

enum class FrontPlace : uint8_t {
  kHere,  // this process decides transactions
  kHost,  // a process behind the host's port does; this one only keeps the wiring (BlueField, placement HOST)
};

// A card between the wire and the host: what is not ours passes from one of its ports to the other.
struct Bridge {
  uint32_t uplink = 0;         // index among our ports: the wire
  uint32_t host = 1;           // the host's representor, or whatever leads to the host
  uint16_t link_udp_port = 0;  // frames of the host link are for us, never for the wire; 0: no such rule
  uint16_t link_ethertype = 0;
};

struct SteeringOptions {
  bool software_only = false;  // ask no port
  FrontPlace front = FrontPlace::kHere;
  std::optional<Bridge> bridge;
};

enum class Match : uint8_t { kEverything, kUdpPort, kEthertype };
enum class Target : uint8_t {
  kWorker,  // receive it here, by this worker
  kPort,    // send it out of this port of ours
};

struct Rule {
  uint32_t port = 0;  // index of the port that it arrives at
  Match match = Match::kEverything;
  uint16_t value = 0;  // UDP destination port or EtherType
  Target target = Target::kWorker;
  uint32_t to = 0;  // worker, or index of a port
  bool operator==(const Rule&) const = default;
};

struct TableInput {
  uint32_t ports = 1;
  uint32_t workers = 1;
  uint16_t base_port = 0;  // worker w listens on base_port + w
  SteeringOptions options;
};

// An error text for a bridge over ports that are not there; else empty.
std::string check_input(const TableInput& input);
std::vector<Rule> make_table(const TableInput& input);

// What software does with a frame that no port has steered: nullopt: no rule, it is received where it came.
std::optional<Rule> match_frame(std::span<const Rule> table, uint32_t port, const uint8_t* frame, uint32_t length);

}  // namespace txnic::dataplane::steering
