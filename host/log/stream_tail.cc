// SPDX-License-Identifier: BSD-3-Clause
// What lies behind the end of a log: nothing, a torn tail, or a group that proves the one before it damaged.
#include <algorithm>
#include <cerrno>

#include "host/log/stream.h"

namespace txnic::log {
namespace {
constexpr size_t kPieceBytes = 2u << 20;
}

size_t Stream::tail_piece_bytes() const { return std::min(kPieceBytes, windows_[0].memory.size()); }

std::vector<Stream::TailPiece> Stream::tail_pieces() const {
  std::vector<TailPiece> pieces;
  for (size_t i = next_.segment - start_.segment; i < files_.size(); ++i) {
    const uint64_t segment = start_.segment + i;
    const uint64_t from = segment == next_.segment ? next_.offset : kBlockBytes;
    // A torn group's data can be no further away than a group is long.
    const uint64_t data_below = from + limits::kLogGroupBytesMax;
    for (uint64_t offset = from; offset < files_[i].bytes; offset += tail_piece_bytes()) {
      TailPiece piece;
      piece.segment = segment;
      piece.offset = offset;
      piece.bytes = std::min<uint64_t>(tail_piece_bytes(), files_[i].bytes - offset);
      piece.looks_for_data = offset < data_below;
      pieces.push_back(piece);
    }
  }
  return pieces;
}

// Where the batch's piece is read to: the windows are free now.
std::byte* Stream::tail_memory(size_t place) {
  const size_t each = windows_[0].memory.size() / tail_piece_bytes();
  return windows_[place / each].memory.data() + place % each * tail_piece_bytes();
}

size_t Stream::tail_batch() const { return 2 * (windows_[0].memory.size() / tail_piece_bytes()); }

void Stream::scan_tail(TailPiece* piece, std::byte* memory) {
  const File& from = file(piece->segment);
  size_t got = 0;
  piece->error = disk_.read(from.name, piece->offset, MutableBytes(memory, piece->bytes), &got);
  if (piece->error == 0 && got != piece->bytes) piece->error = EIO;
  if (piece->error != 0) return;
  for (size_t at = 0; at < piece->bytes; at += kBlockBytes) {
    GroupHeader header{};
    const std::byte* block = memory + at;
    const uint64_t offset = piece->offset + at;
    // The very group that was expected proves nothing: a killed process may have had it in flight until now.
    const bool expected_here = (piece->segment == next_.segment && offset == next_.offset) ||
                               (piece->segment == next_.segment + 1 && offset == kBlockBytes);
    if (piece->group_at == 0 && read_group_header(block, from.head.seed, offset, &header) &&
        !(expected_here && header.number == next_.group)) {
      piece->group_at = offset;
      piece->group_number = header.number;
    }
    // Zero is: the first byte is, and each equals the next.
    if (piece->looks_for_data && (block[0] != std::byte{0} || std::memcmp(block, block + 1, kBlockBytes - 1) != 0)) {
      piece->data_end = offset + kBlockBytes;
    }
  }
}

bool Stream::judge_tail(const std::vector<TailPiece>& pieces) {
  for (const TailPiece& piece : pieces) {
    if (piece.error != 0) {
      return fail(name_of(piece.segment) + " offset " + std::to_string(piece.offset) + ": cannot be read (" +
                  errno_text(piece.error) + "): check the disk");
    }
    if (piece.group_at != 0) {
      return fail_damaged(next_, "group " + std::to_string(piece.group_number) + " follows at " +
                                     name_of(piece.segment) + " offset " + std::to_string(piece.group_at));
    }
  }
  const std::string here = name_of(next_.segment) + " offset " + std::to_string(next_.offset);
  if (torn_header_whole_) {
    torn_tail_ = here;
    torn_tail_bytes_ = torn_length_;
    return true;
  }
  for (const TailPiece& piece : pieces) {
    if (piece.data_end == 0) continue;
    const uint64_t from = piece.segment == next_.segment ? next_.offset : kBlockBytes;
    if (file(piece.segment).head.recycled != 0) {
      if (piece.segment == next_.segment && torn_tail_.empty()) {
        torn_tail_ = here + " (a recycled segment: older data follows, so what was cut cannot be told)";
      }
      continue;
    }
    torn_tail_ = name_of(piece.segment) + " offset " + std::to_string(from);
    torn_tail_bytes_ = piece.data_end - from;
  }
  return true;
}

}  // namespace txnic::log
