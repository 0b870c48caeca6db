// SPDX-License-Identifier: BSD-3-Clause
// Random transactions (nic_random.h) over a model of the link, and over its real ends with a bad wire between them.
#include "tests/unit/nic/nic_random.h"
#include "tests/unit/nic/frames_link.h"

namespace txnic::test {
namespace {

class RandomNic : public ::testing::TestWithParam<Setting> {};

TEST_P(RandomNic, IsWhatASequentialStoreCouldHaveAnswered) {
  RandomRun<ModelLink> run(GetParam());
  run.run();
}

TEST_P(RandomNic, TheSameOverFrames) {
  RandomRun<FramesLink> run(GetParam());
  run.run();
  for (auto& node : run.rig().nodes) {
    EXPECT_GT(node.link.counters().missed, 20u) << "the wire was good";
    EXPECT_GT(node.link.front_counters().repeated_bytes, 0u);
    EXPECT_GT(node.link.front_counters().repeated_questions, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, RandomNic,
    ::testing::Values(Setting{1, Durability::kNone, true, true}, Setting{2, Durability::kSync, true, true},
                      Setting{3, Durability::kAsync, true, true}, Setting{4, Durability::kSync, false, true},
                      Setting{5, Durability::kNone, true, false}, Setting{6, Durability::kSync, false, false}));

}  // namespace
}  // namespace txnic::test
