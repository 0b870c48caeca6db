// SPDX-License-Identifier: BSD-3-Clause
// What a front would append, at random and valid: sessions that open and close, commits, transactions over several
// shards in all their states. It remembers what the rows must be in the end.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "offload/records.h"

namespace txnic::test {

class RecordAuthor {
 public:
  // Appends a record: false if there is no room now.
  using Append = std::function<bool(Bytes record)>;

  RecordAuthor(uint64_t seed, uint32_t shards, uint32_t window, Append append)
      : random_(seed), shards_(shards), window_(window), append_(std::move(append)), versions_(shards) {}

  void begin_incarnation(uint32_t incarnation) {
    for (Version& version : versions_) version = first_version(incarnation);
  }
  // One step: mostly one record, sometimes none.
  void step();
  // Brings what is prepared to its end. False: there is still something.
  bool finish();

  struct Row {
    std::vector<std::byte> value;
    Version version = 0;
    friend bool operator==(const Row&, const Row&) = default;
  };
  using Key = std::pair<uint32_t, uint64_t>;  // shard, key
  const std::map<Key, Row>& rows() const { return rows_; }
  uint64_t records() const { return records_; }
  size_t live() const { return live_.size(); }
  static constexpr TableId kTable = 1;

 private:
  struct SessionState {
    Sequence next = 1, watermark = 1;
    uint32_t live = 0;
  };
  struct Live {
    TransactionId id;
    uint32_t shard;
    uint8_t place;
    Version version;
    std::vector<Key> keys;
    std::vector<std::byte> redo;
    bool decided = false;  // coordinator: the end is still to come
    bool committed = false;
  };

  void open_session();
  void close_session();
  void commit();
  void prepare();
  void decide(size_t at);
  void promise();
  bool append(Bytes record);
  bool append_transaction(log::RecordType type, const Live& live, Result result, bool in_window);
  std::vector<std::byte> make_redo(uint32_t shard, std::vector<Key>* keys);
  void apply(uint32_t shard, Version version, Bytes redo);
  SessionId any_session();
  Participants participants(uint32_t shard, uint8_t place) const;

  std::mt19937_64 random_;
  const uint32_t shards_, window_;
  const Append append_;
  std::vector<Version> versions_;
  std::map<SessionId, SessionState> sessions_;
  std::vector<Live> live_;
  std::set<Key> locked_;
  std::map<Key, Row> rows_;
  Sequence promises_ = 0;
  uint64_t records_ = 0;
};

}  // namespace txnic::test
