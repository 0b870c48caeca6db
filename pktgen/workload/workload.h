// SPDX-License-Identifier: BSD-3-Clause
// The contract of a workload: what the generator runs.
//
// A *flow* is one logical client: it has one transaction in progress at a time, of one or more requests. The generator
// owns flows 0 … facts.flows - 1 and asks for each request when a slot of the protocol machine is free:
//
//   loop:  shard = workload.fill(flow, builder)          // the next request of the flow's transaction
//          … the request goes out, the machine settles it …
//          progress = workload.settled(flow, reply)      // done: the transaction is over, its result is in `progress`
//
// Every settled() belongs to the flow's last fill(). What a workload keeps about a flow it keeps itself, by index.
// All calls come from one thread. fill() and settled() are the data path: no allocation, no clock, no locks.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "txn/wire/build.h"
#include "txn/wire/parse.h"

namespace txnic::pktgen {

struct LedgerRecord;  // ledger.h

// fill()'s answer where operations belong to several shards: the protocol machine splits them.
inline constexpr ShardId kSeveralShards = wire::kNoShard - 1;
static_assert(limits::kShardsMax <= kSeveralShards);

// What is known when the sessions are open.
struct Facts {
  uint32_t shards = 1;
  uint32_t flows = 1;
  uint64_t seed = 1;
  bool reflected = false;  // nobody executes: requests come back as they were (echo, raw)
};

// The outcome of one request.
struct Reply {
  Result result = Result::kCommitted;
  uint8_t detail = 0;
  bool has_values = true;  // false: an earlier execution's answer, whose values are not repeated
  Version commit_version = 0;
  std::span<const wire::Value> values;
  // Of a transaction over several shards: what was written at each under which version. Empty if the answer is an
  // earlier execution's.
  std::span<const ShardId> shards;
  std::span<const Version> versions;

  // The version of what was written at a shard; 0: not told.
  Version version_at(ShardId shard, bool is_several) const {
    if (!is_several) return commit_version;
    for (size_t i = 0; i < shards.size(); ++i) {
      if (shards[i] == shard) return versions[i];
    }
    return 0;
  }
};

// What settled() answers.
struct Progress {
  bool done = true;    // false: fill() gives another request of the same transaction
  bool good = false;   // it did its work (goodput)
  uint8_t kind = 0;    // index into kinds()
  Result result = Result::kCommitted;  // of the transaction, when done
};

// The verdict on a finished run.
struct Check {
  bool made = false;    // this workload has something to check
  bool passed = true;
  std::string text;     // one line for people
};

class Workload {
 public:
  enum class Survey : uint8_t { kBefore, kAfter };

  virtual ~Workload() = default;
  virtual const char* name() const = 0;
  // The kinds of transactions in the mix, for the table. At least one, at most kKindsMax.
  virtual std::span<const char* const> kinds() const = 0;
  static constexpr uint32_t kKindsMax = 8;

  // Called once, before the first fill(). Answers an empty string, or why this cannot run.
  virtual std::string prepare(const Facts& facts) = 0;
  // The flow's next request and its shard, or kSeveralShards; wire::kNoShard when the flow has nothing left to do.
  virtual ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) = 0;
  virtual Progress settled(uint32_t flow, const Reply& reply) = 0;

  // Phases around the run, workloads themselves; null where there is nothing to do. They live at most as long as this.
  virtual std::unique_ptr<Workload> loader() { return nullptr; }
  virtual std::unique_ptr<Workload> survey(Survey) { return nullptr; }
  // After the survey: are the results right?
  virtual Check check() const { return {}; }
  // What a later run needs in order to verify this one; false: nothing.
  virtual bool write_ledger(LedgerRecord*) const { return false; }
  // After everything else: closes what it writes. Empty, or what went wrong.
  virtual std::string finish() { return {}; }
  // After prepare(), instead of a run: takes over (adds, from the second call on) an earlier run's books, to be
  // verified by survey and check. Answers an empty string, or why not.
  virtual std::string adopt(const LedgerRecord&) { return "this workload keeps no ledger"; }

  // Progress of a bounded workload, for the live line; 0: not bounded.
  virtual uint64_t units_total() const { return 0; }
  virtual uint64_t units_done() const { return 0; }

  // Not empty: the run cannot go on, and why.
  const std::string& failure() const { return failure_; }

 protected:
  void fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
  }

 private:
  std::string failure_;
};

// The transaction's single request decided it.
inline Progress finished(const Reply& reply, uint8_t kind, bool good) {
  return {true, good && reply.result == Result::kCommitted, kind, reply.result};
}

}  // namespace txnic::pktgen
