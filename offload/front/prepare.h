// SPDX-License-Identifier: BSD-3-Clause
// PREPARE: this shard's part of a transaction over several. Evaluated as a transaction of one shard is, but nothing is
// written: its keys are locked, its writes kept as redo in memory that is set aside, and from then on it is the commit
// machine's (txn/commit). The client is answered by the coordinator alone, in its newest copy of the PREPARE.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

template <Back B>
inline void Front<B>::parse_prepare(Request& request, Parsed& parsed) {
  if (!is_here(request, parsed)) return;
  ++counters_.prepares;
  sessions_->prefetch(parsed.header.session);
  Participants& participants = participants_[static_cast<size_t>(&parsed - parsed_.data())];
  const wire::ParseError error =
      wire::parse_prepare(request.message, parsed.header, &participants, &operations_[operations_used_]);
  if (error != wire::ParseError::kNone) [[unlikely]] {
    ++counters_.parse_errors[static_cast<uint8_t>(error)];
    refuse(request, parsed.header, Result::kBadRequest, static_cast<uint8_t>(error));
    return;
  }
  // The list means something only under the map by which it was made (COMMIT 7).
  bool is_ours = participants.map_epoch == config_.map.epoch;
  for (uint32_t i = 0; i < participants.count; ++i) is_ours &= participants.shards[i] < config_.map.shard_count;
  if (!is_ours) [[unlikely]] {
    refuse(request, parsed.header, Result::kWrongShard, 0);
    return;
  }
  take_operations(request, parsed);
}

template <Back B>
void Front<B>::execute_prepare(Request& request, const Parsed& parsed, const Participants& participants, TimeNs now) {
  const wire::Header& header = parsed.header;
  const Session* const session = admit(request, parsed, now);
  if (session == nullptr) return;
  if (session->is_static_replay) {  // has no window, so no id that would mean anything
    refuse(request, header, Result::kCrossShard, 0);
    return;
  }
  const bool coordinates = participants.coordinator() == header.shard;
  commit::Client client{request.from, header.stamp, nullptr};
  if (coordinates) {
    client.copy = keep_copy(request);
    if (client.copy == nullptr) {
      refuse(request, header, Result::kBusy, static_cast<uint8_t>(BusyReason::kHeldReplies));
      return;
    }
  }
  const TransactionId id{header.session, header.sequence};
  BusyReason busy = BusyReason::kNone;
  commit::PrepareAnswer answer = machine_.seen(id, header.shard, participants, client, now);
  if (answer == commit::PrepareAnswer::kNew) {
    if (!has_keys(request, parsed)) {
      if (client.copy != nullptr) free_copy(client.copy);
      return;
    }
    answer = prepare(parsed, participants, client, now, &busy);
  }
  settle_prepare(request, parsed, answer, busy, client);
}

// A first copy: evaluates it and hands it to the machine.
template <Back B>
commit::PrepareAnswer Front<B>::prepare(const Parsed& parsed, const Participants& participants,
                                        const commit::Client& client, TimeNs now, BusyReason* busy) {
  commit::PrepareRequest prepare;
  prepare.id = {parsed.header.session, parsed.header.sequence};
  prepare.shard = parsed.header.shard;
  prepare.participants = participants;
  prepare.client = client;
  const Verdict verdict = evaluate_prepare(parsed, participants);
  prepare.verdict = verdict.result;
  prepare.detail = verdict.detail;
  if (verdict.result != Result::kCommitted) {
    prepare.depends_on_log = back_->dependency(parsed.local_shard, verdict.newest) > answerable(*back_);
    return machine_.prepare(prepare, now);
  }
  const uint32_t writes = collect_writes(parsed);
  if (writes != 0) {
    prepare.redo = {redo_.data(), back_->encode_redo({writes_.data(), writes}, redo_)};
    *busy = BusyReason::kMemory;
    if (!back_->set_aside(parsed.local_shard, std::span<const Write>(writes_.data(), writes)))
      return commit::PrepareAnswer::kFull;
    prepare.version = back_->take_version(parsed.local_shard);
    if (prepare.version == 0) [[unlikely]] {
      back_->give_back(parsed.local_shard, prepare.redo);
      return commit::PrepareAnswer::kFull;
    }
  }
  for (uint32_t i = 0; i < own_version_count_; ++i) store(&scratch_[own_versions_[i]], prepare.version);
  prepare.locks = {locks_.data(), collect_locks(parsed)};
  prepare.values = {scratch_.data(), scratch_used_};
  prepare.value_count = static_cast<uint8_t>(value_count_);
  const commit::PrepareAnswer answer = machine_.prepare(prepare, now);
  if (answer != commit::PrepareAnswer::kTaken && writes != 0) back_->give_back(parsed.local_shard, prepare.redo);
  if (answer == commit::PrepareAnswer::kFull) *busy = BusyReason::kTransactions;
  if (answer == commit::PrepareAnswer::kLogFull) *busy = BusyReason::kLogFull;
  return answer;
}

