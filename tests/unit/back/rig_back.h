// SPDX-License-Identifier: BSD-3-Clause
// The switches that break one rule of a node each, and the back and the recovery sink that obey them. With all of
// them off, these are the production classes with one branch more. The engine's own code has no such switch.
#pragma once

#include "host/back/host_back.h"
#include "host/back/recovered_state.h"

namespace txnic::test {

// Each breaks the rule that its comment names (traps of DESIGN 4.4, rules of COMMIT.md). All off: a sound node.
struct RigSwitches {
  bool repeats_versions = false;            // trap 3: versions start again at every start
  bool forgets_windows = false;             // trap 4: recovery brings sessions back with empty windows
  bool answers_early = false;               // trap 5: no answer waits for the disk
  bool reads_do_not_wait = false;           // trap 5: the answer to a read does not wait
  bool executes_duplicates = false;         // trap 8: what was seen before is executed again
  bool checkpoint_without_windows = false;  // trap 9: a checkpoint's window entries are lost
  bool segments_share_a_seed = false;       // trap 10: old records of a reused segment may be taken for new ones
  bool goes_on_after_failure = false;       // trap 11: a failed sync does not stop the node
  bool forgets_aborts = false;              // trap 14: an abort that was told is not recorded
  bool ignores_stamps = false;              // trap 14, COMMIT 8: what was sent before a restart is executed after it
};

class RigBack : public back::HostBack {
 public:
  template <class... Arguments>
  explicit RigBack(const RigSwitches* switches, Arguments&&... arguments)
      : HostBack(std::forward<Arguments>(arguments)...), switches_(*switches) {}

  Version commit(const offload::CommitRequest& request) { return committed_ = HostBack::commit(request); }
  Lsn dependency(uint32_t local_shard, Version version) const {
    if (switches_.answers_early || (switches_.reads_do_not_wait && version != committed_)) return 0;
    return HostBack::dependency(local_shard, version);
  }
  Lsn dependency_on_all() const { return switches_.answers_early ? 0 : HostBack::dependency_on_all(); }

 private:
  const RigSwitches& switches_;
  Version committed_ = 0;
};

class RigSink final : public log::RecoverySink {
 public:
  RigSink(const RigSwitches& switches, back::RecoveredState* state, uint32_t shards)
      : switches_(switches), state_(*state), newest_put_(shards, 0) {}

  bool on_put(ShardId shard, TableId table, Bytes key, Bytes value, Version version) override {
    newest_put_[shard] = version;
    return state_.on_put(shard, table, key, value, version);
  }
  bool on_delete(ShardId shard, TableId table, Bytes key, Version version) override {
    newest_put_[shard] = version;
    return state_.on_delete(shard, table, key, version);
  }
  bool on_outcome(ShardId shard, SessionId session, uint64_t key, Version version, Sequence watermark) override {
    // A commit's outcome follows its writes; a checkpoint's window entry does not.
    const bool is_commit = newest_put_[shard] == version;
    if (switches_.forgets_windows || (switches_.checkpoint_without_windows && !is_commit)) return true;
    return state_.on_outcome(shard, session, key, version, watermark);
  }
  bool on_shard_version(ShardId shard, Version newest) override { return state_.on_shard_version(shard, newest); }
  bool on_session_open(ShardId shard, SessionId session, Endpoint from, Stamp stamp, Sequence attempt) override {
    return state_.on_session_open(shard, session, from, stamp, attempt);
  }
  bool on_session_close(ShardId shard, SessionId session) override { return state_.on_session_close(shard, session); }
  bool on_transaction(ShardId shard, const log::TransactionEntry& entry) override {
    return state_.on_transaction(shard, entry);
  }

 private:
  const RigSwitches& switches_;
  back::RecoveredState& state_;
  std::vector<Version> newest_put_;
};

}  // namespace txnic::test
