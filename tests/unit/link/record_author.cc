// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/link/record_author.h"

#include <algorithm>

namespace txnic::test {
namespace {

constexpr uint64_t kSessions = 6;
constexpr uint64_t kKeys = 40;
constexpr size_t kLiveMax = 20;

}  // namespace

void RecordAuthor::step() {
  const uint64_t draw = random_() % 100;
  if (sessions_.empty() || draw < 4) return open_session();
  if (draw < 6) return close_session();
  if (draw < 8) return promise();
  if (draw < 30 && live_.size() < kLiveMax) return prepare();
  if (draw < 55 && !live_.empty()) return decide(random_() % live_.size());
  commit();
}

bool RecordAuthor::finish() {
  if (!live_.empty()) decide(live_.size() - 1);
  return live_.empty();
}

bool RecordAuthor::append(Bytes record) {
  if (!append_(record)) return false;
  ++records_;
  return true;
}

SessionId RecordAuthor::any_session() {
  auto at = sessions_.begin();
  std::advance(at, random_() % sessions_.size());
  return at->first;
}

Participants RecordAuthor::participants(uint32_t shard, uint8_t place) const {
  Participants all;
  all.count = 2;
  all.map_epoch = 1;
  all.shards[place] = static_cast<ShardId>(shard);
  all.shards[1 - place] = static_cast<ShardId>(shards_ + 3);  // another node's
  return all;
}

void RecordAuthor::open_session() {
  const SessionId id = 1 + random_() % kSessions;
  std::array<std::byte, offload::kOpenRecordBytes> record;
  if (!sessions_.contains(id)) {
    offload::lay_close_record(id, record.data());
    if (!append(Bytes(record).first(offload::kCloseRecordBytes))) return;
  }
  offload::lay_open_record(id, {0x0a000001, 99}, make_stamp(1, static_cast<uint32_t>(records_)), 1, record.data());
  if (append(record)) sessions_.try_emplace(id);
}

void RecordAuthor::close_session() {
  const SessionId id = any_session();
  if (sessions_[id].live != 0) return;  // COMMIT 9
  std::array<std::byte, offload::kCloseRecordBytes> record;
  offload::lay_close_record(id, record.data());
  if (append(record)) sessions_.erase(id);
}

std::vector<std::byte> RecordAuthor::make_redo(uint32_t shard, std::vector<Key>* keys) {
  std::vector<std::byte> redo(4096);
  uint32_t used = 0;
  const uint64_t count = 1 + random_() % 4;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = random_() % kKeys;
    const Key name{shard, key};
    if (locked_.contains(name) || std::find(keys->begin(), keys->end(), name) != keys->end()) continue;
    keys->push_back(name);
    const bool is_delete = rows_.contains(name) && random_() % 4 == 0;
    const std::vector<std::byte> value(is_delete ? 0 : random_() % 300, static_cast<std::byte>(random_()));
    used += log::lay_write(redo.data() + used, kTable, is_delete, reinterpret_cast<const std::byte*>(&key), 8,
                           value.data(), static_cast<uint16_t>(value.size()));
  }
  redo.resize(used);
  return redo;
}

void RecordAuthor::apply(uint32_t shard, Version version, Bytes redo) {
  log::LoggedWrite write;
  for (size_t at = 0; at < redo.size();) {
    at += log::read_write(redo.data() + at, static_cast<uint32_t>(redo.size() - at), &write);
    const Key key{shard, load<uint64_t>(write.key.data())};
    if (write.is_delete) {
      rows_.erase(key);
    } else {
      rows_[key] = {{write.value.begin(), write.value.end()}, version};
    }
  }
}

