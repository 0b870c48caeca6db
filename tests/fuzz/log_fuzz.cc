// SPDX-License-Identifier: BSD-3-Clause
// What recovery reads from a disk, made from arbitrary bytes. The first byte chooses:
//   even: the rest is a manifest, as it is and with a right checksum; what parses is written and parsed again.
//   odd:  a directory with a whole manifest and one segment, whose groups come from the rest: for each a control byte,
//         a length (two bytes) and its records. The control byte says which checksums are right.
// Nothing may crash, and what recovery takes must be what was there.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "host/log/format.h"
#include "host/log/manifest.h"
#include "host/log/recovery.h"
#include "tests/support/test_disk.h"

namespace {

using namespace txnic;

constexpr uint64_t kSegmentBytes = 64 << 10;
constexpr uint64_t kSeed = 0x0123456789abcdef;
constexpr uint32_t kShards = 4;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string with_checksum(std::string body) {
  char crc[16];
  std::snprintf(crc, sizeof crc, "crc %08x\n",
                log::crc32c(0, reinterpret_cast<const std::byte*>(body.data()), body.size()));
  return body + crc;
}

void try_manifest(const std::string& text) {
  log::Manifest manifest, again;
  std::string error;
  if (!log::parse_manifest(text, &manifest, &error)) {
    if (error.empty()) fail("a manifest was refused without a reason");
    return;
  }
  if (!log::parse_manifest(log::format_manifest(manifest), &again, &error) || again != manifest) {
    fail("a manifest changed on its way to the disk and back");
  }
}

// Checks that what the sink is given lies within its limits.
class StrictSink final : public log::RecoverySink {
 public:
  bool on_put(ShardId shard, TableId, Bytes key, Bytes value, Version) override {
    if (value.size() > limits::kValueBytesMax) fail("a value is too long");
    for (const std::byte byte : value) sum_ += static_cast<unsigned>(byte);
    return check(shard, key);
  }
  bool on_delete(ShardId shard, TableId, Bytes key, Version) override { return check(shard, key); }
  bool on_outcome(ShardId shard, SessionId, uint64_t, Version, Sequence) override { return check(shard); }
  bool on_shard_version(ShardId shard, Version) override { return check(shard); }
  bool on_session_open(ShardId shard, SessionId, Endpoint, Stamp, Sequence, Sequence) override {
    return check(shard);
  }
  bool on_session_close(ShardId shard, SessionId) override { return check(shard); }
  bool on_transaction(ShardId shard, const log::TransactionEntry& entry) override {
    if (entry.participants.count < 2 || entry.place >= entry.participants.count) fail("a participant that cannot be");
    for (const commit::Lock& lock : entry.locks) sum_ += lock.key + lock.exclusive;
    for (const std::byte byte : entry.values) sum_ += static_cast<unsigned>(byte);
    for (const std::byte byte : entry.redo) sum_ += static_cast<unsigned>(byte);
    return check(shard);
  }

 private:
  bool check(ShardId shard, Bytes key) {
    if (key.empty() || key.size() > limits::kKeyBytesMax) fail("a key's length cannot be");
    for (const std::byte byte : key) sum_ += static_cast<unsigned>(byte);
    return check(shard);
  }
  bool check(ShardId shard) {
    if (shard >= kShards) fail("a record of a shard that does not exist");
    return sum_ != ~0ull;  // reads everything, so that a sanitizer sees it
  }
  uint64_t sum_ = 0;
};

// Control bits of a group.
constexpr uint8_t kBadPayload = 1, kBadHeader = 2, kBadNumber = 4, kBadCount = 8, kKeepRecords = 16;

// Lays the group's records at `at` (room for them is there); answers the payload's length.
uint32_t lay_records(const uint8_t* data, uint32_t bytes, uint8_t control, std::byte* at, uint32_t* count) {
  std::memcpy(at, data, bytes);
  bytes = (bytes + 7) & ~7u;
  *count = 0;
  if ((control & kKeepRecords) != 0) return bytes;
  // Mostly, lengths tell the truth, so that the fuzzer gets past them: records of 40 to 160 bytes, the last one cut.
  uint32_t done = 0;
  while (bytes - done >= sizeof(log::RecordHeader)) {
    uint32_t length = 40 + load<uint8_t>(at + done) % 16 * 8;
    if (length > bytes - done) length = (bytes - done) & ~7u;
    store(at + done, length);
    store(at + done + 6, static_cast<uint16_t>(load<uint16_t>(at + done + 6) % kShards));
    done += length;
    ++*count;
  }
  return done;
}

void try_directory(const uint8_t* data, size_t size) {
  std::vector<std::byte> segment(kSegmentBytes);
  log::FileHead head{};
  head.kind = log::FileKind::kSegment;
  head.incarnation = 1;
  head.workers = 1;
  head.shard_count = kShards;
  head.number = 1;
  head.file_bytes = kSegmentBytes;
  head.seed = kSeed;
  log::write_file_head(head, segment.data());
  uint64_t offset = log::kBlockBytes, number = 1;
  Lsn lsn = log::kFirstLsn;
  while (size >= 3) {
    const uint8_t control = data[0];
    const uint32_t wanted = data[1] | static_cast<uint32_t>(data[2]) << 8;
    data += 3, size -= 3;
    const auto bytes = static_cast<uint32_t>(std::min<size_t>(wanted, size));
    const uint32_t length = log::round_to_block(bytes + 64 + 8);
    if (offset + length > kSegmentBytes) break;
    std::byte* at = segment.data() + offset;
    log::GroupHeader group{};
    group.length = length;
    group.seed = kSeed;
    group.offset = offset;
    group.number = number++ + ((control & kBadNumber) != 0 ? 1 : 0);
    group.first_lsn = lsn;
    group.payload_bytes = lay_records(data, bytes, control, at + sizeof group, &group.record_count);
    group.record_count += (control & kBadCount) != 0 ? 1 : 0;
    group.payload_crc = log::crc32c(0, at + sizeof group, group.payload_bytes);
    log::write_group_header(group, at);
    if ((control & kBadPayload) != 0 && group.payload_bytes > 0) at[sizeof group] ^= std::byte{1};
    if ((control & kBadHeader) != 0) at[40] ^= std::byte{1};
    data += bytes, size -= bytes;
    offset += length;
    lsn += group.payload_bytes;
  }

  test::TestDisk disk(1);
  log::Manifest manifest;
  manifest.shard_count = kShards;
  manifest.incarnation = 1;
  manifest.logs.push_back({1, 0, 1, {}, log::kFirstLsn, 1, std::nullopt});
  (void)log::write_manifest(disk, manifest);
  (void)disk.create(log::segment_name(1, 0, 1), kSegmentBytes, segment);
  StrictSink sink;
  log::RecoveryOptions options;
  options.shard_count = kShards;
  const log::RecoveryReport report = log::recover(disk, options, &sink);
  if (!report.ok && report.error.empty()) fail("recovery failed without a reason");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if ((data[0] & 1) == 0) {
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    try_manifest(text);
    try_manifest(with_checksum(text));
  } else {
    try_directory(data + 1, size - 1);
  }
  return 0;
}
