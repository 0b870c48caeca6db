// SPDX-License-Identifier: BSD-3-Clause
#include "txn/wire/build.h"

namespace txnic::wire {

uint32_t build_open(std::byte* buffer, SessionId session, Sequence attempt, const uint8_t* cookie_or_null,
                    Stamp held_stamp) {
  Header h = request_header(Type::kOpen, session, attempt, held_stamp);
  h.length = kOpenBytes;
  h.shard = kNoShard;
  write_header(buffer, h);
  OpenBody body{};
  if (cookie_or_null != nullptr) std::memcpy(body.cookie, cookie_or_null, kCookieBytes);
  store(buffer + kHeaderBytes, body);
  return kOpenBytes;
}

uint32_t build_close(std::byte* buffer, SessionId session, Sequence sequence, Stamp stamp) {
  Header h = request_header(Type::kClose, session, sequence, stamp);
  h.shard = kNoShard;
  write_header(buffer, h);
  return kHeaderBytes;
}

}  // namespace txnic::wire
