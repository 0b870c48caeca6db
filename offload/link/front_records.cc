// SPDX-License-Identifier: BSD-3-Clause
// The front's end: records to be appended (COMMIT 20: they are kept until the back has taken them, and sent again in
// their order before anything new), questions for keys, and the hashes of present keys.
#include <algorithm>
#include <cassert>

#include "offload/link/front_end.h"

namespace txnic::link {

std::byte* FrontEnd::reserve(uint32_t bytes) {
  assert(bytes % 8 == 0 && bytes <= limits::kLogRecordBytesMax);
  if (end_ + bytes - taken_ > config_.append_bytes || state_ != FrontState::kServing || is_releasing_) [[unlikely]] {
    ++front_counters_.append_full;
    return nullptr;
  }
  return ring_ + end_ % config_.append_bytes;
}

Lsn FrontEnd::append(uint32_t bytes) {
  const Lsn at = end_ % config_.append_bytes;
  // What runs on behind the ring's end stands at its beginning too, so that every position has one place.
  if (at + bytes > config_.append_bytes) [[unlikely]] {
    std::memcpy(ring_, ring_ + config_.append_bytes, at + bytes - config_.append_bytes);
  }
  ++front_counters_.records;
  front_counters_.record_bytes += bytes;
  return end_ += bytes;
}

void FrontEnd::rewind(TimeNs now) {
  front_counters_.repeated_bytes += sent_ - taken_;
  ++front_counters_.rewinds;
  sent_ = taken_;
  rewound_ns_ = now;
}

// The next piece of records. False: no room for it now.
bool FrontEnd::add_records(bool is_urgent) {
  const Lsn at = sent_ % config_.append_bytes;
  const auto rest = static_cast<uint32_t>(std::min<uint64_t>(end_ - sent_, config_.append_bytes - at));
  // Not crumbs at the end of a frame.
  constexpr uint32_t kCrumb = 64;
  if (body_room() < sizeof(PositionBody) + std::min(rest, kCrumb)) flush();
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(rest, (body_room() - sizeof(PositionBody)) & ~7ull));
  std::byte* const to = add(EntryType::kAppend, 0, 0, static_cast<uint32_t>(sizeof(PositionBody)) + bytes, is_urgent);
  if (to == nullptr) return false;
  store(to, PositionBody{sent_});
  std::memcpy(to + sizeof(PositionBody), ring_ + at, bytes);
  sent_ += bytes;
  return true;
}

void FrontEnd::send_records(TimeNs now) {
  bool is_urgent = false;
  if (durable_ != end_ && sent_ != durable_ && now >= append_due_ns_) {
    // Nothing was heard for a while: what is not taken goes once more; if all is, a question how far it is durable.
    append_wait_ns_ = std::min(append_wait_ns_ * 2, config_.repeat_max_ns);
    append_due_ns_ = now + append_wait_ns_;
    is_urgent = true;
    if (sent_ != taken_) {
      rewind(now);
    } else if (sent_ == end_) {
      add_body(EntryType::kAppend, 0, 0, PositionBody{end_}, true);
    }
  }
  const bool had_all = sent_ == durable_;
  while (sent_ != end_) {
    if (!add_records(is_urgent)) return;
    is_urgent = false;
    if (had_all) append_due_ns_ = now + append_wait_ns_;
  }
}

void FrontEnd::on_durable(const Entry& entry, TimeNs now) {
  const auto body = load<DurableBody>(entry.body.data());
  if (body.taken > end_ || body.durable > body.taken) {
    lose(Refusal::kMalformed);
    return;
  }
  if (body.taken < taken_ || (body.taken == taken_ && body.durable < durable_)) return;  // an older one
  store_full_ = (entry.flags & kStoreFull) != 0;
  if (body.taken != taken_ || body.durable != durable_) {
    append_wait_ns_ = config_.repeat_ns;
    append_due_ns_ = now + append_wait_ns_;
  }
  taken_ = body.taken;
  durable_ = body.durable;
  sent_ = std::max(sent_, taken_);
  const bool may_rewind = rewound_ns_ == 0 || now >= rewound_ns_ + limits::kLinkRewindPauseNanoseconds;
  if ((entry.flags & kGap) != 0 && sent_ != taken_ && may_rewind) rewind(now);
}

Lsn FrontEnd::ask(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length) {
  assert(key_length <= limits::kKeyBytesMax);
  if (asked_ - fetched_ == config_.fetches) [[unlikely]] {
    ++front_counters_.questions_full;
    return 0;
  }
  Asked& question = questions_[++asked_ & (config_.fetches - 1)];
  question.local_shard = static_cast<uint16_t>(local_shard);
  question.table = table;
  question.key_length = static_cast<uint8_t>(key_length);
  std::memcpy(question.key.data(), key, key_length);
  ++front_counters_.questions;
  return asked_;
}

