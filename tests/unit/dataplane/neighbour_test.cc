// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/neighbour.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/dataplane/frames.h"

namespace txnic::dataplane {
namespace {

using test::Frame;
using test::put16;

constexpr Mac kOwn = {2, 0, 0, 0, 0, 9};
const uint32_t kAddressRaw = byte_swap(0x0a630001u);

TEST(Arp, AnswersARequestForUs) {
  Frame f = test::make_arp(1, 0x0a630002, 0x0a630001);
  ASSERT_TRUE(answer_arp(f.data(), kAddressRaw, kOwn));
  const Frame expected = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9, 8, 6,  // back to the asker
                          0, 1, 8, 0, 6, 4, 0, 2,                    // an answer
                          2, 0, 0, 0, 0, 9, 10, 99, 0, 1,            // we are 10.99.0.1
                          2, 0, 0, 0, 0, 2, 10, 99, 0, 2};
  EXPECT_EQ(f, expected);
}

struct Row {
  const char* description;
  void (*change)(Frame*);
};

TEST(Arp, LeavesEverythingElseAlone) {
  const Row rows[] = {
      {"for another address", [](Frame* f) { *f = test::make_arp(1, 0x0a630002, 0x0a630003); }},
      {"an answer", [](Frame* f) { put16(f, 20, 2); }},
      {"operation 0", [](Frame* f) { put16(f, 20, 0); }},
      {"for IPv6", [](Frame* f) { put16(f, 16, 0x86dd); }},
      {"other address length", [](Frame* f) { (*f)[18] = 8; }},
      {"from a group address", [](Frame* f) { (*f)[22] = 0xff; }},
  };
  for (const Row& row : rows) {
    Frame f = test::make_arp(1, 0x0a630002, 0x0a630001);
    row.change(&f);
    const Frame before = f;
    EXPECT_FALSE(answer_arp(f.data(), kAddressRaw, kOwn)) << row.description;
    EXPECT_EQ(f, before) << row.description;
  }
}

TEST(Arp, RequestAndAnswerAsAClient) {
  Frame f(kArpFrameBytes);
  build_arp_request(f.data(), {2, 0, 0, 0, 0, 2}, byte_swap(0x0a630002u), kAddressRaw);
  EXPECT_EQ(f, test::make_arp(1, 0x0a630002, 0x0a630001));
  Mac mac{};
  EXPECT_FALSE(read_arp(f.data(), kArpFrameBytes, kAddressRaw, &mac));
  ASSERT_TRUE(answer_arp(f.data(), kAddressRaw, kOwn));
  EXPECT_FALSE(read_arp(f.data(), kArpFrameBytes - 1, kAddressRaw, &mac));
  ASSERT_TRUE(read_arp(f.data(), kArpFrameBytes, kAddressRaw, &mac));
  EXPECT_EQ(mac, kOwn);
}

TEST(Arp, TellsItsSender) {
  uint32_t address_raw = 0;
  Mac mac{};
  for (const uint32_t operation : {1u, 2u}) {
    const Frame f = test::make_arp(operation, 0x0a630002, 0x0a630077);
    ASSERT_TRUE(read_arp_sender(f.data(), &address_raw, &mac));
    EXPECT_EQ(address_raw, byte_swap(0x0a630002u));
    EXPECT_EQ(mac, (Mac{2, 0, 0, 0, 0, 2}));
  }
  const Row rows[] = {
      {"operation 3", [](Frame* f) { put16(f, 20, 3); }},
      {"for IPv6", [](Frame* f) { put16(f, 16, 0x86dd); }},
      {"from a group address", [](Frame* f) { (*f)[22] = 0xff; }},
  };
  for (const Row& row : rows) {
    Frame f = test::make_arp(2, 0x0a630002, 0x0a630001);
    row.change(&f);
    EXPECT_FALSE(read_arp_sender(f.data(), &address_raw, &mac)) << row.description;
  }
}

TEST(Icmp, AnswersEcho) {
  for (const size_t length : {8u, 9u, 56u, 1472u}) {
    Frame f = test::make_icmp(8, std::string(length, 'p'));
    const Frame request = f;
    const auto icmp_length = static_cast<uint32_t>(f.size() - 34);
    ASSERT_TRUE(answer_icmp(f.data(), icmp_length, kOwn)) << length;
    EXPECT_EQ(f[34], 0);
    EXPECT_EQ(test::reference_sum(f, 34, icmp_length, 0), 0xffffu);
    EXPECT_EQ(test::reference_sum(f, 14, 20, 0), 0xffffu);
    EXPECT_EQ(std::memcmp(f.data() + 26, request.data() + 30, 4), 0);
    EXPECT_EQ(std::memcmp(f.data() + 30, request.data() + 26, 4), 0);
    EXPECT_EQ(std::memcmp(f.data(), request.data() + 6, 6), 0);
    EXPECT_EQ(std::memcmp(f.data() + 38, request.data() + 38, f.size() - 38), 0);
  }
}

TEST(Icmp, LeavesEverythingElseAlone) {
  Frame answer = test::make_icmp(0, "an answer");
  EXPECT_FALSE(answer_icmp(answer.data(), static_cast<uint32_t>(answer.size() - 34), kOwn));
  Frame damaged = test::make_icmp(8, "damaged data");
  damaged.back() ^= 1;
  EXPECT_FALSE(answer_icmp(damaged.data(), static_cast<uint32_t>(damaged.size() - 34), kOwn));
  Frame cut = test::make_icmp(8, "cut short");
  EXPECT_FALSE(answer_icmp(cut.data(), 7, kOwn));
}

}  // namespace
}  // namespace txnic::dataplane
