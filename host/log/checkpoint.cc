// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/checkpoint.h"

namespace txnic::log {

void CheckpointWriter::init(uint32_t buffer_bytes) {
  buffer_bytes_ = buffer_bytes;
  for (GroupBuilder& builder : builders_) builder.init(buffer_bytes);
}

void CheckpointWriter::offer(std::unique_ptr<LogFile> file, uint64_t seed) {
  file_ = std::move(file);
  for (GroupBuilder& builder : builders_) builder.clear();
  gather_ = &builders_[0];
  in_flight_ = finished_ = false;
  error_ = 0;
  seed_ = seed;
  next_ = LogPosition{};
  records_ = 0;
  abandoned_.store(false, std::memory_order_relaxed);
  state_.store(State::kOffered, std::memory_order_release);
}

bool CheckpointWriter::begin(const LogPosition& start, Lsn redo) {
  State expected = State::kOffered;
  if (!state_.compare_exchange_strong(expected, State::kWriting, std::memory_order_acq_rel)) return false;
  start_ = start;
  redo_ = redo;
  return true;
}

std::byte* CheckpointWriter::reserve(uint32_t bytes) {
  assert(bytes % 8 == 0 && bytes <= limits::kLogRecordBytesMax);
  if (state() == State::kWriting && gather_->used() + bytes > buffer_bytes_) poll();
  if (state() != State::kWriting) return nullptr;  // it has failed, and is no longer the worker's
  assert(!finished_);
  return gather_->used() + bytes <= buffer_bytes_ ? gather_->at() : nullptr;
}

void CheckpointWriter::finish(Lsn log_end) {
  log_end_ = log_end;
  finished_ = true;
  poll();
}

void CheckpointWriter::poll() {
  if (state() != State::kWriting) return;
  if (in_flight_) {
    const WriteState write = file_->poll();
    if (write == WriteState::kInFlight) {
      gather_->advance_checksum();
      return;
    }
    in_flight_ = false;
    if (write != WriteState::kDone) return fail(file_->last_error());
  }
  if (abandoned_.load(std::memory_order_relaxed)) return fail(ECANCELED);
  gather_->advance_checksum();
  const bool full = buffer_bytes_ - gather_->used() < limits::kLogRecordBytesMax;
  if (full || (finished_ && !gather_->empty())) {
    (void)submit();
  } else if (finished_) {
    state_.store(State::kDurable, std::memory_order_release);
  }
}

bool CheckpointWriter::submit() {
  GroupHeader identity{};
  identity.seed = seed_;
  identity.offset = next_.offset;
  identity.number = next_.group;
  identity.first_lsn = next_.lsn;
  identity.synced_through = next_.lsn;
  const uint32_t length = gather_->seal(identity);
  if (const Errno error = file_->begin_write(next_.offset, gather_->data(), length); error != 0) {
    fail(error);
    return false;
  }
  in_flight_ = true;
  next_.offset += length;
  next_.group += 1;
  next_.lsn += gather_->payload_bytes();
  records_ += gather_->records();
  gather_ = gather_ == &builders_[0] ? &builders_[1] : &builders_[0];
  gather_->clear();
  return true;
}

void CheckpointWriter::fail(Errno error) {
  error_ = error;
  state_.store(State::kFailed, std::memory_order_release);
}

}  // namespace txnic::log
