// SPDX-License-Identifier: BSD-3-Clause
// The burst: every request is parsed, then buckets and records of all of them are prefetched in stages, then each
// is executed. By the time a transaction looks at memory, it is in the cache.
#pragma once

#include "offload/front.h"

namespace txnic::offload {

template <Back B>
void Front<B>::step(std::span<Request> burst, TimeNs now) {
  if constexpr (kMayMiss<B>) back_->begin_burst(now);
  operations_used_ = 0;
  for (size_t i = 0; i < burst.size(); ++i) parse(burst[i], parsed_[i]);
  for (size_t i = 0; i < burst.size(); ++i) prefetch_records(parsed_[i]);
  for (size_t i = 0; i < burst.size(); ++i) execute(burst[i], parsed_[i], now);
}

template <Back B>
inline void Front<B>::parse(Request& request, Parsed& parsed) {
  parsed.runs = false;
  request.action = Action::kDrop;
  if (request.is_passed) [[unlikely]] {  // checked by the worker that it came from, and changed since
    parsed.header = wire::read_header(request.message);
    parsed.runs = true;
    return;
  }
  const wire::ParseError error = wire::parse_request_header(request.message, request.length, &parsed.header);
  if (error == wire::ParseError::kNone) [[likely]] {
    if (parsed.header.type == static_cast<uint8_t>(wire::Type::kExecute)) [[likely]] {
      parse_execute(request, parsed);
    } else if (parsed.header.type == static_cast<uint8_t>(wire::Type::kPrepare)) {
      parse_prepare(request, parsed);
    } else {
      parsed.runs = true;  // session messages and echo: execute() tells them apart
    }
    return;
  }
  // A datagram of messages between participants is no request, and longer than its first one.
  if ((error == wire::ParseError::kType || error == wire::ParseError::kLength) && is_from_peer(request)) {
    parsed.header = wire::read_header(request.message);
    parsed.runs = true;
    return;
  }
  ++counters_.parse_errors[static_cast<uint8_t>(error)];
  request.drop = error;
  if (!wire::is_answered(error)) return;
  if (error == wire::ParseError::kBadVersion) {
    // The sender's types are not ours: an even answer, with our version in the header.
    parsed.header.type = static_cast<uint8_t>(wire::Type::kExecute);
    refuse(request, parsed.header, Result::kBadVersion, 0);
  } else {
    refuse(request, parsed.header, Result::kBadRequest, static_cast<uint8_t>(error));
  }
}

// The shard is this worker's; else the request has its answer.
template <Back B>
inline bool Front<B>::is_here(Request& request, Parsed& parsed) {
  const wire::Header& header = parsed.header;
  const Route route = header.shard < limits::kShardsMax ? routes_[header.shard] : Route{};
  if (!route.is_mine) [[unlikely]] {
    refuse(request, header, Result::kWrongShard, 0);
    return false;
  }
  if (route.worker != config_.worker) {
    request.action = Action::kForward;
    request.to_worker = route.worker;
    ++counters_.forwarded;
    return false;
  }
  parsed.local_shard = route.local_shard;
  return true;
}

template <Back B>
inline void Front<B>::parse_execute(Request& request, Parsed& parsed) {
  if (!is_here(request, parsed)) return;
  ++counters_.requests;
  sessions_->prefetch(parsed.header.session);
  const wire::ParseError error =
      wire::parse_operations(request.message, parsed.header, &operations_[operations_used_]);
  if (error != wire::ParseError::kNone) [[unlikely]] {
    ++counters_.parse_errors[static_cast<uint8_t>(error)];
    refuse(request, parsed.header, Result::kBadRequest, static_cast<uint8_t>(error));
    return;
  }
  take_operations(request, parsed);
}

// Parsed operations: they are of this shard and of tables that we have; their buckets are asked for.
template <Back B>
inline void Front<B>::take_operations(Request& request, Parsed& parsed) {
  const wire::Header& header = parsed.header;
  const wire::Operation* const operations = &operations_[operations_used_];
  const uint32_t shards = config_.map.shard_count;
  parsed.first_operation = operations_used_;
  parsed.writes = false;
  for (uint32_t i = 0; i < header.operation_count; ++i) {
    const wire::Operation& operation = operations[i];
    if (shards > 1 && shard_of(operation.key_hash, shards) != header.shard) [[unlikely]] {
      refuse(request, header, Result::kCrossShard, static_cast<uint8_t>(i));
      return;
    }
    if (!back_->knows_table(operation.table)) [[unlikely]] {
      refuse(request, header, Result::kUnknownTable, static_cast<uint8_t>(i));
      return;
    }
    const uint64_t hash = table_hash(operation.key_hash, operation.table);
    hashes_[operations_used_ + i] = hash;
    back_->prefetch_bucket(parsed.local_shard, hash);
    parsed.writes |= wire::code_writes(operation.code);
  }
  operations_used_ += header.operation_count;
  parsed.runs = true;
}

template <Back B>
inline void Front<B>::prefetch_records(const Parsed& parsed) {
  if (!parsed.runs || (parsed.header.type != static_cast<uint8_t>(wire::Type::kExecute) &&
                       parsed.header.type != static_cast<uint8_t>(wire::Type::kPrepare))) {
    return;
  }
  sessions_->prefetch_entry(parsed.header.session, parsed.local_shard, parsed.header.sequence);
  for (uint32_t i = 0; i < parsed.header.operation_count; ++i) {
    back_->prefetch_record(parsed.local_shard, hashes_[parsed.first_operation + i]);
  }
}

template <Back B>
inline void Front<B>::execute(Request& request, Parsed& parsed, TimeNs now) {
  if (!parsed.runs) return;
  switch (static_cast<wire::Type>(parsed.header.type)) {
    [[likely]] case wire::Type::kExecute : {
      Session* session = admit(request, parsed, now);
      if (session == nullptr || !has_keys(request, parsed)) return;
      if (parsed.writes) {
        execute_write(request, parsed, *session);
      } else {
        execute_read(request, parsed, *session);
      }
      return;
    }
    case wire::Type::kEcho:
      parsed.header.type = static_cast<uint8_t>(wire::Type::kEchoed);
      wire::write_header(request.message, parsed.header);
      request.reply_length = request.length;
      request.action = Action::kReply;
      ++counters_.echoes;
      return;
    case wire::Type::kOpen:
      open(request, parsed.header, now);
      return;
    case wire::Type::kClose:
      close(request, parsed.header);
      return;
    case wire::Type::kPrepare:
      execute_prepare(request, parsed, participants_[static_cast<size_t>(&parsed - parsed_.data())], now);
      return;
    case wire::Type::kMap:
      send_map(request, parsed.header);
      return;
    default:  // only messages between participants come so far
      take_peer_messages(request, now);
      return;
  }
}

}  // namespace txnic::offload
