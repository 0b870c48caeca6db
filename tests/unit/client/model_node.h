// SPDX-License-Identifier: BSD-3-Clause
// A small node for the tests of the client's side: PROTOCOL.md in its plainest form, over std containers. It can be
// restarted with or without its windows, refuses by chance, and counts how often each request was executed. Several
// nodes may share a store; then a transaction of several shards happens at the moment when its last PREPARE arrives.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/unit/client/messages.h"
#include "txn/shard_map.h"

namespace txnic::client::test {

struct ModelOptions {
  uint16_t shards = 4;
  uint16_t workers = 2;
  uint16_t base_port = wire::kBasePortDefault;
  uint32_t window = 256;
  uint32_t busy_per_mille = 0;   // of executions answered BUSY
  uint32_t abort_per_mille = 0;  // of writing executions that end in CHECK_FAILED, by chance
  uint32_t opening_loss_per_mille = 0;  // an OPEN that reached only half of the workers
  uint64_t seed = 1;
};

struct ModelRecord {
  std::string value;
  Version version = 1;
  bool present = false;
};
struct ModelOutcome {
  Result result = Result::kCommitted;
  uint8_t detail = 0;
  Version version = 0;
};

// What nodes of a cluster share.
struct ModelStore {
  using Id = std::pair<SessionId, Sequence>;
  using Key = std::pair<TableId, std::string>;
  std::mutex mutex;
  std::optional<ShardMap> map;  // none: one node, alone
  Version version = 100;
  std::map<Key, ModelRecord> records;
  std::map<Id, uint32_t> executions;
  std::map<Id, std::map<ShardId, Message>> prepares;  // of transactions that are not decided
  std::map<Id, ModelOutcome> decided;
  uint32_t locked = 0;  // so many of the next transactions over several shards find a lock
};

class ModelNode {
 public:
  using Id = ModelStore::Id;

  explicit ModelNode(const ModelOptions& options, std::shared_ptr<ModelStore> shared = nullptr)
      : options_(options), random_(options.seed),
        store_(shared != nullptr ? std::move(shared) : std::make_shared<ModelStore>()) {}

  // The answer, if there is one.
  std::optional<Message> handle(const std::byte* message, uint32_t length);

  // Committed outcomes survive with the window (they are in the log); aborts need not, and here they do not.
  void restart(bool keep_windows);

  // How often a writing request had an effect, over all restarts.
  const std::map<Id, uint32_t>& executions() const { return store_->executions; }
  std::optional<std::string> value(TableId table, const std::string& key) const;
  void set_busy_per_mille(uint32_t busy) { options_.busy_per_mille = busy; }
  ModelStore& shared() { return *store_; }
  uint32_t opened_sessions() const { return static_cast<uint32_t>(sessions_.size()); }

 private:
  using Record = ModelRecord;
  using Outcome = ModelOutcome;
  struct Session {
    Stamp stamp = 0;
    Sequence attempt = 0;
    Sequence watermark = 1;
    bool half_open = false;
    std::map<Sequence, Outcome> outcomes;
  };
  using Key = ModelStore::Key;

  bool chance(uint32_t per_mille) { return random_() % 1000 < per_mille; }
  std::optional<Message> open(const wire::Header& h, const std::byte* message);
  Message close(const wire::Header& h);
  Message tell_map(const wire::Header& h) const;
  uint32_t shard_count() const { return store_->map ? store_->map->shard_count : options_.shards; }
  bool has_shard(ShardId shard) const;
  // The refusal, if the request does not come from an open session.
  std::optional<Message> admit(const wire::Header& h);
  Message refuse(const wire::Header& h, Result result, uint8_t detail = 0);
  Message execute(const wire::Header& h, const std::byte* message);
  std::optional<Message> prepare(const wire::Header& h, const std::byte* message);
  Message decide(const wire::Header& h, const Participants& participants, std::map<ShardId, Message>& parts);
  Message answer(const wire::Header& h, Result result, uint8_t detail = 0, Version version = 0,
                 const std::vector<ReplyValue>& values = {}, uint8_t flags = 0);
  Outcome run(const wire::Operation* operations, uint32_t count, std::map<Key, Record>* after,
              std::vector<ReplyValue>* values);
  Outcome apply(const wire::Operation& op, uint8_t index, const Record& before, Record* record,
                std::vector<ReplyValue>* values) const;

  ModelOptions options_;
  std::mt19937_64 random_;
  uint32_t incarnation_ = 1000;
  uint32_t openings_ = 0;
  std::map<SessionId, Session> sessions_;
  const std::shared_ptr<ModelStore> store_;
};

}  // namespace txnic::client::test