void RecordAuthor::commit() {
  const auto shard = static_cast<uint32_t>(random_() % shards_);
  const SessionId id = any_session();
  SessionState& session = sessions_[id];
  if (session.next >= session.watermark + window_) return;  // COMMIT 10
  std::vector<Key> keys;
  const std::vector<std::byte> redo = make_redo(shard, &keys);
  if (redo.empty()) return;
  const bool is_replay = random_() % 10 == 0;
  std::vector<std::byte> record(sizeof(log::RecordHeader) + redo.size());
  store(record.data(),
        log::RecordHeader{static_cast<uint32_t>(record.size()), static_cast<uint8_t>(log::RecordType::kCommit),
                          static_cast<uint8_t>(keys.size()), static_cast<ShardId>(shard), versions_[shard] + 1,
                          is_replay ? 0 : id, session.next, session.watermark});
  std::memcpy(record.data() + sizeof(log::RecordHeader), redo.data(), redo.size());
  if (!append(record)) return;
  apply(shard, ++versions_[shard], redo);
  if (is_replay) return;
  // What is prepared keeps its place in the window.
  ++session.next;
  if (session.live == 0) session.watermark = session.next - random_() % std::min<uint64_t>(session.next, window_ / 4);
}

bool RecordAuthor::append_transaction(log::RecordType type, const Live& live, Result result, bool in_window) {
  log::TransactionEntry entry;
  entry.type = type;
  entry.id = live.id;
  entry.participants = participants(live.shard, live.place);
  entry.place = live.place;
  entry.result = result;
  entry.in_window = in_window;
  entry.version = live.version;
  entry.watermark = in_window ? sessions_[live.id.session].watermark : 1;
  std::vector<commit::Lock> locks;
  if (type == log::RecordType::kPrepare) {
    for (const Key& key : live.keys) locks.push_back({key.second * 0x9e3779b97f4a7c15 + key.first + 1, true});
    entry.locks = locks;
  }
  if (type == log::RecordType::kPrepare || type == log::RecordType::kPreparedCommit) entry.redo = live.redo;
  std::vector<std::byte> record(log::transaction_bytes(entry));
  log::lay_transaction(entry, static_cast<ShardId>(live.shard), record.data());
  return append(record);
}

void RecordAuthor::prepare() {
  Live live;
  live.shard = static_cast<uint32_t>(random_() % shards_);
  live.place = static_cast<uint8_t>(random_() % 2);
  const SessionId id = any_session();
  SessionState& session = sessions_[id];
  if (session.next >= session.watermark + window_ / 2) return;
  live.id = {id, session.next};
  live.redo = make_redo(live.shard, &live.keys);
  live.version = live.redo.empty() ? 0 : versions_[live.shard] + 1;
  if (!append_transaction(log::RecordType::kPrepare, live, Result::kCommitted, true)) return;
  ++session.next;
  ++session.live;
  if (live.version != 0) ++versions_[live.shard];
  locked_.insert(live.keys.begin(), live.keys.end());
  live_.push_back(std::move(live));
}

void RecordAuthor::decide(size_t at) {
  Live& live = live_[at];
  const bool commits = live.decided ? live.committed : random_() % 3 != 0;
  const Result result = commits ? Result::kCommitted : Result::kConflict;
  const auto type = live.decided ? log::RecordType::kEnd
                    : commits    ? log::RecordType::kPreparedCommit
                                 : log::RecordType::kAbort;
  if (!append_transaction(type, live, result, true)) return;
  if (!live.decided) {
    if (commits) apply(live.shard, live.version, live.redo);
    for (const Key& key : live.keys) locked_.erase(key);
  }
  if (live.place == 0 && !live.decided) {
    live.decided = true;
    live.committed = commits;
    return;
  }
  --sessions_[live.id.session].live;
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
}

// An abort of what was never prepared, for a session that is not open.
void RecordAuthor::promise() {
  Live live;
  live.id = {1 + random_() % kSessions, 1'000'000 + ++promises_};
  if (sessions_.contains(live.id.session)) return;
  live.id.sequence = 1 + promises_ % (window_ / 2);
  live.shard = static_cast<uint32_t>(random_() % shards_);
  live.place = 1;
  live.version = 0;
  append_transaction(log::RecordType::kAbort, live, Result::kConflict, false);
}

}  // namespace txnic::test
