// SPDX-License-Identifier: BSD-3-Clause
// OPEN and CLOSE. Both make one round through the node's workers, in the client's own message: worker 0 checks the
// cookie and gives the stamp, each worker installs the session for its shards (and logs that), the last one answers.
// So an answered OPENED means that every worker knows the session, durably where the log is.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

// What worker 0 decided, in header.detail while the message is on its round. Refused from the network by the parser.
inline constexpr uint8_t kStartsAnew = 0;
inline constexpr uint8_t kResumes = 1;

template <Back B>
void Front<B>::open(Request& request, const wire::Header& header, TimeNs now) {
  if (request.is_passed) {
    install(request, header, now);
    return;
  }
  if (config_.worker != 0) {
    request.action = Action::kForward;
    request.to_worker = 0;
    ++counters_.forwarded;
    return;
  }
  const auto body = load<wire::OpenBody>(request.message + wire::kHeaderBytes);
  if (!check_cookie(config_.cookie_secret, request.from, header.session, now, body.cookie)) {
    wire::Header reply = header;
    reply.type = static_cast<uint8_t>(wire::Type::kChallenge);
    reply.length = wire::kChallengeBytes;
    wire::write_header(request.message, reply);
    uint8_t cookie[wire::kCookieBytes];
    make_cookie(config_.cookie_secret, request.from, header.session, now, cookie);
    std::memcpy(request.message + wire::kHeaderBytes, cookie, sizeof cookie);
    request.reply_length = wire::kChallengeBytes;
    request.action = Action::kReply;
    ++counters_.challenges;
    return;
  }
  wire::Header stamped = header;
  const Session* const session = sessions_->find(header.session);
  if (session != nullptr && session->is_static) {
    refuse(request, header, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kWrongAddress));
    return;
  }
  const bool opened_now = session != nullptr && stamp_incarnation(session->stamp) == config_.incarnation;
  if (opened_now && header.sequence < session->attempt) {
    ++counters_.stale_opens;
    request.action = Action::kDrop;  // a delayed message of an opening that the client has given up
    return;
  }
  // The same attempt again gets the same stamp; a new one a new stamp, which ends the life of older messages.
  const bool same = opened_now && header.sequence == session->attempt && session->opened_from == request.from;
  stamped.stamp = same ? session->stamp : make_stamp(config_.incarnation, ++opening_number_);
  stamped.detail = header.stamp != 0 || same ? kResumes : kStartsAnew;
  ++(session == nullptr ? counters_.opens : counters_.reopens);
  install(request, stamped, now);
}

template <Back B>
void Front<B>::install(Request& request, wire::Header header, TimeNs now) {
  if (held() >= limits::kHeldRepliesMax) {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kHeldReplies));
    return;
  }
  Session* session = sessions_->find(header.session);
  // A client that holds a stamp may have requests in flight: it resumes only where every worker still has the window.
  // Nothing is created for it, so that an opening that is sent again, also across a restart, cannot take the window
  // that its own first copy created for the one that was lost. Without a stamp nothing is in flight, and whatever an
  // earlier life of the same id has left is forgotten.
  if (header.detail == kResumes && session == nullptr) {
    refuse(request, header, Result::kBadSession, static_cast<uint8_t>(BadSessionReason::kUnknown));
    return;
  }
  // What is not over yet keeps its window (COMMIT 9): later.
  if (header.detail == kStartsAnew && machine_.size() != 0 && machine_.holds_session(header.session)) [[unlikely]] {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kInDoubt));
    return;
  }
  if (header.detail == kStartsAnew && session != nullptr) {
    sessions_->erase(session);
    session = nullptr;
  }
  const bool is_new = session == nullptr;
  if (is_new) {
    session = sessions_->insert(header.session);
    if (session == nullptr) {
      refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kSessions));
      return;
    }
  }
  // A new window is logged as "closed, then opened": recovery must not join it to an older life of the same id.
  if ((is_new && !back_->log_session_close(header.session)) ||
      !back_->log_session_open(header.session, request.from, header.stamp, header.sequence)) {
    if (is_new) sessions_->erase(session);
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kLogFull));
    return;
  }
  session->stamp = header.stamp;
  session->attempt = header.sequence;
  session->opened_from = request.from;
  session->last_seen_ns = now;
  pass_on(request, back_->dependency_on_all(), header, wire::Type::kOpened);
}

