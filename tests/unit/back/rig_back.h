// SPDX-License-Identifier: BSD-3-Clause
// The switches that break one rule of a node each, and the back and the recovery sink that obey them. With all of
// them off, these are the production classes with one branch more. The engine's own code has no such switch.
#pragma once

#include <map>

#include "host/back/host_back.h"
#include "host/back/recovered_state.h"

namespace txnic::test {

// Each breaks the rule that its comment names (traps of DESIGN 4.4, rules of COMMIT.md). All off: a sound node.
struct RigSwitches {
  bool absence_has_no_version = false;      // trap 2: what is absent passes for not having changed
  bool repeats_versions = false;            // trap 3: versions start again at every start
  bool forgets_windows = false;             // trap 4: recovery brings sessions back with empty windows
  bool answers_early = false;               // trap 5: no answer waits for the disk
  bool reads_do_not_wait = false;           // trap 5: the answer to a read does not wait
  bool executes_duplicates = false;         // trap 8: what was seen before is executed again
  bool checkpoint_without_windows = false;  // trap 9: a checkpoint's window entries are lost
  bool checkpoint_without_watermarks = false;  // COMMIT 13: a checkpoint's session comes back without its watermark
  bool segments_share_a_seed = false;       // trap 10: old records of a reused segment may be taken for new ones
  bool goes_on_after_failure = false;       // trap 11: a failed sync does not stop the node
  bool forgets_aborts = false;              // trap 14: an abort that was told is not recorded
  bool ignores_stamps = false;              // trap 14, COMMIT 8: what was sent before a restart is executed after it
  // Over several shards.
  bool reads_ignore_locks = false;        // trap 1: a read of a locked key answers the old value
  bool writes_ignore_locks = false;       // COMMIT 1: a transaction of one shard writes a locked key
  bool no_read_locks = false;             // trap 15, COMMIT 1: what was read is not locked until the decision
  bool votes_early = false;               // COMMIT 6: a vote does not wait for its PREPARE record
  bool promises_in_memory = false;        // trap 6, COMMIT 2: "never" is said without a record
  bool acknowledges_early = false;        // trap 7: a decision is acknowledged before it is durable
  bool tells_aborts_early = false;        // COMMIT 3: an abort is told before its record is durable
  bool tells_decisions_early = false;     // DESIGN 4.3: participants hear a decision that is not durable
  bool forgets_prepared = false;          // COMMIT 1, 13: a restart does not lock again what was prepared
  bool forgets_decisions = false;         // COMMIT 13: a restart does not know a decision that was not acknowledged
  bool checkpoint_without_transactions = false;  // trap 9
  bool never_asks = false;                // COMMIT 2: a coordinator that misses votes does not ask for them
  bool unlocks_by_timer = false;          // DESIGN 4.3: a prepared transaction is given up after some time
  bool ends_early = false;                // COMMIT 9, 13: a decision is forgotten before all have acknowledged it
  bool no_is_never = false;               // COMMIT 4: a plain "no" is taken for a durable one
  bool reuses_reserved_versions = false;  // trap 3, COMMIT 17: a reserved version is given out again
  bool forgets_own_writes = false;        // trap 12: a second ADD of a key does not see the first
  bool commits_may_fail = false;          // trap 16: some prepared writes find no memory when they are carried out
  bool torn_tail_is_damage = false;       // COMMIT 16: what a power loss has torn stops the start
  bool repeats_incarnations = false;      // COMMIT 14: two starts one after the other have the same incarnation
  bool slides_by_newest = false;          // COMMIT 10: what newer sequences pass leaves the window, wanted or not
  bool silent_below_watermark = false;    // COMMIT 11: a coordinator says nothing of what is below the watermark
  bool windows_of_nodes = false;          // COMMIT 12: the second PREPARE of an id on one worker is a duplicate
  bool rebinds_ids = false;               // COMMIT 7: a message with another list of participants is taken
  bool forgotten_is_never = false;        // COMMIT 24: a participant says abort of what it has forgotten
  bool reborn_says_abort = false;         // COMMIT 18: a reborn coordinator says abort of what it cannot know
};

class RigBack : public back::HostBack {
 public:
  template <class... Arguments>
  explicit RigBack(const RigSwitches* switches, Arguments&&... arguments)
      : HostBack(std::forward<Arguments>(arguments)...), switches_(*switches) {}

