// SPDX-License-Identifier: BSD-3-Clause
// The stateless cookie of a session opening: proves that a client receives at the address it sends from, as in
// DTLS (RFC 6347, 4.2.1) and QUIC (RFC 9000, 8.1). The node keeps only a secret.
#pragma once

#include <array>

#include "txn/types.h"
#include "txn/wire/header.h"

namespace txnic {

using CookieSecret = std::array<uint64_t, 2>;

// SipHash-2-4 (Aumasson and Bernstein, 2012) of a few words.
uint64_t siphash24(const CookieSecret& key, std::span<const uint64_t> words);

// `now`: the node's monotone clock.
void make_cookie(const CookieSecret& secret, Endpoint from, SessionId session, TimeNs now,
                 uint8_t cookie[wire::kCookieBytes]);
// True for a cookie that make_cookie() gave this endpoint and session, one to two lifetimes ago at the most.
bool check_cookie(const CookieSecret& secret, Endpoint from, SessionId session, TimeNs now,
                  const uint8_t cookie[wire::kCookieBytes]);

}  // namespace txnic
