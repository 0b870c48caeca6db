// SPDX-License-Identifier: BSD-3-Clause
// Rules: the table, what each kind of port gets to do (golden dpdk-testpmd files), and who does the rest. The first
// argument is the folder of the golden files; with a second one, `write`, they are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "dataplane/steering/steering.h"
#include "tests/unit/dataplane/mock_flow_port.h"

namespace {
std::string g_golden;
bool g_write = false;
}  // namespace

namespace txnic::dataplane::steering {
namespace {

constexpr uint16_t kBasePort = 7700;
constexpr uint16_t kLinkEthertype = 0x88b5;

struct Wiring {
  const char* name;
  SteeringOptions options;
};

SteeringOptions bump(FrontPlace front) {
  SteeringOptions options;
  options.front = front;
  options.bridge = Bridge{0, 1, 0, kLinkEthertype};
  return options;
}

const Wiring kWirings[] = {
    {"end", {}},
    {"front_on_nic", bump(FrontPlace::kHere)},
    {"front_on_host", bump(FrontPlace::kHost)},
};
constexpr Capabilities kModels[] = {kSwitchModel, kPlainModel, kTapModel, kNoneModel};

TableInput input_for(const SteeringOptions& options, uint32_t workers = 2) {
  return {options.bridge ? 2u : 1u, workers, kBasePort, options};
}

std::vector<PortFacts> facts_for(const TableInput& input, const Capabilities& can, uint32_t queues = 2) {
  std::vector<PortFacts> facts;
  for (uint32_t port = 0; port < input.ports; ++port) {
    PortFacts& f = facts.emplace_back();
    f.id = static_cast<uint16_t>(port);
    f.name = "mock" + std::to_string(port);
    f.can = can;
    f.queues = queues;
    for (uint32_t w = 0; w < input.workers; ++w) f.queue_of_worker.push_back(w < queues ? w : kNoQueue);
  }
  return facts;
}

Steering steering_for(const SteeringOptions& options, const Capabilities& can, FlowPort* port) {
  const TableInput input = input_for(options);
  return {make_table(input), facts_for(input, can), port};
}

std::vector<std::string> install_all(Steering* steering, uint32_t ports) {
  std::vector<std::string> notes;
  for (uint32_t port = 0; port < ports; ++port) steering->install(port, &notes);
  return notes;
}

TEST(Golden, EveryModelInEveryWiring) {
  for (const Capabilities& model : kModels) {
    for (const Wiring& wiring : kWirings) {
      const TableInput input = input_for(wiring.options);
      const std::vector<PortFacts> facts = facts_for(input, model);
      const std::string text = to_testpmd(compile(make_table(input), facts), facts);
      const std::string path = g_golden + "/" + model.name + "_" + wiring.name + ".testpmd";
      if (g_write) {
        std::ofstream(path) << text;
        continue;
      }
      std::ifstream file(path);
      ASSERT_TRUE(file) << path;
      std::stringstream golden;
      golden << file.rdbuf();
      EXPECT_EQ(golden.str(), text) << path;
    }
  }
}

TEST(Golden, APortWithTheModelsRestrictionsTakesEveryRule) {
  for (const Capabilities& model : kModels) {
    for (const Wiring& wiring : kWirings) {
      MockFlowPort port({.can = model});
      Steering steering = steering_for(wiring.options, model, &port);
      install_all(&steering, wiring.options.bridge ? 2 : 1);
      for (const RuleState& state : steering.rules()) {
        EXPECT_EQ(state.by_port, !state.flows.empty()) << model.name << " " << wiring.name << " " << state.why_software;
      }
      for (uint32_t p = 0; p < 2; ++p) steering.remove(p);
      EXPECT_TRUE(port.rules.empty());
      EXPECT_EQ(port.bad_destroys, 0);
    }
  }
}

TEST(Mock, NamesEachRestriction) {
  const struct {
    const char* why;
    FlowRule rule;
  } rows[] = {
      {"not exactly one direction", {}},
      {"not exactly one direction", {.ingress = true, .transfer = true}},
      {"transfer takes no queue", {.transfer = true, .action = Action::kQueue}},
      {"only transfer leads to a port", {.ingress = true, .action = Action::kRepresentedPort}},
      {"no such queue", {.ingress = true, .action = Action::kQueue, .argument = 2}},
      {"no such port", {.transfer = true, .action = Action::kRepresentedPort, .argument = 2}},
      {"jumps go to a higher group", {.transfer = true, .action = Action::kJump, .argument = 0}},
      {"no such priority", {.ingress = true, .priority = 1, .action = Action::kDrop}},
      {"", {.egress = true, .action = Action::kDrop}},
  };
  MockFlowPort port({.can = kSwitchModel});
  for (const auto& row : rows) {
    std::string why;
    const bool good = port.validate(row.rule, &why);
    EXPECT_EQ(good, why.empty());
    EXPECT_EQ(why, row.why);
  }
  MockFlowPort none({.can = kNoneModel});
  std::string why;
  EXPECT_FALSE(none.validate({.ingress = true}, &why));
  EXPECT_EQ(why, "Function not implemented");
}

uint32_t by_port_count(const Steering& steering) {
  uint32_t count = 0;
  for (const RuleState& rule : steering.rules()) count += rule.by_port;
  return count;
}

TEST(Steering, APortThatExecutesAllSaysSo) {
  MockFlowPort port({});
  Steering steering = steering_for({}, kPlainModel, &port);
  const std::vector<std::string> notes = install_all(&steering, 1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "port 0 (mock0): executes all 2 steering rules");
  EXPECT_EQ(by_port_count(steering), 2u);
  const std::string list = flow_list(steering.rules());
  EXPECT_NE(list.find("ID\tGroup\tPrio\tAttr\tRule"), std::string::npos);
  EXPECT_NE(list.find("1\t0\t0\ti--\tETH IPV4 UDP => QUEUE\tport-executed: eth / ipv4 / udp dst is 7701 / end actions "
                      "queue index 1 / end"),
            std::string::npos)
      << list;
}

TEST(Steering, ValidatedIsNotCreated) {
  MockFlowPort port({.can = kTapModel, .creates = false});
  Steering steering = steering_for({}, kTapModel, &port);
  std::vector<std::string> notes = install_all(&steering, 1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("STEERING IN SOFTWARE"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("kernel says no"), std::string::npos) << notes[0];
  EXPECT_EQ(by_port_count(steering), 0u);
  EXPECT_NE(flow_list(steering.rules()).find("software"), std::string::npos);
  // Said once: the port comes back after a restart, as it was.
  steering.remove(0);
  notes = install_all(&steering, 1);
  EXPECT_TRUE(notes.empty());
}

TEST(Steering, ARestartDoesNotLeaveRulesTwice) {
  MockFlowPort port({});
  Steering steering = steering_for({}, kPlainModel, &port);
  install_all(&steering, 1);
  install_all(&steering, 1);
  EXPECT_EQ(port.rules.size(), 2u);
  EXPECT_EQ(by_port_count(steering), 2u);
}

// Were the catch-all created although a transaction port's rule was refused, the host would get what is for us.
TEST(Steering, NoCatchAllBelowARefusedRule) {
  for (int refused = 0; refused < 4; ++refused) {
    MockFlowPort port({.can = kSwitchModel, .refuse_create_at = refused});
    Steering steering = steering_for(bump(FrontPlace::kHere), kSwitchModel, &port);
    install_all(&steering, 2);
    for (const FlowRule* rule : port.rules) {
      EXPECT_FALSE(rule->port == 0 && rule->match == Match::kEverything) << "creation " << refused << " failed";
    }
    for (const RuleState& state : steering.rules()) {
      EXPECT_TRUE(state.by_port || state.port_id == 0) << "the other port has nothing to do with it";
    }
    // Of a rule in two steps both are there or none.
    EXPECT_EQ(std::count_if(port.rules.begin(), port.rules.end(), [](const FlowRule* r) { return r->port == 0; }), 2)
        << refused;
  }
}

TEST(Steering, OneWorkerIsNothingToTell) {
  MockFlowPort port({});
  const TableInput input = input_for({}, 1);
  Steering steering(make_table(input), facts_for(input, kPlainModel, 1), &port);
  EXPECT_TRUE(install_all(&steering, 1).empty());
  EXPECT_TRUE(port.rules.empty());
}

TEST(Steering, JsonNamesWhoExecutesWhat) {
  MockFlowPort port({.refuse_create_at = 1});
  Steering steering = steering_for({}, kPlainModel, &port);
  install_all(&steering, 1);
  EXPECT_EQ(to_json(steering.rules()),
            "[{\"port\":0,\"rule\":\"udp dst is 7700 -> worker 0\",\"by\":\"port\",\"why\":\"\",\"flows\":[\"flow "
            "create 0 priority 0 ingress pattern eth / ipv4 / udp dst is 7700 / end actions queue index 0 / end\"]},"
            "{\"port\":0,\"rule\":\"udp dst is 7701 -> worker 1\",\"by\":\"software\",\"why\":\"kernel says no\","
            "\"flows\":[\"flow create 0 priority 0 ingress pattern eth / ipv4 / udp dst is 7701 / end actions queue "
            "index 1 / end\"]}]");
}

TEST(Table, ABridgeNeedsBothPorts) {
  TableInput input = input_for(bump(FrontPlace::kHere));
  EXPECT_EQ(check_input(input), "");
  input.ports = 1;
  EXPECT_NE(check_input(input).find("port 1"), std::string::npos);
  SteeringOptions options;
  options.front = FrontPlace::kHost;
  EXPECT_NE(check_input(input_for(options)), "");
  EXPECT_EQ(check_input(input_for({})), "");
}

std::vector<uint8_t> udp_frame(uint16_t port) {
  std::vector<uint8_t> frame(64, 0);
  const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45};
  std::memcpy(frame.data(), head, sizeof head);
  frame[23] = 17;
  frame[36] = static_cast<uint8_t>(port >> 8);
  frame[37] = static_cast<uint8_t>(port);
  return frame;
}

std::vector<uint8_t> with(std::vector<uint8_t> frame, size_t at, std::initializer_list<uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), frame.begin() + static_cast<ptrdiff_t>(at));
  return frame;
}

