// SPDX-License-Identifier: BSD-3-Clause
#include "host/log/worker_log.h"

#include <algorithm>

#include "host/log/keeper.h"

namespace txnic::log {
namespace {

uint32_t group_limit(const WorkerLogConfig& config, uint64_t segment_bytes) {
  // A group never spans segments, so the largest one must fit behind a head block.
  const uint64_t room = std::min<uint64_t>(segment_bytes - kBlockBytes, limits::kLogGroupBytesMax);
  const uint64_t wanted = std::max<uint64_t>(config.group_bytes / kBlockBytes * kBlockBytes, 2ull * kBlockBytes);
  return static_cast<uint32_t>(std::min(room, wanted));
}

}  // namespace

WorkerLog::WorkerLog(const WorkerLogConfig& config, Keeper* keeper, uint32_t incarnation)
    : gather_(&builders_[0]),
      limit_(group_limit(config, keeper->config().segment_bytes)),
      end_(kFirstLsn),
      durable_(kFirstLsn),
      config_(config),
      group_limit_(limit_),
      slot_(&keeper->slot(config.worker)) {
  assert(incarnation == keeper->incarnation());
  (void)incarnation;
  for (GroupBuilder& builder : builders_) builder.init(group_limit_);
  const bool have = slot_->ready.pop(&segment_);
  assert(have && "the keeper has been started and its first segment has not been taken");
  (void)have;
  next_.segment = segment_.number;
  slot_->durable.store(durable_, std::memory_order_release);
}

WorkerLog::~WorkerLog() {
  segment_.file.reset();  // waits for a write in flight, before its buffer goes
}

void WorkerLog::track_versions(std::span<const Version> current, std::span<Version> durable) {
  assert(current.size() == durable.size());
  current_versions_ = current;
  durable_versions_ = durable;
  sealed_versions_.assign(current.begin(), current.end());
}

std::byte* WorkerLog::refuse() {
  ++statistics_.full;
  if (state_ == LogState::kOpen) state_ = LogState::kFull;  // until the next group has gone
  return nullptr;
}

void WorkerLog::fail(Errno error) {
  state_ = LogState::kFailed;
  last_error_ = error;
  limit_ = 0;
  in_flight_ = false;
  wake_ns_ = kNever;
}

void WorkerLog::step(TimeNs now) {
  if (state_ == LogState::kFailed) return;
  if (in_flight_) {
    const WriteState write = segment_.file->poll();
    if (write == WriteState::kInFlight) {
      gather_->advance_checksum();
      seen_used_ = gather_->used();
      return;
    }
    if (write != WriteState::kDone) return fail(segment_.file->last_error());
    complete(now);
  }
  if (slot_->keeper_failed.load(std::memory_order_acquire)) return fail(0);
  if (closing_ && gather_->empty() && !clean_appended_ && limit_ != 0) append_clean();
  if (wants_group(now) && have_space(gather_->sealed_length())) return submit(now);
  gather_->advance_checksum();
}

void WorkerLog::complete(TimeNs now) {
  in_flight_ = false;
  durable_ = in_flight_end_;
  slot_->durable.store(durable_, std::memory_order_release);
  std::copy(sealed_versions_.begin(), sealed_versions_.end(), durable_versions_.begin());
  const TimeNs took = now - submitted_ns_;
  typical_write_ns_ += took / 16 - typical_write_ns_ / 16;
  gather_since_ns_ = 0;
  statistics_.in_flight_ns += took;
  statistics_.longest_write_ns = std::max(statistics_.longest_write_ns, took);
  if (clean_appended_ && gather_->empty()) closed_ = true;
  const bool is_mark = in_flight_records_ == 0;
  wake_ns_ = is_mark || config_.mark_delay_ns == 0 || closed_ ? kNever : now + config_.mark_delay_ns;
  if (closing_ && !closed_) wake_ns_ = 0;
}

// Whether the gathered records (or, when idle, an empty mark) should go now.
bool WorkerLog::wants_group(TimeNs now) {
  if (gather_->empty()) {
    if (now < wake_ns_ || closing_) return false;
    // A mark is not worth a new segment.
    if (next_.offset + kBlockBytes > segment_.bytes) wake_ns_ = kNever;
    return wake_ns_ != kNever;
  }
  if (closing_) return true;
  if (config_.durability != Durability::kAsync) return !is_filling(now);
  if (gather_since_ns_ == 0) gather_since_ns_ = std::max<TimeNs>(now, 1);
  return now - gather_since_ns_ >= config_.async_delay_ns || gather_->used() >= group_limit_ / 2;
}

// Mode sync: while requests stream in, a group that goes at once takes little along and the rest waits for its whole
// write. So it waits, as long as every poll finds more in it, until it is as large as the last one, but no longer than
// a write takes.
bool WorkerLog::is_filling(TimeNs now) {
  const uint32_t used = gather_->used();
  if (gather_since_ns_ == 0) gather_since_ns_ = std::max<TimeNs>(now, 1);
  const bool grows = used != seen_used_;
  seen_used_ = used;
  return grows && used < in_flight_length_ && used < group_limit_ / 2 && now - gather_since_ns_ < typical_write_ns_;
}

// Makes the current segment one with room for the group; false (and kFull) if the keeper has none ready.
bool WorkerLog::have_space(uint32_t length) {
  if (next_.offset + length <= segment_.bytes) return true;
  Segment fresh;
  if (!slot_->ready.pop(&fresh)) {
    // Records that are gathered already wait in the buffer; new ones are refused until a segment comes.
    limit_ = 0;
    state_ = LogState::kFull;
    return false;
  }
  const bool returned = slot_->retired.push(std::move(segment_));
  assert(returned && "the keeper prepares no more segments than the ring holds");
  (void)returned;
  segment_ = std::move(fresh);
  next_.segment = segment_.number;
  next_.offset = kBlockBytes;
  return true;
}

void WorkerLog::submit(TimeNs now) {
  GroupHeader identity{};
  identity.seed = segment_.seed;
  identity.offset = next_.offset;
  identity.number = next_.group;
  identity.first_lsn = next_.lsn;
  identity.synced_through = durable_;
  const uint32_t length = gather_->seal(identity);
  if (const Errno error = segment_.file->begin_write(next_.offset, gather_->data(), length); error != 0) {
    return fail(error);
  }
  in_flight_ = true;
  in_flight_end_ = end_;
  in_flight_records_ = gather_->records();
  in_flight_length_ = length;
  submitted_ns_ = now;
  gather_since_ns_ = 0;
  seen_used_ = 0;
  std::copy(current_versions_.begin(), current_versions_.end(), sealed_versions_.begin());

  statistics_.records += in_flight_records_;
  statistics_.record_bytes += gather_->payload_bytes();
  statistics_.groups += 1;
  statistics_.written_bytes += length;
  statistics_.group_bytes_max = std::max<uint64_t>(statistics_.group_bytes_max, length);
  slot_->written_bytes.store(statistics_.written_bytes, std::memory_order_relaxed);

  next_.offset += length;
  next_.group += 1;
  next_.lsn = end_;
  gather_ = gather_ == &builders_[0] ? &builders_[1] : &builders_[0];
  gather_->clear();
  limit_ = clean_appended_ ? 0 : group_limit_;
  state_ = LogState::kOpen;
}

void WorkerLog::append_clean() {
  RecordHeader header{};
  header.length = sizeof header;
  header.type = static_cast<uint8_t>(RecordType::kClean);
  header.shard = kNoShard;
  store(gather_->at(), header);
  append(sizeof header);
  clean_appended_ = true;
}

}  // namespace txnic::log
