// SPDX-License-Identifier: BSD-3-Clause
// A whole node without packets: fronts, backs, logs and keeper over a disk that forgets, one step at a time, with a
// crash and a restart at any step. What dataplane/modes/txn.h and host/apps/engine.cc do in a process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "offload/front.h"
#include "tests/support/test_disk.h"
#include "tests/unit/back/rig_back.h"

namespace txnic::test {

struct RigConfig {
  uint32_t shards = 4;
  Durability durability = Durability::kSync;
  uint32_t sessions = 32;
  uint32_t window = 16;
  uint64_t shard_bytes = 1u << 20;
  uint64_t segment_bytes = 256u << 10;
  uint64_t seed = 1;
  std::vector<storage::Table> tables = {{1, 1000}};
  TimeNs idle_expiry_ns = limits::kSessionIdleExpirySecondsDefault * 1'000'000'000ull;
  uint64_t checkpoint_log_bytes = 0;
  uint32_t transactions = 64, locks = 1024;  // over several shards, of a worker
  // Of a cluster; `shards` is then what this node has of it. Null: it is alone. Its worker counts need not be right
  // (messages find their worker), its endpoints must.
  const ShardMap* map = nullptr;
  uint32_t place = 0;  // of this node in the map
  RigSwitches switches;
};

class NodeRig {
 public:
  using Reply = std::function<void(Endpoint to, std::vector<std::byte> message)>;

  // A message between participants, to another node of the map.
  using ToNode = std::function<void(uint32_t node, ShardId shard, std::vector<std::byte> message)>;

  NodeRig(const RigConfig& config, TestDisk* disk, Reply reply, ToNode to_node = {});
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
  // The same in pieces, in whatever order the caller likes.
  void step_worker(uint32_t worker, TimeNs now);
  bool step_keeper(TimeNs now) { return keeper_ != nullptr && keeper_->step(now); }
  // What there is to do soon: messages to read; records to write or answers that wait; a checkpoint that runs.
  bool has_messages() const;
  bool has_records() const;
  uint32_t held() const { return static_cast<uint32_t>(held_.size()); }
  // Transactions over several shards that are not over, and the locks of those that are prepared.
  uint32_t transactions() const;
  uint32_t undecided() const;  // of them: prepared, or decided and not acknowledged by all
  commit::MachineCounters commit_counters() const;
  uint32_t locks() const;
  bool checkpoint_running() const { return keeper_ != nullptr && keeper_->checkpoint_running(); }
  bool begin_checkpoint() { return keeper_ != nullptr && keeper_->begin_checkpoint(); }

  uint32_t worker_count() const { return static_cast<uint32_t>(workers_.size()); }
  offload::FrontCounters counters() const;
  const log::RecoveryReport& report() const { return report_; }
  uint64_t checkpoints() const { return keeper_ == nullptr ? 0 : keeper_->statistics().checkpoints; }
  bool log_failed() const;
  uint32_t incarnation() const { return incarnation_; }

  // What the node holds, in an order of its own: two recoveries of one disk are equal in it.
  struct Row {
    ShardId shard;
    TableId table;
    std::vector<std::byte> key, value;
    Version version;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows() const;
  // Every session's window entries on every shard: (session, shard, Outcome::key, version), ascending.
  using Entry = std::array<uint64_t, 4>;
  std::vector<Entry> windows() const;

  std::string error;

 private:
  using Front = offload::Front<RigBack>;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Memory {
    std::unique_ptr<Line[]> lines;
    size_t count = 0;
    // The same memory again after a restart, with what was in it.
    MutableBytes make(size_t bytes) {
      const size_t wanted = (bytes + sizeof(Line) - 1) / sizeof(Line);
      if (count < wanted) lines.reset(new Line[wanted]), count = wanted;
      return {lines[0].bytes, wanted * sizeof(Line)};
    }
    MutableBytes make_zeroed(size_t bytes) {
      const MutableBytes memory = make(bytes);
      std::memset(memory.data(), 0, memory.size());
      return memory;
    }
  };
  struct Message {
    std::vector<std::byte> bytes;
    Endpoint from;
    uint32_t length = 0;
    bool is_passed = false;
    bool is_own = false;
  };
  struct WorkerOutbox final : offload::Outbox {
    NodeRig* rig = nullptr;
    void send(ShardId shard, Bytes message) override { rig->carry(shard, message); }
  };
  struct Worker {
    SessionTable sessions;
    std::vector<storage::Shard*> shards;
    std::unique_ptr<log::WorkerLog> log;
    std::unique_ptr<RigBack> back;
    WorkerOutbox outbox;
    std::unique_ptr<Front> front;
    std::deque<std::unique_ptr<Message>> inbox;
  };

  bool recover(uint32_t workers, TimeNs now);
  void build(uint32_t workers);
  Version shard_version() const { return first_version(config_.switches.repeats_versions ? 1 : incarnation_); }
  // rig_switches.cc
  void break_window(Worker& worker) const;
  bool break_request(Worker& worker, Message* message);
  bool break_commit_message(Worker& worker, Message* message);
  void forge(const wire::CommitMessage& m);
  void freshen_stamp(Worker& worker, Message& message) const;
  void carry(ShardId shard, Bytes message);
  bool break_message(std::vector<std::byte>* message);
  void step_front(Worker& worker, std::span<offload::Request> burst, TimeNs now);
  void drop_read_locks(Worker& worker) const;
  void give_up_in_doubt(Worker& worker, TimeNs now) const;
  void settle(offload::Action action, uint32_t to_worker, uint32_t reply_length, Message* message);

  const RigConfig config_;
  TestDisk* const disk_;
  const Reply reply_;
  const ToNode to_node_;
  ShardMap map_;  // with the workers of this start
  uint32_t incarnation_ = 0;
  std::vector<Memory> shard_memory_, session_memory_, commit_memory_;
  std::vector<std::unique_ptr<storage::Shard>> shards_;
  std::unique_ptr<log::Keeper> keeper_;
  std::vector<Worker> workers_;
  std::map<Message*, std::unique_ptr<Message>> held_;
  log::RecoveryReport report_;
  std::unique_ptr<back::RecoveredState> recovered_;  // between recover() and the end of start()
};

}  // namespace txnic::test
