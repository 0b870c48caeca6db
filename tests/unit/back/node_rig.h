// SPDX-License-Identifier: BSD-3-Clause
// A whole node without packets: fronts, backs, logs and keeper over a disk that forgets, one step at a time, with a
// crash and a restart at any step. What dataplane/modes/txn.h and host/apps/engine.cc do in a process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/back/host_back.h"
#include "host/back/recovered_state.h"
#include "offload/front.h"
#include "tests/support/test_disk.h"

namespace txnic::test {

struct RigConfig {
  uint32_t shards = 4;
  Durability durability = Durability::kSync;
  uint32_t sessions = 32;
  uint32_t window = 16;
  uint64_t shard_bytes = 1u << 20;
  uint64_t segment_bytes = 256u << 10;
  uint64_t seed = 1;
};

class NodeRig {
 public:
  using Reply = std::function<void(Endpoint to, std::vector<std::byte> message)>;

  NodeRig(const RigConfig& config, TestDisk* disk, Reply reply);
  ~NodeRig();

  // False: `error` says why.
  bool start(uint32_t workers, TimeNs now);
  // The process dies: nothing of it remains but the disk (crash it before or after as the test likes).
  void die();
  bool running() const { return !workers_.empty(); }

  // One message from the network, for a worker's port.
  void deliver(uint32_t worker, Endpoint from, std::vector<std::byte> message);
  // One loop iteration of each worker, and one step of the keeper.
  void step(TimeNs now);
  bool begin_checkpoint() { return keeper_ != nullptr && keeper_->begin_checkpoint(); }

  uint32_t worker_count() const { return static_cast<uint32_t>(workers_.size()); }
  offload::FrontCounters counters() const;
  const log::RecoveryReport& report() const { return report_; }
  uint64_t checkpoints() const { return keeper_ == nullptr ? 0 : keeper_->statistics().checkpoints; }
  bool log_failed() const;

  std::string error;

 private:
  using Front = offload::Front<back::HostBack>;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Memory {
    std::vector<Line> lines;
    MutableBytes make(size_t bytes) {
      lines.assign((bytes + 63) / 64, Line{});
      return {lines.front().bytes, lines.size() * 64};
    }
  };
  struct Message {
    std::vector<std::byte> bytes;
    Endpoint from;
    uint32_t length = 0;
    bool is_passed = false;
  };
  struct Worker {
    Memory session_memory;
    SessionTable sessions;
    std::vector<storage::Shard*> shards;
    std::unique_ptr<log::WorkerLog> log;
    std::unique_ptr<back::HostBack> back;
    std::unique_ptr<Front> front;
    std::deque<std::unique_ptr<Message>> inbox;
  };

  bool recover(uint32_t workers, TimeNs now);
  void build(uint32_t workers);
  void run_worker(uint32_t w, TimeNs now);
  void settle(offload::Action action, uint32_t to_worker, uint32_t reply_length, Message* message);

  const RigConfig config_;
  TestDisk* const disk_;
  const Reply reply_;
  uint32_t incarnation_ = 0;
  storage::Table table_{1, 1000};
  std::vector<Memory> shard_memory_;
  std::vector<std::unique_ptr<storage::Shard>> shards_;
  std::unique_ptr<log::Keeper> keeper_;
  std::vector<Worker> workers_;
  std::map<Message*, std::unique_ptr<Message>> held_;
  log::RecoveryReport report_;
};

}  // namespace txnic::test
