// SPDX-License-Identifier: BSD-3-Clause
// The generator against a wire that sends everything back, and against a node that only echoes.
#include "pktgen/load/generator.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "model_node.h"
#include "pktgen/load/reflection.h"
#include "pktgen/workload/settings.h"

namespace txnic::pktgen {
namespace {

using test::ModelNode;

TEST(Echo, AndRawSettleThroughTheProtocolMachine) {
  // A wire that sends everything back as it was: testpmd in macswap.
  class Mirror final : public Transport {
   public:
    void send(const std::byte* m, uint32_t length, uint32_t, uint32_t) override { queue_.emplace_back(m, m + length); }
    void flush() override {}
    uint32_t receive(std::span<Received> out) override {
      lent_.clear();
      while (lent_.size() < out.size() && !queue_.empty()) {
        lent_.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      for (size_t i = 0; i < lent_.size(); ++i) out[i] = {lent_[i].data(), static_cast<uint32_t>(lent_[i].size())};
      return static_cast<uint32_t>(lent_.size());
    }
    void wait(TimeNs) override {}
    TransportStatistics statistics() const override { return {}; }

   private:
    std::deque<std::vector<std::byte>> queue_;
    std::vector<std::vector<std::byte>> lent_;
  };
  for (const char* name : {"echo", "get", "put2", "rmw2", "ycsb-a"}) {
    const bool echo = std::string(name) == "echo";
    Mirror mirror;
    ModelNode node;
    ReflectingTransport transport(echo ? static_cast<Transport&>(node) : mirror,
                                  echo ? ReflectingTransport::Peer::kEcho : ReflectingTransport::Peer::kRaw);
    LoadSettings load;
    load.window = 64;
    Live live;
    Generator generator(load, transport, live);
    WorkloadSettings settings;
    settings.name = name;
    settings.records = 1000;
    std::string error;
    const auto workload = make_workload(settings, &error);
    ASSERT_EQ(generator.open(&error), PhaseEnd::kFinished) << name << error;
    Facts facts = generator.facts();
    facts.reflected = true;
    ASSERT_EQ(workload->prepare(facts), "");
    PhaseLimits limits;
    limits.transactions = 5000;
    const PhaseResult result = generator.run(*workload, limits);
    EXPECT_EQ(check_sums(result), "") << name;
    EXPECT_EQ(result.total.good, 5000u) << name;
    generator.close();
  }
  for (const char* name : {"ycsb-f", "smallbank", "counter"}) {
    WorkloadSettings settings;
    settings.name = name;
    std::string error;
    EXPECT_NE(make_workload(settings, &error)->prepare({.reflected = true}), "") << name;
  }
}

}  // namespace
}  // namespace txnic::pktgen
