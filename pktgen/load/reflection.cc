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

void ReflectingTransport::send(const std::byte* message, uint32_t length, uint32_t worker) {
  if (peer_ == Peer::kRaw) {
    inner_.send(message, length, worker);
    return;
  }
  // An echo returns as it was but for its type, so the real type travels in a field that ECHO does not use.
  std::memcpy(copy_.data(), message, length);
  auto header = wire::read_header(message);
  header.detail = header.type;
  header.type = static_cast<uint8_t>(wire::Type::kEcho);
  wire::write_header(copy_.data(), header);
  inner_.send(copy_.data(), length, worker);
}

// False: not one of our requests; the protocol machine counts it as it is.
bool ReflectingTransport::become_reply(Received* received) const {
  if (received->length < wire::kHeaderBytes) return false;
  auto header = wire::read_header(received->message);
  auto type = static_cast<wire::Type>(header.type);
  if (peer_ == Peer::kEcho) {
    if (type != wire::Type::kEchoed) return false;
    type = static_cast<wire::Type>(header.detail);
  }
  header.detail = 0;
  header.operation_count = 0;
  switch (type) {
    case wire::Type::kExecute:
      header.type = static_cast<uint8_t>(wire::Type::kExecuted);
      header.flags = wire::kReplyFlagDuplicate;  // no values
      header.length = wire::kExecutedFixedBytes;
      if (received->length < header.length) return false;
      store(received->message + wire::kHeaderBytes, Version{1});
      break;
    case wire::Type::kOpen: {
      if (received->length < wire::kOpenedBytes) return false;
      header.type = static_cast<uint8_t>(wire::Type::kOpened);
      header.stamp = make_stamp(1, static_cast<uint32_t>(header.sequence));
      header.length = wire::kOpenedBytes;
      store(received->message + wire::kHeaderBytes, opened_body());
      break;
    }
    case wire::Type::kClose: header.type = static_cast<uint8_t>(wire::Type::kClosed); break;
    default: return false;
  }
  wire::write_header(received->message, header);
  received->length = header.length;
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
