// SPDX-License-Identifier: BSD-3-Clause
// One rule as a port understands it (the part of rte_flow that we use), as text in dpdk-testpmd's own syntax, and the
// interface that executes it: rte_flow.h on a real port, a mock with its restrictions in tests.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/steering/rules.h"

namespace txnic::dataplane::steering {

enum class Action : uint8_t { kQueue, kRepresentedPort, kJump, kDrop };

struct FlowRule {
  uint16_t port = 0;  // id
  bool ingress = false, egress = false, transfer = false;  // exactly one
  uint32_t group = 0;
  uint32_t priority = 0;  // 0 is the highest
  Match match = Match::kEverything;
  uint16_t value = 0;
  Action action = Action::kDrop;
  uint32_t argument = 0;  // queue, port id or group
  bool operator==(const FlowRule&) const = default;
};

// "eth / ipv4 / udp dst is 7700 / end"
std::string pattern_text(const FlowRule& rule);
// "queue index 0 / end"
std::string action_text(const FlowRule& rule);
// "flow create 0 ingress priority 0 pattern … actions …": dpdk-testpmd takes it as it is.
std::string create_text(const FlowRule& rule);
// "0  0  i--  ETH IPV4 UDP => QUEUE", tabs between: a row of testpmd's `flow list` without its id.
std::string list_text(const FlowRule& rule);

class FlowPort {
 public:
  virtual ~FlowPort() = default;
  // False, with the driver's reason in *why. A port that validates a rule may still refuse to create it.
  virtual bool validate(const FlowRule& rule, std::string* why) = 0;
  // Null if refused; else a handle for destroy().
  virtual void* create(const FlowRule& rule, std::string* why) = 0;
  virtual void destroy(uint16_t port, void* handle) = 0;
};

}  // namespace txnic::dataplane::steering
