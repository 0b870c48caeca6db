// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/steering/flow.h"

#include <cstdio>

namespace txnic::dataplane::steering {
namespace {

std::string hex(uint16_t value) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", unsigned{value});
  return text;
}

}  // namespace

std::string pattern_text(const FlowRule& rule) {
  switch (rule.match) {
    case Match::kEverything: return "eth / end";
    case Match::kUdpPort: return "eth / ipv4 / udp dst is " + std::to_string(rule.value) + " / end";
    case Match::kEthertype: return "eth type is " + hex(rule.value) + " / end";
  }
  return "end";
}

std::string action_text(const FlowRule& rule) {
  const std::string argument = std::to_string(rule.argument);
  switch (rule.action) {
    case Action::kQueue: return "queue index " + argument + " / end";
    case Action::kRepresentedPort: return "represented_port ethdev_port_id " + argument + " / end";
    case Action::kJump: return "jump group " + argument + " / end";
    case Action::kDrop: return "drop / end";
  }
  return "end";
}

std::string create_text(const FlowRule& rule) {
  std::string text = "flow create " + std::to_string(rule.port);
  if (rule.group != 0) text += " group " + std::to_string(rule.group);
  text += " priority " + std::to_string(rule.priority);
  if (rule.ingress) text += " ingress";
  if (rule.egress) text += " egress";
  if (rule.transfer) text += " transfer";
  return text + " pattern " + pattern_text(rule) + " actions " + action_text(rule);
}

std::string list_text(const FlowRule& rule) {
  std::string text = std::to_string(rule.group) + "\t" + std::to_string(rule.priority) + "\t";
  text += rule.ingress ? 'i' : '-';
  text += rule.egress ? 'e' : '-';
  text += rule.transfer ? 't' : '-';
  text += rule.match == Match::kUdpPort ? "\tETH IPV4 UDP => " : "\tETH => ";
  switch (rule.action) {
    case Action::kQueue: return text + "QUEUE";
    case Action::kRepresentedPort: return text + "REPRESENTED_PORT";
    case Action::kJump: return text + "JUMP";
    case Action::kDrop: return text + "DROP";
  }
  return text;
}

}  // namespace txnic::dataplane::steering
