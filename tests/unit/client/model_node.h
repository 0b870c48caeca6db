// SPDX-License-Identifier: BSD-3-Clause
// A small node for the tests of the client's side: PROTOCOL.md in its plainest form, over std containers. It can be
// restarted with or without its windows, refuses by chance, and counts how often each request was executed.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/unit/client/messages.h"

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

class ModelNode {
 public:
  using Id = std::pair<SessionId, Sequence>;

  explicit ModelNode(const ModelOptions& options) : options_(options), random_(options.seed) {}

  // The answer, if there is one.
  std::optional<Message> handle(const std::byte* message, uint32_t length);

  // Committed outcomes survive with the window (they are in the log); aborts need not, and here they do not.
  void restart(bool keep_windows);

  // How often a writing request had an effect, over all restarts.
  const std::map<Id, uint32_t>& executions() const { return executions_; }
  std::optional<std::string> value(TableId table, const std::string& key) const;
  void set_busy_per_mille(uint32_t busy) { options_.busy_per_mille = busy; }
  uint32_t opened_sessions() const { return static_cast<uint32_t>(sessions_.size()); }

 private:
  struct Record {
    std::string value;
    Version version = 1;
    bool present = false;
  };
  struct Outcome {
    Result result = Result::kCommitted;
    uint8_t detail = 0;
    Version version = 0;
  };
  struct Session {
    Stamp stamp = 0;
    Sequence attempt = 0;
    Sequence watermark = 1;
    bool half_open = false;
    std::map<Sequence, Outcome> outcomes;
  };
  using Key = std::pair<TableId, std::string>;

  bool chance(uint32_t per_mille) { return random_() % 1000 < per_mille; }
  std::optional<Message> open(const wire::Header& h, const std::byte* message);
  Message close(const wire::Header& h);
  Message execute(const wire::Header& h, const std::byte* message);
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
  Version version_ = 100;
  std::map<SessionId, Session> sessions_;
  std::map<Key, Record> records_;
  std::map<Id, uint32_t> executions_;
};

}  // namespace txnic::client::test
