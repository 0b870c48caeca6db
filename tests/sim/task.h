// SPDX-License-Identifier: BSD-3-Clause
// What workloads and clients say to each other: a task asks for transactions, one after the other, and hears outcomes.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/context.h"
#include "tests/sim/routing.h"
#include "txn/wire/operation.h"

namespace txnic::sim {

struct Operation {
  wire::Code code = wire::Code::kGet;
  TableId table = 0;
  uint64_t key = 0;
  std::vector<std::byte> value;
  uint16_t flags = 0;
  Version expected = 0;
};

// The operations of one transaction at one shard.
struct Part {
  Place place;
  std::vector<Operation> operations;
};

// One transaction; several parts are one two-phase commit. Values come back in the order of parts and operations.
struct Transaction {
  std::vector<Part> parts;
  void add(Place place, Operation operation) {
    for (Part& part : parts) {
      if (part.place == place) return part.operations.push_back(std::move(operation));
    }
    parts.push_back({place, {std::move(operation)}});
  }
  size_t operations() const {
    size_t count = 0;
    for (const Part& part : parts) count += part.operations.size();
    return count;
  }
};

struct Value {
  Version version = 0;
  bool present = false;
  uint8_t operation = 0;
  std::vector<std::byte> bytes;
};

struct Outcome {
  Result result = Result::kCommitted;
  bool is_unknown = false;    // it may or may not have been executed
  bool is_decided = false;    // an abort that stays one
  bool is_duplicate = false;  // committed; the values are not told again
  std::vector<Value> values;
  bool committed() const { return result == Result::kCommitted; }
};

// One use of the database by one process: one transaction, or a few that belong together.
class Task {
 public:
  virtual ~Task() = default;
  // The next transaction, after the outcome of the one before (null at first). False: the task is over.
  virtual bool next(const Outcome* previous, Transaction* transaction) = 0;
  // The client died with a transaction of this task under way.
  virtual void abandon() = 0;
};

// What a run ends with, as recovered from the nodes' disks: values by table and key.
using FinalState = std::map<std::pair<TableId, uint64_t>, std::vector<std::byte>>;

class Workload {
 public:
  virtual ~Workload() = default;
  // What fills the tables, one after the other, before anything else runs.
  virtual std::vector<std::unique_ptr<Task>> setup() = 0;
  virtual std::unique_ptr<Task> begin(uint64_t process) = 0;
  // What reads everything once more at the end, if this workload wants that.
  virtual std::vector<std::unique_ptr<Task>> closing() = 0;
  // Calls context.fail() on what must not be.
  virtual void check(const FinalState& state) = 0;
};

}  // namespace txnic::sim
