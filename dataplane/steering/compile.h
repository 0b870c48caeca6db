// SPDX-License-Identifier: BSD-3-Clause
// From the table of rules to what a port of a given kind can take. What it cannot is left to software, and stays in
// the plan with an empty list. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/steering/flow.h"
#include "dataplane/steering/rules.h"

namespace txnic::dataplane::steering {

// Group 1 of an e-switch is left empty on purpose: what misses there goes to the e-switch's manager, that is to us.
inline constexpr uint32_t kEmptyGroup = 1;

struct Capabilities {
  const char* name;        // as the golden files are called
  bool queue_rules;        // ingress, to a queue
  bool transfer_rules;     // in an e-switch: between ports; to a queue never
};
inline constexpr Capabilities kSwitchModel = {"mlx5_switch", true, true};
inline constexpr Capabilities kPlainModel = {"plain", true, false};
inline constexpr Capabilities kTapModel = {"tap", true, false};
inline constexpr Capabilities kNoneModel = {"none", false, false};

inline constexpr uint32_t kNoQueue = UINT32_MAX;

struct PortFacts {
  uint16_t id = 0;
  std::string name;
  Capabilities can = kNoneModel;
  std::string why_none = "it takes no rules";  // told where `can` is kNoneModel
  uint32_t queues = 1;
  std::vector<uint32_t> queue_of_worker;  // kNoQueue: that worker has none on this port
};

struct PlannedRule {
  Rule rule;
  std::vector<FlowRule> flows;  // all of them, in this order, or none; empty: software
  // Only when every rule before it on its port is executed by the port. A catch-all that is created although a more
  // special rule was refused would take away packets that software could still steer.
  bool needs_all_before = false;
  std::string why_software;  // if `flows` is empty
};

std::vector<PlannedRule> compile(std::span<const Rule> table, std::span<const PortFacts> ports);

// The commands for dpdk-testpmd, a line each; what software does is a comment ("# software: …").
std::string to_testpmd(std::span<const PlannedRule> plan, std::span<const PortFacts> ports);
// "udp dst is 7700 -> worker 0"
std::string rule_text(const Rule& rule);

}  // namespace txnic::dataplane::steering
