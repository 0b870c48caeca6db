// SPDX-License-Identifier: BSD-3-Clause
// What recovery rebuilds: rows straight into the shards, windows first beside them (several shards are replayed at
// once, and a session's windows are spread over them), then into the workers' session tables; and transactions over
// several shards that are not over, then into the workers' commit machines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/log/kept_transactions.h"
#include "host/log/recovery.h"
#include "host/store/shard.h"
#include "txn/session.h"

namespace txnic::commit {
class Machine;
}

namespace txnic::back {

// The stamp of a session that recovery brought back and nobody has opened again: matches no request, so that what was
// sent before the restart is refused (DESIGN 4.3), with the word that the window survived.
inline constexpr Stamp kRecoveredStamp = ~Stamp{0};

class RecoveredState final : public log::RecoverySink {
 public:
  // `shards`: all of the node, by global number. Null ones for a front without a store (placement NIC): rows are then
  // refused, everything else is kept. `window`: entries of the windows to come (a power of two).
  RecoveredState(std::vector<storage::Shard*> shards, uint32_t window);
  ~RecoveredState() override;

  bool on_put(ShardId shard, TableId table, Bytes key, Bytes value, Version version) override;
  bool on_delete(ShardId shard, TableId table, Bytes key, Version version) override;
  bool on_outcome(ShardId shard, SessionId session, uint64_t outcome_key, Version version, Sequence watermark) override;
  bool on_shard_version(ShardId shard, Version newest) override;
  bool on_session_open(ShardId shard, SessionId session, Endpoint from, Stamp stamp, Sequence attempt,
                       Sequence watermark) override;
  bool on_session_close(ShardId shard, SessionId session) override;
  bool on_transaction(ShardId shard, const log::TransactionEntry& entry) override;
  void prefetch(ShardId shard, TableId table, Bytes key) override;

  // Fills one worker's session table with its shards' windows (shard s is of worker s % worker_count). Answers an
  // error text, or empty.
  std::string fill(uint32_t worker, uint32_t worker_count, TimeNs now, SessionTable* table) const;
  // What restore() will put into one worker's machine: its configured room is for what comes, this is added to it. (The
  // log may have been written by more workers, each with as many.)
  struct Room {
    uint32_t transactions = 0, locks = 0;
  };
  Room room_to_restore(uint32_t worker, uint32_t worker_count) const;
  // Gives one worker's machine what its shards have to keep of transactions over several shards: the prepared ones
  // again hold their locks and their memory in the store, decisions are told again, promises stay (COMMIT 1, 13). Call
  // it before the worker serves anything. Answers an error text, or empty.
  template <class B>
  std::string restore(uint32_t worker, uint32_t worker_count, TimeNs now, B* back, commit::Machine* machine) const {
    const auto set_aside = [back](uint32_t local_shard, Bytes redo) { return back->set_aside(local_shard, redo); };
    return restore_with(set_aside, worker, worker_count, now, machine);
  }
  // What one worker's shards have to keep, as records of a checkpoint: for a LinkServer. False: take() said so.
  bool tell(uint32_t worker, uint32_t worker_count, const std::function<bool(Bytes record)>& take) const;
  // How many there are to restore, prepared or decided, in all shards.
  uint64_t transactions() const;
  Version newest_version(ShardId shard) const { return streams_[shard].newest; }
  uint64_t sessions() const;
  // Why a callback answered false, and what to do; empty if none did.
  std::string why_stopped() const;

 private:
  struct Window {
    Sequence watermark = 1;
    std::vector<Outcome> outcomes;
  };
  struct alignas(64) Stream {  // one shard's; touched by one thread at a time
    storage::Shard* shard = nullptr;
    Version newest = 0;
    uint64_t deletes = 0;
    std::unordered_map<SessionId, std::unique_ptr<Window>> windows;
    SessionId last_id = 0;  // the window of the record before: records of one session come in runs
    Window* last = nullptr;
    log::KeptTransactions kept;
    uint64_t lost_outcomes = 0;  // still wanted, but the window is smaller now
    bool out_of_memory = false;
    int32_t undeclared_table = -1;
  };
  Window* window_of(Stream& stream, SessionId session);
  using SetAside = std::function<bool(uint32_t local_shard, Bytes redo)>;
  std::string restore_with(const SetAside& set_aside, uint32_t worker, uint32_t worker_count, TimeNs now,
                           commit::Machine* machine) const;

  const uint32_t window_;
  std::vector<Stream> streams_;
};

// A record of what is kept (placement NIC: Mirror::tell()), for a worker's shards. False: it makes no sense.
bool replay_kept(Bytes record, uint32_t worker, uint32_t worker_count, uint32_t shard_count, RecoveredState* state);

}  // namespace txnic::back
