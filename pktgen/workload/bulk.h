// SPDX-License-Identifier: BSD-3-Clause
// Loading and reading whole tables: many records of one shard in each one-shot transaction.
#pragma once

#include <functional>
#include <vector>

#include "pktgen/workload/key_space.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

// A run of a shard's records.
struct Batch {
  ShardId shard = 0;
  uint32_t count = 0;   // 0: nothing left
  uint64_t first = 0;   // position among the shard's records
};

// Deals out all records of a key space, `size` at a time.
class BatchCursor {
 public:
  BatchCursor(const KeySpace& keys, uint32_t size) : keys_(keys), size_(size) {}
  Batch next();

 private:
  const KeySpace& keys_;
  uint32_t size_;
  ShardId shard_ = 0;
  uint64_t position_ = 0;
};

// What both have in common: a batch for each flow, done again until it is committed.
class BulkWorkload : public Workload {
 public:
  BulkWorkload(const KeySpace& keys, std::vector<TableId> tables, uint32_t batch)
      : keys_(keys), tables_(std::move(tables)), cursor_(keys, batch) {}
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  uint64_t units_total() const override { return keys_.records(); }
  uint64_t units_done() const override { return done_; }

 protected:
  virtual void add_record(wire::ExecuteBuilder& request, uint64_t record) = 0;
  // Settles the flow's batch: true if it is committed; else it will be sent again, or the run fails.
  bool accept(uint32_t flow, const Reply& reply);

  const KeySpace& keys_;
  const std::vector<TableId> tables_;
  std::vector<Batch> batches_;  // by flow

 private:
  BatchCursor cursor_;
  uint64_t done_ = 0;
};

// Writes one row in each of `tables` for every record.
class BulkLoad final : public BulkWorkload {
 public:
  // Fills `value` (its size is the table's) for a record.
  using MakeValue = std::function<void(uint64_t record, MutableBytes value)>;
  // `versions`: null, or the versions of the first table's rows, by record, to be filled in.
  BulkLoad(const KeySpace& keys, std::vector<TableId> tables, uint32_t value_bytes, MakeValue make_value,
           std::vector<Version>* versions = nullptr);
  const char* name() const override { return "load"; }
  Progress settled(uint32_t flow, const Reply& reply) override;

 protected:
  void add_record(wire::ExecuteBuilder& request, uint64_t record) override;

 private:
  std::vector<std::byte> value_;
  MakeValue make_value_;
  std::vector<Version>* versions_;
};

// Reads every row and shows it to `visit`, once.
class BulkRead final : public BulkWorkload {
 public:
  using Visit = std::function<void(uint32_t table_position, uint64_t record, bool present, Bytes value)>;
  BulkRead(const KeySpace& keys, std::vector<TableId> tables, uint32_t value_bytes, Visit visit);
  const char* name() const override { return "survey"; }
  Progress settled(uint32_t flow, const Reply& reply) override;

 protected:
  void add_record(wire::ExecuteBuilder& request, uint64_t record) override;

 private:
  Visit visit_;
};

}  // namespace txnic::pktgen
