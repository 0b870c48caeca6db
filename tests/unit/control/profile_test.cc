// SPDX-License-Identifier: BSD-3-Clause
#include "host/control/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace txnic::control {
namespace {

TEST(Profile, ValuesAndDefaults) {
  const ProfileResult empty = profile_from_text("name: \"none\"", "f");
  ASSERT_TRUE(empty.ok()) << empty.error;
  EXPECT_EQ(empty.profile.soc_slowdown_milli, 1000u);
  EXPECT_EQ(empty.profile.link_latency_ns, 0u);
  EXPECT_EQ(empty.profile.link_bits_per_second, 0u);
  const ProfileResult full = profile_from_text(
      "name: \"x\" soc_slowdown_milli: 2500 link_latency_ns: 7 link_megabits_per_second: 100000 "
      "link_message_cost_ns: 9",
      "f");
  ASSERT_TRUE(full.ok()) << full.error;
  EXPECT_EQ(full.profile.name, "x");
  EXPECT_EQ(full.profile.soc_slowdown_milli, 2500u);
  EXPECT_EQ(full.profile.link_latency_ns, 7u);
  EXPECT_EQ(full.profile.link_bits_per_second, 100'000'000'000u);
  EXPECT_EQ(full.profile.link_message_cost_ns, 9u);
}

TEST(Profile, BadTextIsRefusedNamingThePlace) {
  const auto error = [](const std::string& text) { return profile_from_text(text, "f").error; };
  EXPECT_NE(error("").find("f:1:1: name: missing"), std::string::npos);
  EXPECT_NE(error("name: \"a\"\nslow: 2").find("f:2:5: Message type \"txnic.config.Profile\""), std::string::npos);
  EXPECT_NE(error("name: \"a\" soc_slowdown_milli: 999").find("f:1:11: soc_slowdown_milli: 999 is out of range"),
            std::string::npos);
  EXPECT_NE(load_profile("/nowhere").error.find("/nowhere: cannot be opened"), std::string::npos);
}

TEST(Profile, ThoseInTheTreeAreGoodAndHaveTheirOwnNames) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TXNIC_CONFIGS) + "/profiles")) {
    const ProfileResult result = load_profile(entry.path());
    EXPECT_TRUE(result.ok()) << result.error;
    EXPECT_TRUE(names.insert(result.profile.name).second) << entry.path();
  }
  EXPECT_EQ(names.size(), 4u);
}

}  // namespace
}  // namespace txnic::control
