// SPDX-License-Identifier: BSD-3-Clause
// Records about transactions over several shards: there and back, refused when malformed, replayed by position, and
// what is kept of a row of them.
#include "txn/record/transaction_record.h"

#include <gtest/gtest.h>

#include <random>

#include "host/log/kept_transactions.h"
#include "host/log/replay.h"

namespace txnic::test {
namespace {

using namespace txnic::log;

std::vector<std::byte> bytes_of(size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

// A row of `writes` writes, of which each third is a delete.
std::vector<std::byte> redo_of(uint32_t writes, uint16_t value_bytes) {
  std::vector<std::byte> redo(writes * write_bytes(8, value_bytes));
  uint32_t used = 0;
  for (uint64_t i = 0; i < writes; ++i) {
    const std::vector<std::byte> value = bytes_of(value_bytes, static_cast<int>(i));
    const bool is_delete = i % 3 == 2;
    used += lay_write(redo.data() + used, static_cast<TableId>(i), is_delete, reinterpret_cast<const std::byte*>(&i), 8,
                      value.data(), is_delete ? 0 : value_bytes);
  }
  redo.resize(used);
  return redo;
}

struct Sample {
  std::vector<commit::Lock> locks;
  std::vector<std::byte> values, redo;
  TransactionEntry entry;
};

Sample sample(RecordType type, uint32_t participants, uint32_t locks, uint32_t value_bytes, uint32_t writes) {
  Sample s;
  for (uint64_t i = 0; i < locks; ++i) s.locks.push_back({i * 0x9e3779b97f4a7c15, i % 2 == 0});
  s.values = bytes_of(value_bytes, 3);
  s.redo = redo_of(writes, 13);
  TransactionEntry& e = s.entry;
  e.type = type;
  e.id = {0x1122334455667788, 77};
  e.participants.count = participants;
  e.participants.map_epoch = 6;
  for (uint32_t i = 0; i < participants; ++i) e.participants.shards[i] = static_cast<ShardId>(900 - i);
  e.place = static_cast<uint8_t>(participants - 1);
  e.in_window = true;
  e.version = first_version(3) + 5;
  e.watermark = 70;
  if (type == RecordType::kAbort) e.result = Result::kBelowFloor, e.detail = 3;
  e.locks = s.locks;
  e.values = s.values;
  e.value_count = static_cast<uint8_t>(value_bytes != 0);
  e.redo = s.redo;
  return s;
}

std::vector<std::byte> record_of(const TransactionEntry& entry) {
  std::vector<std::byte> record(transaction_bytes(entry), std::byte{0xee});
  lay_transaction(entry, 2, record.data());
  return record;
}

const RecordType kTypes[] = {RecordType::kPrepare, RecordType::kPreparedCommit, RecordType::kAbort, RecordType::kEnd};

Sample sample_of(RecordType type) {
  const bool is_prepare = type == RecordType::kPrepare;
  const bool has_redo = is_prepare || type == RecordType::kPreparedCommit;
  return sample(type, 3, is_prepare ? 5 : 0, is_prepare ? 21 : 0, has_redo ? 4 : 0);
}

TEST(TransactionRecord, ThereAndBack) {
  for (const RecordType type : kTypes) {
    const Sample s = sample_of(type);
    const std::vector<std::byte> record = record_of(s.entry);
    EXPECT_EQ(record.size() % 8, 0u);
    EXPECT_EQ(load<RecordHeader>(record.data()).shard, 2u);
    LockArray locks;
    TransactionEntry e;
    ASSERT_TRUE(parse_transaction(record.data(), static_cast<uint32_t>(record.size()), &locks, &e));
    EXPECT_EQ(e.type, type);
    EXPECT_EQ(e.id, s.entry.id);
    EXPECT_EQ(e.participants, s.entry.participants);
    EXPECT_EQ(e.place, 2u);
    EXPECT_EQ(e.result, s.entry.result);
    EXPECT_EQ(e.detail, s.entry.detail);
    EXPECT_TRUE(e.in_window);
    EXPECT_EQ(e.version, s.entry.version);
    EXPECT_EQ(e.watermark, 70u);
    ASSERT_EQ(e.locks.size(), s.locks.size());
    for (size_t i = 0; i < e.locks.size(); ++i) {
      EXPECT_EQ(e.locks[i].key, s.locks[i].key);
      EXPECT_EQ(e.locks[i].exclusive, s.locks[i].exclusive);
    }
    EXPECT_TRUE(std::equal(e.values.begin(), e.values.end(), s.values.begin(), s.values.end()));
    EXPECT_TRUE(std::equal(e.redo.begin(), e.redo.end(), s.redo.begin(), s.redo.end()));
    EXPECT_EQ(e.value_count, s.entry.value_count);
  }
}

TEST(TransactionRecord, TheLargestFitsARecord) {
  Sample s =
      sample(RecordType::kPrepare, limits::kParticipantsMax, limits::kOperationsMax, limits::kMessageBytesMax, 0);
  s.redo = redo_of(limits::kOperationsMax, 16);
  ASSERT_LE(s.redo.size(), limits::kPreparedBytesMax);
  s.entry.redo = s.redo;
  EXPECT_LE(transaction_bytes(s.entry), kTransactionBytesMax);
  EXPECT_GT(transaction_bytes(s.entry) + limits::kPreparedBytesMax - s.redo.size() + 8, kTransactionBytesMax);
  const std::vector<std::byte> record = record_of(s.entry);
  LockArray locks;
  TransactionEntry e;
  EXPECT_TRUE(parse_transaction(record.data(), static_cast<uint32_t>(record.size()), &locks, &e));
  EXPECT_EQ(e.locks.size(), limits::kOperationsMax);
}

// Whatever a record says of itself: no byte outside of it is read (the sanitizer build looks), and what is taken lies
// within its limits.
TEST(TransactionRecord, MalformedIsRefused) {
  std::mt19937_64 random(1);
  uint64_t refused = 0, taken = 0;
  for (const RecordType type : kTypes) {
    const Sample s = sample_of(type);
    const std::vector<std::byte> whole = record_of(s.entry);
    for (uint32_t room = 0; room < whole.size(); ++room) {
      if (room < sizeof(RecordHeader)) continue;  // Stream has looked at that
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + room);
      LockArray locks;
      TransactionEntry e;
      EXPECT_FALSE(parse_transaction(cut.data(), room, &locks, &e)) << room;
    }
    for (uint32_t i = 0; i < 20'000; ++i) {
      std::vector<std::byte> record = whole;
      for (uint64_t flips = 1 + random() % 3; flips != 0; --flips)
        record[sizeof(uint32_t) * 2 + random() % (record.size() - 8)] = static_cast<std::byte>(random());
      store(record.data() + 4, static_cast<uint8_t>(type));
      LockArray locks;
      TransactionEntry e;
      if (!parse_transaction(record.data(), static_cast<uint32_t>(record.size()), &locks, &e)) {
        ++refused;
        continue;
      }
      ++taken;
      ASSERT_LT(e.place, e.participants.count);
      ASSERT_LE(e.participants.count, limits::kParticipantsMax);
      ASSERT_LE(e.redo.data() + e.redo.size(), record.data() + record.size());
      ASSERT_LE(e.locks.size(), limits::kOperationsMax);
    }
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(taken, 1000u);
}

// ---- replay

class TraceSink final : public RecoverySink {
 public:
  bool on_put(ShardId, TableId, Bytes, Bytes, Version version) override { return add("put", version); }
  bool on_delete(ShardId, TableId, Bytes, Version version) override { return add("delete", version); }
  bool on_outcome(ShardId, SessionId, uint64_t key, Version version, Sequence watermark) override {
    EXPECT_EQ(watermark, 70u);
    outcome = {key, version};
    return add("outcome", version);
  }
  bool on_shard_version(ShardId, Version) override { return add("version", 0); }
  bool on_session_open(ShardId, SessionId, Endpoint, Stamp, Sequence, Sequence) override { return add("open", 0); }
  bool on_session_close(ShardId, SessionId) override { return add("close", 0); }
  bool on_transaction(ShardId shard, const TransactionEntry& entry) override {
    EXPECT_EQ(shard, 2u);
    return add("transaction", entry.version);
  }
  bool add(const char* what, Version) {
    text += text.empty() ? "" : " ";
    text += what;
    return true;
  }
  std::string text;
  Outcome outcome;
};

TEST(TransactionReplay, WritesThenOutcomeThenTheTransaction) {
  struct Row {
    RecordType type;
    bool in_window;
    const char* expected;
    Result outcome;
  };
  for (const Row& row :
       {Row{RecordType::kPrepare, true, "transaction", Result::kCommitted},
        Row{RecordType::kPreparedCommit, true, "put put delete put outcome transaction", Result::kCommitted},
        Row{RecordType::kPreparedCommit, false, "put put delete put transaction", Result::kCommitted},
        Row{RecordType::kAbort, true, "outcome transaction", Result::kBelowFloor},
        Row{RecordType::kAbort, false, "transaction", Result::kBelowFloor},
        Row{RecordType::kEnd, true, "outcome transaction", Result::kCommitted},
        Row{RecordType::kEnd, false, "transaction", Result::kCommitted}}) {
    Sample s = sample_of(row.type);
    s.entry.in_window = row.in_window;
    const std::vector<std::byte> record = record_of(s.entry);
    TraceSink sink;
    ReplayCounts counts;
    ASSERT_EQ(replay_record(record.data(), static_cast<uint32_t>(record.size()), 2, &sink, &counts),
              ReplayResult::kDone);
    EXPECT_EQ(sink.text, row.expected);
    if (sink.outcome.key == 0) continue;
    EXPECT_EQ(sink.outcome.sequence(), 77u);
    EXPECT_EQ(sink.outcome.result(), row.outcome);
    EXPECT_EQ(sink.outcome.version, row.outcome == Result::kCommitted ? s.entry.version : 0);
  }
}

// ---- what is kept

struct Step {
  RecordType type;  // kSessionOpen and kSessionClose: of the transaction's session
  uint8_t place = 0;
  bool in_window = true;
  Result result = Result::kCommitted;
};

std::string kept_after(std::initializer_list<Step> steps) {
  KeptTransactions kept;
  std::string taken;
  for (const Step& step : steps) {
    if (step.type == RecordType::kSessionOpen) {
      kept.on_session_open(5, [&](const KeptTransaction& t) { taken += std::string(" window ") + name(t.result); });
      continue;
    }
    if (step.type == RecordType::kSessionClose) {
      kept.on_session_close(5);
      continue;
    }
    TransactionEntry entry;
    entry.type = step.type;
    entry.id = {5, 1};
    entry.participants.count = 2;
    entry.place = step.place;
    entry.in_window = step.in_window;
    entry.result = step.type == RecordType::kAbort ? Result::kConflict : step.result;
    kept.on_transaction(entry);
  }
  std::string text;
  kept.for_each([&](const KeptTransaction& t) {
    text += t.type == RecordType::kPrepare ? "prepared" : t.type == RecordType::kAbort ? "aborted" : "committed";
    if (t.is_over) text += " over";
  });
  return text + taken;
}

TEST(KeptTransactions, AsTheMachineKeepsThem) {
  using enum RecordType;
  EXPECT_EQ(kept_after({{kPrepare}}), "prepared");
  // The coordinator keeps its decision until END.
  EXPECT_EQ(kept_after({{kPrepare}, {kPreparedCommit}}), "committed");
  EXPECT_EQ(kept_after({{kPrepare}, {kAbort}}), "aborted");
  EXPECT_EQ(kept_after({{kAbort}}), "aborted");
  EXPECT_EQ(kept_after({{kPrepare}, {kPreparedCommit}, {kEnd}}), "");
  EXPECT_EQ(kept_after({{kPrepare}, {kAbort}, {kEnd, 0, true, Result::kConflict}}), "");
  // A participant is done with the decision.
  EXPECT_EQ(kept_after({{kPrepare, 1}, {kPreparedCommit, 1}}), "");
  EXPECT_EQ(kept_after({{kPrepare, 1}, {kAbort, 1}}), "");
  EXPECT_EQ(kept_after({{kAbort, 1}}), "");
  // Without a session the outcome stays, until one comes or goes.
  EXPECT_EQ(kept_after({{kAbort, 1, false}}), "aborted over");
  EXPECT_EQ(kept_after({{kAbort, 1, false}, {kSessionOpen}}), " window CONFLICT");
  EXPECT_EQ(kept_after({{kAbort, 1, false}, {kSessionOpen}, {kSessionClose}}), " window CONFLICT");
  EXPECT_EQ(kept_after({{kAbort, 1, false}, {kSessionClose}}), "");
  EXPECT_EQ(kept_after({{kPrepare, 1}, {kPreparedCommit, 1, false}}), "committed over");
  EXPECT_EQ(kept_after({{kAbort, 0, false}, {kEnd, 0, false, Result::kConflict}}), "aborted over");
  EXPECT_EQ(kept_after({{kEnd, 0, false}}), "committed over") << "the decision was below a checkpoint's start";
  // What is not over outlives its session.
  EXPECT_EQ(kept_after({{kPrepare, 1}, {kSessionClose}}), "prepared");
  EXPECT_EQ(kept_after({{kPrepare}, {kPreparedCommit}, {kSessionClose}, {kSessionOpen}}), "committed");
  // Behind a fuzzy checkpoint that has the end already, everything comes once more.
  EXPECT_EQ(kept_after({{kPreparedCommit}, {kPrepare}, {kPreparedCommit}, {kEnd}}), "");
  EXPECT_EQ(kept_after({{kAbort, 1, false}, {kAbort, 1}, {kSessionOpen}}), "");
}

}  // namespace
}  // namespace txnic::test
