// SPDX-License-Identifier: BSD-3-Clause
// The rules of all ports and who executes each: validated and created on its port, or done by software. Main thread
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/steering/compile.h"
#include "dataplane/steering/flow.h"

namespace txnic::dataplane::steering {

// One rule as statistics show it. A rule that a port executes in two steps has two flow rules.
struct RuleState {
  Rule rule;
  uint16_t port_id = 0;
  bool by_port = false;
  std::vector<FlowRule> flows;  // what the port executes; without by_port: what it was, or would have been, asked for
  std::string why_software;     // the driver's own words where it refused
};

class Steering {
 public:
  Steering() = default;
  // `flows` outlives this object.
  Steering(std::vector<Rule> table, std::vector<PortFacts> ports, FlowPort* flows);

  // After the port has started (again). Tells once, loudly, what is left to software.
  void install(uint32_t port, std::vector<std::string>* notes);
  // Before the port stops.
  void remove(uint32_t port);

  const std::vector<Rule>& table() const { return table_; }
  std::vector<RuleState> rules() const;

 private:
  struct Installed {
    PlannedRule planned;
    std::vector<void*> handles;  // one for each flow rule, or none
    std::string refused;
  };
  bool create(Installed* rule);
  void destroy(Installed* rule);
  void tell(uint32_t port, std::vector<std::string>* notes);

  std::vector<Rule> table_;
  std::vector<PortFacts> ports_;
  std::vector<Installed> installed_;
  std::vector<std::string> told_;  // by port: the last note
  FlowPort* flows_ = nullptr;
};

// As dpdk-testpmd's `flow list` shows them, with who executes each beside it.
std::string flow_list(const std::vector<RuleState>& rules);
std::string to_json(const std::vector<RuleState>& rules);

}  // namespace txnic::dataplane::steering
