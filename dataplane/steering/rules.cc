// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/steering/rules.h"

#include "dataplane/frame.h"

namespace txnic::dataplane::steering {
namespace {

void add_link(const Bridge& bridge, std::vector<Rule>* table) {
  if (bridge.link_udp_port != 0) {
    table->push_back({bridge.host, Match::kUdpPort, bridge.link_udp_port, Target::kWorker, 0});
  }
  if (bridge.link_ethertype != 0) {
    table->push_back({bridge.host, Match::kEthertype, bridge.link_ethertype, Target::kWorker, 0});
  }
}

// Host order; 0 where the frame has none (a later fragment has no port either).
uint16_t udp_destination(const uint8_t* frame, uint32_t length) {
  using namespace frame_at;
  const bool is_udp = length >= kHeadersBytes && load<uint16_t>(frame + kEthertype) == byte_swap(uint16_t{0x0800}) &&
                      frame[kIp] == 0x45 && frame[kIpProtocol] == kProtocolUdp &&
                      (load<uint16_t>(frame + kIpFragment) & 0xff1fu) == 0;
  return is_udp ? byte_swap(load<uint16_t>(frame + kUdpDestination)) : uint16_t{0};
}

}  // namespace

std::string check_input(const TableInput& input) {
  if (!input.options.bridge) {
    return input.options.front == FrontPlace::kHost ? "a front on the host needs a bridge to it (two ports)" : "";
  }
  const Bridge& bridge = *input.options.bridge;
  if (bridge.uplink < input.ports && bridge.host < input.ports && bridge.uplink != bridge.host) return {};
  return "the wire is port " + std::to_string(bridge.uplink) + " and the host is port " + std::to_string(bridge.host) +
         ", but there are " + std::to_string(input.ports) + " ports; give the EAL both (-a …,representor=[65535])";
}

std::vector<Rule> make_table(const TableInput& input) {
  std::vector<Rule> table;
  const std::optional<Bridge>& bridge = input.options.bridge;
  const bool here = input.options.front == FrontPlace::kHere;
  for (uint32_t port = 0; port < input.ports; ++port) {
    if (bridge && port == bridge->host) {
      add_link(*bridge, &table);
      table.push_back({port, Match::kEverything, 0, Target::kPort, bridge->uplink});
      continue;
    }
    for (uint32_t w = 0; w < input.workers; ++w) {
      const auto udp_port = static_cast<uint16_t>(input.base_port + w);
      if (here) table.push_back({port, Match::kUdpPort, udp_port, Target::kWorker, w});
      else table.push_back({port, Match::kUdpPort, udp_port, Target::kPort, bridge->host});
    }
    if (bridge && port == bridge->uplink) table.push_back({port, Match::kEverything, 0, Target::kPort, bridge->host});
  }
  return table;
}

std::optional<Rule> match_frame(std::span<const Rule> table, uint32_t port, const uint8_t* frame, uint32_t length) {
  if (length < frame_at::kIp) return std::nullopt;
  const uint16_t udp_port = udp_destination(frame, length);
  const uint16_t ethertype = byte_swap(load<uint16_t>(frame + frame_at::kEthertype));
  for (const Rule& rule : table) {
    if (rule.port != port) continue;
    if (rule.match == Match::kUdpPort && (udp_port == 0 || rule.value != udp_port)) continue;
    if (rule.match == Match::kEthertype && rule.value != ethertype) continue;
    return rule;
  }
  return std::nullopt;
}

}  // namespace txnic::dataplane::steering
