// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/commit/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace txnic::test {

void History::begin(const std::vector<Work>& works) { entries_[id_of(works.front().id)].works = works; }

void History::check(const Id& id, const Entry& entry) const {
  EXPECT_FALSE(!entry.committed.empty() && entry.aborted_somewhere)
      << "atomicity: durably committed at one participant, aborted at another: session " << id.session << " sequence "
      << id.sequence;
  EXPECT_FALSE(entry.told_commit && entry.told_abort) << "told both ways: " << id.session << " " << id.sequence;
  EXPECT_FALSE(!entry.committed.empty() && entry.told_abort) << "an abort turned commit: " << id.session << " "
                                                             << id.sequence;
  EXPECT_FALSE(entry.aborted_somewhere && entry.told_commit) << "a told commit was undone: " << id.session << " "
                                                             << id.sequence;
}

void History::on_told(const Id& id, Result result, const std::map<Key, uint64_t>& read) {
  Entry& entry = entries_.at(id);
  if (result == Result::kCommitted) {
    told_commits_ += entry.told_commit ? 0 : 1;
    entry.told_commit = true;
    // Everybody's values are there, and each copy of the answer is the same.
    if (!read.empty()) {
      size_t keys = 0;
      for (const Work& work : entry.works) keys += work.reads.size() + work.adds.size();
      EXPECT_EQ(read.size(), keys);
      EXPECT_TRUE(entry.read.empty() || entry.read == read);
      entry.read = read;
    }
  } else {
    told_aborts_ += entry.told_abort ? 0 : 1;
    entry.told_abort = true;
  }
  check(id, entry);
}

void History::on_durable(const LogRecord& record) {
  Entry& entry = entries_.at(record.place.first);
  if (record.kind == Record::kPrepare) {
    for (size_t at = 0; at < record.values.size(); at += sizeof(wire::ValueHeader) + 8) {
      entry.prepared[load<Key>(&record.values[at + sizeof(wire::ValueHeader)])] =
          load<wire::ValueHeader>(&record.values[at]).version - 1;
    }
  } else if (record.kind == Record::kCommit) {
    EXPECT_TRUE(entry.committed.insert(record.place.second).second) << "executed twice at shard "
                                                                    << record.place.second;
  } else if (record.kind == Record::kAbort) {
    entry.aborted_somewhere = true;
  }
  check(record.place.first, entry);
}

void History::check_end() {
  for (const auto& [id, entry] : entries_) {
    check(id, entry);
    const bool all = entry.committed.size() == entry.works.size();
    EXPECT_TRUE(entry.committed.empty() || all) << "not atomic: session " << id.session << " sequence " << id.sequence;
    EXPECT_TRUE(!entry.told_commit || all) << "a told commit is not there: " << id.session << " " << id.sequence;
    if (all && !entry.read.empty()) {
      EXPECT_EQ(entry.read, entry.prepared);
    }
  }
  check_serializable();
}

// Every add raises its key by one, so what a transaction read is its place in the order of that key's writers: n was
// written by the writer that read n - 1. The graph of who must come before whom has no cycle.
void History::check_serializable() const {
  std::vector<const Entry*> committed;
  for (const auto& [id, entry] : entries_) {
    if (!entry.committed.empty()) committed.push_back(&entry);
  }
  std::map<std::pair<Key, uint64_t>, size_t> writer_after;  // key and number read → who wrote the next one
  for (size_t i = 0; i < committed.size(); ++i) {
    for (const Work& work : committed[i]->works) {
      for (const Key key : work.adds) {
        const bool first = writer_after.emplace(std::pair{key, committed[i]->prepared.at(key)}, i).second;
        EXPECT_TRUE(first) << "a lost update of key " << key;
      }
    }
  }
  std::vector<std::set<size_t>> after(committed.size());
  for (size_t i = 0; i < committed.size(); ++i) {
    for (const auto& [key, number] : committed[i]->prepared) {
      if (const auto next = writer_after.find({key, number}); next != writer_after.end() && next->second != i) {
        after[i].insert(next->second);
      }
      if (number == 0) continue;
      const auto writer = writer_after.find({key, number - 1});
      if (writer == writer_after.end()) {
        ADD_FAILURE() << "key " << key << " was read as " << number << ", which nobody committed wrote";
      } else {
        after[writer->second].insert(i);
      }
    }
  }
  std::vector<int> colour(committed.size(), 0);
  const std::function<bool(size_t)> has_cycle = [&](size_t i) {
    colour[i] = 1;
    for (const size_t next : after[i]) {
      if (colour[next] == 1 || (colour[next] == 0 && has_cycle(next))) return true;
    }
    colour[i] = 2;
    return false;
  };
  for (size_t i = 0; i < committed.size(); ++i) {
    if (colour[i] == 0 && has_cycle(i)) {
      ADD_FAILURE() << "not serializable: a cycle through session " << committed[i]->works.front().id.session;
      return;
    }
  }
}

}  // namespace txnic::test
