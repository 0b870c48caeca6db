// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/format.h"

#include <isa-l/crc.h>

#include <charconv>
#include <cstdio>

namespace txnic::log {

uint32_t crc32c(uint32_t crc, const std::byte* data, size_t bytes) {
  // ISA-L wants the running remainder without the final inversion, a non-const pointer and an int length.
  uint32_t remainder = ~crc;
  while (bytes > 0) {
    const size_t step = bytes < (1u << 30) ? bytes : (1u << 30);
    remainder =
        crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data)), static_cast<int>(step), remainder);
    data += step;
    bytes -= step;
  }
  return ~remainder;
}

void write_file_head(FileHead head, std::byte* block) {
  std::memset(block, 0, kBlockBytes);
  head.magic = kFileMagic;
  head.format_version = kFormatVersion;
  head.crc = 0;
  store(block, head);
  head.crc = crc32c(0, block, sizeof head - sizeof head.crc);
  store(block, head);
}

const char* read_file_head(Bytes block, FileHead* head) {
  if (block.size() < sizeof(FileHead)) return "the file is too short for its head";
  *head = load<FileHead>(block.data());
  if (head->magic != kFileMagic) return "the head does not start with the magic of a txnic log file";
  if (head->format_version != kFormatVersion) return "the file has a format version that this program does not read";
  if (head->crc != crc32c(0, block.data(), sizeof(FileHead) - sizeof head->crc)) {
    return "the head's checksum does not match";
  }
  if (head->kind != FileKind::kSegment && head->kind != FileKind::kPart) return "the head has an unknown kind";
  return nullptr;
}

void write_group_header(GroupHeader header, std::byte* to) {
  header.magic = kGroupMagic;
  header.header_crc = 0;
  store(to, header);
  header.header_crc = crc32c(0, to, sizeof header - sizeof header.header_crc);
  store(to, header);
}

bool read_group_header(const std::byte* at, uint64_t seed, uint64_t offset, GroupHeader* header) {
  if (load<uint32_t>(at) != kGroupMagic) return false;
  *header = load<GroupHeader>(at);
  if (header->seed != seed || header->offset != offset) return false;
  if (header->header_crc != crc32c(0, at, sizeof *header - sizeof header->header_crc)) return false;
  return is_block_multiple(header->length) && header->length <= limits::kLogGroupBytesMax &&
         header->length >= sizeof *header && header->payload_bytes <= header->length - sizeof *header &&
         header->payload_bytes % 8 == 0;
}

namespace {

constexpr std::string_view kSegmentPrefix = "log-";
constexpr std::string_view kPartPrefix = "checkpoint-";

// Takes one decimal number of exactly `digits` digits (more if it is larger) off the front of `text`.
template <class T>
bool take_number(std::string_view* text, T* number) {
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (code != std::errc{} || end == text->data()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

bool take_dash(std::string_view* text) {
  if (text->empty() || text->front() != '-') return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::string segment_name(uint32_t incarnation, uint32_t worker, uint64_t number) {
  char name[80];
  std::snprintf(name, sizeof name, "log-%08u-%03u-%08llu", incarnation, worker,
                static_cast<unsigned long long>(number));
  return name;
}

std::string part_name(uint64_t generation, uint32_t worker) {
  char name[80];
  std::snprintf(name, sizeof name, "checkpoint-%08llu-%03u", static_cast<unsigned long long>(generation), worker);
  return name;
}

std::optional<FileName> parse_file_name(std::string_view name) {
  FileName result{};
  std::string_view rest = name;
  if (rest.starts_with(kSegmentPrefix)) {
    rest.remove_prefix(kSegmentPrefix.size());
    result.kind = FileKind::kSegment;
    if (!take_number(&rest, &result.incarnation) || !take_dash(&rest) || !take_number(&rest, &result.worker) ||
        !take_dash(&rest) || !take_number(&rest, &result.number) || !rest.empty()) {
      return std::nullopt;
    }
    if (segment_name(result.incarnation, result.worker, result.number) != name) return std::nullopt;
    return result;
  }
  if (rest.starts_with(kPartPrefix)) {
    rest.remove_prefix(kPartPrefix.size());
    result.kind = FileKind::kPart;
    if (!take_number(&rest, &result.number) || !take_dash(&rest) || !take_number(&rest, &result.worker) ||
        !rest.empty()) {
      return std::nullopt;
    }
    if (part_name(result.number, result.worker) != name) return std::nullopt;
    return result;
  }
  return std::nullopt;
}

bool is_temporary_name(std::string_view name) { return name.ends_with(kTemporarySuffix); }

}  // namespace txnic::log