// Software does what the table says, frame by frame.
TEST(Software, RowsOfFrames) {
  const std::vector<uint8_t> ours = udp_frame(7701);
  const struct {
    const char* what;
    uint32_t port;
    std::vector<uint8_t> frame;
    Target nic;   // with the front on the NIC
    uint32_t nic_to;
    Target host;  // with the front on the host
    uint32_t host_to;
  } rows[] = {
      {"a transaction port", 0, ours, Target::kWorker, 1, Target::kPort, 1},
      {"another UDP port", 0, udp_frame(7702), Target::kPort, 1, Target::kPort, 1},
      {"ARP", 0, with(ours, 12, {8, 6}), Target::kPort, 1, Target::kPort, 1},
      {"TCP", 0, with(ours, 23, {6}), Target::kPort, 1, Target::kPort, 1},
      {"a later fragment", 0, with(ours, 20, {0, 1}), Target::kPort, 1, Target::kPort, 1},
      {"the host's own traffic", 1, ours, Target::kPort, 0, Target::kPort, 0},
      {"the host link", 1, with(ours, 12, {0x88, 0xb5}), Target::kWorker, 0, Target::kWorker, 0},
      {"the host link's type from the wire", 0, with(ours, 12, {0x88, 0xb5}), Target::kPort, 1, Target::kPort, 1},
      {"too short for a port", 0, {ours.begin(), ours.begin() + 30}, Target::kPort, 1, Target::kPort, 1},
  };
  for (const auto& row : rows) {
    for (const FrontPlace front : {FrontPlace::kHere, FrontPlace::kHost}) {
      const std::vector<Rule> table = make_table(input_for(bump(front)));
      const auto rule = match_frame(table, row.port, row.frame.data(), static_cast<uint32_t>(row.frame.size()));
      ASSERT_TRUE(rule) << row.what;
      const bool here = front == FrontPlace::kHere;
      EXPECT_EQ(rule->target, here ? row.nic : row.host) << row.what;
      EXPECT_EQ(rule->to, here ? row.nic_to : row.host_to) << row.what;
    }
  }
  const std::vector<Rule> table = make_table(input_for(bump(FrontPlace::kHere)));
  EXPECT_FALSE(match_frame(table, 0, ours.data(), 13)) << "shorter than Ethernet";
  EXPECT_FALSE(match_frame(make_table(input_for({})), 0, udp_frame(9).data(), 64)) << "no rule of an end of the wire";
}

}  // namespace
}  // namespace txnic::dataplane::steering

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) g_golden = argv[1];
  g_write = argc > 2 && std::strcmp(argv[2], "write") == 0;
  return RUN_ALL_TESTS();
}