// The sender is the session's client as it has opened it last; else it is refused.
template <Back B>
bool Front<B>::speaks_for(Request& request, const wire::Header& header, const Session* session) {
  const bool known = session != nullptr && !session->is_static;
  if (known && session->stamp == header.stamp && session->opened_from == request.from) return true;
  const auto reason = !known                           ? BadSessionReason::kUnknown
                      : session->stamp != header.stamp ? BadSessionReason::kOldStamp
                                                       : BadSessionReason::kWrongAddress;
  refuse(request, header, Result::kBadSession, static_cast<uint8_t>(reason));
  return false;
}

template <Back B>
void Front<B>::close(Request& request, const wire::Header& header) {
  if (!request.is_passed && config_.worker != 0) {
    request.action = Action::kForward;
    request.to_worker = 0;
    ++counters_.forwarded;
    return;
  }
  Session* const session = sessions_->find(header.session);
  if (!request.is_passed) {
    if (!speaks_for(request, header, session)) return;
    ++counters_.closes;
  }
  if (machine_.size() != 0 && machine_.holds_session(header.session)) [[unlikely]] {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kInDoubt));
    return;
  }
  if (held() >= limits::kHeldRepliesMax || (session != nullptr && !back_->log_session_close(header.session))) {
    refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kLogFull));
    return;
  }
  if (session != nullptr) sessions_->erase(session);
  pass_on(request, back_->dependency_on_all(), header, wire::Type::kClosed);
}

// To the next worker, or at the last one the answer; either waits until what this worker logged is durable.
template <Back B>
void Front<B>::pass_on(Request& request, Lsn depends_on, const wire::Header& header, wire::Type type) {
  Action action = Action::kReply;
  wire::Header out = header;
  if (config_.worker + 1 < worker_count_) {
    action = Action::kPass;
    request.to_worker = static_cast<uint8_t>(config_.worker + 1);
    wire::write_header(request.message, out);
  } else if (type == wire::Type::kOpened) {
    reply_opened(request, out);
  } else {
    out.type = static_cast<uint8_t>(type);
    wire::write_header(request.message, out);
    request.reply_length = wire::kHeaderBytes;
  }
  request.action = action;
  if (depends_on > answerable(*back_)) hold(request, depends_on, action);
}

template <Back B>
void Front<B>::reply_opened(Request& request, wire::Header header) {
  wire::OpenedBody body{};
  body.shard_count = static_cast<uint16_t>(config_.map.shard_count);
  body.worker_count = static_cast<uint16_t>(worker_count_);
  body.base_port = config_.map.nodes[config_.map.self].base.port;
  body.window = sessions_->configured().window;
  body.idle_expiry_seconds = static_cast<uint32_t>(sessions_->configured().idle_expiry_ns / 1'000'000'000);
  body.window_survived = header.detail == kResumes;
  body.durability = static_cast<uint8_t>(config_.durability);
  header.type = static_cast<uint8_t>(wire::Type::kOpened);
  header.length = wire::kOpenedBytes;
  header.map_epoch = config_.map.epoch;
  header.detail = 0;
  wire::write_header(request.message, header);
  store(request.message + wire::kHeaderBytes, body);
  request.reply_length = wire::kOpenedBytes;
}

// The shard map, for whoever has a session here: to others the answer would be larger than the question.
template <Back B>
void Front<B>::send_map(Request& request, const wire::Header& header) {
  if (!speaks_for(request, header, sessions_->find(header.session))) return;
  request.reply_length = wire::build_mapped(config_.map, header, {request.message, reply_room(request)});
  if (request.reply_length == 0) {
    refuse(request, header, Result::kTooLarge, 0);
    return;
  }
  request.action = Action::kReply;
}

template <Back B>
uint32_t Front<B>::idle(TimeNs now) {
  uint32_t done = resume(now) + deliver_own(now);
  if (machine_.size() != 0) {
    machine_.on_durable(back_->durable(), now);
    done += machine_.on_timer(now) + deliver_own(now);
  }
  return done + expire(now);
}

template <Back B>
uint32_t Front<B>::expire(TimeNs now) {
  // A silent session is dropped only when all that it did is durable: everything logged up to an earlier look.
  if (now < next_expiry_ns_ || expiry_lsn_ > answerable(*back_)) return 0;
  next_expiry_ns_ = now + 1'000'000;
  expiry_lsn_ = back_->dependency_on_all();
  const uint32_t expired = sessions_->expire(now, limits::kExpiryStepSessions, [this](const Session& session) {
    if (machine_.size() != 0 && machine_.holds_session(session.id)) return false;
    return back_->log_session_close(session.id);  // else it would come back at every recovery
  });
  counters_.expired += expired;
  return expired;
}

}  // namespace txnic::offload
