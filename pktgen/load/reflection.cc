// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/reflection.h"

#include "txn/wire/operation.h"

namespace txnic::pktgen {

namespace {

// What a node without any shape would open: one shard, one worker, the largest window.
wire::OpenedBody opened_body() {
  wire::OpenedBody body{};
  body.shard_count = 1;
  body.worker_count = 1;
  body.base_port = wire::kBasePortDefault;
  body.window = limits::kWindowMax;
  body.window_survived = 1;
  return body;
}

}  // namespace

void ReflectingTransport::send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) {
  if (peer_ == Peer::kRaw) {
    inner_.send(message, length, node, worker);
    return;
  }
  // An echo returns as it was but for its type, so the real type travels in a field that ECHO does not use.
  std::memcpy(copy_.data(), message, length);
  copy_[offsetof(wire::Header, detail)] = message[offsetof(wire::Header, type)];
  copy_[offsetof(wire::Header, type)] = static_cast<std::byte>(wire::Type::kEcho);
  inner_.send(copy_.data(), length, node, worker);
}

// False: not one of our requests; the protocol machine counts it as it is. Only the fields that differ are written,
// each by itself: a header that is read, changed and written as a whole costs more than everything else here together.
bool ReflectingTransport::become_reply(Received* received) const {
  std::byte* const message = received->message;
  if (received->length < wire::kHeaderBytes) return false;
  auto type = static_cast<wire::Type>(message[offsetof(wire::Header, type)]);
  if (peer_ == Peer::kEcho) {
    if (type != wire::Type::kEchoed) return false;
    type = static_cast<wire::Type>(message[offsetof(wire::Header, detail)]);
  }
  wire::Type reply = wire::Type::kClosed;
  uint32_t length = wire::kHeaderBytes;
  if (type == wire::Type::kExecute) [[likely]] {
    reply = wire::Type::kExecuted;
    length = wire::kExecutedFixedBytes;
    if (received->length < length) return false;
    message[offsetof(wire::Header, flags)] = std::byte{wire::kReplyFlagDuplicate};  // no values
    store(message + wire::kHeaderBytes, Version{1});
  } else if (type == wire::Type::kOpen) {
    reply = wire::Type::kOpened;
    length = wire::kOpenedBytes;
    if (received->length < length) return false;
    const auto attempt = load<uint64_t>(message + offsetof(wire::Header, sequence));
    store(message + offsetof(wire::Header, stamp), make_stamp(1, static_cast<uint32_t>(attempt)));
    store(message + wire::kHeaderBytes, opened_body());
  } else if (type != wire::Type::kClose) {
    return false;
  }
  message[offsetof(wire::Header, type)] = static_cast<std::byte>(reply);
  message[offsetof(wire::Header, detail)] = std::byte{0};
  message[offsetof(wire::Header, operation_count)] = std::byte{0};
  store(message + offsetof(wire::Header, length), static_cast<uint16_t>(length));
  received->length = length;
  return true;
}

uint32_t ReflectingTransport::receive(std::span<Received> out) {
  const uint32_t count = inner_.receive(out);
  for (uint32_t i = 0; i < count; ++i) {
    if (i + 1 < count) __builtin_prefetch(out[i + 1].message);
    become_reply(&out[i]);
  }
  return count;
}

}  // namespace txnic::pktgen
