// SPDX-License-Identifier: BSD-3-Clause
#include "host/back/recovered_state.h"

#include <algorithm>
#include <unordered_set>

#include "txn/hash.h"

namespace txnic::back {

RecoveredState::RecoveredState(std::vector<storage::Shard*> shards, uint32_t window)
    : window_(window), streams_(shards.size()) {
  for (size_t i = 0; i < shards.size(); ++i) streams_[i].shard = shards[i];
}

RecoveredState::~RecoveredState() = default;

bool RecoveredState::on_put(ShardId shard, TableId table, Bytes key, Bytes value, Version version) {
  Stream& stream = streams_[shard];
  const auto key_length = static_cast<uint32_t>(key.size());
  const uint64_t hash = table_hash(hash_key(key.data(), key_length), table);
  stream.newest = std::max(stream.newest, version);
  if (stream.shard == nullptr) return false;
  if (stream.shard->table_index(table) < 0) {
    stream.undeclared_table = table;
    return false;
  }
  if (stream.shard->load(table, key.data(), key_length, hash, value.data(), static_cast<uint32_t>(value.size()),
                         version)) {
    return true;
  }
  stream.out_of_memory = true;
  return false;
}

bool RecoveredState::on_delete(ShardId shard, TableId table, Bytes key, Version version) {
  Stream& stream = streams_[shard];
  const auto key_length = static_cast<uint32_t>(key.size());
  const uint64_t hash = table_hash(hash_key(key.data(), key_length), table);
  stream.newest = std::max(stream.newest, version);
  if (stream.shard == nullptr) return false;
  if (stream.shard->table_index(table) < 0) {
    stream.undeclared_table = table;
    return false;
  }
  const storage::Lookup found = stream.shard->find(table, key.data(), key_length, hash);
  // A checkpoint is fuzzy: the row may be gone from it already when its delete is replayed.
  if (found.record != nullptr) stream.shard->erase(found.record, hash, version);
  return true;
}

RecoveredState::Window* RecoveredState::window_of(Stream& stream, SessionId session) {
  if (stream.last_id == session && stream.last != nullptr) return stream.last;
  std::unique_ptr<Window>& window = stream.windows[session];
  if (window == nullptr) {
    window = std::make_unique<Window>();
    window->outcomes.resize(window_);
  }
  stream.last_id = session;
  stream.last = window.get();
  return stream.last;
}

bool RecoveredState::on_outcome(ShardId shard, SessionId session, uint64_t outcome_key, Version version,
                                Sequence watermark) {
  Stream& stream = streams_[shard];
  stream.newest = std::max(stream.newest, version);
  Window* const window = window_of(stream, session);
  window->watermark = std::max(window->watermark, watermark);
  Outcome& entry = window->outcomes[(outcome_key >> 16) & (window_ - 1)];
  const Outcome outcome{outcome_key, version};
  if (entry.key != 0 && entry.sequence() > outcome.sequence()) {
    // Out of order inside a window is normal; losing an outcome that is still wanted is not.
    if (outcome.sequence() >= window->watermark) ++stream.lost_outcomes;
    return true;
  }
  if (entry.key != 0 && entry.sequence() < outcome.sequence() && entry.sequence() >= window->watermark) {
    ++stream.lost_outcomes;
  }
  entry = outcome;
  return true;
}

bool RecoveredState::on_shard_version(ShardId shard, Version newest) {
  streams_[shard].newest = std::max(streams_[shard].newest, newest);
  return true;
}

bool RecoveredState::on_session_open(ShardId shard, SessionId session, Endpoint, Stamp, Sequence, Sequence watermark) {
  Stream& stream = streams_[shard];
  // An outcome below the watermark may be in no window any more, and a checkpoint has cut its record off: with the
  // watermark it is forgotten, without it "never prepared", and would be promised away (COMMIT 11, 13).
  Window* const window = window_of(stream, session);
  window->watermark = std::max(window->watermark, watermark);
  stream.kept.on_session_open(session, [&](const log::KeptTransaction& kept) {
    const Outcome outcome = log::outcome_of(kept.id, kept.result, kept.detail, kept.version);
    on_outcome(shard, session, outcome.key, outcome.version, kept.watermark);
  });
  return true;
}

bool RecoveredState::on_session_close(ShardId shard, SessionId session) {
  Stream& stream = streams_[shard];
  stream.windows.erase(session);
  stream.kept.on_session_close(session);
  if (stream.last_id == session) stream.last = nullptr;
  return true;
}

std::string RecoveredState::fill(uint32_t worker, uint32_t worker_count, TimeNs now, SessionTable* table) const {
  for (size_t shard = worker; shard < streams_.size(); shard += worker_count) {
    const Stream& stream = streams_[shard];
    if (stream.lost_outcomes != 0) {
      return "sessions.window = " + std::to_string(window_) + " is smaller than what the log's sessions have " +
             "outstanding: start with the window that the log was written with (or larger)";
    }
    const auto local_shard = static_cast<uint32_t>(shard / worker_count);
    for (const auto& [id, window] : stream.windows) {
      Session* session = table->find(id);
      if (session == nullptr) session = table->insert(id);
      if (session == nullptr) {
        return "sessions.count = " + std::to_string(table->capacity()) +
               " is smaller than the number of sessions in the log: raise it";
      }
      if (!session->is_static) session->stamp = kRecoveredStamp;
      session->last_seen_ns = now;
      session->watermark = std::max(session->watermark, window->watermark);
      for (const Outcome& outcome : window->outcomes) {
        if (outcome.key != 0) table->entry(session, local_shard, outcome.sequence()) = outcome;
      }
    }
  }
  return {};
}

void RecoveredState::prefetch(ShardId shard, TableId table, Bytes key) {
  if (streams_[shard].shard == nullptr) return;
  streams_[shard].shard->prefetch_bucket(table_hash(hash_key(key.data(), static_cast<uint32_t>(key.size())), table));
}

std::string RecoveredState::why_stopped() const {
  for (const Stream& stream : streams_) {
    if (stream.undeclared_table >= 0) {
      return "the log has rows of table " + std::to_string(stream.undeclared_table) +
             ", which the configuration does not declare: declare it again";
    }
    if (stream.out_of_memory) {
      return "the log's rows do not fit: raise memory_mib or the capacity of the tables in the configuration";
    }
  }
  return {};
}

uint64_t RecoveredState::sessions() const {
  std::unordered_set<SessionId> ids;
  for (const Stream& stream : streams_) {
    for (const auto& [id, window] : stream.windows) ids.insert(id);
  }
  return ids.size();
}

}  // namespace txnic::back