  Version take_version(uint32_t local_shard) {
    if (!switches_.reuses_reserved_versions) return HostBack::take_version(local_shard);
    Reserved& last = reserved_[local_shard];
    if (last.uses++ % 4 == 0) last.version = HostBack::take_version(local_shard);
    return last.version;
  }
  void apply(uint32_t local_shard, Version version, Bytes redo) {
    if (switches_.commits_may_fail && ++applied_ % 16 == 0) {
      HostBack::give_back(local_shard, redo);
    } else {
      HostBack::apply(local_shard, version, redo);
    }
  }
  bool log_transaction(const offload::TransactionRecord& record, Lsn* lsn) {
    const commit::Transaction& t = *record.transaction;
    const bool is_promise = record.kind == commit::Record::kAbort && t.state == commit::State::kUnknown;
    if (switches_.promises_in_memory && is_promise) {
      *lsn = 0;
      return true;
    }
    if (!HostBack::log_transaction(record, lsn)) return false;
    const bool is_early =
        (record.kind == commit::Record::kPrepare && switches_.votes_early) ||
        (record.kind == commit::Record::kAbort && t.coordinates() && switches_.tells_aborts_early) ||
        (record.kind == commit::Record::kCommit &&
         (t.coordinates() ? switches_.tells_decisions_early : switches_.acknowledges_early));
    if (is_early) *lsn = 0;
    return true;
  }
  offload::Found find(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length, uint64_t hash) {
    offload::Found found = HostBack::find(local_shard, table, key, key_length, hash);
    if (switches_.absence_has_no_version && !found.present()) found.version = kAbsent;
    return found;
  }
  Version commit(const offload::CommitRequest& request) { return committed_ = HostBack::commit(request); }
  Lsn dependency(uint32_t local_shard, Version version) const {
    if (switches_.answers_early || (switches_.reads_do_not_wait && version != committed_)) return 0;
    if (switches_.absence_has_no_version && version == kAbsent) return HostBack::dependency_on_all();
    return HostBack::dependency(local_shard, version);
  }
  Lsn dependency_on_all() const { return switches_.answers_early ? 0 : HostBack::dependency_on_all(); }

 private:
  static constexpr Version kAbsent = 1;
  struct Reserved {
    Version version = 0;
    uint32_t uses = 0;
  };
  const RigSwitches& switches_;
  Version committed_ = 0;
  uint32_t applied_ = 0;
  std::map<uint32_t, Reserved> reserved_;  // by local shard; for reuses_reserved_versions
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
  bool on_session_open(ShardId shard, SessionId session, Endpoint from, Stamp stamp, Sequence attempt,
                       Sequence watermark) override {
    return state_.on_session_open(shard, session, from, stamp, attempt,
                                  switches_.checkpoint_without_watermarks ? 0 : watermark);
  }
  bool on_session_close(ShardId shard, SessionId session) override { return state_.on_session_close(shard, session); }
  bool on_transaction(ShardId shard, const log::TransactionEntry& entry) override {
    const bool is_decision = entry.type == log::RecordType::kPreparedCommit && entry.place == 0;
    if (switches_.forgets_prepared && entry.type == log::RecordType::kPrepare) return true;
    if (switches_.forgets_decisions && is_decision) return true;
    return state_.on_transaction(shard, entry);
  }

 private:
  const RigSwitches& switches_;
  back::RecoveredState& state_;
  std::vector<Version> newest_put_;
};

}  // namespace txnic::test
