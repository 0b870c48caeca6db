// SPDX-License-Identifier: BSD-3-Clause
// A shim for peers that do not execute: echo (the node's dataplane answers ECHO by itself) and raw (stock testpmd in
// macswap sends every frame back as it was). What comes back is our own request, possibly with another type; it is
// turned into the reply that an engine would have given, so that the generator's loop and the protocol machine do the
// same work as against a real node, and the two can be compared.
#pragma once

#include <array>

#include "pktgen/load/transport.h"
#include "txn/wire/header.h"

namespace txnic::pktgen {

class ReflectingTransport final : public Transport {
 public:
  enum class Peer : uint8_t { kEcho, kRaw };
  ReflectingTransport(Transport& inner, Peer peer) : inner_(inner), peer_(peer) {}

  void send(const std::byte* message, uint32_t length, uint32_t node, uint32_t worker) override;
  void flush() override { inner_.flush(); }
  bool can_send() override { return inner_.can_send(); }
  uint32_t receive(std::span<Received> out) override;
  void wait(TimeNs limit_ns) override { inner_.wait(limit_ns); }
  TransportStatistics statistics() const override { return inner_.statistics(); }

 private:
  bool become_reply(Received* received) const;

  Transport& inner_;
  const Peer peer_;
  std::array<std::byte, limits::kMessageBytesMax> copy_;
};

}  // namespace txnic::pktgen
