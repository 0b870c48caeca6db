// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/modes/echo.h"

#include "txn/wire/header.h"

namespace txnic::dataplane {
namespace {

constexpr uint32_t kTypeAt = offsetof(wire::Header, type);
constexpr uint32_t kLengthAt = offsetof(wire::Header, length);
// Magic, version and type as one word.
constexpr uint32_t start_word(wire::Type type) {
  return uint32_t{wire::kMagic} | uint32_t{wire::kVersion} << 16 | static_cast<uint32_t>(type) << 24;
}

}  // namespace

bool answer_echo(std::byte* message, uint32_t length) {
  if (length < wire::kHeaderBytes || load<uint32_t>(message) != start_word(wire::Type::kEcho) ||
      load<uint16_t>(message + kLengthAt) != length) {
    return false;
  }
  message[kTypeAt] = std::byte{static_cast<uint8_t>(wire::Type::kEchoed)};
  return true;
}

EchoMode::EchoMode(WorkerCounters* counters)
    : counters_(counters),
      short_(register_reason("echo_short")),
      bad_header_(register_reason("echo_bad_header")),
      other_type_(register_reason("echo_other_type")) {}

void EchoMode::process(std::span<Packet> burst, TimeNs) {
  for (Packet& packet : burst) {
    if (answer_echo(packet.message, packet.length)) [[likely]] {
      packet.verdict = Verdict::kReply;
      packet.reply_length = packet.length;
      continue;
    }
    packet.verdict = Verdict::kDrop;
    if (packet.length < wire::kHeaderBytes) {
      counters_->drop(short_);
      continue;
    }
    constexpr uint32_t kWithoutType = 0x00ffffffu;
    const bool ours = (load<uint32_t>(packet.message) & kWithoutType) ==
                          (start_word(wire::Type::kEcho) & kWithoutType) &&
                      load<uint16_t>(packet.message + kLengthAt) == packet.length;
    counters_->drop(ours ? other_type_ : bad_header_);
  }
}

}  // namespace txnic::dataplane
