// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/steering/rte_flow.h"

#include <array>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "dataplane/quiet_drivers.h"
#include "dataplane/transmit.h"

namespace txnic::dataplane::steering {
namespace {

// A rule in DPDK's structures. They point at one another: not to be copied.
class Translated {
 public:
  explicit Translated(const FlowRule& rule) {
    attributes.group = rule.group;
    attributes.priority = rule.priority;
    attributes.ingress = rule.ingress ? 1 : 0;
    attributes.egress = rule.egress ? 1 : 0;
    attributes.transfer = rule.transfer ? 1 : 0;
    translate_match(rule);
    translate_action(rule);
  }
  Translated(const Translated&) = delete;
  Translated& operator=(const Translated&) = delete;

  rte_flow_attr attributes{};
  std::array<rte_flow_item, 4> items{};
  std::array<rte_flow_action, 2> actions{};

 private:
  void translate_match(const FlowRule& rule) {
    size_t count = 0;
    items[count].type = RTE_FLOW_ITEM_TYPE_ETH;
    if (rule.match == Match::kEthertype) {
      eth_.type = rte_cpu_to_be_16(rule.value);
      eth_mask_.type = 0xffff;
      items[count].spec = &eth_;
      items[count].mask = &eth_mask_;
    }
    ++count;
    if (rule.match == Match::kUdpPort) {
      items[count++].type = RTE_FLOW_ITEM_TYPE_IPV4;
      udp_.hdr.dst_port = rte_cpu_to_be_16(rule.value);
      udp_mask_.hdr.dst_port = 0xffff;
      items[count].type = RTE_FLOW_ITEM_TYPE_UDP;
      items[count].spec = &udp_;
      items[count].mask = &udp_mask_;
      ++count;
    }
    items[count].type = RTE_FLOW_ITEM_TYPE_END;
  }

  void translate_action(const FlowRule& rule) {
    switch (rule.action) {
      case Action::kQueue:
        queue_.index = static_cast<uint16_t>(rule.argument);
        actions[0] = {RTE_FLOW_ACTION_TYPE_QUEUE, &queue_};
        break;
      case Action::kRepresentedPort:
        port_.port_id = static_cast<uint16_t>(rule.argument);
        actions[0] = {RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT, &port_};
        break;
      case Action::kJump:
        jump_.group = rule.argument;
        actions[0] = {RTE_FLOW_ACTION_TYPE_JUMP, &jump_};
        break;
      case Action::kDrop: actions[0] = {RTE_FLOW_ACTION_TYPE_DROP, nullptr}; break;
    }
    actions[1] = {RTE_FLOW_ACTION_TYPE_END, nullptr};
  }

  rte_flow_item_eth eth_{}, eth_mask_{};
  rte_flow_item_udp udp_{}, udp_mask_{};
  rte_flow_action_queue queue_{};
  rte_flow_action_ethdev port_{};
  rte_flow_action_jump jump_{};
};

std::string reason_of(const rte_flow_error& error, int code) {
  const std::string text = rte_strerror(code);
  return error.message == nullptr ? text : text + ": " + error.message;
}

}  // namespace

bool RteFlowPort::validate(const FlowRule& rule, std::string* why) {
  const QuietDrivers quiet;
  const Translated flow(rule);
  rte_flow_error error{};
  const int result = rte_flow_validate(rule.port, &flow.attributes, flow.items.data(), flow.actions.data(), &error);
  if (result != 0) *why = reason_of(error, -result);
  return result == 0;
}

void* RteFlowPort::create(const FlowRule& rule, std::string* why) {
  const QuietDrivers quiet;
  const Translated flow(rule);
  rte_flow_error error{};
  rte_errno = 0;
  void* const handle =
      rte_flow_create(rule.port, &flow.attributes, flow.items.data(), flow.actions.data(), &error);
  if (handle == nullptr) *why = "passes validation, but " + reason_of(error, rte_errno);
  return handle;
}

void RteFlowPort::destroy(uint16_t port, void* handle) {
  const QuietDrivers quiet;
  rte_flow_error error{};
  rte_flow_destroy(port, static_cast<rte_flow*>(handle), &error);  // gone either way: the port is about to stop
}

PortFacts port_facts(const Port& port, uint32_t port_index, uint32_t workers, const SteeringOptions& options) {
  PortFacts facts;
  facts.id = port.id;
  facts.name = port.name;
  facts.queues = port.rx_queues;
  facts.queue_of_worker.assign(workers, kNoQueue);
  for (uint32_t q = port.rx_queues; q-- > 0;) {
    facts.queue_of_worker[queue_owner(port_index, q, port.rx_queues, workers)] = q;
  }
  if (options.software_only) {
    facts.why_none = "asked for by the command line";
    return facts;
  }
  facts.can = kPlainModel;
  rte_eth_dev_info info{};
  if (options.bridge && rte_eth_dev_info_get(port.id, &info) == 0 &&
      info.switch_info.domain_id != RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID) {
    facts.can = kSwitchModel;
  }
  return facts;
}

}  // namespace txnic::dataplane::steering
