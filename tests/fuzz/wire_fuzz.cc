// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: whatever arrives in a datagram, the parsers read nothing outside it, and what they accept is what the
// builder would write.
#include <array>
#include <cstdlib>
#include <vector>

#include "txn/wire/build.h"
#include "txn/wire/commit.h"
#include "txn/wire/map.h"
#include "txn/wire/parse.h"

namespace {

using namespace txnic;

void require(bool holds) {
  if (!holds) std::abort();
}

void fuzz_request(const std::byte* message, uint32_t length) {
  wire::Header header;
  const wire::ParseError error = wire::parse_request_header(message, length, &header);
  require(wire::name(error)[0] != '?');
  if (error != wire::ParseError::kNone) {
    require(!wire::is_answered(error) || (length >= wire::kHeaderBytes && header.length == length));
    return;
  }
  require(header.length == length && length <= limits::kMessageBytesMax);
  if (header.type != static_cast<uint8_t>(wire::Type::kExecute)) return;

  std::array<wire::Operation, limits::kOperationsMax> operations;
  if (wire::parse_operations(message, header, operations.data()) != wire::ParseError::kNone) return;
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  wire::ExecuteBuilder builder{buffer};
  for (uint32_t i = 0; i < header.operation_count; ++i) {
    const wire::Operation& operation = operations[i];
    require(operation.key >= message && operation.value + operation.value_length <= message + length);
    require(operation.key_hash == hash_key(operation.key, operation.key_length));
    require(builder.add_operation(static_cast<wire::Code>(operation.code), operation.table,
                                  {operation.key, operation.key_length}, {operation.value, operation.value_length},
                                  operation.flags, operation.expected_version));
  }
  require(builder.size() == length);
  builder.finish(header.session, header.sequence, header.stamp, header.watermark_lag, header.shard);
  const size_t body = length - wire::kHeaderBytes;
  require(std::memcmp(buffer.data() + wire::kHeaderBytes, message + wire::kHeaderBytes, body) == 0);
}

void fuzz_reply(const std::byte* message, uint32_t length) {
  wire::Header header;
  if (wire::parse_reply_header(message, length, &header) != wire::ParseError::kNone) return;
  require(header.length == length);
  if (header.type != static_cast<uint8_t>(wire::Type::kExecuted)) return;
  std::array<wire::Value, limits::kOperationsMax> values;
  Version commit_version = 0;
  if (wire::parse_values(message, header, &commit_version, values.data()) != wire::ParseError::kNone) return;
  for (uint32_t i = 0; i < header.operation_count; ++i) {
    require(values[i].data + values[i].length <= message + length);
    require(values[i].operation < limits::kOperationsMax && values[i].length <= limits::kValueBytesMax);
    require(i == 0 || values[i].operation > values[i - 1].operation);
  }
}

void fuzz_prepare(const std::byte* message, uint32_t length) {
  wire::Header header;
  if (wire::parse_request_header(message, length, &header) != wire::ParseError::kNone) return;
  if (header.type != static_cast<uint8_t>(wire::Type::kPrepare)) return;
  Participants participants;
  std::array<wire::Operation, limits::kOperationsMax> operations;
  if (wire::parse_prepare(message, header, &participants, operations.data()) != wire::ParseError::kNone) return;
  require(participants.count >= 2 && participants.count <= limits::kParticipantsMax);
  require(participants.index_of(header.shard) < participants.count);
  for (uint32_t i = 0; i < header.operation_count; ++i) {
    require(operations[i].value + operations[i].value_length <= message + length);
  }
}

void fuzz_prepared(const std::byte* message, uint32_t length) {
  wire::Header header;
  if (wire::parse_reply_header(message, length, &header) != wire::ParseError::kNone) return;
  if (header.type != static_cast<uint8_t>(wire::Type::kPrepared)) return;
  std::array<wire::Value, limits::kOperationsMax> values;
  std::array<Version, limits::kParticipantsMax> versions;
  uint32_t count = 0;
  if (wire::parse_prepared(message, header, &count, versions.data(), values.data()) != wire::ParseError::kNone) return;
  for (uint32_t i = 0; i < header.operation_count; ++i) {
    require(values[i].data + values[i].length <= message + length && values[i].participant < count);
  }
}

void fuzz_mapped(const std::byte* message, uint32_t length) {
  wire::Header header;
  if (wire::parse_reply_header(message, length, &header) != wire::ParseError::kNone) return;
  if (header.type != static_cast<uint8_t>(wire::Type::kMapped) || header.result != 0) return;
  ShardMap map;
  if (wire::parse_mapped(message, header, &map) != wire::ParseError::kNone) return;
  uint32_t shards = 0;
  for (uint32_t n = 0; n < map.node_count; ++n) shards += map.nodes[n].shards;
  require(shards == map.shard_count && map.node_count <= limits::kNodesMax);
  for (uint32_t s = 0; s < map.shard_count; ++s) {
    const Endpoint to = map.endpoint_of(static_cast<ShardId>(s));
    require(map.node_at(to) < map.node_count);
  }
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  require(wire::build_mapped(map, header, buffer) == length);
  require(std::memcmp(buffer.data() + wire::kHeaderBytes, message + wire::kHeaderBytes,
                      length - wire::kHeaderBytes) == 0);
}

// What is accepted is, byte for byte, what would be built (but for a fragment count of 1, which means 0).
void fuzz_peer(const std::byte* message, uint32_t length) {
  wire::CommitMessage commit;
  if (wire::parse_commit_message(message, length, &commit) != wire::ParseError::kNone) return;
  std::array<std::byte, limits::kMessageBytesMax> buffer;
  require(wire::build_commit_message(commit, buffer) == length);
  buffer[offsetof(wire::Header, fragment_count)] = message[offsetof(wire::Header, fragment_count)];
  require(std::memcmp(buffer.data(), message, length) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Longer than any datagram says nothing new.
  if (size > 2 * limits::kMessageBytesMax) return 0;
  // An allocation of its own, so that ASan sees each byte that is read too far.
  const std::vector<uint8_t> exact(data, data + size);
  const auto* const message = reinterpret_cast<const std::byte*>(exact.data());
  fuzz_request(message, static_cast<uint32_t>(size));
  fuzz_reply(message, static_cast<uint32_t>(size));
  fuzz_prepare(message, static_cast<uint32_t>(size));
  fuzz_prepared(message, static_cast<uint32_t>(size));
  fuzz_peer(message, static_cast<uint32_t>(size));
  fuzz_mapped(message, static_cast<uint32_t>(size));
  return 0;
}
