// SPDX-License-Identifier: BSD-3-Clause
// Small helpers for tests that write messages.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "txn/wire/build.h"
#include "txn/wire/commit.h"
#include "txn/wire/map.h"
#include "txn/wire/parse.h"

namespace txnic::test {

using Message = std::vector<std::byte>;

inline Bytes bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

template <class T>
void append(Message& message, T value) {
  const size_t at = message.size();
  message.resize(at + sizeof value);
  store(message.data() + at, value);
}

inline void append_text(Message& message, std::string_view text) {
  for (const char c : text) message.push_back(static_cast<std::byte>(c));
}

// A valid EXECUTE with one GET of "k" in table 1: 57 bytes.
inline Message valid_execute() {
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  wire::ExecuteBuilder builder{buffer};
  builder.get(1, bytes("k"));
  const uint32_t length = builder.finish(7, 1, make_stamp(3, 1), 0, 0);
  return {buffer.data(), buffer.data() + length};
}

inline Message valid_open() {
  Message message(wire::kOpenBytes);
  wire::build_open(message.data(), 7, 1, nullptr);
  return message;
}

// The length field says what the length is.
inline void set_length(Message& message) {
  store(message.data() + offsetof(wire::Header, length), static_cast<uint16_t>(message.size()));
}

// Parses a message as a node does. The exact allocation lets ASan see each byte that is read too far.
inline wire::ParseError parse_request(const Message& message) {
  const std::vector<std::byte> exact(message);
  wire::Header header;
  const wire::ParseError error = wire::parse_request_header(exact.data(), static_cast<uint32_t>(exact.size()), &header);
  std::array<wire::Operation, limits::kOperationsMax> operations;
  if (error == wire::ParseError::kNone && header.type == static_cast<uint8_t>(wire::Type::kPrepare)) {
    Participants participants;
    return wire::parse_prepare(exact.data(), header, &participants, operations.data());
  }
  if (error != wire::ParseError::kNone || header.type != static_cast<uint8_t>(wire::Type::kExecute)) return error;
  return wire::parse_operations(exact.data(), header, operations.data());
}

inline wire::ParseError parse_reply(const Message& message) {
  const std::vector<std::byte> exact(message);
  wire::Header header;
  const wire::ParseError error = wire::parse_reply_header(exact.data(), static_cast<uint32_t>(exact.size()), &header);
  std::array<wire::Value, limits::kOperationsMax> values;
  if (error == wire::ParseError::kNone && header.type == static_cast<uint8_t>(wire::Type::kPrepared)) {
    uint32_t count = 0;
    std::array<Version, limits::kParticipantsMax> versions;
    return wire::parse_prepared(exact.data(), header, &count, versions.data(), values.data());
  }
  if (error == wire::ParseError::kNone && header.type == static_cast<uint8_t>(wire::Type::kMapped)) {
    ShardMap map;
    return header.result != 0 ? error : wire::parse_mapped(exact.data(), header, &map);
  }
  if (error != wire::ParseError::kNone || header.type != static_cast<uint8_t>(wire::Type::kExecuted)) return error;
  Version commit_version = 0;
  return wire::parse_values(exact.data(), header, &commit_version, values.data());
}

// As a participant parses what another one sent.
inline wire::ParseError parse_peer(const Message& message) {
  const std::vector<std::byte> exact(message);
  wire::CommitMessage parsed;
  return wire::parse_commit_message(exact.data(), static_cast<uint32_t>(exact.size()), &parsed);
}

}  // namespace txnic::test
