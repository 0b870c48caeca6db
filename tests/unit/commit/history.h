// SPDX-License-Identifier: BSD-3-Clause
// What a run of transactions has promised, and whether it was kept: atomicity, exactly once, no told outcome ever
// turned, serializability of what committed transactions read and wrote.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tests/unit/commit/toy_node.h"

namespace txnic::test {

class History {
 public:
  void begin(const std::vector<Work>& works);
  // The coordinator told the client; `read` is empty for a duplicate.
  void on_told(const Id& id, Result result, const std::map<Key, uint64_t>& read);
  // A record has reached a disk.
  void on_durable(const LogRecord& record);
  // After everything has come to rest.
  void check_end();

  uint64_t told_commits() const { return told_commits_; }
  uint64_t told_aborts() const { return told_aborts_; }

 private:
  struct Entry {
    std::vector<Work> works;
    std::set<ShardId> committed;
    bool aborted_somewhere = false;
    bool told_commit = false, told_abort = false;
    std::map<Key, uint64_t> read;       // as the client was told
    std::map<Key, uint64_t> prepared;   // as the last PREPARE records say
  };
  void check(const Id& id, const Entry& entry) const;
  void check_serializable() const;

  std::map<Id, Entry> entries_;
  uint64_t told_commits_ = 0, told_aborts_ = 0;
};

}  // namespace txnic::test
