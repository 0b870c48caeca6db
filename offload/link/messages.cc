// SPDX-License-Identifier: BSD-3-Clause
#include "offload/link/messages.h"

#include <cassert>

namespace txnic::link {

const char* name(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "NONE";
    case Refusal::kVersion:
      return "VERSION";
    case Refusal::kBuild:
      return "BUILD";
    case Refusal::kConfiguration:
      return "CONFIGURATION";
    case Refusal::kFrameBytes:
      return "FRAME_BYTES";
    case Refusal::kOccupied:
      return "OCCUPIED";
    case Refusal::kNotReady:
      return "NOT_READY";
    case Refusal::kEpoch:
      return "EPOCH";
    case Refusal::kMalformed:
      return "MALFORMED";
  }
  return "?";
}

uint32_t body_bytes(EntryType type) {
  switch (type) {
    case EntryType::kHello:
      return sizeof(HelloBody);
    case EntryType::kWelcome:
      return sizeof(WelcomeBody);
    case EntryType::kRefused:
      return sizeof(RefusedBody);
    case EntryType::kAppend:
    case EntryType::kMirrorAsk:
    case EntryType::kMirror:
    case EntryType::kRelease:
    case EntryType::kReleased:
      return sizeof(PositionBody);
    case EntryType::kFetch:
      return sizeof(FetchBody);
    case EntryType::kFetched:
      return sizeof(FetchedBody);
    case EntryType::kFillAsk:
    case EntryType::kFill:
      return sizeof(FillBody);
    case EntryType::kLeaseAsk:
    case EntryType::kLease:
      return sizeof(LeaseBody);
    case EntryType::kDurable:
      return sizeof(DurableBody);
  }
  return 0;
}

FrameCheck read_frame(Bytes frame, FrameHeader* header) {
  if (frame.size() < sizeof(FrameHeader)) return FrameCheck::kShort;
  *header = load<FrameHeader>(frame.data());
  if (header->magic != kMagic) return FrameCheck::kForeign;
  if (header->version != kFormatVersion) return FrameCheck::kVersion;
  // A port may have padded a small frame.
  if (header->length < sizeof(FrameHeader) || header->length % 8 != 0 || header->length > frame.size()) {
    return FrameCheck::kLength;
  }
  if (header->sender != static_cast<uint8_t>(Sender::kFront) && header->sender != static_cast<uint8_t>(Sender::kBack)) {
    return FrameCheck::kSender;
  }
  return FrameCheck::kGood;
}

bool EntryReader::next(Entry* entry) {
  if (left_ == 0 || malformed_) {
    malformed_ = malformed_ || !rest_.empty();
    return false;
  }
  malformed_ = true;
  if (rest_.size() < sizeof(EntryHeader)) return false;
  const auto header = load<EntryHeader>(rest_.data());
  const auto type = static_cast<EntryType>(header.type);
  const uint32_t fixed = body_bytes(type);
  if (fixed == 0 || header.length < sizeof header + fixed || padded(header.length) > rest_.size()) return false;
  malformed_ = false;
  *entry = {type, header.flags, header.number, rest_.subspan(sizeof header, header.length - sizeof header)};
  rest_ = rest_.subspan(padded(header.length));
  --left_;
  return true;
}

std::byte* FrameBuilder::add(EntryType type, uint8_t flags, uint32_t number, uint32_t body_bytes) {
  const uint32_t bytes = entry_bytes(body_bytes);
  if (room_.empty() || bytes > left()) return nullptr;
  std::byte* const at = room_.data() + used_;
  store<uint64_t>(at + bytes - 8, 0);
  store(at, EntryHeader{static_cast<uint16_t>(sizeof(EntryHeader) + body_bytes), static_cast<uint8_t>(type), flags,
                        number});
  used_ += bytes;
  ++entries_;
  return at + sizeof(EntryHeader);
}

uint32_t FrameBuilder::finish(FrameHeader header) {
  assert(is_open());
  header.magic = kMagic;
  header.version = kFormatVersion;
  header.length = static_cast<uint16_t>(used_);
  header.entries = static_cast<uint16_t>(entries_);
  store(room_.data(), header);
  room_ = {};
  return used_;
}

}  // namespace txnic::link
