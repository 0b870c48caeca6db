// SPDX-License-Identifier: BSD-3-Clause
// Rules on real ports, by DPDK's rte_flow.
#pragma once

#include "dataplane/port.h"
#include "dataplane/steering/compile.h"

namespace txnic::dataplane::steering {

class RteFlowPort final : public FlowPort {
 public:
  bool validate(const FlowRule& rule, std::string* why) override;
  void* create(const FlowRule& rule, std::string* why) override;
  void destroy(uint16_t port, void* handle) override;
};

// Of a configured port: by what it says (an e-switch domain), not by its driver's name. Whether it takes rules at all
// is found out by asking it with each.
PortFacts port_facts(const Port& port, uint32_t port_index, uint32_t workers, const SteeringOptions& options);

}  // namespace txnic::dataplane::steering
