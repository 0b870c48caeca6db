// SPDX-License-Identifier: BSD-3-Clause
// The host's side of one worker with placement NIC: what a front on the NIC appends goes into log, store and mirror;
// its questions are answered from the store; and when it dies, the mirror is told to the next one (COMMIT 19-23).
//
// In the worker's loop: on_frame() for each frame of the link, then poll(). Who may serve is decided above, for all
// workers of the node together:
//
//   if (server.link().wants_front()) …               // a front says hello, and nobody serves: a new incarnation, then
//   server.admit(epoch, incarnation, now);           // epoch: new; incarnation: durable (COMMIT 14)
//   if (server.link().front_is_dead(now)) …          // its lease is over: admit the next one, or serve on the host:
//   server.link().set_open(false), server.link().expel(), server.tell(…);
//
// Records of a front have been decided: they are never refused for what they say, only put off while the log is full or
// the store's memory is used up. For that not to happen the front is told in time (DURABLE, kStoreFull) when less than
// `reserve_bytes` are free. A table's declared capacity does not bind here: memory does.
#pragma once

#include "host/back/host_back.h"
#include "host/back/mirror.h"
#include "offload/link/back_end.h"

namespace txnic::back {

struct LinkServerConfig {
  link::BackEndConfig link;
  uint32_t shard_count = 1;  // of the node
  // Free memory of each shard below which the front must not write: more than the records on their way can take.
  uint64_t reserve_bytes = 4 * limits::kLinkAppendBytes;
};

struct LinkServerCounters {
  uint64_t commits = 0, rows = 0;  // of one shard; writes of all kinds
  uint64_t prepares = 0, prepared_commits = 0, aborts = 0;
  uint64_t found = 0, absent = 0;  // questions
  uint64_t no_memory = 0;          // records put off: the store is full
  uint64_t log_full = 0;           // records put off
  uint64_t not_set_aside = 0;      // prepared without their memory set aside: a table has reached its capacity
};

class LinkServer final : public link::BackEvents {
 public:
  static size_t memory_bytes() { return link::BackEnd::memory_bytes(); }
  // `back`: of the same worker, made with the mirror's session table, and this mirror set (HostBack::set_mirror).
  // `memory`: memory_bytes(), 64-aligned. All outlive this.
  LinkServer(const LinkServerConfig& config, HostBack* back, Mirror* mirror, MutableBytes memory,
             link::FramePort* port);

  void on_frame(Bytes frame, TimeNs now) { link_.on_frame(frame, now); }
  // At start: what recovery has kept, record by record (RecoveredState::tell). False: it does not fit.
  bool keep(Bytes record);
  // The front on the host takes over what is kept, with the memory that is set aside for prepared transactions: gives
  // it back, for RecoveredState::restore() to set it aside again.
  void give_back_all();
  // Sends what there is to say. Call HostBack::poll() before it.
  uint32_t poll();

  void admit(uint64_t epoch, uint32_t incarnation, TimeNs now);
  link::BackEnd& link() { return link_; }
  const link::BackEnd& link() const { return link_; }
  const LinkServerCounters& counters() const { return counters_; }

  // What is kept of earlier fronts, as a checkpoint's records: for a front on the host. Only while no front serves.
  // Calls take(Bytes record) for each.
  template <class Take>
  void tell(Take&& take);

 private:
  link::Taken on_record(Bytes record) override;
  void prefetch_record(Bytes record, Stage stage) override;
  void prefetch_question(const link::Question& question, Stage stage) override;
  void prefetch_key(uint32_t local_shard, TableId table, Bytes key, Stage stage) const;
  link::Answer on_question(const link::Question& question) override;
  uint32_t kept(MutableBytes room, bool from_start) override;
  uint32_t hashes(uint32_t local_shard, uint64_t cursor, std::span<uint64_t> room, uint64_t* next) override;

  bool is_mine(ShardId shard) const;
  static link::Taken put_off(uint64_t* counter) { return ++*counter, link::Taken::kLater; }
  link::Taken take(Bytes record, const log::TransactionEntry* entry);
  link::Taken take_commit(const log::RecordHeader& header, Bytes record);
  link::Taken take_transaction(const log::RecordHeader& header, Bytes record, const log::TransactionEntry& entry);
  Bytes prepared_redo(const TransactionId& id, ShardId shard, bool* is_set_aside) const;
  Lsn durable() const;

  const LinkServerConfig config_;
  HostBack* const back_;
  Mirror* const mirror_;
  link::BackEnd link_;
  Lsn log_base_ = 0;           // of the log, where this epoch's records begin
  uint32_t version_told_ = 0;  // shards whose version kept() has told
  Mirror::Cursor cursor_;
  LinkServerCounters counters_;
};

template <class Take>
void LinkServer::tell(Take&& take) {
  std::vector<std::byte> room(limits::kLogRecordBytesMax);
  for (bool first = true;; first = false) {
    const uint32_t bytes = kept(room, first);
    if (bytes == 0) return;
    for (uint32_t at = 0; at < bytes; at += load<uint32_t>(room.data() + at)) {
      take(Bytes(room).subspan(at, load<uint32_t>(room.data() + at)));
    }
  }
}

}  // namespace txnic::back
