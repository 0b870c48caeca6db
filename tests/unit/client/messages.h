// SPDX-License-Identifier: BSD-3-Clause
// Builds the messages that a node sends, for the tests of the client's side.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "txn/wire/build.h"
#include "txn/wire/parse.h"

namespace txnic::client::test {

using Message = std::vector<std::byte>;

inline Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline Message reply_message(wire::Type type, SessionId session, Sequence sequence, Stamp stamp, Result result,
                             uint8_t detail, size_t body_bytes) {
  wire::Header h = wire::request_header(type, session, sequence, stamp);
  h.length = static_cast<uint16_t>(wire::kHeaderBytes + body_bytes);
  h.result = static_cast<uint8_t>(result);
  h.detail = detail;
  Message message(h.length);
  wire::write_header(message.data(), h);
  return message;
}

inline Message challenge(SessionId session, Sequence attempt, uint8_t cookie) {
  Message m = reply_message(wire::Type::kChallenge, session, attempt, 0, Result::kCommitted, 0, wire::kCookieBytes);
  std::memset(m.data() + wire::kHeaderBytes, cookie, wire::kCookieBytes);
  return m;
}

struct Opening {
  Stamp stamp = make_stamp(100, 1);
  uint16_t shards = 4;
  uint16_t workers = 2;
  uint32_t window = 1024;
  uint32_t idle_expiry_seconds = 0;
  bool survived = false;
  uint32_t map_epoch = 0;
};

inline Message opened(SessionId session, Sequence attempt, const Opening& opening) {
  Message m = reply_message(wire::Type::kOpened, session, attempt, opening.stamp, Result::kCommitted, 0,
                            sizeof(wire::OpenedBody));
  wire::OpenedBody body{};
  body.shard_count = opening.shards;
  body.worker_count = opening.workers;
  body.base_port = wire::kBasePortDefault;
  body.window = opening.window;
  body.idle_expiry_seconds = opening.idle_expiry_seconds;
  body.window_survived = opening.survived ? 1 : 0;
  store(m.data() + wire::kHeaderBytes, body);
  store(m.data() + offsetof(wire::Header, map_epoch), opening.map_epoch);
  return m;
}

struct ReplyValue {
  uint8_t operation = 0;
  bool present = true;
  Version version = 0;
  std::string data;
};

inline void append_value(Message& m, const ReplyValue& v, uint8_t participant = 0) {
  const wire::ValueHeader vh{v.version, static_cast<uint16_t>(v.data.size()), v.operation,
                             static_cast<uint8_t>(v.present ? 1 : 0), participant, {}};
  const size_t at = m.size();
  m.resize(at + sizeof vh + v.data.size());
  store(m.data() + at, vh);
  std::memcpy(m.data() + at + sizeof vh, v.data.data(), v.data.size());
}

inline Message executed(SessionId session, Sequence sequence, Stamp stamp, Result result, uint8_t detail = 0,
                        Version version = 0, const std::vector<ReplyValue>& values = {}, uint8_t flags = 0) {
  Message m = reply_message(wire::Type::kExecuted, session, sequence, stamp, result, detail, 8);
  store(m.data() + wire::kHeaderBytes, version);
  for (const ReplyValue& v : values) append_value(m, v);
  wire::Header h = wire::read_header(m.data());
  h.length = static_cast<uint16_t>(m.size());
  h.operation_count = static_cast<uint8_t>(values.size());
  h.flags = flags;
  wire::write_header(m.data(), h);
  return m;
}

}  // namespace txnic::client::test
