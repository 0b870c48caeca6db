// SPDX-License-Identifier: BSD-3-Clause
// Puts records together again from pieces of their stream. A record that lies whole in one piece is not copied.
#pragma once

#include <algorithm>

#include "txn/record/record.h"

namespace txnic::link {

class RecordReader {
 public:
  static constexpr uint32_t kMemoryBytes = limits::kLogRecordBytesMax;

  enum class Result : uint8_t {
    kAll,        // the piece is used up
    kStopped,    // take() wanted no more: that record and everything behind it are forgotten
    kMalformed,  // what should be a record's header is none
  };

  // `memory`: kMemoryBytes, outlives this.
  void init(std::byte* memory) { memory_ = memory, used_ = 0; }

  // What is pending is dropped.
  void forget() { used_ = 0; }
  // Bytes of a record that is not whole yet.
  uint32_t pending() const { return used_; }

  // The next bytes of the stream, a multiple of 8. Calls take(Bytes record), which answers whether it has taken it, for
  // each record that is whole.
  template <class Take>
  Result feed(Bytes piece, Take&& take) {
    while (!piece.empty()) {
      const uint32_t length = load<uint32_t>(used_ == 0 ? piece.data() : memory_);
      if (length < sizeof(log::RecordHeader) || length % 8 != 0 || length > limits::kLogRecordBytesMax) {
        return Result::kMalformed;
      }
      if (used_ == 0 && length <= piece.size()) {
        if (!take(piece.first(length))) return Result::kStopped;
        piece = piece.subspan(length);
        continue;
      }
      const auto bytes = static_cast<uint32_t>(std::min<size_t>(length - used_, piece.size()));
      std::memcpy(memory_ + used_, piece.data(), bytes);
      used_ += bytes;
      piece = piece.subspan(bytes);
      if (used_ < length) continue;
      used_ = 0;
      if (!take(Bytes(memory_, length))) return Result::kStopped;
    }
    return Result::kAll;
  }

 private:
  std::byte* memory_ = nullptr;
  uint32_t used_ = 0;
};

}  // namespace txnic::link
