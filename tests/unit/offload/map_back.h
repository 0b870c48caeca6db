// SPDX-License-Identifier: BSD-3-Clause
// A back for tests of the front: std::map instead of a store, a counter instead of a log, and a disk that the test
// moves on by hand.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "offload/back.h"

namespace txnic::test {

class MapBack {
 public:
  struct Row {
    Version version;
    std::string value;
  };
  using Key = std::tuple<uint32_t, TableId, std::string>;

  explicit MapBack(uint32_t shards = 1, Version first = first_version(1)) : versions(shards, first) {}

  bool knows_table(TableId table) const { return table < 16; }
  void prefetch_bucket(uint32_t, uint64_t) const {}
  void prefetch_record(uint32_t, uint64_t) const {}
  offload::Found find(uint32_t shard, TableId table, const std::byte* key, uint32_t length, uint64_t) {
    const auto it = rows.find(Key{shard, table, text(key, length)});
    if (it == rows.end()) return {nullptr, absence, nullptr, 0};
    Row& row = it->second;
    return {&row, row.version, reinterpret_cast<const std::byte*>(row.value.data()),
            static_cast<uint32_t>(row.value.size())};
  }
  BusyReason can_commit(const offload::CommitRequest&) { return busy; }
  Version commit(const offload::CommitRequest& request) {
    const Version version = ++versions[request.local_shard];
    for (const offload::Write& write : request.writes) {
      const Key key{request.local_shard, write.table, text(write.key, write.key_length)};
      if (write.is_delete) {
        rows.erase(key);
        absence = version;
      } else {
        rows[key] = {version, text(write.value, write.value_length)};
      }
    }
    ++commits;
    writes += request.writes.size();
    end += 64;
    return version;
  }
  bool log_session_open(SessionId, Endpoint, Stamp, Sequence) { return !log_full && (end += 64) != 0; }
  bool log_session_close(SessionId) { return !log_full && (end += 64) != 0; }
  Lsn dependency(uint32_t shard, Version version) const { return sync && version > durable_version(shard) ? end : 0; }
  Lsn dependency_on_all() const { return sync ? end : 0; }
  Lsn durable() const { return durable_lsn; }
  uint32_t poll(TimeNs) { return 0; }
  bool quiet() const { return true; }

  // ---- transactions over several shards. Redo: u16 table, u8 key length, u8 is_delete, u16 value length, key, value.
  uint32_t encode_redo(std::span<const offload::Write> changes, MutableBytes room) {
    std::string redo;
    for (const offload::Write& w : changes) {
      const std::array<uint16_t, 3> head{w.table, static_cast<uint16_t>(w.key_length | w.is_delete << 8),
                                         w.value_length};
      redo.append(reinterpret_cast<const char*>(head.data()), sizeof head);
      redo += text(w.key, w.key_length) + text(w.value, w.value_length);
    }
    std::memcpy(room.data(), redo.data(), redo.size());
    return static_cast<uint32_t>(redo.size());
  }
  bool set_aside(uint32_t, std::span<const offload::Write>) {
    aside += has_room;
    return has_room;
  }
  void give_back(uint32_t, Bytes) { --aside; }
  Version take_version(uint32_t shard) { return ++versions[shard]; }
  void apply(uint32_t shard, Version version, Bytes redo) {
    --aside;
    while (!redo.empty()) {
      const auto head = load<std::array<uint16_t, 3>>(redo.data());
      const uint32_t key_length = head[1] & 0xff;
      const Key key{shard, head[0], text(redo.data() + 6, key_length)};
      if (head[1] >> 8 != 0) {
        rows.erase(key);
        absence = std::max(absence, version);
      } else {
        rows[key] = {version, text(redo.data() + 6 + key_length, head[2])};
      }
      redo = redo.subspan(6 + key_length + head[2]);
    }
  }
  bool log_transaction(const offload::TransactionRecord& record, Lsn* lsn) {
    if (log_full) return false;
    records.push_back(record.kind);
    end += 64;
    *lsn = sync ? end : 0;
    return true;
  }

  Version durable_version(uint32_t shard) const { return durable_lsn == end ? versions[shard] : durable_versions; }
  void sync_all() {
    durable_lsn = end;
    durable_versions = versions[0];
  }

  std::map<Key, Row> rows;
  std::deque<Version> versions;
  Version absence = first_version(1);
  Version durable_versions = first_version(1);
  Lsn end = 0, durable_lsn = 0;
  uint64_t commits = 0, writes = 0;
  std::vector<commit::Record> records;
  int aside = 0;  // prepared writes whose memory is set aside
  bool has_room = true;
  BusyReason busy = BusyReason::kNone;
  bool sync = false, log_full = false;

 private:
  static std::string text(const std::byte* at, uint32_t length) { return {reinterpret_cast<const char*>(at), length}; }
};
static_assert(offload::Back<MapBack>);

}  // namespace txnic::test
