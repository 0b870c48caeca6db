// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/steering/steering.h"

#include <utility>

#include "dataplane/json.h"

namespace txnic::dataplane::steering {

Steering::Steering(std::vector<Rule> table, std::vector<PortFacts> ports, FlowPort* flows)
    : table_(std::move(table)), ports_(std::move(ports)), told_(ports_.size()), flows_(flows) {
  for (PlannedRule& planned : compile(table_, ports_)) installed_.push_back({std::move(planned), {}, {}});
}

bool Steering::create(Installed* rule) {
  for (const FlowRule& flow : rule->planned.flows) {
    std::string why;
    void* const handle = flows_->validate(flow, &why) ? flows_->create(flow, &why) : nullptr;
    if (handle == nullptr) {
      destroy(rule);
      rule->refused = why.empty() ? "refused without a reason" : why;
      return false;
    }
    rule->handles.push_back(handle);
  }
  rule->refused.clear();
  return true;
}

void Steering::destroy(Installed* rule) {
  // The last one first: what leads to a rule goes after it.
  while (!rule->handles.empty()) {
    flows_->destroy(ports_[rule->planned.rule.port].id, rule->handles.back());
    rule->handles.pop_back();
  }
}

void Steering::install(uint32_t port, std::vector<std::string>* notes) {
  bool all_before = true;
  for (Installed& rule : installed_) {
    if (rule.planned.rule.port != port) continue;
    destroy(&rule);
    bool done = false;
    if (rule.planned.needs_all_before && !all_before && !rule.planned.flows.empty()) {
      rule.refused = "a rule before it is executed in software";
    } else if (!rule.planned.flows.empty()) {
      done = create(&rule);
    }
    all_before = all_before && done;
  }
  tell(port, notes);
}

void Steering::remove(uint32_t port) {
  for (Installed& rule : installed_) {
    if (rule.planned.rule.port == port) destroy(&rule);
  }
}

void Steering::tell(uint32_t port, std::vector<std::string>* notes) {
  uint32_t all = 0, by_port = 0;
  std::string why;
  for (const Installed& rule : installed_) {
    if (rule.planned.rule.port != port) continue;
    ++all;
    by_port += rule.handles.empty() ? 0 : 1;
    if (rule.handles.empty() && why.empty()) {
      why = rule.planned.flows.empty() ? rule.planned.why_software : rule.refused;
    }
  }
  // One worker, nothing to choose from.
  if (all == 0 || (all == 1 && by_port == 0 && installed_.size() == ports_.size())) return;
  std::string note = "port " + std::to_string(ports_[port].id) + " (" + ports_[port].name + "): ";
  if (by_port == all) {
    note += "executes all " + std::to_string(all) + " steering rules";
  } else {
    note += "STEERING IN SOFTWARE: the port executes " + std::to_string(by_port) + " of " + std::to_string(all) +
            " rules (" + why + "); software does the others, and packets pass between workers over rings";
  }
  if (std::exchange(told_[port], note) != note) notes->push_back(note);
}

std::vector<RuleState> Steering::rules() const {
  std::vector<RuleState> states;
  for (const Installed& rule : installed_) {
    states.push_back({rule.planned.rule, ports_[rule.planned.rule.port].id, !rule.handles.empty(), rule.planned.flows,
                      rule.planned.flows.empty() ? rule.planned.why_software : rule.refused});
  }
  return states;
}

std::string flow_list(const std::vector<RuleState>& rules) {
  std::string out;
  int port = -1;
  uint32_t id = 0;
  for (const RuleState& state : rules) {
    if (int{state.port_id} != port) {
      port = state.port_id;
      id = 0;
      out += "\n  Steering rules of port " + std::to_string(port) + " (flow list " + std::to_string(port) +
             ")\n  ID\tGroup\tPrio\tAttr\tRule\n";
    }
    const char* const who = state.by_port ? "port-executed" : "software";
    if (state.flows.empty()) {
      out += "  -\t-\t-\t---\t" + rule_text(state.rule) + "\t" + who + ": " + state.why_software + "\n";
    }
    for (const FlowRule& flow : state.flows) {
      out += "  " + (state.by_port ? std::to_string(id++) : "-") + "\t" + list_text(flow) + "\t" + who + ": " +
             pattern_text(flow) + " actions " + action_text(flow);
      out += state.by_port ? "\n" : " (refused: " + state.why_software + ")\n";
    }
  }
  return out;
}

std::string to_json(const std::vector<RuleState>& rules) {
  std::string out = "[";
  const char* separator = "";
  for (const RuleState& state : rules) {
    out.append(separator).append("{\"port\":").append(std::to_string(state.port_id));
    out.append(",\"rule\":").append(json_string(rule_text(state.rule)));
    out.append(",\"by\":\"").append(state.by_port ? "port" : "software");
    out.append("\",\"why\":").append(json_string(state.why_software)).append(",\"flows\":[");
    const char* comma = "";
    for (const FlowRule& flow : state.flows) {
      out.append(comma).append(json_string(create_text(flow)));
      comma = ",";
    }
    out += "]}";
    separator = ",";
  }
  return out + "]";
}

}  // namespace txnic::dataplane::steering
