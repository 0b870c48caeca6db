// SPDX-License-Identifier: BSD-3-Clause
// The on-disk format of segments and checkpoint parts: their head block and the groups behind it. README.md has
// the whole format in words. All integers are little-endian; everything is read by memcpy after its length is
// checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "txn/limits.h"
#include "txn/record/record.h"

namespace txnic::log {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kBlockBytes = limits::kLogBlockBytes;
inline constexpr Lsn kFirstLsn = 8;  // of every log; 0 means "nothing"

// CRC32C (Castagnoli), chainable: crc32c(crc32c(0, a), b) == crc32c(0, a then b).
uint32_t crc32c(uint32_t crc, const std::byte* data, size_t bytes);

enum class FileKind : uint32_t { kSegment = 1, kPart = 2 };

// The first block of every segment and checkpoint part (the rest of the block is zero).
struct FileHead {
  uint64_t magic;           // kFileMagic
  uint32_t format_version;  // kFormatVersion
  FileKind kind;
  uint32_t incarnation;  // of the node that writes it
  uint32_t worker;
  uint32_t workers;  // worker count of that incarnation: shard s belongs to worker s % workers
  uint32_t shard_count;
  uint64_t number;      // kSegment: segment number, from 1; kPart: checkpoint generation
  uint64_t file_bytes;  // kSegment: its size; kPart: 0
  uint64_t seed;        // random: every group of this file carries it
  uint32_t recycled;    // 1: the space behind may hold groups of an older use (they carry another seed)
  uint32_t crc;         // of the bytes before
};
static_assert(sizeof(FileHead) == 64);
inline constexpr uint64_t kFileMagic = 0x31474c43494e5854;  // "TXNICLG1"

// The start of a group. Block-aligned in the file; records follow at once, then zeros to the next block.
struct GroupHeader {
  uint32_t magic;           // kGroupMagic
  uint32_t length;          // of the group in the file: header, records and padding; a multiple of the block
  uint64_t seed;            // the file's: clients cannot know it, so no value can pass for a group
  uint64_t offset;          // where in the file it belongs
  uint64_t number;          // of the group in its log, from 1, without gaps
  uint64_t first_lsn;       // of its first record
  uint64_t synced_through;  // everything below was durable when this was written
  uint32_t record_count;
  uint32_t payload_bytes;  // of the records
  uint32_t payload_crc;    // of the records
  uint32_t header_crc;     // of the bytes before
};
static_assert(sizeof(GroupHeader) == 64);
inline constexpr uint32_t kGroupMagic = 0x31475854;  // "TXG1"

inline constexpr uint32_t round_to_block(uint32_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}
inline constexpr bool is_block_multiple(uint64_t bytes) { return bytes % kBlockBytes == 0; }

// Writes a head block (kBlockBytes) with its checksum.
void write_file_head(FileHead head, std::byte* block);
// Null if the block is one of ours and whole; else what is wrong with it.
const char* read_file_head(Bytes block, FileHead* head);

// Fills in magic and checksum and writes the header at `to`.
void write_group_header(GroupHeader header, std::byte* to);
// True if `at` (at least 64 bytes) holds a group header of the file with this seed that belongs at `offset`.
// Says nothing of its records.
bool read_group_header(const std::byte* at, uint64_t seed, uint64_t offset, GroupHeader* header);

// File names.
std::string segment_name(uint32_t incarnation, uint32_t worker, uint64_t number);
std::string part_name(uint64_t generation, uint32_t worker);
inline constexpr const char* kManifestName = "MANIFEST";
inline constexpr const char* kLockName = "LOCK";
inline constexpr const char* kTemporarySuffix = ".tmp";  // of files whose making was interrupted

struct FileName {
  FileKind kind;
  uint32_t incarnation;  // kSegment
  uint32_t worker;
  uint64_t number;  // segment number or checkpoint generation
};
std::optional<FileName> parse_file_name(std::string_view name);
bool is_temporary_name(std::string_view name);

}  // namespace txnic::log
