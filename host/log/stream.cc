// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/stream.h"

#include <algorithm>
#include <cassert>

namespace txnic::log {
namespace {

constexpr size_t kReadPieceBytes = 2u << 20;
constexpr size_t kSliceBytes = 512u << 10;

constexpr const char* kRestore =
    "; nothing was changed: restore this file from a copy, or keep the directory and start with an empty one";

}  // namespace

Stream::Stream(Disk& disk, const Manifest& manifest, const LogEntry& log)
    : disk_(disk),
      shard_count_(manifest.shard_count),
      is_part_(false),
      incarnation_(log.incarnation),
      worker_(log.worker),
      workers_(log.workers),
      generation_(0),
      start_(log.start),
      redo_(log.redo),
      prepared_(log.prepared),
      end_(log.end),
      next_(log.start) {}

Stream::Stream(Disk& disk, const Manifest& manifest, const PartEntry& part)
    : disk_(disk),
      shard_count_(manifest.shard_count),
      is_part_(true),
      incarnation_(part.incarnation),
      worker_(part.worker),
      workers_(part.workers),
      generation_(manifest.generation),
      start_(LogPosition{}),
      redo_(kFirstLsn),
      prepared_(1),
      end_(part.end),
      next_(start_) {}

uint32_t Stream::local_shards() const {
  return worker_ < shard_count_ ? (shard_count_ - worker_ + workers_ - 1) / workers_ : 0;
}

std::string Stream::name_of(uint64_t segment) const {
  return is_part_ ? part_name(generation_, worker_) : segment_name(incarnation_, worker_, segment);
}

std::string Stream::place() const {
  const Window& window = windows_[current_];
  return name_of(window.segment) + " offset " + std::to_string(window.offset) + " or behind";
}

bool Stream::fail(std::string text) {
  error_ = std::move(text);
  return false;
}

bool Stream::fail_damaged(const LogPosition& at, const std::string& proof) {
  return fail(name_of(at.segment) + " offset " + std::to_string(at.offset) + ": group " + std::to_string(at.group) +
              " is damaged although it was synced (" + proof + ")" + kRestore);
}

// ---- files ------------------------------------------------------------------------------------------------------

bool Stream::open(const FileSizes& sizes) {
  const uint64_t last = end_.has_value() ? end_->segment : prepared_;
  for (uint64_t segment = start_.segment; segment <= last; ++segment) {
    if (!open_file(segment, sizes)) return false;
  }
  if (files_.empty()) finished_ = true;  // started, and stopped before its first segment was there
  return true;
}

bool Stream::open_file(uint64_t segment, const FileSizes& sizes) {
  File opened;
  opened.name = name_of(segment);
  const auto found = sizes.find(opened.name);
  if (found == sizes.end()) return fail(opened.name + " is missing: MANIFEST names it" + kRestore);
  opened.bytes = found->second;
  AlignedBuffer block(kBlockBytes);
  size_t got = 0;
  if (const Errno code = disk_.read(opened.name, 0, MutableBytes(block.data(), kBlockBytes), &got); code != 0) {
    return fail(opened.name + " cannot be read (" + errno_text(code) + "): check the disk");
  }
  FileHead& head = opened.head;
  if (const char* wrong = read_file_head(Bytes(block.data(), got), &head); wrong != nullptr) {
    return fail(opened.name + " offset 0: " + wrong + kRestore);
  }
  const bool is_ours = head.kind == (is_part_ ? FileKind::kPart : FileKind::kSegment) &&
                       head.incarnation == incarnation_ && head.worker == worker_ && head.workers == workers_ &&
                       head.shard_count == shard_count_ && head.number == (is_part_ ? generation_ : segment);
  if (!is_ours) return fail(opened.name + " offset 0: the head belongs to another file" + kRestore);
  const uint64_t needed = is_part_ ? end_->offset : head.file_bytes;
  if (is_part_ ? opened.bytes < needed : opened.bytes != needed) {
    return fail(opened.name + " offset " + std::to_string(opened.bytes) + ": the file ends here and should have " +
                std::to_string(needed) + " bytes" + kRestore);
  }
  if (end_.has_value() && end_->segment == segment) {
    if (end_->offset > opened.bytes)
      return fail(opened.name + ": MANIFEST puts the log's end behind the file" + kRestore);
    opened.bytes = end_->offset;
  }
  total_bytes_ += opened.bytes;
  files_.push_back(std::move(opened));
  return true;
}

void Stream::allocate(size_t window_bytes) {
  assert(window_bytes >= limits::kLogGroupBytesMax && is_block_multiple(window_bytes));
  uint64_t largest = kBlockBytes;
  for (const File& one : files_) largest = std::max(largest, one.bytes);
  for (Window& window : windows_) window.memory = AlignedBuffer(std::min<uint64_t>(window_bytes, largest));
  if (!finished_) plan_read(next_.segment, next_.offset);
}

void Stream::release() {
  for (Window& window : windows_) window = Window{};
  for (std::vector<Slice>& slices : slices_) slices = std::vector<Slice>{};
  slice_count_ = 0;
}

void Stream::plan_read(uint64_t segment, uint64_t offset) {
  Window& window = windows_[1 - current_];
  window.segment = segment;
  window.offset = offset;
  const uint64_t bytes = file(segment).bytes;
  window.bytes = offset >= bytes ? 0 : std::min<uint64_t>(window.memory.size(), bytes - offset);
  read_errors_.assign(read_pieces(), 0);
}

size_t Stream::read_pieces() const {
  return finished_ ? 0 : (windows_[1 - current_].bytes + kReadPieceBytes - 1) / kReadPieceBytes;
}

void Stream::read(size_t piece) {
  Window& window = windows_[1 - current_];
  const size_t from = piece * kReadPieceBytes;
  const size_t bytes = std::min(kReadPieceBytes, window.bytes - from);
  size_t got = 0;
  Errno code = disk_.read(file(window.segment).name, window.offset + from,
                          MutableBytes(window.memory.data() + from, bytes), &got);
  if (code == 0 && got != bytes) code = EIO;
  read_errors_[piece] = code;
}

// ---- groups -----------------------------------------------------------------------------------------------------

// Finds the groups of the window that was read: whole ones, in order.
bool Stream::walk() {
  for (size_t piece = 0; piece < read_errors_.size(); ++piece) {
    if (read_errors_[piece] == 0) continue;
    const Window& window = windows_[1 - current_];
    return fail(name_of(window.segment) + " offset " + std::to_string(window.offset + piece * kReadPieceBytes) +
                ": cannot be read (" + errno_text(read_errors_[piece]) + "): check the disk");
  }
  current_ = 1 - current_;
  bool ok = true;
  after_ = walk_groups(windows_[current_], &ok);
  if (!ok) return false;
  cut_slices();
  return true;
}

Stream::After Stream::walk_groups(const Window& window, bool* ok) {
  groups_found_.clear();
  if (entering_) {
    next_.segment = window.segment;
    next_.offset = window.offset;
  }
  for (;;) {
    if (end_.has_value() && next_.group == end_->group) {
      if (!is_end(entering_ ? before_ : next_)) {
        *ok = fail_damaged(next_, "MANIFEST says where this log ends, and it is not here");
      }
      next_ = *end_;
      entering_ = false;
      return After::kEnd;
    }
    const size_t at = next_.offset - window.offset;
    Group group{window.memory.data() + at, {}};
    if (at >= window.bytes) return next_.offset < file(window.segment).bytes ? After::kMore : After::kNothing;
    if (!read_group_header(group.at, file(window.segment).head.seed, next_.offset, &group.header)) {
      return After::kNothing;
    }
    if (group.header.number != next_.group || group.header.first_lsn != next_.lsn) {
      const std::string proof = "group " + std::to_string(group.header.number) + " follows at " +
                                name_of(window.segment) + " offset " + std::to_string(next_.offset);
      *ok = fail_damaged(entering_ ? before_ : next_, proof);
      return After::kEnd;
    }
    if (next_.offset + group.header.length > file(window.segment).bytes) {
      *ok = fail_damaged(next_, "it is longer than its file");
      return After::kEnd;
    }
    if (at + group.header.length > window.bytes) return After::kMore;
    groups_found_.push_back(group);
    entering_ = false;
    next_.offset += group.header.length;
    next_.group += 1;
    next_.lsn += group.header.payload_bytes;
  }
}

// A log that was cut at the first group of a segment ends there, or, as a reader comes to it, behind the last group of
// the segment before.
bool Stream::is_end(const LogPosition& here) const {
  return here == *end_ || (here.lsn == end_->lsn && here.group == end_->group && here.segment + 1 == end_->segment &&
                           end_->offset == kBlockBytes);
}

void Stream::cut_slices() {
  std::vector<Slice>& slices = slices_[current_];
  slice_count_ = 0;
  for (size_t first = 0; first < groups_found_.size();) {
    if (slice_count_ == slices.size()) slices.emplace_back();
    Slice& slice = slices[slice_count_++];
    size_t bytes = 0, count = 0;
    while (first + count < groups_found_.size() && bytes < kSliceBytes) {
      bytes += groups_found_[first + count++].header.length;
    }
    slice.first_group = first;
    slice.group_count = count;
    first += count;
  }
}

void Stream::verify(size_t index) {
  Slice& slice = slices_[current_][index];
  slice.entries.clear();
  slice.head.assign(local_shards(), kChainEnd);
  slice.tail.assign(local_shards(), kChainEnd);
  slice.records = 0;
  std::fill(std::begin(slice.records_by_type), std::end(slice.records_by_type), 0);
  slice.ends_clean = false;
  slice.bad_group = slice.wrong_group = Slice::kNoGroup;
  for (size_t i = slice.first_group; i < slice.first_group + slice.group_count; ++i) {
    const Group& group = groups_found_[i];
    if (crc32c(0, group.at + sizeof(GroupHeader), group.header.payload_bytes) != group.header.payload_crc) {
      slice.bad_group = i;
      return;
    }
    slice.wrong = slice.ends_clean ? "it follows a clean stop" : verify_group(&slice, group);
    if (slice.wrong != nullptr) {
      slice.wrong_group = i;
      return;
    }
  }
}

const char* Stream::verify_group(Slice* slice, const Group& group) {
  const std::byte* record = group.at + sizeof(GroupHeader);
  uint32_t room = group.header.payload_bytes;
  Lsn lsn = group.header.first_lsn;
  uint32_t count = 0;
  while (room > 0) {
    if (slice->ends_clean) return "a record follows the clean stop";
    if (const char* wrong = verify_record(slice, record, room, lsn); wrong != nullptr) return wrong;
    const uint32_t length = load<uint32_t>(record);
    record += length;
    lsn += length;
    room -= length;
    ++count;
  }
  return count == group.header.record_count ? nullptr : "it does not have as many records as it says";
}

const char* Stream::verify_record(Slice* slice, const std::byte* record, uint32_t room, Lsn lsn) {
  if (room < sizeof(RecordHeader)) return "a record's header is cut off";
  const auto header = load<RecordHeader>(record);
  if (header.length < sizeof header || header.length % 8 != 0 || header.length > room ||
      header.length > limits::kLogRecordBytesMax) {
    return "a record's length cannot be";
  }
  const RecordType type = static_cast<RecordType>(header.type);
  bool is_session = false;
  switch (type) {
    case RecordType::kCommit:
    case RecordType::kRow:
    case RecordType::kOutcome:
    case RecordType::kShardState:
      break;
    case RecordType::kPrepare:
    case RecordType::kPreparedCommit:
    case RecordType::kAbort:
    case RecordType::kEnd:
      if (header.length < sizeof header + sizeof(TransactionBody)) return "a transaction's record is too short";
      break;
    case RecordType::kSessionOpen:
      if (header.length < sizeof header + sizeof(SessionBody)) return "a session record is too short";
      is_session = true;
      break;
    case RecordType::kSessionClose:
      is_session = true;
      break;
    case RecordType::kClean:
      if (is_part_) return "a checkpoint holds a clean stop";
      slice->ends_clean = true;
      ++slice->records_by_type[header.type];
      ++slice->records;
      return nullptr;
    default:
      return "a record's type is unknown: another version wrote it";
  }
  if (lsn < redo_) return nullptr;  // the checkpoint has it
  ++slice->records_by_type[header.type];
  ++slice->records;
  if (is_session && header.shard == kNoShard) {
    for (uint32_t local = 0; local < slice->head.size(); ++local) chain(slice, local, record);
    return nullptr;
  }
  if (header.shard >= shard_count_ || header.shard % workers_ != worker_) {
    return "a record's shard does not belong to this log";
  }
  chain(slice, header.shard / workers_, record);
  return nullptr;
}

void Stream::chain(Slice* slice, uint32_t local, const std::byte* record) {
  const auto index = static_cast<uint32_t>(slice->entries.size());
  slice->entries.push_back({record, kChainEnd});
  if (slice->head[local] == kChainEnd) {
    slice->head[local] = index;
  } else {
    slice->entries[slice->tail[local]].next = index;
  }
  slice->tail[local] = index;
}

// ---- where it ends ----------------------------------------------------------------------------------------------

bool Stream::settle() {
  for (size_t i = 0; i < slice_count_; ++i) {
    const Slice& slice = slices_[current_][i];
    const size_t wrong = std::min(slice.bad_group, slice.wrong_group);
    if (clean_ || wrong != Slice::kNoGroup) {
      const Group& group = groups_found_[clean_ ? slice.first_group : wrong];
      if (!clean_ && slice.bad_group == wrong) return settle_torn(group, wrong + 1 == groups_found_.size());
      return fail(name_of(windows_[current_].segment) + " offset " + std::to_string(group.header.offset) + ": group " +
                  std::to_string(group.header.number) + " is whole, but " +
                  (clean_ ? "it follows a clean stop" : slice.wrong) +
                  ": start the program version that wrote it, and report this");
    }
    clean_ = slice.ends_clean;
    records_ += slice.records;
  }
  for (const Group& group : groups_found_) group_bytes_ += group.header.length;
  groups_ += groups_found_.size();
  return go_on();
}

// The group's header is whole, its records are not.
bool Stream::settle_torn(const Group& group, bool is_last) {
  LogPosition at{windows_[current_].segment, group.header.offset, group.header.number, group.header.first_lsn};
  if (end_.has_value()) return fail_damaged(at, "MANIFEST says that the log ends later");
  if (!is_last || after_ == After::kMore) {
    return fail_damaged(at, "group " + std::to_string(at.group + 1) + " follows, and one is in flight at a time");
  }
  for (const Group& whole : groups_found_) {
    if (whole.header.number == at.group) break;
    group_bytes_ += whole.header.length;
    ++groups_;
  }
  const Slice& slice = slices_[current_][slice_count_ - 1];
  records_ += slice.records;
  next_ = at;
  torn_header_whole_ = true;
  torn_length_ = group.header.length;
  finished_ = true;
  return true;
}

// Plans the next read, or ends.
bool Stream::go_on() {
  if (after_ == After::kEnd) {
    finished_ = true;
  } else if (after_ == After::kMore) {
    plan_read(next_.segment, next_.offset);
  } else if (entering_) {  // the segment behind was prepared, but the log did not reach it
    next_ = before_;
    finished_ = true;
  } else if (next_.segment < last_segment()) {
    before_ = next_;
    entering_ = true;
    plan_read(next_.segment + 1, kBlockBytes);
  } else {
    finished_ = true;
  }
  if (finished_ && end_.has_value() && next_ != *end_)
    return fail_damaged(next_, "MANIFEST says that the log ends later");
  return true;
}

}  // namespace txnic::log
