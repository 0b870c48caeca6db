// SPDX-License-Identifier: BSD-3-Clause
// Whatever a bad wire does: each record is taken once and in its order, each question gets its answer, in order.
#include "tests/unit/link/link_rig.h"

namespace txnic::test {
namespace {

struct Case {
  const char* name;
  Faults faults;
  uint32_t window;
};
constexpr Case kCases[] = {
    {"clean", {}, 256},
    {"loss", {.loss = 0.1}, 256},
    {"doubling", {.doubling = 0.3}, 256},
    {"reorder", {.delay_max_ns = 40'000}, 256},
    {"all, small window", {.loss = 0.15, .doubling = 0.15, .delay_max_ns = 40'000}, 4},
};
constexpr uint64_t kSeeds = 12;
constexpr uint32_t kRecords = 400;

uint32_t random_record_bytes(std::mt19937_64& random) {
  const uint32_t range = random() % 8 == 0 ? limits::kLogRecordBytesMax : 400;
  const auto bytes = static_cast<uint32_t>(sizeof(log::RecordHeader) + random() % (range - 40));
  return std::min((bytes + 7) & ~7u, limits::kLogRecordBytesMax);
}

class LinkRandom : public testing::TestWithParam<Case> {};

TEST_P(LinkRandom, RecordsOnceInOrderAndQuestionsAnsweredInOrder) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LinkRig rig(seed, GetParam().faults);
    rig.front_config.window = rig.back_config.window = GetParam().window;
    rig.front_config.append_bytes = 16384;
    rig.front_config.fetches = 32;
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < 20; ++i) rig.model.what_is_kept.push_back(make_record(random_record_bytes(random), i));
    rig.model.keys = 3000;
    rig.start();
    ASSERT_TRUE(rig.serve());
    EXPECT_EQ(rig.side->model.kept, rig.model.what_is_kept);
    rig.front().fill();
    uint64_t asked = 0;
    ASSERT_TRUE(rig.run([&] {
      if (rig.appended.size() < kRecords && random() % 3 != 0) rig.append(random_record_bytes(random));
      const uint64_t key = random();
      if (asked < kRecords && random() % 3 != 0) {
        asked += rig.front().ask(random() % 2, 3, reinterpret_cast<const std::byte*>(&key), 8) != 0;
      }
      rig.model.is_full = random() % 50 == 0;
      return rig.appended.size() == kRecords && asked == kRecords && rig.front().quiet() &&
             rig.side->model.done.size() == 2;
    }));
    EXPECT_EQ(rig.model.records, rig.appended);
    EXPECT_EQ(rig.side->model.answers, kRecords);
    EXPECT_EQ(rig.side->model.done, (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(rig.side->model.filled.size(), 6000u);
    EXPECT_EQ(rig.front().taken(), rig.back.taken());
    EXPECT_EQ(rig.front().counters().malformed + rig.back.counters().malformed, 0u);
    if (GetParam().faults.loss > 0) {
      EXPECT_GT(rig.front().front_counters().rewinds, 0u) << "nothing was lost";
      EXPECT_GT(rig.front().front_counters().repeated_questions, 0u);
    } else if (GetParam().faults.delay_max_ns == 0) {
      EXPECT_EQ(rig.back.back_counters().gaps, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, LinkRandom, testing::ValuesIn(kCases), [](const auto& parameter) {
  std::string name = parameter.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace txnic::test
