// SPDX-License-Identifier: BSD-3-Clause
// Rows: what is special, the frame, how it must be classified.
#include "dataplane/frame.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/unit/dataplane/frames.h"

namespace txnic::dataplane {
namespace {

using test::Frame;
using test::put16;
using test::UdpFrame;

FrameFilter filter_for_two_workers() { return {byte_swap(0x0a630001u), 7700, 2}; }

struct Row {
  const char* description;
  std::function<void(Frame*)> change;  // applied to a good message
  FrameKind kind;
  Reason why = 0;
};

Frame insert_bytes(const Frame& f, size_t at, const Frame& what) {
  Frame out(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(at));
  out.insert(out.end(), what.begin(), what.end());
  out.insert(out.end(), f.begin() + static_cast<std::ptrdiff_t>(at), f.end());
  return out;
}

std::vector<Row> rows() {
  const auto drop = FrameKind::kDrop;
  return {
      {"a message", [](Frame*) {}, FrameKind::kMessage},
      {"for worker 1", [](Frame* f) { put16(f, 36, 7701); }, FrameKind::kMessage},
      {"with type of service set", [](Frame* f) { (*f)[15] = 0xb8; test::fix_ip_checksum(f); }, FrameKind::kMessage},
      {"may be fragmented", [](Frame* f) { put16(f, 20, 0); test::fix_ip_checksum(f); }, FrameKind::kMessage},
      {"padded as short Ethernet frames are", [](Frame* f) { f->resize(60); }, FrameKind::kMessage},
      {"without payload", [](Frame* f) { *f = test::make({.payload = ""}); }, FrameKind::kMessage},
      {"right UDP checksum", [](Frame* f) { *f = test::make({.with_udp_checksum = true}); }, FrameKind::kMessage},
      {"right UDP checksum, odd length",
       [](Frame* f) { *f = test::make({.payload = "123", .with_udp_checksum = true}); }, FrameKind::kMessage},
      {"ARP", [](Frame* f) { *f = test::make_arp(1, 0x0a630002, 0x0a630001); }, FrameKind::kArp},
      {"ICMP", [](Frame* f) { *f = test::make_icmp(8, "ping data"); }, FrameKind::kIcmp},

      {"nothing", [](Frame* f) { f->clear(); }, drop, reason::kTruncated},
      {"13 bytes", [](Frame* f) { test::cut(f, 13); }, drop, reason::kTruncated},
      {"Ethernet only", [](Frame* f) { test::cut(f, 14); }, drop, reason::kTruncated},
      {"cut in the IPv4 header", [](Frame* f) { test::cut(f, 33); }, drop, reason::kTruncated},
      {"cut in the UDP header", [](Frame* f) { test::cut(f, 41); }, drop, reason::kTruncated},
      {"cut in the payload", [](Frame* f) { test::cut(f, f->size() - 1); }, drop, reason::kTruncated},
      {"cut ARP", [](Frame* f) { *f = test::make_arp(1, 1, 2); test::cut(f, 41); }, drop, reason::kTruncated},
      {"VLAN tag", [](Frame* f) { *f = insert_bytes(*f, 12, {0x81, 0, 0, 5}); }, drop, reason::kVlan},
      {"service VLAN tag", [](Frame* f) { *f = insert_bytes(*f, 12, {0x88, 0xa8, 0, 5}); }, drop, reason::kVlan},
      {"old double VLAN tag", [](Frame* f) { *f = insert_bytes(*f, 12, {0x91, 0, 0, 5}); }, drop, reason::kVlan},
      {"IPv6", [](Frame* f) { put16(f, 12, 0x86dd); }, drop, reason::kIpv6},
      {"LLDP", [](Frame* f) { put16(f, 12, 0x88cc); }, drop, reason::kOtherEthertype},
      {"802.3 length", [](Frame* f) { put16(f, 12, 46); }, drop, reason::kOtherEthertype},
      {"version 6 in an IPv4 frame", [](Frame* f) { (*f)[14] = 0x65; }, drop, reason::kIpVersion},
      {"header of 4 words", [](Frame* f) { (*f)[14] = 0x44; }, drop, reason::kIpVersion},
      {"IP options",
       [](Frame* f) {
         *f = insert_bytes(*f, 34, {1, 1, 1, 0});
         (*f)[14] = 0x46;
         put16(f, 16, test::get16(*f, 16) + 4);
         test::fix_ip_checksum(f);
       },
       drop, reason::kIpOptions},
      {"first fragment", [](Frame* f) { put16(f, 20, 0x2000); test::fix_ip_checksum(f); }, drop, reason::kIpFragment},
      {"last fragment", [](Frame* f) { put16(f, 20, 0x0010); test::fix_ip_checksum(f); }, drop, reason::kIpFragment},
      {"total length 19", [](Frame* f) { put16(f, 16, 19); test::fix_ip_checksum(f); }, drop, reason::kIpLength},
      {"total length beyond the frame",
       [](Frame* f) { put16(f, 16, test::get16(*f, 16) + 1); test::fix_ip_checksum(f); }, drop, reason::kTruncated},
      {"wrong IPv4 checksum", [](Frame* f) { (*f)[24] ^= 1; }, drop, reason::kIpChecksum},
      {"for another address", [](Frame* f) { *f = test::make({.destination = 0x0a630003}); }, drop,
       reason::kOtherAddress},
      {"from our own address", [](Frame* f) { *f = test::make({.source = 0x0a630001}); }, drop, reason::kOwnSource},
      {"ICMP from our own address",
       [](Frame* f) {
         *f = test::make_icmp(8, "ping data");
         test::put32(f, 26, 0x0a630001);
         test::fix_ip_checksum(f);
       },
       drop, reason::kOwnSource},
      {"broadcast address", [](Frame* f) { *f = test::make({.destination = 0xffffffff}); }, drop,
       reason::kOtherAddress},
      {"TCP", [](Frame* f) { *f = test::make({.protocol = 6}); }, drop, reason::kNotUdp},
      {"no room for UDP", [](Frame* f) { put16(f, 16, 27); test::fix_ip_checksum(f); }, drop, reason::kUdpLength},
      {"UDP length 7", [](Frame* f) { put16(f, 38, 7); }, drop, reason::kUdpLength},
      {"UDP length too short", [](Frame* f) { put16(f, 38, test::get16(*f, 38) - 1); }, drop, reason::kUdpLength},
      {"UDP length too long", [](Frame* f) { put16(f, 38, test::get16(*f, 38) + 1); }, drop, reason::kUdpLength},
      {"port below ours", [](Frame* f) { put16(f, 36, 7699); }, drop, reason::kOtherPort},
      {"port above ours", [](Frame* f) { put16(f, 36, 7702); }, drop, reason::kOtherPort},
      {"wrong UDP checksum",
       [](Frame* f) { *f = test::make({.with_udp_checksum = true}); (*f)[42] ^= 1; }, drop, reason::kUdpChecksum},
  };
}

ParsedFrame parse(const Frame& f, Check ip = Check::kVerify, Check udp = Check::kVerify, bool unfinished = true) {
  return parse_frame(f.data(), static_cast<uint32_t>(f.size()), filter_for_two_workers(), ip, udp, unfinished);
}

TEST(ParseFrame, Rows) {
  for (const Row& row : rows()) {
    Frame f = test::make({});
    row.change(&f);
    const ParsedFrame parsed = parse(f);
    EXPECT_EQ(static_cast<int>(parsed.kind), static_cast<int>(row.kind)) << row.description;
    EXPECT_STREQ(reason_name(parsed.why), reason_name(row.why)) << row.description;
  }
}

TEST(ParseFrame, MessageTellsWorkerAndLength) {
  const ParsedFrame parsed = parse(test::make({.destination_port = 7701, .payload = std::string(1472, 'x')}));
  EXPECT_EQ(parsed.kind, FrameKind::kMessage);
  EXPECT_EQ(parsed.port_index, 1);
  EXPECT_EQ(parsed.payload_length, 1472);
}

// The short cut and the whole classification never disagree, whatever the bytes.
TEST(ParseFrame, FastAndSlowAgreeOnDamagedFrames) {
  std::mt19937 random(7);
  for (int round = 0; round < 200'000; ++round) {
    Frame f = test::make({.payload = "some payload", .with_udp_checksum = round % 2 == 0});
    const uint32_t damages = random() % 4;
    for (uint32_t d = 0; d < damages; ++d) f[random() % f.size()] = static_cast<uint8_t>(random());
    if (random() % 8 == 0) test::cut(&f, random() % (f.size() + 1));
    if (random() % 2 == 0 && f.size() >= 34 && (f[14] & 15) == 5) test::fix_ip_checksum(&f);
    const ParsedFrame fast = parse(f);
    const ParsedFrame slow = parse_frame_slowly(f.data(), static_cast<uint32_t>(f.size()), filter_for_two_workers(),
                                                Check::kVerify, Check::kVerify, true);
    ASSERT_EQ(fast.kind, slow.kind);
    ASSERT_EQ(fast.why, slow.why);
    ASSERT_EQ(fast.port_index, slow.port_index);
    ASSERT_EQ(fast.payload_length, slow.payload_length);
    ASSERT_NE(fast.why, reason::kOther);
  }
}

TEST(ParseFrame, ChecksumsAsToldByHardware) {
  Frame wrong_ip = test::make({});
  wrong_ip[24] ^= 1;
  EXPECT_EQ(parse(wrong_ip, Check::kGood).kind, FrameKind::kMessage);
  EXPECT_EQ(parse(test::make({}), Check::kBad).why, reason::kIpChecksum);
  Frame wrong_udp = test::make({.with_udp_checksum = true});
  wrong_udp[42] ^= 1;
  EXPECT_EQ(parse(wrong_udp, Check::kVerify, Check::kGood).kind, FrameKind::kMessage);
  EXPECT_EQ(parse(test::make({.with_udp_checksum = true}), Check::kVerify, Check::kBad).why, reason::kUdpChecksum);
  // Hardware calls a missing checksum bad on some NICs; it is not there to be wrong.
  EXPECT_EQ(parse(test::make({}), Check::kVerify, Check::kBad).kind, FrameKind::kMessage);
}

TEST(ParseFrame, UnfinishedChecksumOfALocalKernel) {
  Frame f = test::make({});
  uint32_t pseudo = test::reference_sum(f, 26, 8, 17);
  pseudo = test::reference_sum(f, 38, 2, pseudo);
  put16(&f, 40, pseudo);
  EXPECT_EQ(parse(f).kind, FrameKind::kMessage);
  EXPECT_TRUE(parse(f).checksum_unfinished);
  EXPECT_EQ(parse(f, Check::kVerify, Check::kVerify, false).why, reason::kUdpChecksum);
}

TEST(BuildReply, TurnsEverythingRound) {
  for (const UdpChecksum how : {UdpChecksum::kNone, UdpChecksum::kSoftware, UdpChecksum::kHardware}) {
    for (const size_t length : {0u, 1u, 2u, 47u, 48u, 1471u, 1472u}) {
      UdpFrame request;
      request.payload = std::string(length, 'q');
      request.ttl = 3;
      Frame f = test::make(request);
      f[15] = 0x10;
      const Mac own = {2, 0, 0, 0, 0, 9};
      build_reply(f.data(), own, static_cast<uint32_t>(length), how);

      UdpFrame expected;
      expected.destination_mac = request.source_mac;
      expected.source_mac = {2, 0, 0, 0, 0, 9};
      std::swap(expected.source, expected.destination);
      std::swap(expected.source_port, expected.destination_port);
      expected.payload = request.payload;
      expected.with_udp_checksum = how == UdpChecksum::kSoftware;
      Frame e = test::make(expected);
      put16(&e, 18, 0);
      test::fix_ip_checksum(&e);
      if (how == UdpChecksum::kHardware) {
        uint32_t pseudo = test::reference_sum(e, 26, 8, 17);
        put16(&e, 40, test::reference_sum(e, 38, 2, pseudo));
      }
      EXPECT_EQ(f, e) << "length " << length << " checksum " << static_cast<int>(how);
    }
  }
}

TEST(BuildMessage, IsWhatAnyoneWouldSend) {
  for (const UdpChecksum how : {UdpChecksum::kNone, UdpChecksum::kSoftware}) {
    for (const size_t length : {0u, 1u, 48u, 1471u, 1472u}) {
      const UdpFrame expected = {.source_port = 7701,
                                 .destination_port = 7702,
                                 .payload = std::string(length, 'q'),
                                 .with_udp_checksum = how == UdpChecksum::kSoftware};
      Frame e = test::make(expected);
      put16(&e, 18, 0);
      test::fix_ip_checksum(&e);
      Frame f(42 + length, 0xee);
      std::copy(expected.payload.begin(), expected.payload.end(), f.begin() + 42);
      build_message_headers(f.data(), expected.source_mac, expected.destination_mac, {expected.source, 7701},
                            {expected.destination, 7702}, static_cast<uint32_t>(length), how);
      EXPECT_EQ(f, e) << "length " << length << " checksum " << static_cast<int>(how);
    }
  }
}

TEST(BuildReply, NeverWritesZeroForAComputedChecksum) {
  // Two payload bytes run through all values: one of them makes the sum 0, which must be written as ffff.
  bool seen = false;
  for (uint32_t v = 0; v < 65536; ++v) {
    Frame f = test::make({.payload = std::string{static_cast<char>(v >> 8), static_cast<char>(v)}});
    build_reply(f.data(), Mac{}, 2, UdpChecksum::kSoftware);
    ASSERT_NE(test::get16(f, 40), 0u);
    seen = seen || test::get16(f, 40) == 0xffff;
  }
  EXPECT_TRUE(seen);
}

TEST(Checksum, AgreesWithTheTextBook) {
  std::mt19937 random(3);
  for (size_t length = 0; length < 300; ++length) {
    Frame data(length);
    for (uint8_t& b : data) b = static_cast<uint8_t>(random());
    const uint16_t raw = checksum_finish(checksum_add(0, data.data(), length));
    EXPECT_EQ(byte_swap(raw), static_cast<uint16_t>(~test::reference_sum(data, 0, length, 0)));
  }
}

}  // namespace
}  // namespace txnic::dataplane
