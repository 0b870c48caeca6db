// SPDX-License-Identifier: BSD-3-Clause
// The front's end: its life from hello to the end, leases, and what the back has kept.
#include "offload/link/front_end.h"

#include <algorithm>
#include <cassert>

namespace txnic::link {

const char* name(FrontState state) {
  switch (state) {
    case FrontState::kGreeting:
      return "GREETING";
    case FrontState::kReading:
      return "READING";
    case FrontState::kReady:
      return "READY";
    case FrontState::kServing:
      return "SERVING";
    case FrontState::kLost:
      return "LOST";
  }
  return "?";
}

size_t FrontEnd::memory_bytes(const FrontEndConfig& config) {
  return align64(config.append_bytes + limits::kLogRecordBytesMax) + align64(RecordReader::kMemoryBytes) +
         align64(config.fetches * sizeof(Asked));
}

void FrontEnd::init(const FrontEndConfig& config, MutableBytes memory, FramePort* port, FrontEvents* events) {
  assert(memory.size() >= memory_bytes(config) && config.instance != 0 && config.append_bytes % 8 == 0);
  assert((config.fetches & (config.fetches - 1)) == 0 && config.append_bytes >= limits::kLogRecordBytesMax);
  *this = FrontEnd();
  Channel::init(Sender::kFront, config.worker, config.window, port);
  config_ = config;
  config_.frame_bytes = std::min(config.frame_bytes, limits::kLinkFrameBytesMax);
  events_ = events;
  ring_ = memory.data();
  std::byte* const behind = ring_ + align64(config.append_bytes + limits::kLogRecordBytesMax);
  kept_.init(behind);
  questions_ = reinterpret_cast<Asked*>(behind + align64(RecordReader::kMemoryBytes));
  append_wait_ns_ = fetch_wait_ns_ = config.repeat_ns;
}

void FrontEnd::on_frame(Bytes frame, TimeNs now) {
  FrameHeader header;
  const uint64_t other_version = counters_.other_version;
  if (!accept(frame, &header)) {
    if (state_ == FrontState::kGreeting && counters_.other_version != other_version) why_ = Refusal::kVersion;
    return;
  }
  if (state_ == FrontState::kLost) return;
  if (state_ == FrontState::kGreeting || header.epoch == 0) {
    greet(header, frame, now);
    return;
  }
  if (header.epoch != epoch()) {
    ++counters_.other_epoch;
    return;
  }
  take_header(header);
  EntryReader reader(frame, header);
  Entry entry;
  while (state_ != FrontState::kLost && reader.next(&entry)) on_entry(entry, now);
  if (!reader.is_malformed() || state_ == FrontState::kLost) return;
  ++counters_.malformed;
  lose(Refusal::kMalformed);
}

// A frame while nothing is agreed about, or of no epoch: a welcome or a refusal, if it is meant for this front.
void FrontEnd::greet(const FrameHeader& header, Bytes frame, TimeNs now) {
  EntryReader reader(frame, header);
  Entry entry;
  while (reader.next(&entry)) {
    if (entry.type == EntryType::kRefused) on_refused(entry);
    if (state_ == FrontState::kGreeting && entry.type == EntryType::kWelcome && header.epoch != 0) {
      on_welcome(header, entry, now);
    }
  }
  if (reader.is_malformed()) ++counters_.malformed;
}

void FrontEnd::on_welcome(const FrameHeader& header, const Entry& entry, TimeNs now) {
  const auto body = load<WelcomeBody>(entry.body.data());
  if (body.instance != config_.instance) return;
  if (body.frame_bytes < limits::kLinkFrameBytesMin || body.frame_bytes > config_.frame_bytes || body.lease_ns == 0) {
    ++counters_.malformed;
    return;
  }
  begin_epoch(header.epoch);
  take_header(header);
  set_frame_bytes(body.frame_bytes);
  incarnation_ = body.incarnation;
  lease_ns_ = body.lease_ns;
  why_ = Refusal::kNone;
  state_ = FrontState::kReading;
  mirror_due_ns_ = lease_due_ns_ = now;
}

void FrontEnd::on_refused(const Entry& entry) {
  const auto body = load<RefusedBody>(entry.body.data());
  const bool greeted = state_ == FrontState::kGreeting && body.instance == config_.instance;
  const bool is_over = state_ != FrontState::kGreeting && body.epoch == epoch();
  if ((!greeted && !is_over) || body.refusal >= kRefusalCount) return;
  ++front_counters_.refused;
  refused_ = body;
  why_ = static_cast<Refusal>(body.refusal);
  if (is_over) lose(why_);
}

void FrontEnd::on_entry(const Entry& entry, TimeNs now) {
  switch (entry.type) {
    case EntryType::kDurable:
      return on_durable(entry, now);
    case EntryType::kFetched:
      return on_fetched(entry, now);
    case EntryType::kMirror:
      return on_mirror(entry, now);
    case EntryType::kFill:
      return on_fill(entry, now);
    case EntryType::kLease:
      return on_lease(entry, now);
    case EntryType::kReleased:
      if (is_releasing_ && load<PositionBody>(entry.body.data()).position == end_) lose(Refusal::kNone);
      return;
    default:
      return;  // a second welcome; nothing else comes from a back
  }
}

uint32_t FrontEnd::poll(TimeNs now) {
  const uint64_t before = counters_.frames_sent;
  switch (state_) {
    case FrontState::kGreeting:
      say_hello(now);
      break;
    case FrontState::kReading:
      ask_lease(now);
      ask_mirror(now);
      break;
    case FrontState::kReady:
      ask_lease(now);
      break;
    case FrontState::kServing:
      ask_lease(now);
      send_records(now);
      send_questions(now);
      ask_fill(now);
      send_release(now);
      break;
    case FrontState::kLost:
      return 0;
  }
  flush();
  return static_cast<uint32_t>(counters_.frames_sent - before);
}

void FrontEnd::say_hello(TimeNs now) {
  if (now < hello_due_ns_) return;
  hello_due_ns_ = now + limits::kLinkHelloNanoseconds;
  ++front_counters_.hellos;
  HelloBody body{};
  body.instance = config_.instance;
  body.configuration_hash = config_.configuration_hash;
  body.build = config_.build;
  body.frame_bytes = config_.frame_bytes;
  send_alone(EntryType::kHello, body);
}

void FrontEnd::ask_lease(TimeNs now) {
  if (now < lease_due_ns_) return;
  const bool sent = add_body(EntryType::kLeaseAsk, 0, lease_number_ + 1, LeaseBody{}, true);
  if (!sent) return;
  ++lease_number_;
  lease_sent_ns_[lease_number_ % kLeaseQuestions] = now;
  // Three may be lost before the lease ends.
  lease_due_ns_ = now + lease_ns_ / 4;
}

void FrontEnd::on_lease(const Entry& entry, TimeNs now) {
  const uint32_t age = lease_number_ - entry.number;
  if (age >= kLeaseQuestions || entry.number == 0) return;  // too old to know when it was asked for
  const TimeNs end = lease_sent_ns_[entry.number % kLeaseQuestions] + load<LeaseBody>(entry.body.data()).duration_ns;
  if (end <= lease_end_ns_) return;
  if (lease_end_ns_ != 0 && now >= lease_end_ns_) ++front_counters_.lease_gaps;
  ++front_counters_.leases;
  lease_end_ns_ = end;
}

void FrontEnd::ask_mirror(TimeNs now) {
  if (now < mirror_due_ns_) return;
  if (add_body(EntryType::kMirrorAsk, 0, 0, PositionBody{mirror_}, true)) mirror_due_ns_ = now + config_.repeat_ns;
}

void FrontEnd::on_mirror(const Entry& entry, TimeNs now) {
  if (state_ != FrontState::kReading || load<PositionBody>(entry.body.data()).position != mirror_) return;
  const Bytes piece = entry.body.subspan(sizeof(PositionBody));
  bool makes_sense = piece.size() % 8 == 0;
  if (makes_sense) {
    const auto result = kept_.feed(piece, [this](Bytes record) { return events_->on_kept(record); });
    makes_sense = result == RecordReader::Result::kAll;
  }
  const bool is_last = (entry.flags & kLastPiece) != 0;
  if (!makes_sense || (is_last && kept_.pending() != 0)) {
    lose(Refusal::kMalformed);
    return;
  }
  mirror_ += piece.size();
  if ((entry.flags & kEndOfAnswer) != 0) mirror_due_ns_ = now;
  if (is_last) state_ = FrontState::kReady;
}

void FrontEnd::serve() {
  assert(state_ == FrontState::kReady);
  state_ = FrontState::kServing;
}

void FrontEnd::send_release(TimeNs now) {
  if (!is_releasing_ || taken_ != end_ || now < release_due_ns_) return;
  if (add_body(EntryType::kRelease, 0, 0, PositionBody{end_}, true)) release_due_ns_ = now + config_.repeat_ns;
}

}  // namespace txnic::link
