// SPDX-License-Identifier: BSD-3-Clause
#include "offload/link/messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace txnic::test {
namespace {

using namespace txnic::link;

struct Built {
  std::vector<std::byte> bytes = std::vector<std::byte>(512);
  FrameBuilder builder;
  Built() { builder.begin(bytes); }
  void finish() {
    FrameHeader header{};
    header.sender = static_cast<uint8_t>(Sender::kFront);
    header.epoch = 9;
    bytes.resize(builder.finish(header));
  }
};

Built two_entries() {
  Built b;
  store(b.builder.add(EntryType::kAppend, 0, 0, 8 + 5), PositionBody{123});
  store(b.builder.add(EntryType::kLeaseAsk, 3, 77, sizeof(LeaseBody)), LeaseBody{});
  b.finish();
  return b;
}

TEST(LinkMessages, EntriesThereAndBack) {
  const Built b = two_entries();
  FrameHeader header;
  ASSERT_EQ(read_frame(b.bytes, &header), FrameCheck::kGood);
  EXPECT_EQ(header.length, sizeof(FrameHeader) + 24 + 16);
  EXPECT_EQ(header.epoch, 9u);
  EntryReader reader(b.bytes, header);
  Entry entry;
  ASSERT_TRUE(reader.next(&entry));
  EXPECT_EQ(entry.type, EntryType::kAppend);
  EXPECT_EQ(entry.body.size(), 13u) << "without the padding";
  EXPECT_EQ(load<PositionBody>(entry.body.data()).position, 123u);
  ASSERT_TRUE(reader.next(&entry));
  EXPECT_EQ(entry.type, EntryType::kLeaseAsk);
  EXPECT_EQ(entry.flags, 3);
  EXPECT_EQ(entry.number, 77u);
  EXPECT_FALSE(reader.next(&entry));
  EXPECT_FALSE(reader.is_malformed());
}

TEST(LinkMessages, FramesThatAreNone) {
  const Built good = two_entries();
  const struct {
    const char* name;
    size_t at;
    uint8_t value;
    FrameCheck expected;
  } rows[] = {
      {"magic", 0, 0, FrameCheck::kForeign},
      {"version", 4, 2, FrameCheck::kVersion},
      {"sender", 5, 3, FrameCheck::kSender},
      {"length not of 8", 28, 65, FrameCheck::kLength},
      {"longer than it is", 28, 80, FrameCheck::kLength},
      {"shorter than a header", 28, 24, FrameCheck::kLength},
      {"nothing wrong", 4, 1, FrameCheck::kGood},
  };
  for (const auto& row : rows) {
    std::vector<std::byte> bytes = good.bytes;
    bytes[row.at] = std::byte{row.value};
    FrameHeader header;
    EXPECT_EQ(read_frame(bytes, &header), row.expected) << row.name;
  }
  FrameHeader header;
  EXPECT_EQ(read_frame(Bytes(good.bytes).first(31), &header), FrameCheck::kShort);
  EXPECT_EQ(read_frame({}, &header), FrameCheck::kShort);
}

TEST(LinkMessages, EntriesThatAreNone) {
  const Built good = two_entries();
  const struct {
    const char* name;
    size_t at;
    uint8_t value;
  } rows[] = {
      {"type not known", 32 + 2, 99},     {"shorter than its body", 32, 15}, {"longer than the frame", 33, 2},
      {"fewer entries than said", 30, 3}, {"more than said", 30, 1},
  };
  for (const auto& row : rows) {
    std::vector<std::byte> bytes = good.bytes;
    bytes[row.at] = std::byte{row.value};
    FrameHeader header;
    ASSERT_EQ(read_frame(bytes, &header), FrameCheck::kGood) << row.name;
    EntryReader reader(bytes, header);
    Entry entry;
    while (reader.next(&entry)) {
    }
    EXPECT_TRUE(reader.is_malformed()) << row.name;
  }
}

TEST(LinkMessages, AFrameTakesWhatFits) {
  std::vector<std::byte> memory(128);
  FrameBuilder builder;
  EXPECT_FALSE(builder.is_open());
  EXPECT_EQ(builder.add(EntryType::kLease, 0, 1, 8), nullptr) << "not begun";
  builder.begin(memory);
  EXPECT_EQ(builder.left(), 96u);
  EXPECT_NE(builder.add(EntryType::kAppend, 0, 0, 80), nullptr);
  EXPECT_EQ(builder.left(), 8u);
  EXPECT_EQ(builder.add(EntryType::kLease, 0, 1, 8), nullptr);
  EXPECT_EQ(builder.entries(), 1u);
}

TEST(LinkMessages, RefusalsHaveNames) {
  for (uint32_t i = 0; i < kRefusalCount; ++i) EXPECT_NE(name(static_cast<Refusal>(i)), std::string("?")) << i;
}

}  // namespace
}  // namespace txnic::test
