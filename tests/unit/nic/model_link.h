// SPDX-License-Identifier: BSD-3-Clause
// A host link as the back on the NIC sees it (link::FrontEnd), without frames: the host behind it is a map, and takes,
// syncs and answers as slowly as the test says. Records keep their order and so do questions, but not the two among
// each other; an answer is as old as the moment when the host looked.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "offload/link/front_end.h"
#include "txn/hash.h"
#include "txn/record/transaction_record.h"

namespace txnic::test {

// What the host does with records, and what it says of keys.
class ModelHost {
 public:
  struct Row {
    Version version;
    std::string value;
  };
  using Key = std::pair<TableId, std::string>;

  void take(Bytes record) {
    const auto header = load<log::RecordHeader>(record.data());
    ASSERT_EQ(header.length, record.size());
    switch (static_cast<log::RecordType>(header.type)) {
      case log::RecordType::kCommit: {
        Version& newest = newest_[header.shard];
        ASSERT_GT(header.version, newest) << "a version of shard " << header.shard << " came twice, or out of order";
        newest = header.version;
        write(header.version, record.subspan(sizeof header));
        ++commits;
        return;
      }
      case log::RecordType::kPrepare:
      case log::RecordType::kPreparedCommit:
      case log::RecordType::kAbort: {
        log::LockArray locks;
        log::TransactionEntry entry;
        ASSERT_TRUE(log::parse_transaction(record.data(), header.length, &locks, &entry));
        const auto id = std::tuple(entry.id.session, entry.id.sequence, header.shard);
        if (entry.type == log::RecordType::kPrepare) {
          ASSERT_TRUE(prepared.insert(id).second);
          return;
        }
        const bool was_prepared = prepared.erase(id) != 0;
        if (entry.type == log::RecordType::kAbort) return;
        ASSERT_TRUE(was_prepared) << "a commit of what was not prepared";
        write(entry.version, entry.redo);
        ++prepared_commits;
        return;
      }
      case log::RecordType::kSessionOpen:
      case log::RecordType::kSessionClose:
      case log::RecordType::kEnd:
        return;
      default:
        FAIL() << "record type " << int{header.type};
    }
  }

  std::map<Key, Row> rows;
  std::set<std::tuple<SessionId, Sequence, uint16_t>> prepared;
  uint64_t commits = 0, prepared_commits = 0;

 private:
  void write(Version version, Bytes writes) {
    while (!writes.empty()) {
      log::LoggedWrite w;
      const uint32_t bytes = log::read_write(writes.data(), static_cast<uint32_t>(writes.size()), &w);
      ASSERT_NE(bytes, 0u);
      const Key key{w.table, std::string(reinterpret_cast<const char*>(w.key.data()), w.key.size())};
      if (w.is_delete) {
        rows.erase(key);
      } else {
        rows[key] = {version, std::string(reinterpret_cast<const char*>(w.value.data()), w.value.size())};
      }
      writes = writes.subspan(bytes);
    }
  }
  std::map<uint16_t, Version> newest_;
};

// What a link has to know of its node.
struct LinkPlace {
  uint32_t shards;
  bool syncs;                                           // durable() is not what is taken
  std::function<uint32_t(uint64_t key_hash)> shard_of;  // local shard of a key, or ~0
};

// Hashes of the keys of one local shard, of one of kHashParts of them: what is deleted meanwhile moves no other key.
inline constexpr uint64_t kHashParts = 8;
inline std::vector<uint64_t> hashes_of(const ModelHost& host, const LinkPlace& place, uint32_t local_shard,
                                       uint64_t part) {
  std::vector<uint64_t> hashes;
  for (const auto& [key, row] : host.rows) {
    const auto* const at = reinterpret_cast<const std::byte*>(key.second.data());
    const uint64_t hash = hash_key(at, static_cast<uint32_t>(key.second.size()));
    if (hash % kHashParts == part && place.shard_of(hash) == local_shard) hashes.push_back(table_hash(hash, key.first));
  }
  return hashes;
}

class ModelLink {
 public:
  // ---- as link::FrontEnd
  std::byte* reserve(uint32_t bytes) {
    if (end_ - taken_ + bytes > window) return nullptr;
    reserved_.assign(bytes, {});
    return reserved_.data();
  }
  Lsn append(uint32_t bytes) {
    EXPECT_EQ(bytes, reserved_.size());
    end_ += bytes;
    records_.push_back({end_, reserved_});
    return end_;
  }
  Lsn ask(uint32_t local_shard, TableId table, const std::byte* key, uint32_t key_length) {
    if (asked_ - fetched_ == questions_max) return 0;
    questions_.push_back({++asked_,
                          static_cast<uint16_t>(local_shard),
                          {table, std::string(reinterpret_cast<const char*>(key), key_length)},
                          false,
                          {}});
    return asked_;
  }
  Lsn end() const { return end_; }
  Lsn taken() const { return taken_; }
  Lsn durable() const { return durable_; }
  Lsn asked() const { return asked_; }
  Lsn fetched() const { return fetched_; }
  bool store_is_full() const { return is_full; }
  bool has_lease(TimeNs) const { return lease; }
  uint32_t poll(TimeNs) { return 0; }
  bool quiet() const { return durable_ == end_ && fetched_ == asked_; }

