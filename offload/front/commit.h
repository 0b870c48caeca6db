// SPDX-License-Identifier: BSD-3-Clause
// What the commit machine asks for (txn/commit/node.h): the back's log and store, the session's window, the way to the
// other participants, and the client's answer.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

// The session of a transaction; null if it is not open here. A question may name a sequence beyond the window that the
// client's own messages have told so far: the client has sent that id somewhere, so its watermark is not further
// behind.
template <Back B>
Session* Front<B>::session_of(const TransactionId& id) const {
  Session* const session = sessions_->find(id.session);
  if (session == nullptr) return nullptr;
  const uint32_t window = sessions_->configured().window;
  if (id.sequence >= session->watermark + window) [[unlikely]]
    session->watermark = id.sequence - window + 1;
  return session;
}

template <Back B>
bool Front<B>::append(commit::Record kind, const commit::Transaction& t, Lsn* lsn) {
  const Session* const session = session_of(t.id);
  const bool in_window = session != nullptr;
  return back_->log_transaction({kind, &t, routes_[t.shard].local_shard, in_window, in_window ? session->watermark : 0},
                                lsn);
}

template <Back B>
void Front<B>::apply(const commit::Transaction& t) {
  if (!t.redo().empty()) back_->apply(routes_[t.shard].local_shard, t.version(), t.redo());
}

template <Back B>
void Front<B>::give_back(const commit::Transaction& t) {
  if (!t.redo().empty()) back_->give_back(routes_[t.shard].local_shard, t.redo());
}

// ---- the window
template <Back B>
bool Front<B>::remember(const commit::Transaction& t) {
  const Session* const session = session_of(t.id);
  if (session == nullptr) return false;
  if (t.id.sequence < session->watermark) return true;  // nobody asks for it any more, and its entry may be another's
  Outcome& entry = sessions_->entry(session, routes_[t.shard].local_shard, t.id.sequence);
  if (entry.sequence() == t.id.sequence) return true;
  const bool committed = t.state == commit::State::kCommitted;
  entry = Outcome::make(t.id.sequence, committed ? Result::kCommitted : t.result, committed ? 0 : t.detail,
                        committed ? t.version() : 0);
  return true;
}

template <Back B>
commit::Past Front<B>::past(const TransactionId& id, ShardId shard) const {
  const Session* const session = sessions_->find(id.session);
  if (session == nullptr) return commit::Past::kNoSession;
  const Outcome& entry = sessions_->entry(session, routes_[shard].local_shard, id.sequence);
  if (entry.sequence() == id.sequence) {
    return entry.result() == Result::kCommitted ? commit::Past::kCommitted : commit::Past::kAborted;
  }
  return id.sequence < session->watermark ? commit::Past::kForgotten : commit::Past::kNothing;
}

// ---- other participants
template <Back B>
void Front<B>::send(const wire::CommitMessage& m) {
  std::array<std::byte, limits::kMessageBytesMax> message;
  const uint32_t length = wire::build_commit_message(m, message);
  assert(length != 0);
  const Route route = routes_[m.shard];
  if (!route.is_mine || route.worker != config_.worker) {
    if (outbox_ != nullptr) outbox_->send(m.shard, {message.data(), length});
    return;
  }
  const uint32_t need = (static_cast<uint32_t>(sizeof(uint32_t)) + length + 7) & ~7u;
  if (own_used_ + need > own_messages_.size()) {
    ++counters_.peer_messages_lost;
    return;
  }
  store(&own_messages_[own_used_], length);
  std::memcpy(&own_messages_[own_used_ + sizeof(uint32_t)], message.data(), length);
  own_used_ += need;
}

// ---- the client
// False (null): as many wait, or are done and not sent yet, as there is room for.
template <Back B>
void* Front<B>::keep_copy(const Request& request) {
  if (copies_used_ + (done_tail_ - done_head_) == copies_.size()) return nullptr;
  Copy& copy = copies_[free_copy_];
  free_copy_ = copy.next_free;
  ++copies_used_;
  copy.handle = request.handle;
  copy.message = request.message;
  copy.room = reply_room(request);
  return &copy;
}

template <Back B>
void Front<B>::free_copy(void* copy) {
  static_cast<Copy*>(copy)->handle = nullptr;
  static_cast<Copy*>(copy)->next_free = free_copy_;
  free_copy_ = static_cast<uint32_t>(static_cast<Copy*>(copy) - copies_.data());
  --copies_used_;
}

template <Back B>
void Front<B>::give_copy(void* copy, uint32_t reply_length, Action action) {
  done_[done_tail_++ % done_.size()] = {static_cast<Copy*>(copy)->handle, reply_length, action, 0};
  free_copy(copy);
}

template <Back B>
void Front<B>::let_go(const commit::Client& client) {
  ++counters_.superseded;
  give_copy(client.copy, 0, Action::kDrop);
}

template <Back B>
void Front<B>::answer(const commit::Transaction& t) {
  const Copy& copy = *static_cast<const Copy*>(t.client.copy);
  const bool committed = t.state == commit::State::kCommitted;
  const uint32_t fixed = wire::prepared_fixed_bytes(t.participants.count);
  // Values and versions are not logged: a coordinator that has recovered the decision gives the outcome alone.
  const bool has_values = committed && (t.yes | 1) == t.participants.all() && fixed + t.values_used <= copy.room;
  uint32_t length = wire::kHeaderBytes;
  if (has_values) {
    std::array<Version, limits::kParticipantsMax> versions;
    for (uint32_t i = 0; i < t.participants.count; ++i) versions[i] = t.parts[i].version;
    wire::begin_prepared(copy.message, t.id, t.client.stamp, t.participants, versions.data());
    length = fixed;
    for (uint32_t i = 0; i < t.participants.count; ++i) {
      const Bytes values = t.values_of(i);
      if (!values.empty()) std::memcpy(copy.message + length, values.data(), values.size());
      length += static_cast<uint32_t>(values.size());
    }
    wire::finish_prepared(copy.message, length, t.value_count());
  } else {
    wire::Header reply = wire::request_header(wire::Type::kPrepared, t.id.session, t.id.sequence, t.client.stamp);
    reply.shard = t.shard;
    reply.map_epoch = t.participants.map_epoch;
    reply.result = static_cast<uint8_t>(committed ? Result::kCommitted : t.result);
    reply.detail = committed ? 0 : t.detail;
    reply.flags = wire::kReplyFlagDecided | (committed ? wire::kReplyFlagDuplicate : 0);
    wire::write_header(copy.message, reply);
  }
  ++counters_.decided;
  ++counters_.results[static_cast<uint8_t>(committed ? Result::kCommitted : t.result)];
  give_copy(t.client.copy, length, Action::kReply);
}

}  // namespace txnic::offload
