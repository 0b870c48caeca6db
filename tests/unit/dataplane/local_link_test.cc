// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/local_link.h"

#include <gtest/gtest.h>

#include <vector>

namespace txnic::dataplane {
namespace {

void say(LocalDirection* direction, uint8_t what, uint32_t bytes = 8) {
  const MutableBytes room = direction->room();
  ASSERT_GE(room.size(), bytes);
  room[0] = std::byte{what};
  direction->send(bytes);
}

std::vector<uint8_t> hear(LocalDirection* direction, TimeNs now) {
  std::vector<uint8_t> heard;
  direction->deliver(now, [&](Bytes frame) { heard.push_back(static_cast<uint8_t>(frame[0])); });
  return heard;
}

TEST(LocalLink, FramesComeInOrderOnceTheyWereSentOff) {
  LocalLink link{offload::HardwareProfile{}};
  say(&link.to_back, 1);
  say(&link.to_back, 2);
  EXPECT_TRUE(hear(&link.to_back, 1000).empty());
  link.to_back.send_off(1000);
  EXPECT_TRUE(hear(&link.to_front, 1000).empty()) << "the other direction";
  EXPECT_EQ(hear(&link.to_back, 1000), (std::vector<uint8_t>{1, 2}));
  EXPECT_TRUE(link.to_back.is_empty());
  EXPECT_EQ(link.to_back.frames(), 2u);
  EXPECT_EQ(link.to_back.bytes(), 16u);
}

TEST(LocalLink, AProfileDelaysAndCosts) {
  LocalLink link{{.link_latency_ns = 500, .link_bits_per_second = 8'000'000'000, .link_message_cost_ns = 30}};
  say(&link.to_back, 1, 134);  // 200 bytes on the wire: 200 ns
  say(&link.to_back, 2, 134);
  link.to_back.send_off(1000);
  EXPECT_EQ(link.to_back.take_owed_ns(), 60u);
  EXPECT_EQ(link.to_back.take_owed_ns(), 0u);
  EXPECT_TRUE(hear(&link.to_back, 1699).empty());
  EXPECT_EQ(hear(&link.to_back, 1700), std::vector<uint8_t>{1});
  EXPECT_EQ(hear(&link.to_back, 1900), std::vector<uint8_t>{2});
}

TEST(LocalLink, AFullRingHasNoRoom) {
  LocalLink link{offload::HardwareProfile{}};
  uint32_t sent = 0;
  while (!link.to_front.room().empty() && sent < 100'000) {
    say(&link.to_front, static_cast<uint8_t>(sent));
    ++sent;
  }
  EXPECT_EQ(sent, 2 * limits::kLinkWindowFrames);
  link.to_front.send_off(1);
  uint32_t heard = 0;
  for (uint32_t i = 0; i < 100 && !link.to_front.is_empty(); ++i) {
    for (const uint8_t what : hear(&link.to_front, 1)) EXPECT_EQ(what, static_cast<uint8_t>(heard++));
  }
  EXPECT_EQ(heard, sent);
  EXPECT_FALSE(link.to_front.room().empty());
}

}  // namespace
}  // namespace txnic::dataplane