  uint32_t incarnation() const { return kIncarnation; }
  void begin(uint32_t, link::FrontEvents* to, const LinkPlace& at, TimeNs*) {
    events = to;
    place_ = at;
  }
  void fill() {
    for (uint32_t s = 0; s < place_.shards; ++s) {
      for (uint64_t part = 0; part < kHashParts; ++part) events->on_fill(s, hashes_of(host, place_, s, part));
      events->on_fill_done(s);
    }
  }

  // ---- the host moves on
  void take(size_t count = ~size_t{0}) {
    for (; count != 0 && !records_.empty(); --count) {
      host.take(records_.front().bytes);
      taken_ = records_.front().end;
      records_.pop_front();
      if (!place_.syncs) durable_ = taken_;
    }
  }
  void sync() { durable_ = taken_; }
  void look(size_t count = ~size_t{0}) {
    for (Asked& q : questions_) {
      if (count == 0) return;
      if (q.is_answered) continue;
      --count;
      q.is_answered = true;
      if (const auto row = host.rows.find(q.key); row != host.rows.end()) q.row = {true, row->second};
    }
  }
  void answer(size_t count = ~size_t{0}) {
    for (; count != 0 && !questions_.empty() && questions_.front().is_answered; --count) {
      const Asked q = questions_.front();
      questions_.pop_front();
      fetched_ = q.number;
      events->on_fetched(q.number,
                         {q.local_shard, q.key.first, static_cast<uint8_t>(q.key.second.size()),
                          reinterpret_cast<const std::byte*>(q.key.second.data())},
                         {q.row.first, q.row.first ? q.row.second.version : 1,
                          std::as_bytes(std::span(q.row.second.value.data(), q.row.second.value.size()))});
    }
  }
  // A bit of everything.
  void shake(std::mt19937_64& random, TimeNs) {
    const auto below = [&](uint64_t n) { return random() % n; };
    window = 16384;
    questions_max = 64;
    if (below(3) == 0) take(below(2) == 0 ? below(6) : ~size_t{0});
    if (below(4) == 0) sync();
    if (below(3) == 0) look(below(20));
    if (below(3) == 0) answer(below(20));
    lease = below(100) != 0;
    is_full = below(100) == 0;
  }
  void calm() { lease = true, is_full = false; }
  void settle(TimeNs) {
    take();
    sync();
    look();
    answer();
  }

  ModelHost host;
  link::FrontEvents* events = nullptr;
  uint64_t window = 1 << 20;
  uint64_t questions_max = 1024;
  static constexpr uint32_t kIncarnation = 3;
  bool is_full = false, lease = true;

 private:
  struct Record {
    Lsn end;
    std::vector<std::byte> bytes;
  };
  struct Asked {
    Lsn number;
    uint16_t local_shard;
    ModelHost::Key key;
    bool is_answered;
    std::pair<bool, ModelHost::Row> row;
  };
  LinkPlace place_;
  std::deque<Record> records_;
  std::deque<Asked> questions_;
  std::vector<std::byte> reserved_;
  Lsn end_ = 0, taken_ = 0, durable_ = 0, asked_ = 0, fetched_ = 0;
};

}  // namespace txnic::test
