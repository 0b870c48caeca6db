// SPDX-License-Identifier: BSD-3-Clause
// A node for tests of the commit machine: a toy store, a toy window, and a log of which a crash keeps any prefix that
// holds what was synced. Messages leave as bytes of the wire.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "txn/commit/machine.h"

namespace txnic::test {

using commit::Past;
using commit::Record;
using commit::State;
using commit::Transaction;

using Key = uint64_t;  // also the name of its lock
struct Id {            // an ordered TransactionId
  SessionId session;
  Sequence sequence;
  auto operator<=>(const Id&) const = default;
};
inline Id id_of(const TransactionId& id) { return {id.session, id.sequence}; }
using Place = std::pair<Id, ShardId>;

// What a client asks of one participant: it reads `reads`, and adds one to each of `adds`.
struct Work {
  TransactionId id;
  Participants participants;
  ShardId shard = 0;
  std::vector<Key> reads, adds;
  Sequence watermark = 1;
  uint32_t stamp = 0;  // the incarnation that the client knows
  bool fails = false;  // its evaluation says no
};

struct LogRecord {
  Record kind;
  Place place;
  Participants participants;
  Result result;
  uint8_t detail;
  std::vector<commit::Lock> locks;  // kPrepare
  std::vector<std::byte> redo, values;
  Version version;
  uint8_t value_count;
  Sequence watermark;
};

class ToyNode final : public commit::Node {
 public:
  struct Hooks {
    std::function<void(ShardId to, std::vector<std::byte>)> send;
    // What the coordinator tells: committed with the values read (empty for a duplicate), or aborted.
    std::function<void(const TransactionId&, Result, const std::map<Key, uint64_t>&)> answer;
    std::function<void(const LogRecord&)> durable;
  };

  ToyNode(std::set<ShardId> shards, uint32_t transactions, Hooks hooks);

  // ---- what happens to it
  void on_work(const Work& work, TimeNs now);
  void on_bytes(const std::vector<std::byte>& bytes, TimeNs now);
  void on_timer(TimeNs now) { machine.on_timer(now); }
  // Everything up to `records` of the unsynced ones reaches the disk.
  void sync(size_t records, TimeNs now);
  // Of the unsynced records the first `keep` survive.
  void crash(size_t keep, TimeNs now);
  // The log is cut; what must survive is kept beside it (COMMIT 13).
  void checkpoint();
  // The session expires: its window goes, if nothing in it is under way (COMMIT 9). False: it stays. A PREPARE with an
  // id of before is then taken for a new one; late questions of participants are not answered by a promise.
  bool forget(SessionId session);
  size_t unsynced() const { return log_.size() - durable_; }
  bool owns(ShardId shard) const { return shards_.contains(shard); }

  commit::Machine machine;
  std::map<Key, uint64_t> store;
  uint32_t incarnation = 1;
  bool forgets = false;  // durability none, from the next start on: crash(0)
  size_t log_limit = SIZE_MAX;  // records that fit: then the log is full
  size_t log_size() const { return log_.size(); }

  // ---- commit::Node
  bool append(Record record, const Transaction& t, Lsn* lsn) override;
  void send(const wire::CommitMessage& m) override;
  void answer(const Transaction& t) override;
  void let_go(const commit::Client&) override {}
  void apply(const Transaction& t) override;
  void give_back(const Transaction&) override {}
  bool remember(const Transaction& t) override;
  Past past(const TransactionId& id, ShardId shard) const override;

 private:
  struct Kept {  // what a replay knows of a transaction
    LogRecord last;
    std::optional<LogRecord> prepare;
    bool ended = false;
  };
  struct Base {  // a checkpoint
    std::map<Key, uint64_t> store;
    std::map<Place, Result> window;
    std::map<SessionId, Sequence> watermarks;
    std::map<Place, Kept> kept;
  };
  LogRecord record_of(Record kind, const Transaction& t) const;
  void start(TimeNs now);
  void replay(const LogRecord& record, std::map<Place, Kept>& kept);
  void restore(const Kept& kept, TimeNs now);

  const std::set<ShardId> shards_;
  const uint32_t transactions_;
  const Hooks hooks_;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_;
  std::map<Place, Result> window_;
  std::set<Place> expired_;  // were in windows that went
  bool takes_prepare_ = false;
  std::map<SessionId, Sequence> watermarks_;  // of the sessions that are known
  std::vector<LogRecord> log_;
  size_t durable_ = 0;
  Lsn base_lsn_ = 0;  // of the record before the first one of log_
  Base base_;
};

}  // namespace txnic::test
