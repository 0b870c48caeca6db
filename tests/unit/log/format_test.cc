// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/format.h"

#include <gtest/gtest.h>

#include "host/log/group_builder.h"
#include "host/log/manifest.h"

namespace txnic::test {
namespace {

using namespace txnic::log;

TEST(Format, ChecksumIsCrc32cAndChains) {
  const std::string_view digits = "123456789";
  const auto* data = reinterpret_cast<const std::byte*>(digits.data());
  EXPECT_EQ(crc32c(0, data, 9), 0xe3069283u);  // the check value of CRC-32C
  EXPECT_EQ(crc32c(crc32c(0, data, 4), data + 4, 5), 0xe3069283u);
}

TEST(Format, FileNames) {
  EXPECT_EQ(segment_name(3, 1, 17), "log-00000003-001-00000017");
  EXPECT_EQ(part_name(2, 0), "checkpoint-00000002-000");
  const auto segment = parse_file_name("log-00000003-001-00000017");
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->incarnation, 3u);
  EXPECT_EQ(segment->worker, 1u);
  EXPECT_EQ(segment->number, 17u);
  EXPECT_EQ(parse_file_name(segment_name(4000000000u, 63, 123456789012ull))->number, 123456789012ull);
  for (const char* name :
       {"", "log", "log-", "log-1-1-1", "log-00000003-001-00000017.tmp", "log-00000003-001-0000001x", "MANIFEST",
        "LOCK", "checkpoint-00000002", "checkpoint-00000002-000-1", "log-99999999999-001-1"}) {
    EXPECT_FALSE(parse_file_name(name).has_value()) << name;
  }
  EXPECT_TRUE(is_temporary_name("MANIFEST.tmp"));
}

TEST(Format, FileHeadEveryFlippedBitIsSeen) {
  FileHead head{};
  head.kind = FileKind::kSegment;
  head.incarnation = 5;
  head.workers = 2;
  head.shard_count = 8;
  head.number = 1;
  head.file_bytes = 65536;
  head.seed = 0x1234567890abcdef;
  std::vector<std::byte> block(kBlockBytes);
  write_file_head(head, block.data());
  FileHead read{};
  ASSERT_EQ(read_file_head(block, &read), nullptr);
  EXPECT_EQ(read.seed, head.seed);
  for (size_t bit = 0; bit < sizeof(FileHead) * 8; ++bit) {
    block[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(read_file_head(block, &read), nullptr) << bit;
    block[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_NE(read_file_head(Bytes(block.data(), 63), &read), nullptr);
}

TEST(Format, GroupHeaderBelongsToItsPlace) {
  GroupBuilder builder;
  builder.init(4 * kBlockBytes);
  std::memset(builder.at(), 7, 160);
  builder.add(160);
  GroupHeader identity{};
  identity.seed = 99;
  identity.offset = 8192;
  identity.number = 4;
  identity.first_lsn = 1000;
  EXPECT_EQ(builder.seal(identity), kBlockBytes);
  GroupHeader read{};
  ASSERT_TRUE(read_group_header(builder.data(), 99, 8192, &read));
  EXPECT_EQ(read.payload_bytes, 160u);
  EXPECT_EQ(read.record_count, 1u);
  EXPECT_EQ(read.payload_crc, crc32c(0, builder.data() + 64, 160));
  EXPECT_FALSE(read_group_header(builder.data(), 98, 8192, &read));  // another file
  EXPECT_FALSE(read_group_header(builder.data(), 99, 4096, &read));  // another place
}

TEST(Format, ChecksumAdvancesWithTheRecords) {
  GroupBuilder builder;
  builder.init(16 * kBlockBytes);
  for (int i = 0; i < 300; ++i) {
    std::memset(builder.at(), i, 152);
    builder.add(152);
    builder.advance_checksum();
  }
  (void)builder.seal({});
  GroupHeader read{};
  ASSERT_TRUE(read_group_header(builder.data(), 0, 0, &read));
  EXPECT_EQ(read.payload_crc, crc32c(0, builder.data() + 64, 300 * 152));
}

Manifest sample() {
  Manifest manifest;
  manifest.shard_count = 8;
  manifest.incarnation = 3;
  manifest.generation = 2;
  manifest.parts.push_back({0, 1, 2, {1, 20480, 3, 4000}});
  manifest.logs.push_back({2, 0, 1, {4, 8192, 17, 808}, 816, 6, LogPosition{5, 4096, 30, 1600}});
  manifest.logs.push_back({3, 0, 2, {}, 8, 2, std::nullopt});
  manifest.logs.push_back({3, 1, 2, {}, 8, 1, std::nullopt});
  return manifest;
}

TEST(ManifestText, RoundTrip) {
  const Manifest manifest = sample();
  Manifest read;
  std::string error;
  ASSERT_TRUE(parse_manifest(format_manifest(manifest), &read, &error)) << error;
  EXPECT_EQ(read, manifest);
}

TEST(ManifestText, EveryFlippedBitAndEveryCutIsSeen) {
  const std::string text = format_manifest(sample());
  Manifest read;
  std::string error;
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_manifest(flipped, &read, &error)) << bit;
  }
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_manifest(text.substr(0, length), &read, &error)) << length;
  }
}

// A manifest with a right checksum and wrong content (a bug, or another version) is refused by line.
TEST(ManifestText, NonsenseIsRefusedByLine) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"manifest 1", "manifest 2"},
      {"shards 8", "shards 0"},
      {"shards 8", "shards 9999999"},
      {"shards 8", "shards x"},
      {"shards 8", "shards"},
      {"generation 2", "generations 2"},
      {"log 3 1 2", "log 3 2 2"},
      {"log 3 1 2", "log 4 1 2"},
      {"log 3 1 2", "log 3 0 2"},
      {"log 2 0 1", "log 2  1"},
      {"808 816", "809 816"},
      {"8192 17", "8193 17"},
      {"end 5", "end 7"},
      {"end 5", "and 5"},
      {"1600", "99999999999999999999999"},
      {"part 2 0 1", "part 2 1 1"},
      {"generation 2", "generation 0"},
  };
  for (const auto& [from, to] : rows) {
    std::string text = format_manifest(sample());
    text.resize(text.size() - 13);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::strlen(from), to);
    char crc[16];
    std::snprintf(crc, sizeof crc, "crc %08x\n",
                  crc32c(0, reinterpret_cast<const std::byte*>(text.data()), text.size()));
    Manifest read;
    std::string error;
    EXPECT_FALSE(parse_manifest(text + crc, &read, &error)) << to;
    EXPECT_NE(error, "");
  }
}

}  // namespace
}  // namespace txnic::test
