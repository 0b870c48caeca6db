// SPDX-License-Identifier: BSD-3-Clause
// One gathering buffer: room for a header, then records one behind the other, sealed into a group in place (the
// buffer is what is written: nothing is copied). Used by WorkerLog and CheckpointWriter.
#pragma once

#include <cassert>

#include "host/log/buffer.h"
#include "host/log/format.h"

namespace txnic::log {

class GroupBuilder {
 public:
  // `bytes`: the largest group, header included; a multiple of the block.
  void init(uint32_t bytes) { memory_ = AlignedBuffer(bytes); }

  // Bytes used, header included: what is compared with a limit before add().
  uint32_t used() const { return used_; }
  std::byte* at() { return memory_.data() + used_; }
  void add(uint32_t bytes) {
    used_ += bytes;
    ++records_;
  }
  bool empty() const { return used_ == sizeof(GroupHeader); }
  uint32_t payload_bytes() const { return used_ - static_cast<uint32_t>(sizeof(GroupHeader)); }
  uint32_t records() const { return records_; }
  uint32_t sealed_length() const { return round_to_block(used_); }
  uint32_t capacity() const { return static_cast<uint32_t>(memory_.size()); }

  // Takes what was added so far into the checksum, if it is worth a call: records are still in the cache now, and
  // the step at seal() stays short.
  void advance_checksum() {
    if (used_ - checked_ >= kChecksumStepBytes) checksum_to_end();
  }

  // Completes the group; `identity` gives seed, offset, number, first_lsn and synced_through. Answers its length.
  uint32_t seal(GroupHeader identity) {
    checksum_to_end();
    const uint32_t length = sealed_length();
    assert(length <= memory_.size());
    std::memset(memory_.data() + used_, 0, length - used_);
    identity.length = length;
    identity.record_count = records_;
    identity.payload_bytes = payload_bytes();
    identity.payload_crc = crc_;
    write_group_header(identity, memory_.data());
    return length;
  }
  const std::byte* data() const { return memory_.data(); }

  void clear() {
    used_ = checked_ = sizeof(GroupHeader);
    records_ = 0;
    crc_ = 0;
  }

 private:
  static constexpr uint32_t kChecksumStepBytes = 4096;
  void checksum_to_end() {
    crc_ = crc32c(crc_, memory_.data() + checked_, used_ - checked_);
    checked_ = used_;
  }

  AlignedBuffer memory_;
  uint32_t used_ = sizeof(GroupHeader);
  uint32_t checked_ = sizeof(GroupHeader);  // the checksum covers the records up to here
  uint32_t records_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace txnic::log
