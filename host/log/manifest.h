// SPDX-License-Identifier: BSD-3-Clause
// The manifest: the one small file, replaced atomically, that says what the directory holds. Whatever it does not
// name does not count and may be removed. Text, one entry a line, with a checksum as the last line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/log/disk.h"
#include "txn/limits.h"

namespace txnic::log {

inline constexpr uint32_t kIncarnationMax = 0xffff;  // what versions have room for

// Where a log's next group goes: the place in the files, and the number and position that it will carry.
struct LogPosition {
  uint64_t segment = 1;
  uint64_t offset = limits::kLogBlockBytes;
  uint64_t group = 1;
  Lsn lsn = 8;
  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

// One worker's log of one incarnation.
struct LogEntry {
  uint32_t incarnation = 0;
  uint32_t worker = 0;
  uint32_t workers = 0;
  LogPosition start;               // replay begins with this group …
  Lsn redo = 8;                    // … and in it with the record at this position
  uint64_t prepared = 0;           // segments start.segment … prepared exist
  std::optional<LogPosition> end;  // fixed when the next incarnation starts: what lies behind was cut off
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

// One worker's part of the checkpoint.
struct PartEntry {
  uint32_t worker = 0;
  uint32_t workers = 0;
  uint32_t incarnation = 0;
  LogPosition end;  // segment is always 1: a part is one file
  friend bool operator==(const PartEntry&, const PartEntry&) = default;
};

struct Manifest {
  uint32_t shard_count = 0;
  uint32_t incarnation = 0;  // the newest that was given out: to a start of the node, or to a front (placement NIC)
  uint64_t generation = 0;   // of the checkpoint; 0: none
  std::vector<PartEntry> parts;
  std::vector<LogEntry> logs;  // ascending by (incarnation, worker)
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

std::string format_manifest(const Manifest& manifest);
// False: `error` says what is wrong, and in which line.
bool parse_manifest(std::string_view text, Manifest* manifest, std::string* error);

enum class ManifestState : uint8_t { kNone, kRead, kBad };
// Reads the directory's manifest. kNone: the directory is new (it has no log files either).
ManifestState read_manifest(Disk& disk, Manifest* manifest, std::string* error);
Errno write_manifest(Disk& disk, const Manifest& manifest);

}  // namespace txnic::log
