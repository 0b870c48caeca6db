// SPDX-License-Identifier: BSD-3-Clause
// Templates: every frame that is written is taken by the node's own parsers.
#include "pktgen/templates/pcap.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "pktgen/report/files.h"
#include "txn/hash.h"
#include "txn/wire/parse.h"

namespace txnic::pktgen {
namespace {

class PcapTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "txgen-pcap-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    settings_.node = {0x0a630001, 7700};
    settings_.local = {0x0a630002, 40000};
    settings_.node_mac = {2, 0, 0, 0, 0, 1};
    settings_.local_mac = {2, 0, 0, 0, 0, 2};
    settings_.records = 1000;
    settings_.count = 300;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::vector<std::string> read_packets(const std::string& path) {
    std::string text, error;
    EXPECT_TRUE(read_file(path, &text, &error)) << error;
    EXPECT_EQ(load<uint32_t>(text.data()), 0xa1b2c3d4u);
    EXPECT_EQ(load<uint32_t>(text.data() + 20), 1u);
    std::vector<std::string> packets;
    size_t at = 24;
    while (at < text.size()) {
      const auto length = load<uint32_t>(text.data() + at + 8);
      EXPECT_EQ(load<uint32_t>(text.data() + at + 12), length);
      packets.push_back(text.substr(at + 16, length));
      at += 16 + length;
    }
    EXPECT_EQ(at, text.size());
    return packets;
  }

  std::string directory_;
  TemplateSettings settings_;
};

TEST_F(PcapTest, EveryPacketIsARequestThatTheNodeTakes) {
  const std::string path = directory_ + "/requests.pcap";
  for (const char* workload : {"get", "put1", "put2", "rmw2", "rmw8"}) {
    settings_.workload = workload;
    settings_.shards = 4;
    settings_.workers = 2;
    std::string error;
    ASSERT_TRUE(write_pcap(path, settings_, &error)) << error;
    const auto packets = read_packets(path);
    ASSERT_EQ(packets.size(), settings_.count);
    const uint32_t raw_address = dataplane::byte_swap(settings_.node.address);
    const dataplane::FrameFilter filter{raw_address, settings_.node.port, 2};
    Sequence expected = 1;
    for (const std::string& packet : packets) {
      const auto* frame = reinterpret_cast<const uint8_t*>(packet.data());
      const auto parsed = dataplane::parse_frame_slowly(frame, static_cast<uint32_t>(packet.size()), filter,
                                                        dataplane::Check::kVerify, dataplane::Check::kVerify, false);
      ASSERT_EQ(parsed.kind, dataplane::FrameKind::kMessage);
      const auto* message = reinterpret_cast<const std::byte*>(packet.data()) + dataplane::kHeadersBytes;
      wire::Header header;
      ASSERT_EQ(wire::parse_request_header(message, parsed.payload_length, &header), wire::ParseError::kNone);
      EXPECT_EQ(header.session, settings_.session);
      EXPECT_EQ(header.sequence, expected++);
      EXPECT_EQ(parsed.port_index, wire::worker_of(header.shard, 2));
      wire::Operation operations[limits::kOperationsMax];
      ASSERT_EQ(wire::parse_operations(message, header, operations), wire::ParseError::kNone);
      for (uint32_t i = 0; i < header.operation_count; ++i) {
        EXPECT_EQ(shard_of(operations[i].key_hash, 4), header.shard);
        EXPECT_EQ(operations[i].table, settings_.table);
      }
    }
  }
}

TEST_F(PcapTest, TheSeedDecides) {
  const auto take = [this](uint64_t seed) {
    settings_.seed = seed;
    std::string all;
    EXPECT_EQ(make_frames(settings_, [&](Bytes frame) {
      all.append(reinterpret_cast<const char*>(frame.data()), frame.size());
    }), "");
    return all;
  };
  EXPECT_EQ(take(5), take(5));
  EXPECT_NE(take(5), take(6));
}

// A refused command must not touch what the path names: it may be somebody's file, or a device.
TEST_F(PcapTest, WhatCannotBeIsRefusedAndTouchesNoFile) {
  const std::string path = directory_ + "/refused.pcap", kept = directory_ + "/kept.pcap";
  std::string write_error;
  ASSERT_TRUE(write_file(kept, "somebody's", &write_error)) << write_error;
  const auto refuse = [&](const TemplateSettings& settings) {
    std::string error;
    EXPECT_FALSE(write_pcap(path, settings, &error));
    EXPECT_FALSE(error.empty());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(write_pcap(kept, settings, &error));
    std::string text;
    EXPECT_TRUE(read_file(kept, &text, &error)) << error;
    EXPECT_EQ(text, "somebody's");
  };
  for (const char* workload : {"", "smallbank", "echo", "put", "put0", "put17", "rmw2x", "rmw-1"}) {
    TemplateSettings settings = settings_;
    settings.workload = workload;
    refuse(settings);
  }
  TemplateSettings settings = settings_;
  settings.workload = "rmw16";
  settings.value_bytes = 200;
  refuse(settings);
  settings = settings_;
  settings.count = 0;
  refuse(settings);
  std::string error;
  EXPECT_FALSE(write_pcap(directory_ + "/no/such/folder.pcap", settings_, &error));
  EXPECT_NE(error.find("cannot write"), std::string::npos);
}

}  // namespace
}  // namespace txnic::pktgen
