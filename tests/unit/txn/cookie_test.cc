// SPDX-License-Identifier: BSD-3-Clause
#include "txn/cookie.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace txnic::test {
namespace {

using Cookie = std::array<uint8_t, wire::kCookieBytes>;

constexpr TimeNs kLifetimeNs = limits::kCookieLifetimeSeconds * 1'000'000'000ull;
constexpr CookieSecret kSecret = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
constexpr Endpoint kFrom = {0x0a630002, 40000};
constexpr SessionId kSession = 0x1122334455667788;

Cookie cookie_at(TimeNs now, Endpoint from = kFrom, SessionId session = kSession, CookieSecret secret = kSecret) {
  Cookie cookie;
  make_cookie(secret, from, session, now, cookie.data());
  return cookie;
}

bool accepted(const Cookie& cookie, TimeNs now) {
  return check_cookie(kSecret, kFrom, kSession, now, cookie.data());
}

// The published vectors of SipHash-2-4 (key 00 … 0f, message 00 01 02 …) whose length is a multiple of 8.
TEST(SipHash, PublishedVectors) {
  const uint64_t expected[] = {0x726fdb47dd0e0e31, 0x93f5f5799a932462, 0x3f2acc7f57c29bdb, 0xb8ad50c6f649af94,
                               0x7127512f72f27cce, 0x0e3ea96b5304a7d0, 0xe612a3cb9ecba951, 0xb78dbfaf3a8d83bd};
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(siphash24(kSecret, words), expected[i]) << words.size() * 8 << " bytes";
    words.push_back(0x0706050403020100 + i * 0x0808080808080808);
  }
}

TEST(Cookie, IsAcceptedForOneToTwoLifetimes) {
  for (const TimeNs start : {TimeNs{0}, TimeNs{1}, kLifetimeNs / 2, kLifetimeNs - 1, 1000 * kLifetimeNs + 17}) {
    const Cookie cookie = cookie_at(start);
    EXPECT_TRUE(accepted(cookie, start));
    EXPECT_TRUE(accepted(cookie, start + kLifetimeNs));
    EXPECT_FALSE(accepted(cookie, start + 2 * kLifetimeNs));
    EXPECT_FALSE(accepted(cookie, start + 1'000'000 * kLifetimeNs));
  }
}

TEST(Cookie, IsNotAcceptedBeforeItsTime) {
  EXPECT_FALSE(accepted(cookie_at(5 * kLifetimeNs), 4 * kLifetimeNs));
  EXPECT_FALSE(accepted(cookie_at(5 * kLifetimeNs), 0));
}

TEST(Cookie, IsBoundToAddressPortSessionAndSecret) {
  const TimeNs now = 77 * kLifetimeNs;
  EXPECT_TRUE(accepted(cookie_at(now), now));
  EXPECT_FALSE(accepted(cookie_at(now, {kFrom.address + 1, kFrom.port}), now));
  EXPECT_FALSE(accepted(cookie_at(now, {kFrom.address, static_cast<uint16_t>(kFrom.port + 1)}), now));
  EXPECT_FALSE(accepted(cookie_at(now, {kFrom.address ^ 1u << 31, kFrom.port}), now));
  EXPECT_FALSE(accepted(cookie_at(now, kFrom, kSession + 1), now));
  EXPECT_FALSE(accepted(cookie_at(now, kFrom, kSession, {kSecret[0] + 1, kSecret[1]}), now)) << "a restarted node";
  EXPECT_FALSE(accepted(cookie_at(now, kFrom, kSession, {kSecret[0], kSecret[1] + 1}), now));
}

TEST(Cookie, EachFlippedBitIsRefused) {
  const TimeNs now = 77 * kLifetimeNs;
  for (size_t bit = 0; bit < wire::kCookieBytes * 8; ++bit) {
    Cookie cookie = cookie_at(now);
    cookie[bit / 8] = static_cast<uint8_t>(cookie[bit / 8] ^ 1u << bit % 8);
    EXPECT_FALSE(accepted(cookie, now)) << "bit " << bit;
  }
}

TEST(Cookie, ZerosAndOnesAreNoCookie) {
  Cookie cookie;
  for (const uint8_t fill : {uint8_t{0}, uint8_t{0xff}}) {
    cookie.fill(fill);
    for (const TimeNs now : {TimeNs{0}, kLifetimeNs, ~TimeNs{0}}) EXPECT_FALSE(accepted(cookie, now));
  }
}

}  // namespace
}  // namespace txnic::test
