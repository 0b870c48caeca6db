// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/workload/bulk.h"

#include <algorithm>

namespace txnic::pktgen {

namespace {

constexpr uint32_t kKeyBytes = 8;

// How many records of `tables` rows fit one message of `fixed` bytes and `row` bytes a row.
uint32_t batch_size(uint32_t fixed, uint32_t row, size_t tables) {
  const auto rows = std::min<uint32_t>((limits::kMessageBytesMax - fixed) / row, limits::kOperationsMax);
  return std::max<uint32_t>(1, rows / static_cast<uint32_t>(tables));
}

uint32_t load_batch(uint32_t value_bytes, size_t tables) {
  return batch_size(wire::kHeaderBytes, static_cast<uint32_t>(sizeof(wire::OperationHeader)) + kKeyBytes + value_bytes,
                    tables);
}

// Request and reply both have to fit.
uint32_t read_batch(uint32_t value_bytes, size_t tables) {
  const auto request = batch_size(wire::kHeaderBytes, sizeof(wire::OperationHeader) + kKeyBytes, tables);
  const auto reply = batch_size(wire::kExecutedFixedBytes,
                                static_cast<uint32_t>(sizeof(wire::ValueHeader)) + value_bytes, tables);
  return std::min(request, reply);
}

}  // namespace

Batch BatchCursor::next() {
  while (shard_ < keys_.shards()) {
    const uint64_t left = keys_.count(shard_) - position_;
    if (left > 0) {
      const Batch batch{shard_, static_cast<uint32_t>(std::min<uint64_t>(left, size_)), position_};
      position_ += batch.count;
      return batch;
    }
    ++shard_;
    position_ = 0;
  }
  return {};
}

std::span<const char* const> BulkWorkload::kinds() const {
  static const char* const kinds[] = {"batch"};
  return kinds;
}

std::string BulkWorkload::prepare(const Facts& facts) {
  batches_.assign(facts.flows, {});
  return {};
}

ShardId BulkWorkload::fill(uint32_t flow, wire::ExecuteBuilder& request) {
  Batch& batch = batches_[flow];
  if (batch.count == 0) batch = cursor_.next();
  if (batch.count == 0) return wire::kNoShard;
  for (uint32_t i = 0; i < batch.count; ++i) add_record(request, keys_.at(batch.shard, batch.first + i));
  return batch.shard;
}

bool BulkWorkload::accept(uint32_t flow, const Reply& reply) {
  switch (reply.result) {
    case Result::kCommitted:
      done_ += batches_[flow].count;
      return true;
    case Result::kLocked:
    case Result::kBusy:
      return false;
    case Result::kUnknownOutcome:
      return false;  // rows are written and read as a whole: once more does no harm
    case Result::kUnknownTable:
      fail("the node does not know table " + std::to_string(tables_[reply.detail % tables_.size()]) +
           ": declare it in the node's configuration, or name another with --table, --savings-table, --checking-table");
      return false;
    default:
      fail(std::string(name()) + ": the node answered " + txnic::name(reply.result) + ", detail " +
           std::to_string(reply.detail));
      return false;
  }
}

BulkLoad::BulkLoad(const KeySpace& keys, std::vector<TableId> tables, uint32_t value_bytes, MakeValue make_value,
                   std::vector<Version>* versions)
    : BulkWorkload(keys, tables, load_batch(value_bytes, tables.size())),
      value_(value_bytes),
      make_value_(std::move(make_value)),
      versions_(versions) {}

void BulkLoad::add_record(wire::ExecuteBuilder& request, uint64_t record) {
  make_value_(record, value_);
  for (const TableId table : tables_) request.put(table, Key(record), value_);
}

Progress BulkLoad::settled(uint32_t flow, const Reply& reply) {
  const bool good = accept(flow, reply);
  if (good) {
    Batch& batch = batches_[flow];
    for (uint32_t i = 0; versions_ != nullptr && i < batch.count; ++i) {
      (*versions_)[keys_.at(batch.shard, batch.first + i)] = reply.commit_version;
    }
    batch.count = 0;
  }
  return finished(reply, 0, good);
}

BulkRead::BulkRead(const KeySpace& keys, std::vector<TableId> tables, uint32_t value_bytes, Visit visit)
    : BulkWorkload(keys, tables, read_batch(value_bytes, tables.size())), visit_(std::move(visit)) {}

void BulkRead::add_record(wire::ExecuteBuilder& request, uint64_t record) {
  for (const TableId table : tables_) request.get(table, Key(record));
}

Progress BulkRead::settled(uint32_t flow, const Reply& reply) {
  // Values of an earlier execution are not repeated: read once more. The count of values was asked for by us.
  Batch& batch = batches_[flow];
  const size_t rows = batch.count * tables_.size();
  if (reply.result == Result::kCommitted && (!reply.has_values || reply.values.size() != rows)) {
    if (reply.has_values) fail("survey: the node answered another number of values than was asked for");
    return finished(reply, 0, false);
  }
  const bool good = accept(flow, reply);
  if (good) {
    for (size_t i = 0; i < rows; ++i) {
      const wire::Value& value = reply.values[i];
      const auto table = static_cast<uint32_t>(i % tables_.size());
      visit_(table, keys_.at(batch.shard, batch.first + i / tables_.size()), value.present,
             {value.data, value.present ? value.length : 0u});
    }
    batch.count = 0;
  }
  return finished(reply, 0, good);
}

}  // namespace txnic::pktgen
