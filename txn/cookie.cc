// SPDX-License-Identifier: BSD-3-Clause
#include "txn/cookie.h"

#include <bit>

namespace txnic {
namespace {

struct SipState {
  uint64_t a, b, c, d;
  void round() {
    a += b; b = std::rotl(b, 13); b ^= a; a = std::rotl(a, 32);
    c += d; d = std::rotl(d, 16); d ^= c;
    a += d; d = std::rotl(d, 21); d ^= a;
    c += b; b = std::rotl(b, 17); b ^= c; c = std::rotl(c, 32);
  }
};

constexpr uint64_t kEpochNs = limits::kCookieLifetimeSeconds * 1'000'000'000ull;

void cookie_of_epoch(const CookieSecret& secret, Endpoint from, SessionId session, uint64_t epoch,
                     uint8_t cookie[wire::kCookieBytes]) {
  const uint64_t words[3] = {static_cast<uint64_t>(from.address) << 16 | from.port, session, epoch};
  store(cookie, epoch);
  store(cookie + 8, siphash24(secret, words));
}

}  // namespace

uint64_t siphash24(const CookieSecret& key, std::span<const uint64_t> words) {
  SipState s{key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull, key[0] ^ 0x6c7967656e657261ull,
             key[1] ^ 0x7465646279746573ull};
  const auto absorb = [&s](uint64_t word) {
    s.d ^= word;
    s.round();
    s.round();
    s.a ^= word;
  };
  for (const uint64_t word : words) absorb(word);
  absorb(static_cast<uint64_t>(words.size() * 8) << 56);
  s.c ^= 0xff;
  for (int i = 0; i < 4; ++i) s.round();
  return s.a ^ s.b ^ s.c ^ s.d;
}

void make_cookie(const CookieSecret& secret, Endpoint from, SessionId session, TimeNs now,
                 uint8_t cookie[wire::kCookieBytes]) {
  cookie_of_epoch(secret, from, session, now / kEpochNs + 1, cookie);
}

bool check_cookie(const CookieSecret& secret, Endpoint from, SessionId session, TimeNs now,
                  const uint8_t cookie[wire::kCookieBytes]) {
  const uint64_t current = now / kEpochNs + 1;
  const auto epoch = load<uint64_t>(cookie);
  if (epoch != current && epoch + 1 != current) return false;
  uint8_t expected[wire::kCookieBytes];
  cookie_of_epoch(secret, from, session, epoch, expected);
  return load<uint64_t>(expected + 8) == load<uint64_t>(cookie + 8);
}

}  // namespace txnic
