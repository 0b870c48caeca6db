// SPDX-License-Identifier: BSD-3-Clause
// One log (or checkpoint part) as recovery reads it: windows of whole groups, one after the other, through its
// segments. It also judges where the log ends: at a torn tail, or at damage.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/log/buffer.h"
#include "host/log/disk.h"
#include "host/log/format.h"
#include "host/log/manifest.h"
#include "txn/record/record.h"

namespace txnic::log {

// A record of a window, in a chain of the records of the same shard.
struct ChainEntry {
  const std::byte* record;
  uint32_t next;  // index of the shard's next record in the slice; kChainEnd: none
};
inline constexpr uint32_t kChainEnd = 0xffffffff;

struct Group {
  const std::byte* at;  // its header, in the window
  GroupHeader header;
};

// Some consecutive groups of a window: the unit of verification.
struct Slice {
  size_t first_group = 0;
  size_t group_count = 0;
  std::vector<ChainEntry> entries;
  std::vector<uint32_t> head, tail;  // per local shard of the stream: index into entries
  uint64_t records = 0;
  uint64_t records_by_type[kRecordTypeCount] = {};
  bool ends_clean = false;        // the last record is kClean
  size_t bad_group = kNoGroup;    // first group whose records do not match their checksum
  size_t wrong_group = kNoGroup;  // first group that is whole but does not make sense …
  const char* wrong = nullptr;    // … and why
  static constexpr size_t kNoGroup = ~size_t{0};
};

using FileSizes = std::map<std::string, uint64_t>;

class Stream {
 public:
  // What is to be read: a log entry of the manifest, or a part of its checkpoint.
  Stream(Disk& disk, const Manifest& manifest, const LogEntry& log);
  Stream(Disk& disk, const Manifest& manifest, const PartEntry& part);

  // Checks the files and their heads. False: error().
  bool open(const FileSizes& sizes);
  void allocate(size_t window_bytes);  // two windows; at least kLogGroupBytesMax each
  void release();

  // The steps, until finished(): read the next window, walk its groups, verify its slices, settle. After settle() the
  // window's records may be replayed while the next one is read: there are two buffers.
  bool finished() const { return finished_; }
  size_t read_pieces() const;
  void read(size_t piece);                   // any thread
  bool walk();                               // false: error()
  void clear_window() { slice_count_ = 0; }  // its records have been replayed
  size_t slice_count() const { return slice_count_; }
  void verify(size_t slice);  // any thread
  bool settle();              // false: error()
  const Slice& slice(size_t index) const { return slices_[current_][index]; }
  Slice& slice(size_t index) { return slices_[current_][index]; }

  // Looks for a group behind the end of the log: there must be none. Once it is finished; false: error().
  // `parallel(count, body)` spreads the reading.
  template <class Parallel>
  bool check_tail(const Parallel& parallel);

  uint32_t local_shards() const;
  ShardId global_shard(uint32_t local) const { return static_cast<ShardId>(local * workers_ + worker_); }
  uint32_t incarnation() const { return incarnation_; }
  uint32_t worker() const { return worker_; }
  uint32_t workers() const { return workers_; }
  bool is_part() const { return is_part_; }

  const std::string& error() const { return error_; }
  std::string place() const;                             // of the window that was walked last, for messages
  const LogPosition& position() const { return next_; }  // once it is finished: the end
  bool clean() const { return clean_; }
  uint64_t total_bytes() const { return total_bytes_; }  // to be read, about
  // Bytes of the groups that have been settled since the last call.
  uint64_t take_window_bytes() {
    const uint64_t bytes = group_bytes_ - taken_bytes_;
    taken_bytes_ = group_bytes_;
    return bytes;
  }
  uint64_t groups() const { return groups_; }
  uint64_t group_bytes() const { return group_bytes_; }
  uint64_t records() const { return records_; }
  const std::string& torn_tail() const { return torn_tail_; }
  uint64_t torn_tail_bytes() const { return torn_tail_bytes_; }

 private:
  struct File {
    std::string name;
    uint64_t bytes = 0;
    FileHead head{};
  };
  struct Window {
    AlignedBuffer memory;
    uint64_t segment = 0;
    uint64_t offset = 0;
    size_t bytes = 0;
  };
  // What follows the groups that walk() found.
  enum class After : uint8_t { kMore, kNothing, kEnd };
  struct TailPiece {
    uint64_t segment = 0, offset = 0;
    size_t bytes = 0;
    bool looks_for_data = false;
    uint64_t group_at = 0;  // a group header was found here; 0: none
    uint64_t group_number = 0;
    uint64_t data_end = 0;  // behind the last block that is not zero; 0: none
    Errno error = 0;
  };

  File& file(uint64_t segment) { return files_[segment - start_.segment]; }
  uint64_t last_segment() const { return start_.segment + files_.size() - 1; }
  std::string name_of(uint64_t segment) const;
  bool open_file(uint64_t segment, const FileSizes& sizes);
  void plan_read(uint64_t segment, uint64_t offset);
  After walk_groups(const Window& window, bool* ok);
  bool is_end(const LogPosition& here) const;
  void cut_slices();
  const char* verify_group(Slice* slice, const Group& group);
  const char* verify_record(Slice* slice, const std::byte* record, uint32_t room, Lsn lsn);
  bool settle_torn(const Group& group, bool is_last);
  bool go_on();
  void chain(Slice* slice, uint32_t local, const std::byte* record);
  bool fail(std::string text);
  bool fail_damaged(const LogPosition& at, const std::string& proof);
  std::vector<TailPiece> tail_pieces() const;
  size_t tail_piece_bytes() const;
  size_t tail_batch() const;  // pieces that there is memory for
  std::byte* tail_memory(size_t place);
  void scan_tail(TailPiece* piece, std::byte* memory);
  bool judge_tail(const std::vector<TailPiece>& pieces);

  Disk& disk_;
  const uint32_t shard_count_;
  const bool is_part_;
  const uint32_t incarnation_, worker_, workers_;
  const uint64_t generation_;
  const LogPosition start_;
  const Lsn redo_;
  const uint64_t prepared_;
  const std::optional<LogPosition> end_;
  std::vector<File> files_;  // of segments start_.segment and up
  uint64_t total_bytes_ = 0;

  LogPosition next_;       // of the next group to be walked
  LogPosition before_;     // entering_: where the log ends if it has not reached this segment
  bool entering_ = false;  // the window to be walked is the first one of a segment
  After after_ = After::kMore;
  Window windows_[2];
  int current_ = 0;  // whose groups were walked last; the other one is read
  std::vector<Errno> read_errors_;
  std::vector<Group> groups_found_;
  std::vector<Slice> slices_[2];
  size_t slice_count_ = 0;
  bool finished_ = false;
  bool clean_ = false;
  bool torn_header_whole_ = false;
  uint32_t torn_length_ = 0;
  uint64_t groups_ = 0, group_bytes_ = 0, taken_bytes_ = 0, records_ = 0;
  std::string torn_tail_;
  uint64_t torn_tail_bytes_ = 0;
  std::string error_;
};

template <class Parallel>
bool Stream::check_tail(const Parallel& parallel) {
  if (end_.has_value() || clean_ || files_.empty()) return true;
  std::vector<TailPiece> pieces = tail_pieces();
  for (size_t first = 0; first < pieces.size(); first += tail_batch()) {
    parallel(std::min(tail_batch(), pieces.size() - first),
             [&](size_t place) { scan_tail(&pieces[first + place], tail_memory(place)); });
  }
  return judge_tail(pieces);
}

}  // namespace txnic::log