template <Back B>
typename Front<B>::Verdict Front<B>::evaluate_prepare(const Parsed& parsed, const Participants& participants) {
  // First, because what a locked key holds may be about to change: no reason that it gives would be final.
  uint32_t operation = 0;
  if (machine_.locks().any() && is_locked(parsed, &operation)) {
    return {Result::kLocked, static_cast<uint8_t>(operation), 0};
  }
  look_up(parsed);
  value_place_ = static_cast<uint8_t>(participants.index_of(parsed.header.shard));
  const uint32_t fixed = wire::prepared_fixed_bytes(participants.count);
  const Verdict verdict = evaluate(parsed, limits::kMessageBytesMax - fixed + wire::kExecutedFixedBytes);
  value_place_ = 0;
  return verdict;
}

// An operation that a prepared transaction's locks forbid.
template <Back B>
bool Front<B>::is_locked(const Parsed& parsed, uint32_t* operation) const {
  const commit::LockTable& locks = machine_.locks();
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
    const uint64_t key = hashes_[parsed.first_operation + i];
    const bool writes = wire::code_writes(operations_[parsed.first_operation + i].code);
    if (writes ? locks.is_locked(key) : locks.is_write_locked(key)) {
      *operation = i;
      return true;
    }
  }
  return false;
}

// Exclusive for what is written, shared for what is read or checked (COMMIT 1). Two keys with one hash share a lock.
template <Back B>
uint32_t Front<B>::collect_locks(const Parsed& parsed) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
    if (key_of_[i] != i) continue;
    const commit::Lock lock{hashes_[parsed.first_operation + i], keys_[i].written};
    uint32_t at = 0;
    while (at < count && locks_[at].key != lock.key) ++at;
    if (at == count) {
      locks_[count++] = lock;
    } else {
      locks_[at].exclusive |= lock.exclusive;
    }
  }
  return count;
}

// What the machine did not keep is answered here; nothing of it is an outcome but what the window says.
template <Back B>
void Front<B>::settle_prepare(Request& request, const Parsed& parsed, commit::PrepareAnswer answer, BusyReason busy,
                              const commit::Client& client) {
  using commit::PrepareAnswer;
  const wire::Header& header = parsed.header;
  if (answer == PrepareAnswer::kTaken || answer == PrepareAnswer::kRefused) {
    request.action = client.copy != nullptr ? Action::kHold : Action::kTaken;
    return;
  }
  if (client.copy != nullptr) free_copy(client.copy);
  switch (answer) {
    case PrepareAnswer::kFinished: {
      if (client.copy == nullptr) {  // the coordinator answers
        request.action = Action::kTaken;
        return;
      }
      const Outcome outcome = sessions_->entry(sessions_->find(header.session), parsed.local_shard, header.sequence);
      refuse(request, header, outcome.result(), outcome.detail());
      wire::Header reply = wire::read_header(request.message);
      reply.flags = wire::kReplyFlagDecided | wire::kReplyFlagDuplicate;
      wire::write_header(request.message, reply);
      ++counters_.duplicates;
      return;
    }
    case PrepareAnswer::kForgotten:
      refuse(request, header, Result::kOldSequence, 0);
      return;
    case PrepareAnswer::kDiffers:
      refuse(request, header, Result::kBadRequest, static_cast<uint8_t>(wire::ParseError::kParticipants));
      return;
    default:
      refuse(request, header, Result::kBusy, static_cast<uint8_t>(busy));
      return;
  }
}

}  // namespace txnic::offload
