// SPDX-License-Identifier: BSD-3-Clause
// A node reduced to what makes transactions over several shards durable: backs, logs, keeper and commit machines over
// the disk that forgets. No front: what it would decide (evaluation, windows) is done here in the simplest way. The
// client's part is in commit_test.cc.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host/back/host_back.h"
#include "host/back/recovered_state.h"
#include "tests/support/test_disk.h"
#include "txn/commit/machine.h"

namespace txnic::test {

inline constexpr uint32_t kRigShards = 2;  // numbered as the node does; over the cluster they are 1 and 3
inline constexpr SessionId kRigSession = 77;
inline constexpr TableId kRigTable = 1;
inline constexpr uint32_t kRigWindow = 16;

struct RigWrite {
  uint64_t key;
  uint64_t value;
  bool is_delete = false;  // of a key that may be absent: then nothing
  bool is_add = false;     // `value` more than it was; an absent key counts as 0
};

class CommitRig {
 public:
  // A coordinator tells an outcome; once and again, always the same one.
  using Told = std::function<void(Sequence sequence, Result result)>;

  CommitRig(TestDisk* disk, uint64_t seed, Told told) : disk_(disk), random_(seed), told_(std::move(told)) {}
  ~CommitRig() { die(); }

  bool start(uint32_t workers, TimeNs now);  // false: `error`
  void die();
  // Everybody polls once; `losses`: messages in a hundred that are lost.
  void step(TimeNs now, uint32_t losses);

  // A copy of the client's PREPARE for one participant.
  void prepare(Sequence sequence, Sequence watermark, ShardId shard, std::span<const RigWrite> writes, bool says_no);
  // A transaction of one shard; answers its log position, or 0: a key is locked, or there is no room.
  Lsn write_one(ShardId shard, const RigWrite& write);
  Lsn durable(ShardId shard) const { return worker_of(shard).back->durable(); }
  bool begin_checkpoint() { return keeper_->begin_checkpoint(); }
  uint64_t refused_appends() const;  // for lack of log space, since start()
  uint64_t checkpoints() const { return keeper_->statistics().checkpoints; }

  // ---- looking
  using Rows = std::map<uint64_t, std::pair<uint64_t, Version>>;  // key: value, version
  Rows rows(ShardId shard) const;
  std::map<Sequence, std::pair<uint64_t, Version>> window(ShardId shard) const;  // Outcome::key, version
  // Kept by all machines: transactions, locks, prepared ones.
  uint32_t kept() const;
  uint32_t locks() const;
  bool holds_locks_of_prepared() const;
  bool quiet() const;
  // There is room for exactly so many new rows of the table: nothing that was set aside has been lost.
  bool has_room_for_exactly(ShardId shard, uint64_t count) const;
  uint32_t prepared() const;
  // ---- what a test may change before start()
  Durability durability = Durability::kSync;
  uint32_t transactions_max = 64, locks_max = 512;  // of a machine
  uint64_t capacity = 40;                           // rows of the table in each shard

  uint64_t restored_prepared = 0, restored_decided = 0;
  std::string error;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  using Memory = std::vector<Line>;
  static MutableBytes bytes_of(Memory& memory, size_t bytes) {
    memory.assign(bytes / sizeof(Line) + 1, Line{});
    return {memory[0].bytes, memory.size() * sizeof(Line)};
  }

  struct Worker final : commit::Node {
    bool append(commit::Record record, const commit::Transaction& t, Lsn* lsn) override;
    void send(const wire::CommitMessage& m) override;
    void answer(const commit::Transaction& t) override;
    void let_go(const commit::Client&) override {}
    void apply(const commit::Transaction& t) override;
    void give_back(const commit::Transaction& t) override;
    bool remember(const commit::Transaction& t) override;
    commit::Past past(const TransactionId& id, ShardId shard) const override;
    uint32_t local(ShardId shard) const { return shard / rig->worker_count(); }
    uint32_t local_of(const commit::Transaction& t) const { return rig->map_.local_shard(t.shard); }

    CommitRig* rig = nullptr;
    mutable SessionTable sessions;
    Memory session_memory, machine_memory;
    std::unique_ptr<log::WorkerLog> log;
    std::unique_ptr<back::HostBack> back;
    commit::Machine machine;
  };

  uint32_t worker_count() const { return static_cast<uint32_t>(workers_.size()); }
  Worker& worker_of(ShardId shard) { return *workers_[shard % workers_.size()]; }
  const Worker& worker_of(ShardId shard) const { return *workers_[shard % workers_.size()]; }
  static ShardId in_cluster(ShardId shard) { return static_cast<ShardId>(2 * shard + 1); }
  static Participants participants();
  bool recover(TimeNs now);
  void build(Worker& worker, uint32_t index, const back::RecoveredState::Room& kept);
  bool open_session(Worker& worker);
  std::vector<offload::Write> evaluate(Worker& worker, ShardId shard, std::span<RigWrite> writes);

  TestDisk* const disk_;
  std::mt19937_64 random_;
  const Told told_;
  uint32_t incarnation_ = 0;
  ShardMap map_;
  TimeNs now_ = 0;
  std::vector<Memory> shard_memory_;
  std::vector<std::unique_ptr<storage::Shard>> shards_;
  std::unique_ptr<log::Keeper> keeper_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::deque<std::vector<std::byte>> messages_;
};

}  // namespace txnic::test
