// SPDX-License-Identifier: BSD-3-Clause
// Values that tell whose they are: the first bytes are the record's number, so that a reader notices another record's
// value, or a cut one.
#pragma once

#include <algorithm>
#include <array>

#include "pktgen/workload/random.h"
#include "txn/limits.h"
#include "txn/types.h"

namespace txnic::pktgen {

class ValueMaker {
 public:
  explicit ValueMaker(uint32_t bytes = 40) : size_(bytes) {
    Random random(0x76616c7565);
    for (size_t i = 0; i + 8 <= buffer_.size(); i += 8) txnic::store(buffer_.data() + i, random.next());
  }
  uint32_t size() const { return size_; }
  // Valid until the next call.
  Bytes make(uint64_t record) {
    std::memcpy(buffer_.data(), &record, std::min<size_t>(size_, 8));
    return {buffer_.data(), size_};
  }
  bool matches(uint64_t record, Bytes value) const {
    return value.size() == size_ && std::memcmp(value.data(), &record, std::min<size_t>(size_, 8)) == 0;
  }

 private:
  uint32_t size_;
  std::array<std::byte, limits::kValueBytesMax> buffer_;
};

}  // namespace txnic::pktgen
