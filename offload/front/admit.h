// SPDX-License-Identifier: BSD-3-Clause
// Admission: which session, is it allowed to speak, has this request been seen before (COMMIT 5, 8, 10)?
#pragma once

#include "offload/front.h"

namespace txnic::offload {

// The session, if the request goes on to be executed; else null, and the request has its answer.
template <Back B>
inline Session* Front<B>::admit(Request& request, const Parsed& parsed, TimeNs now) {
  const wire::Header& header = parsed.header;
  Session* const session = sessions_->find(header.session);
  const auto refuse_session = [&](BadSessionReason reason) {
    refuse(request, header, Result::kBadSession, static_cast<uint8_t>(reason));
    return static_cast<Session*>(nullptr);
  };
  if (session == nullptr) [[unlikely]]
    return refuse_session(BadSessionReason::kUnknown);
  if (!session->is_static) {
    if (session->stamp != header.stamp) [[unlikely]]
      return refuse_session(BadSessionReason::kOldStamp);
    if (session->opened_from != request.from) [[unlikely]]
      return refuse_session(BadSessionReason::kWrongAddress);
  }
  session->last_seen_ns = now;
  // Every executed request may have to wait for the disk: refuse before anything is done.
  if (held() >= limits::kHeldRepliesMax) [[unlikely]] {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kHeldReplies));
    return nullptr;
  }
  if (session->is_static_replay) {
    ++counters_.replays;
    return session;
  }
  if (header.sequence > kSequenceMax) [[unlikely]] {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kWindow));
    return nullptr;
  }
  // Windows slide only by the client's watermark, and never back.
  const Sequence wanted = header.sequence > header.watermark_lag ? header.sequence - header.watermark_lag : 1;
  session->watermark = std::max(session->watermark, wanted);
  if (header.sequence < session->watermark) [[unlikely]] {
    refuse(request, header, Result::kOldSequence, 0);
    return nullptr;
  }
  if (header.sequence - session->watermark >= sessions_->configured().window) [[unlikely]] {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kWindow));
    return nullptr;
  }
  if (parsed.writes && header.type == static_cast<uint8_t>(wire::Type::kExecute)) {
    const Outcome& outcome = sessions_->entry(session, parsed.local_shard, header.sequence);
    if (outcome.sequence() == header.sequence) [[unlikely]] {
      answer_from_window(request, parsed, outcome);
      return nullptr;
    }
  }
  return session;
}

// A duplicate: the same outcome and commit version, without values. It depends on the same version as the first
// answer did, which may not be durable yet.
template <Back B>
bool Front<B>::answer_from_window(Request& request, const Parsed& parsed, const Outcome& outcome) {
  const bool committed = outcome.result() == Result::kCommitted;
  wire::Header reply = parsed.header;
  reply.type = static_cast<uint8_t>(wire::Type::kExecuted);
  reply.length = wire::kExecutedFixedBytes;
  reply.operation_count = 0;
  reply.result = static_cast<uint8_t>(outcome.result());
  reply.detail = outcome.detail();
  reply.flags = wire::kReplyFlagDuplicate;
  wire::write_header(request.message, reply);
  store<uint64_t>(request.message + wire::kHeaderBytes, committed ? outcome.version : 0);
  request.reply_length = wire::kExecutedFixedBytes;
  ++counters_.duplicates;
  answer(request, back_->dependency(parsed.local_shard, outcome.version));
  return true;
}

}  // namespace txnic::offload
