// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/steering/compile.h"

#include <cstdio>

namespace txnic::dataplane::steering {
namespace {

constexpr uint32_t kSpecial = 0;   // priorities; a catch-all is below everything
constexpr uint32_t kCatchAll = 1;

FlowRule transfer(const Rule& rule, const PortFacts& port, Action action, uint32_t argument) {
  FlowRule flow;
  flow.port = port.id;
  flow.transfer = true;
  flow.priority = rule.match == Match::kEverything ? kCatchAll : kSpecial;
  flow.match = rule.match;
  flow.value = rule.value;
  flow.action = action;
  flow.argument = argument;
  return flow;
}

FlowRule to_queue(const Rule& rule, const PortFacts& port, uint32_t queue) {
  FlowRule flow;
  flow.port = port.id;
  flow.ingress = true;  // group 0 of ingress has few priorities: these matches exclude one another, one is enough
  flow.match = rule.match;
  flow.value = rule.value;
  flow.action = Action::kQueue;
  flow.argument = queue;
  return flow;
}

void plan_worker(const PortFacts& port, PlannedRule* planned) {
  const Rule& rule = planned->rule;
  const uint32_t queue = rule.to < port.queue_of_worker.size() ? port.queue_of_worker[rule.to] : kNoQueue;
  if (!port.can.queue_rules) {
    planned->why_software = port.why_none;
  } else if (port.queues == 1 && !port.can.transfer_rules) {
    planned->why_software = "it has one queue";
  } else if (queue == kNoQueue) {
    planned->why_software = "it has no queue for worker " + std::to_string(rule.to);
  } else {
    // Out of the e-switch's way first (a transfer rule cannot name a queue), then on its queue.
    if (port.can.transfer_rules) planned->flows.push_back(transfer(rule, port, Action::kJump, kEmptyGroup));
    if (port.queues > 1) planned->flows.push_back(to_queue(rule, port, queue));
  }
}

void plan_port(const PortFacts& port, const PortFacts& to, PlannedRule* planned) {
  if (!port.can.transfer_rules) {
    planned->why_software = port.can.queue_rules ? "it has no e-switch that leads to another port" : port.why_none;
    return;
  }
  planned->flows.push_back(transfer(planned->rule, port, Action::kRepresentedPort, to.id));
}

}  // namespace

std::vector<PlannedRule> compile(std::span<const Rule> table, std::span<const PortFacts> ports) {
  std::vector<PlannedRule> plan;
  for (const Rule& rule : table) {
    PlannedRule& planned = plan.emplace_back();
    planned.rule = rule;
    planned.needs_all_before = rule.match == Match::kEverything;
    if (rule.target == Target::kWorker) {
      plan_worker(ports[rule.port], &planned);
    } else {
      plan_port(ports[rule.port], ports[rule.to], &planned);
    }
  }
  return plan;
}

std::string rule_text(const Rule& rule) {
  std::string text = "everything else";
  if (rule.match == Match::kUdpPort) text = "udp dst is " + std::to_string(rule.value);
  if (rule.match == Match::kEthertype) {
    char type[24];
    std::snprintf(type, sizeof type, "eth type is 0x%04x", unsigned{rule.value});
    text = type;
  }
  return text + (rule.target == Target::kWorker ? " -> worker " : " -> port ") + std::to_string(rule.to);
}

std::string to_testpmd(std::span<const PlannedRule> plan, std::span<const PortFacts> ports) {
  std::string text;
  for (const PlannedRule& planned : plan) {
    if (planned.flows.empty()) {
      text += "# software: port " + std::to_string(ports[planned.rule.port].id) + ": " + rule_text(planned.rule) +
              " (" + planned.why_software + ")\n";
    }
    for (const FlowRule& flow : planned.flows) text += create_text(flow) + "\n";
  }
  return text;
}

}  // namespace txnic::dataplane::steering
