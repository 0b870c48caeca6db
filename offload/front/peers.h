// SPDX-License-Identifier: BSD-3-Clause
// Messages between participants: several may stand behind each other in one datagram, each at a multiple of 8 bytes.
// Only other nodes of the map and other workers of this node may send them.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

template <Back B>
bool Front<B>::is_from_peer(const Request& request) const {
  if (request.length < wire::kHeaderBytes ||
      !wire::is_between_participants(static_cast<wire::Type>(wire::read_header(request.message).type))) {
    return false;
  }
  if (request.is_own) return true;
  const uint32_t node = config_.map.node_at(request.from);
  return node < config_.map.node_count && node != config_.map.self;
}

// In groups, so that what the messages are about is asked of memory for all of a group before it is looked at.
template <Back B>
void Front<B>::take_peer_messages(Request& request, TimeNs now) {
  wire::ParseError error = wire::ParseError::kNone;
  uint32_t at = 0;
  while (at + wire::kHeaderBytes <= request.length && error == wire::ParseError::kNone) {
    uint32_t count = 0;
    for (; count < peers_.size() && at + wire::kHeaderBytes <= request.length; ++count) {
      const std::byte* const message = request.message + at;
      const uint32_t length = wire::read_header(message).length;
      error = wire::ParseError::kLength;
      if (length >= wire::kHeaderBytes && at + length <= request.length) {
        error = wire::parse_commit_message(message, length, &peers_[count].message);
      }
      if (error != wire::ParseError::kNone) break;
      peers_[count].bytes = {message, length};
      machine_.prefetch_chain(peers_[count].message);
      at += (length + 7) & ~7u;
    }
    prefetch_peers(count);
    for (uint32_t i = 0; i < count; ++i) deliver(peers_[i].message, peers_[i].bytes, now);
  }
  if (error != wire::ParseError::kNone) {  // where the next one begins cannot be trusted either
    ++counters_.parse_errors[static_cast<uint8_t>(error)];
    request.drop = error;
    return;
  }
  request.action = Action::kTaken;
}

// What a decision writes, and where its client is answered.
template <Back B>
inline void Front<B>::prefetch_peers(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) machine_.prefetch_first(peers_[i].message);
  for (uint32_t i = 0; i < count; ++i) {
    const commit::Transaction* const t = machine_.may_end(peers_[i].message);
    peers_[i].ends = t;
    if (t == nullptr) continue;
    for (const commit::Lock& lock : t->held_locks()) {
      if (lock.exclusive) back_->prefetch_bucket(routes_[t->shard].local_shard, lock.key);
    }
    if (t->client.copy == nullptr) continue;
    const Copy& copy = *static_cast<const Copy*>(t->client.copy);
    txnic::prefetch(copy.message);
    txnic::prefetch(copy.message + 64);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const commit::Transaction* const t = peers_[i].ends;
    if (t == nullptr) continue;
    for (const commit::Lock& lock : t->held_locks()) {
      if (lock.exclusive) back_->prefetch_record(routes_[t->shard].local_shard, lock.key);
    }
  }
}

// To the machine; a message that came to the wrong worker goes on to the right one.
template <Back B>
void Front<B>::deliver(const wire::CommitMessage& m, Bytes message, TimeNs now) {
  const Route route = m.shard < limits::kShardsMax ? routes_[m.shard] : Route{};
  if (route.is_mine && route.worker == config_.worker) {
    ++counters_.peer_messages;
    machine_.on_message(m, now);
  } else if (route.is_mine && outbox_ != nullptr) {
    outbox_->send(m.shard, message);
  } else {
    ++counters_.peer_messages_lost;
  }
}

// From shards of this worker to others of it. What they answer is delivered in the same call, up to a bound.
template <Back B>
uint32_t Front<B>::deliver_own(TimeNs now) {
  uint32_t count = 0;
  for (; own_read_ != own_used_ && count < limits::kOwnMessagesPerStep; ++count) {
    const auto length = load<uint32_t>(&own_messages_[own_read_]);
    const std::byte* const message = &own_messages_[own_read_ + sizeof(uint32_t)];
    own_read_ += (static_cast<uint32_t>(sizeof(uint32_t)) + length + 7) & ~7u;
    wire::CommitMessage m;
    [[maybe_unused]] const wire::ParseError error = wire::parse_commit_message(message, length, &m);
    assert(error == wire::ParseError::kNone);
    deliver(m, {message, length}, now);
  }
  if (own_read_ == own_used_) own_read_ = own_used_ = 0;
  return count;
}

}  // namespace txnic::offload
