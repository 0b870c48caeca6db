// SPDX-License-Identifier: BSD-3-Clause
#include "offload/emulation/link_model.h"

#include <gtest/gtest.h>

namespace txnic {
namespace {

using offload::HardwareProfile;
using offload::LinkModel;
using offload::slowdown_ns;

TEST(LinkModel, AnEmptyProfileDelaysNothing) {
  LinkModel link{HardwareProfile{}};
  EXPECT_TRUE(HardwareProfile{}.is_empty());
  EXPECT_EQ(link.arrival(1000, 1500), 1000u);
  EXPECT_EQ(link.arrival(1000, 1500), 1000u);
}

TEST(LinkModel, LatencyIsTheSameForEveryFrame) {
  LinkModel link{{.link_latency_ns = 900}};
  EXPECT_EQ(link.arrival(100, 64), 1000u);
  EXPECT_EQ(link.arrival(100, 1500), 1000u);
  EXPECT_EQ(link.arrival(5000, 64), 5900u);
}

TEST(LinkModel, FramesWaitForTheWire) {
  LinkModel link{{.link_latency_ns = 500, .link_bits_per_second = 1'000'000'000}};
  // (76 + 24) bytes at 1 Gbit/s: 800 ns.
  EXPECT_EQ(link.arrival(0, 76), 1300u);
  EXPECT_EQ(link.arrival(0, 76), 2100u);
  EXPECT_EQ(link.arrival(10'000, 76), 11'300u) << "the wire was free meanwhile";
}

TEST(LinkModel, ALongTimesRateIsExact) {
  constexpr uint64_t kRate = 200'000'000'000;
  LinkModel link{{.link_bits_per_second = kRate}};
  TimeNs last = 0;
  for (uint32_t i = 0; i < 1'000'000; ++i) {
    const TimeNs at = link.arrival(0, 77);
    ASSERT_GE(at, last);
    last = at;
  }
  EXPECT_EQ(last, 1'000'000ull * 101 * 8 * 1'000'000'000 / kRate);
}

TEST(Slowdown, AddsWhatIsMissing) {
  EXPECT_EQ(slowdown_ns(1000, 1000), 0u);
  EXPECT_EQ(slowdown_ns(1000, 500), 0u) << "no profile makes this machine faster";
  EXPECT_EQ(slowdown_ns(1000, 2500), 1500u);
  EXPECT_EQ(slowdown_ns(0, 6000), 0u);
}

}  // namespace
}  // namespace txnic
