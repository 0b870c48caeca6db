// SPDX-License-Identifier: BSD-3-Clause
// The client library: transactions over a kernel UDP socket, no DPDK needed.
//
//   auto client = txnic::Client::connect("10.99.0.1:7700");
//   if (!client) { puts(client.error().text.c_str()); return 1; }
//   auto put = client->put(1, "key", "value");
//   auto got = client->get(1, "key");           // Expected<Value>
//
// Caveats first:
// - One thread uses a Client at a time. Open several clients for several threads: each is a session of its own.
// - Every call answers a value or an Error (expected.h); nothing throws. ErrorKind::kUnknownOutcome is neither success
//   nor failure: the write may or may not have happened.
// - The node must hear from us now and then: a program that is silent for long calls poll() about once a second, or
//   its session expires (that harms nothing but what is in flight).
// - A transaction within one shard is one message; over several shards (shard_of() tells), of one node or several, it
//   takes a message to each and two more delays. At most 16 shards.
// - A refused write (BUSY, TOO_LARGE) has not happened. But nodes do not record refusals: if the network doubles
//   messages by itself, another copy may still be executed.
//
// What is guaranteed: a committed transaction happened exactly once, however often its messages were lost or doubled
// and however often the node was restarted (docs/PROTOCOL.md, section 9).
//
// Where to read on: batch.h (one-shot transactions), transaction.h (interactive ones), examples/.
#pragma once

#include <functional>
#include <memory>

#include "host/client/batch.h"
#include "host/client/transaction.h"
#include "txn/client/machine.h"

namespace txnic {

struct ClientOptions {
  uint32_t open_timeout_ms = 5000;      // for connect()
  uint32_t request_timeout_ms = 1000;   // for each request; 0: no limit
  uint32_t window = limits::kWindowDefault;  // requests in flight (callback form); never above the node's
  uint32_t retransmit_first_ms = 20;    // then doubled, up to 640 ms
};

struct RetryOptions {
  uint32_t attempts_max = 32;           // commits tried by transact()
  uint32_t backoff_first_us = 50;       // the pause before the next attempt, random up to this, then doubled
  uint32_t backoff_max_us = 10'000;
};

class Connection;

class Client {
 public:
  using Callback = std::function<void(const Expected<Committed>&)>;

  // "IPV4:PORT", any port of any node: the others are learned from it. Opens a session; answers when it is open.
  static Expected<Client> connect(const std::string& address, const ClientOptions& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  // Closes the session if the node answers soon. What is in flight gets its callback first (kUnknownOutcome, kClosed).
  ~Client();

  // ---- one operation, one round trip
  Expected<Value> get(TableId table, const Key& key);
  Expected<Committed> put(TableId table, const Key& key, std::string_view value);
  Expected<Committed> insert(TableId table, const Key& key, std::string_view value);
  Expected<Committed> remove(TableId table, const Key& key);
  // Answers the sum; nothing if it was added but the answer with the sum was lost on the way (Committed).
  Expected<std::optional<int64_t>> add(TableId table, const Key& key, int64_t delta);
  Expected<std::optional<int64_t>> add(TableId table, const Key& key, int64_t delta, int64_t floor);

  // ---- one-shot transactions
  Expected<Committed> execute(const Batch& batch);

  // What became of a transaction whose outcome was unknown (Error::transaction): asks its node again, for up to
  // request_timeout_ms. The answer is as execute()'s would have been, mostly without values; kUnknownOutcome if it is
  // still not known (ask again), or cannot be any more: the newest 16 can be asked for, as long as the window has room.
  Expected<Committed> outcome(const TransactionId& transaction);

  // ---- interactive transactions
  Transaction begin();
  // Runs `body` and commits, again from the start after CONFLICT, with growing random pauses. `body` must not keep
  // anything of a former attempt. An error that `body` answers ends it: nothing is committed, and it is the answer.
  Expected<Committed> transact(const std::function<Status(Transaction&)>& body, const RetryOptions& options = {});

  // ---- callback form: many requests in flight
  // The callback runs inside poll() (or the destructor), exactly once. Errors that are known at once are answered
  // here instead, and the callback never runs: BUSY means that the window is full, poll() first.
  Status submit(const Batch& batch, Callback callback);
  // Receives, sends again, runs callbacks. Waits up to `wait_ms` for the first thing to happen. Answers how many
  // callbacks ran. Callbacks may call submit(), but nothing that waits.
  uint32_t poll(uint32_t wait_ms = 0);
  uint32_t outstanding() const;

  // ---- facts
  uint32_t shard_count() const;
  ShardId shard_of(const Key& key) const;
  Durability durability() const;  // when the node answers a commit
  // Exact: see its header for the sums that hold.
  const client::MachineStatistics& statistics() const;

 private:
  explicit Client(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace txnic
