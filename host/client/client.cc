// SPDX-License-Identifier: BSD-3-Clause
#include "host/client/client.h"

#include "host/client/connection.h"
#include "txn/hash.h"

namespace txnic {

Client::Client(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Expected<Client> Client::connect(const std::string& address, const ClientOptions& options) {
  auto connection = Connection::open(address, options);
  if (!connection) return connection.error();
  return Client(std::move(*connection));
}

Expected<Value> Client::get(TableId table, const Key& key) {
  const auto answer = execute(Batch().get(table, key));
  if (!answer) return answer.error();
  if (!answer->values_known) {
    return Error{ErrorKind::kRefused, Result::kBadRequest, 0,
                 "the node's answer to a read carries no value: report this as a bug of the node"};
  }
  return *answer->values[0];
}

Expected<Committed> Client::put(TableId table, const Key& key, std::string_view value) {
  return execute(Batch().put(table, key, value));
}

Expected<Committed> Client::insert(TableId table, const Key& key, std::string_view value) {
  return execute(Batch().insert(table, key, value));
}

Expected<Committed> Client::remove(TableId table, const Key& key) { return execute(Batch().remove(table, key)); }

namespace {

Expected<std::optional<int64_t>> sum_of(const Expected<Committed>& answer) {
  if (!answer) return answer.error();
  if (!answer->values_known) return std::optional<int64_t>{};
  return answer->values[0]->number();
}

}  // namespace

Expected<std::optional<int64_t>> Client::add(TableId table, const Key& key, int64_t delta) {
  return sum_of(execute(Batch().add(table, key, delta)));
}

Expected<std::optional<int64_t>> Client::add(TableId table, const Key& key, int64_t delta, int64_t floor) {
  return sum_of(execute(Batch().add(table, key, delta, floor)));
}

Expected<Committed> Client::execute(const Batch& batch) { return connection_->execute(batch); }

Expected<Committed> Client::outcome(const TransactionId& transaction) { return connection_->outcome(transaction); }

Transaction Client::begin() { return Transaction(connection_.get()); }

Expected<Committed> Client::transact(const std::function<Status(Transaction&)>& body, const RetryOptions& options) {
  uint32_t backoff_us = options.backoff_first_us;
  for (uint32_t attempt = 1;; ++attempt) {
    Transaction transaction = begin();
    const Status status = body(transaction);
    if (!status) return status.error();
    Expected<Committed> answer = transaction.commit();
    if (answer || !answer.error().is_conflict() || answer.error().kind == ErrorKind::kUnknownOutcome) return answer;
    if (attempt >= options.attempts_max) {
      Error error = answer.error();
      error.text += "; tried " + std::to_string(attempt) + " times: too many clients change the same keys";
      return error;
    }
    if (backoff_us != 0) connection_->pause(backoff_us);
    backoff_us = backoff_us * 2 < options.backoff_max_us ? backoff_us * 2 : options.backoff_max_us;
  }
}

Status Client::submit(const Batch& batch, Callback callback) { return connection_->submit(batch, std::move(callback)); }

uint32_t Client::poll(uint32_t wait_ms) { return connection_->poll(wait_ms * 1'000'000ull); }

uint32_t Client::outstanding() const { return connection_->machine().outstanding(); }

uint32_t Client::shard_count() const { return connection_->machine().shard_count(); }

ShardId Client::shard_of(const Key& key) const { return txnic::shard_of(key.hash(), shard_count()); }

Durability Client::durability() const { return connection_->machine().durability(); }

const client::MachineStatistics& Client::statistics() const { return connection_->machine().statistics(); }

}  // namespace txnic
