// SPDX-License-Identifier: BSD-3-Clause
// Interactive transactions: read, decide, commit.
#pragma once

#include "host/client/batch.h"

namespace txnic {

class Client;
class Connection;

// Reads go to the node at once, each as a request of its own; writes are kept until commit(), which sends them in one
// message together with the versions of everything that was read. If one of those has changed, nothing is written and
// commit() answers CONFLICT: begin again (Client::transact does). So a committed transaction saw one state of the
// world; before that, values of two reads may belong to different moments. A transaction that only reads is checked in
// the same way: a message to each shard, after the last read.
//
// The transaction reads its own writes, and reads the same value again for the same key. Keys may belong to any shards,
// up to 16 of them. An error of put(), insert(), remove(), add() or check() is remembered: commit() answers it too, so
// that no half transaction is ever committed.
//
// Dropping a transaction without commit() is the way to abort it: the node knows nothing of it. Its client must
// outlive it.
class Transaction {
 public:
  Transaction(Transaction&&) = default;
  Transaction& operator=(Transaction&&) = default;

  // The value as this transaction sees it; `present` is false for an absent key.
  Expected<Value> get(TableId table, const Key& key);
  Status put(TableId table, const Key& key, std::string_view value);
  Status insert(TableId table, const Key& key, std::string_view value);
  Status remove(TableId table, const Key& key);
  // Adds to a number without reading it first: the node adds, so that two adders never conflict.
  Status add(TableId table, const Key& key, int64_t delta);
  Status add(TableId table, const Key& key, int64_t delta, int64_t floor);
  // At commit the key must still be as it was read elsewhere, else CHECK_FAILED.
  Status check(TableId table, const Key& key, const Value& as_read);

  // Once; a transaction that has committed or failed is used up.
  Expected<Committed> commit();

 private:
  friend class Client;
  explicit Transaction(Connection* connection) : connection_(connection) {}

  struct Read {
    TableId table;
    Key key;
    Value value;
  };
  Status admit(const Key& key);
  Expected<Committed> validate_reads() const;
  Status buffer(wire::Code code, TableId table, const Key& key, std::string_view value, uint16_t flags,
                Version expected);
  Expected<Value> read(TableId table, const Key& key);
  // What the buffered writes make of a value.
  Value with_own_writes(TableId table, const Key& key, Value value) const;
  bool decides_value(TableId table, const Key& key) const;
  Batch commit_batch() const;
  Status fail(Error error);

  Connection* connection_;
  std::vector<Read> reads_;
  std::vector<Batch::Operation> writes_;
  std::optional<Error> error_;
  bool done_ = false;
};

}  // namespace txnic
