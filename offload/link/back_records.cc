// SPDX-License-Identifier: BSD-3-Clause
// The back's end: records, questions, what was kept, hashes of present keys.
#include <algorithm>

#include "offload/link/back_end.h"

namespace txnic::link {

// So that the cache misses of a frame's entries overlap.
void BackEnd::prefetch(Bytes frame, const FrameHeader& header) {
  constexpr uint32_t kWorthIt = 256;  // bytes: less is one or two small entries
  if (header.length < kWorthIt) return;
  for (const auto stage : {BackEvents::Stage::kPlaces, BackEvents::Stage::kThings}) {
    EntryReader reader(frame, header);
    Question question;
    for (Entry entry; reader.next(&entry);) {
      if (entry.type == EntryType::kFetch && read_question(entry, &question)) {
        events_->prefetch_question(question, stage);
      }
      // A piece that begins with a record; nearly all do, one in a frame.
      if (entry.type != EntryType::kAppend || records_.pending() != 0 ||
          load<PositionBody>(entry.body.data()).position != taken_) {
        continue;
      }
      Bytes piece = entry.body.subspan(sizeof(PositionBody));
      while (piece.size() >= sizeof(log::RecordHeader)) {
        const uint32_t length = load<uint32_t>(piece.data());
        if (length < sizeof(log::RecordHeader) || length > piece.size()) break;
        events_->prefetch_record(piece.first(length), stage);
        piece = piece.subspan(length);
      }
    }
  }
}

bool BackEnd::read_question(const Entry& entry, Question* question) const {
  const auto body = load<FetchBody>(entry.body.data());
  *question = {body.local_shard, body.table, body.key_length, entry.body.data() + sizeof body};
  return body.local_shard < config_.shards && body.key_length != 0 && body.key_length <= limits::kKeyBytesMax &&
         entry.body.size() >= sizeof body + body.key_length;
}

void BackEnd::on_append(const Entry& entry) {
  const Lsn position = load<PositionBody>(entry.body.data()).position;
  Bytes piece = entry.body.subspan(sizeof(PositionBody));
  const Lsn next = taken_ + records_.pending();
  durable_due_ = true;
  if (piece.size() % 8 != 0 || position % 8 != 0) return malformed();
  if (position > next) {
    gap_ = !put_off_;
    back_counters_.gaps += gap_;
    return;
  }
  const Lsn seen = next - position;
  if (seen != 0) ++back_counters_.repeated;
  if (seen >= piece.size()) return;
  piece = piece.subspan(seen);
  bool makes_sense = true;
  const RecordReader::Result result = records_.feed(piece, [&](Bytes record) {
    const Taken taken = events_->on_record(record);
    makes_sense = taken != Taken::kMalformed;
    put_off_ = taken == Taken::kLater;
    back_counters_.put_off += put_off_;
    if (taken != Taken::kYes) return false;
    taken_ += record.size();
    ++back_counters_.records;
    back_counters_.record_bytes += record.size();
    return true;
  });
  if (result == RecordReader::Result::kMalformed || !makes_sense) {
    records_.forget();
    malformed();
  }
}

void BackEnd::on_fetch(const Entry& entry) {
  Question question;
  if (!read_question(entry, &question)) return malformed();
  ++back_counters_.questions;
  const Answer answer = events_->on_question(question);
  const auto bytes = static_cast<uint32_t>(sizeof(FetchedBody) + answer.value.size());
  std::byte* const to = add(EntryType::kFetched, answer.is_present ? kPresent : uint8_t{0}, entry.number, bytes, false);
  if (to == nullptr) {
    ++back_counters_.answers_lost;
    return;
  }
  store(to, FetchedBody{answer.version});
  if (!answer.value.empty()) std::memcpy(to + sizeof(FetchedBody), answer.value.data(), answer.value.size());
}

// From the position asked for to the end of the piece of what is kept that is in memory; the next piece when that one
// has come to the other end.
void BackEnd::on_mirror_ask(const Entry& entry) {
  const Lsn position = load<PositionBody>(entry.body.data()).position;
  if (position == kept_start_ + kept_bytes_ && !kept_last_) {
    kept_start_ = position;
    kept_bytes_ = events_->kept({kept_, kKeptBytes}, !kept_began_);
    kept_began_ = true;
    kept_last_ = kept_bytes_ == 0;
  }
  const Lsn end = kept_start_ + kept_bytes_;
  if (position < kept_start_ || position > end) return;  // asked late
  Lsn at = position;
  do {
    constexpr auto kFixed = static_cast<uint32_t>(sizeof(PositionBody));
    if (body_room() < kFixed + 64) flush();
    const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(end - at, (body_room() - kFixed) & ~7ull));
    const bool is_end = at + bytes == end;
    const auto flags = static_cast<uint8_t>((is_end ? kEndOfAnswer : 0) | (is_end && kept_last_ ? kLastPiece : 0));
    std::byte* const to = add(EntryType::kMirror, flags, 0, kFixed + bytes, true);
    if (to == nullptr) return;
    store(to, PositionBody{at});
    std::memcpy(to + kFixed, kept_ + (at - kept_start_), bytes);
    at += bytes;
  } while (at != end);
}

void BackEnd::on_fill_ask(const Entry& entry) {
  auto body = load<FillBody>(entry.body.data());
  if (body.local_shard >= config_.shards || body.cursor == kFillEnd) return malformed();
  const uint32_t count = events_->hashes(body.local_shard, body.cursor, {hashes_, BackEvents::kFillStep}, &body.next);
  // The answer's parts are of equal size, each with a frame of its own. They are few and need no credit: with a small
  // window the last one would never come.
  flush();
  const auto per_part = static_cast<uint32_t>((body_room() - sizeof body) / 8);
  body.parts = static_cast<uint16_t>(std::max(1u, (count + per_part - 1) / per_part));
  for (body.part = 0; body.part < body.parts; ++body.part) {
    const uint32_t first = body.part * per_part;
    const uint32_t here = std::min(per_part, count - first);
    std::byte* const to = add(EntryType::kFill, 0, entry.number, static_cast<uint32_t>(sizeof body) + here * 8, true);
    if (to == nullptr) return;
    store(to, body);
    std::memcpy(to + sizeof body, hashes_ + first, here * 8);
  }
}

void BackEnd::on_release(const Entry& entry) {
  const Lsn position = load<PositionBody>(entry.body.data()).position;
  if (position != taken_) return;  // not all has come: it asks again
  add_body(EntryType::kReleased, 0, 0, PositionBody{position}, true);
  flush();
  ++back_counters_.released;
  front_until_ns_ = 0;
  expel();
}

}  // namespace txnic::link
