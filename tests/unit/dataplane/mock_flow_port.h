// SPDX-License-Identifier: BSD-3-Clause
// A port that takes rules as the real ones do, with their restrictions, each of which has a name in the refusal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/steering/compile.h"

namespace txnic::dataplane::steering {

class MockFlowPort final : public FlowPort {
 public:
  struct Kind {
    Capabilities can = kPlainModel;
    uint32_t queues = 2;
    uint32_t ports = 2;               // ids that may be named
    uint32_t ingress_priorities = 1;  // of group 0
    bool creates = true;              // false: validates everything, creates nothing (net_tap without cls_flower)
    int refuse_create_at = -1;        // the n-th creation fails
  };
  explicit MockFlowPort(const Kind& kind) : kind_(kind) {}
  ~MockFlowPort() override {
    for (FlowRule* rule : rules) delete rule;
  }

  bool validate(const FlowRule& rule, std::string* why) override {
    *why = restriction(rule);
    return why->empty();
  }

  void* create(const FlowRule& rule, std::string* why) override {
    *why = restriction(rule);
    if (why->empty() && (!kind_.creates || created_ == kind_.refuse_create_at)) *why = "kernel says no";
    ++created_;
    if (!why->empty()) return nullptr;
    rules.push_back(new FlowRule(rule));
    return rules.back();
  }

  void destroy(uint16_t port, void* handle) override {
    const auto found = std::find(rules.begin(), rules.end(), handle);
    if (found == rules.end() || (*found)->port != port) {
      ++bad_destroys;
      return;
    }
    delete *found;
    rules.erase(found);
  }

  std::vector<FlowRule*> rules;
  int bad_destroys = 0;

 private:
  std::string restriction(const FlowRule& rule) const {
    if (!kind_.can.queue_rules) return "Function not implemented";
    if (int{rule.ingress} + int{rule.egress} + int{rule.transfer} != 1) return "not exactly one direction";
    if (rule.transfer && !kind_.can.transfer_rules) return "transfer: no e-switch";
    if (rule.transfer && rule.action == Action::kQueue) return "transfer takes no queue";
    if (!rule.transfer && rule.action == Action::kRepresentedPort) return "only transfer leads to a port";
    if (rule.action == Action::kQueue && rule.argument >= kind_.queues) return "no such queue";
    if (rule.action == Action::kRepresentedPort && rule.argument >= kind_.ports) return "no such port";
    if (rule.action == Action::kJump && rule.argument <= rule.group) return "jumps go to a higher group";
    if (rule.ingress && rule.group == 0 && rule.priority >= kind_.ingress_priorities) return "no such priority";
    for (const FlowRule* other : rules) {
      if (other->port == rule.port && other->transfer == rule.transfer && other->priority == rule.priority &&
          other->match == rule.match && other->value == rule.value) {
        return "exists";
      }
    }
    return {};
  }

  Kind kind_;
  int created_ = 0;
};

}  // namespace txnic::dataplane::steering