void FrontEnd::send_questions(TimeNs now) {
  bool is_urgent = false;
  if (asked_sent_ != fetched_ && now >= fetch_due_ns_) {
    fetch_wait_ns_ = std::min(fetch_wait_ns_ * 2, config_.repeat_max_ns);
    front_counters_.repeated_questions += asked_sent_ - fetched_;
    asked_sent_ = fetched_;
    fetch_due_ns_ = now + fetch_wait_ns_;
    is_urgent = true;
  }
  const bool had_all = asked_sent_ == fetched_;
  while (asked_sent_ != asked_) {
    const Asked& question = questions_[(asked_sent_ + 1) & (config_.fetches - 1)];
    const uint32_t bytes = static_cast<uint32_t>(sizeof(FetchBody)) + question.key_length;
    std::byte* const to = add(EntryType::kFetch, 0, static_cast<uint32_t>(asked_sent_ + 1), bytes, is_urgent);
    if (to == nullptr) return;
    store(to, FetchBody{question.table, question.local_shard, question.key_length, {}});
    std::memcpy(to + sizeof(FetchBody), question.key.data(), question.key_length);
    ++asked_sent_;
    is_urgent = false;
    if (had_all) fetch_due_ns_ = now + fetch_wait_ns_;
  }
}

void FrontEnd::on_fetched(const Entry& entry, TimeNs now) {
  // The number's low half; what is without an answer is far less than its range.
  const auto ahead = static_cast<int32_t>(entry.number - static_cast<uint32_t>(fetched_));
  if (ahead <= 0) return;  // came already
  if (static_cast<uint32_t>(ahead) > asked_ - fetched_) {
    lose(Refusal::kMalformed);
    return;
  }
  if (ahead > 1) {  // one before it was lost: ask again at once
    if (refetched_ns_ != 0 && now < refetched_ns_ + limits::kLinkRewindPauseNanoseconds) return;
    refetched_ns_ = now;
    front_counters_.repeated_questions += asked_sent_ - fetched_;
    asked_sent_ = fetched_;
    return;
  }
  const Asked& asked = questions_[(fetched_ + 1) & (config_.fetches - 1)];
  const Question question{asked.local_shard, asked.table, asked.key_length, asked.key.data()};
  const Answer answer{(entry.flags & kPresent) != 0, load<FetchedBody>(entry.body.data()).version,
                      entry.body.subspan(sizeof(FetchedBody))};
  if (answer.value.size() > limits::kValueBytesMax) {
    lose(Refusal::kMalformed);
    return;
  }
  ++front_counters_.answers;
  ++fetched_;
  asked_sent_ = std::max(asked_sent_, fetched_);
  fetch_wait_ns_ = config_.repeat_ns;
  fetch_due_ns_ = now + fetch_wait_ns_;
  events_->on_fetched(fetched_, question, answer);
}

void FrontEnd::ask_fill(TimeNs now) {
  if (!is_filling_ || now < fill_due_ns_) return;
  FillBody body{};
  body.cursor = fill_cursor_;
  body.local_shard = static_cast<uint16_t>(fill_shard_);
  if (!add_body(EntryType::kFillAsk, 0, fill_number_ + 1, body, true)) return;
  fill_due_ns_ = now + config_.repeat_ns;
  // A question that is asked again gets an answer of its own: the shard may have changed in between.
  ++fill_number_;
  fill_parts_ = 0;
}

void FrontEnd::on_fill(const Entry& entry, TimeNs now) {
  const auto body = load<FillBody>(entry.body.data());
  if (!is_filling_ || entry.number != fill_number_) return;
  const Bytes rest = entry.body.subspan(sizeof body);
  if (rest.size() % 8 != 0 || body.part >= body.parts || body.parts > 64 || body.next <= body.cursor) {
    lose(Refusal::kMalformed);
    return;
  }
  const uint64_t bit = uint64_t{1} << body.part;
  if ((fill_parts_ & bit) != 0) return;  // came already
  std::array<uint64_t, limits::kLinkFrameBytesMax / 8> hashes;
  std::memcpy(hashes.data(), rest.data(), rest.size());
  events_->on_fill(fill_shard_, {hashes.data(), rest.size() / 8});
  fill_parts_ |= bit;
  if (fill_parts_ != ~uint64_t{0} >> (64 - body.parts)) return;
  ++fill_number_;  // it is answered
  fill_due_ns_ = now;
  fill_cursor_ = body.next;
  if (fill_cursor_ != kFillEnd) return;
  fill_cursor_ = 0;
  events_->on_fill_done(fill_shard_++);
  is_filling_ = fill_shard_ != config_.shards;
}

}  // namespace txnic::link
