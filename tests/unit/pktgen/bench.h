// SPDX-License-Identifier: BSD-3-Clause
// A whole run of the generator against the model node, as apps/run.cc makes it.
#pragma once

#include <gtest/gtest.h>

#include "pktgen/load/generator.h"
#include "pktgen/workload/settings.h"
#include "tests/unit/pktgen/model_node.h"

namespace txnic::pktgen::test {

struct Setup {
  std::string workload = "get";
  uint64_t records = 500;
  uint32_t window = 32;
  uint32_t sessions = 3;
  uint64_t transactions = 5000;
  uint32_t operations = 0;
  uint64_t seed = 1;
  double rate = 0;
  double theta = -1;
  double duration_seconds = 0;
  bool load = true;
  double remote = 0;
};

class Bench {
 public:
  Bench(ModelNode& node, const Setup& setup) : setup_(setup) {
    load_.window = setup.window;
    load_.sessions = setup.sessions;
    load_.seed = setup.seed;
    load_.give_up_ns = 20 * kSecondNs;
    generator = std::make_unique<Generator>(load_, node, live);
    settings.name = setup.workload;
    settings.records = setup.records;
    settings.operations = setup.operations;
    settings.theta = setup.theta;
    settings.remote_percent = setup.remote;
    std::string error;
    workload = make_workload(settings, &error);
    EXPECT_NE(workload, nullptr) << error;
  }
  void open() {
    std::string why;
    ASSERT_EQ(generator->open(&why), PhaseEnd::kFinished) << why;
    ASSERT_EQ(workload->prepare(generator->facts()), "");
  }
  PhaseResult bulk(Workload& phase) {
    EXPECT_EQ(phase.prepare(generator->facts()), "");
    PhaseResult result = generator->run(phase, {});
    EXPECT_EQ(result.end, PhaseEnd::kFinished) << result.why;
    EXPECT_EQ(check_sums(result), "");
    return result;
  }
  void load_or_survey() {
    const auto phase = setup_.load ? workload->loader() : workload->survey(Workload::Survey::kBefore);
    if (phase != nullptr) bulk(*phase);
  }
  PhaseResult measure() {
    PhaseLimits limits;
    limits.transactions = setup_.transactions;
    limits.rate = setup_.rate;
    limits.duration_ns = static_cast<TimeNs>(setup_.duration_seconds * 1e9);
    PhaseResult result = generator->run(*workload, limits);
    EXPECT_EQ(check_sums(result), "");
    return result;
  }
  Check check() {
    if (const auto survey = workload->survey(Workload::Survey::kAfter)) bulk(*survey);
    return workload->check();
  }
  PhaseResult all() {
    open();
    load_or_survey();
    return measure();
  }

  Live live;
  WorkloadSettings settings;
  std::unique_ptr<Generator> generator;
  std::unique_ptr<Workload> workload;

 private:
  const Setup setup_;
  LoadSettings load_;
};

}  // namespace txnic::pktgen::test
