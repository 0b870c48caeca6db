// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/generate.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace txnic::check {
namespace {

// One client: idle, or with a transaction that has or has not taken effect.
struct Client {
  enum class State : uint8_t { kIdle, kInvoked, kExecuted } state = State::kIdle;
  int64_t process = 0;
  size_t operation = 0;
  Outcome outcome = Outcome::kOk;
};

class Generator {
 public:
  Generator(Random& random, const GenerateOptions& options)
      : random_(random), options_(options), clients_(options.processes), keys_(options.keys) {
    for (Client& client : clients_) client.process = next_process_++;
    for (Key& key : keys_) key = next_key_++;
  }

  History run() {
    uint32_t busy = 0;
    while (history_.operations.size() < options_.transactions || busy > 0) {
      Client& client = clients_[below(random_, clients_.size())];
      switch (client.state) {
        case Client::State::kIdle:
          if (history_.operations.size() == options_.transactions) break;
          invoke(client);
          ++busy;
          break;
        case Client::State::kInvoked:
          execute(client);
          break;
        case Client::State::kExecuted:
          complete(client);
          --busy;
          break;
      }
    }
    return std::move(history_);
  }

 private:
  void invoke(Client& client) {
    std::vector<MicroOp> micro_ops(1 + below(random_, options_.micro_ops_max));
    for (MicroOp& micro : micro_ops) {
      Key& key = keys_[below(random_, keys_.size())];
      if (below(random_, 2) == 0) {
        micro = MicroOp::read(key);
        continue;
      }
      micro = MicroOp::append(key, ++appended_[key]);
      if (options_.key_life != 0 && appended_[key] == options_.key_life) key = next_key_++;
    }
    client.operation = history_.invoke(client.process, std::move(micro_ops));
    client.state = Client::State::kInvoked;
    const uint64_t luck = below(random_, 100);
    client.outcome = luck < options_.fail_percent                           ? Outcome::kFail
                     : luck < options_.fail_percent + options_.info_percent ? Outcome::kInfo
                                                                            : Outcome::kOk;
  }

  void execute(Client& client) {
    client.state = Client::State::kExecuted;
    if (client.outcome == Outcome::kFail || (client.outcome == Outcome::kInfo && below(random_, 2) == 0)) return;
    for (MicroOp& micro : history_.operations[client.operation].micro_ops) {
      std::vector<Value>& list = lists_[micro.key];
      if (micro.kind == MicroOp::Kind::kAppend) {
        list.push_back(micro.value);
      } else if (client.outcome == Outcome::kOk) {
        micro.list = list;
      }
    }
  }

  void complete(Client& client) {
    client.state = Client::State::kIdle;
    // Some unknown ones never get an answer; their process is replaced by a new one, as Jepsen does.
    if (client.outcome != Outcome::kInfo || below(random_, 2) == 0) {
      history_.complete(client.operation, client.outcome);
    }
    if (client.outcome == Outcome::kInfo) client.process = next_process_++;
  }

  Random& random_;
  const GenerateOptions& options_;
  History history_;
  std::vector<Client> clients_;
  std::vector<Key> keys_;
  std::map<Key, std::vector<Value>> lists_;
  std::map<Key, Value> appended_;
  int64_t next_process_ = 0;
  Key next_key_ = 0;
};

struct ReadPlace {
  size_t operation;
  size_t micro;
};

// Reads of acknowledged transactions that do not touch the key otherwise.
std::vector<ReadPlace> plain_reads(const History& history) {
  std::vector<ReadPlace> places;
  for (size_t i = 0; i < history.operations.size(); ++i) {
    const Operation& operation = history.operations[i];
    if (operation.outcome != Outcome::kOk) continue;
    for (size_t k = 0; k < operation.micro_ops.size(); ++k) {
      const Key key = operation.micro_ops[k].key;
      const auto uses = std::count_if(operation.micro_ops.begin(), operation.micro_ops.end(),
                                      [&](const MicroOp& micro) { return micro.key == key; });
      if (operation.micro_ops[k].kind == MicroOp::Kind::kRead && uses == 1) places.push_back({i, k});
    }
  }
  return places;
}

MicroOp& at(History& history, ReadPlace place) { return history.operations[place.operation].micro_ops[place.micro]; }

// The acknowledged or failed writer of a value.
std::optional<size_t> writer(const History& history, Key key, Value value) {
  for (size_t i = 0; i < history.operations.size(); ++i) {
    for (const MicroOp& micro : history.operations[i].micro_ops) {
      if (micro == MicroOp::append(key, value)) return i;
    }
  }
  return std::nullopt;
}

// Tries `spoil` with random reads until it returns true.
template <typename Spoil>
std::optional<History> with_some_read(const History& history, Random& random, Spoil spoil) {
  std::vector<ReadPlace> places = plain_reads(history);
  std::shuffle(places.begin(), places.end(), random);
  History spoiled = history;
  for (const ReadPlace place : places) {
    if (spoil(spoiled, place)) return spoiled;
  }
  return std::nullopt;
}

}  // namespace

History generate(Random& random, const GenerateOptions& options) { return Generator(random, options).run(); }

// Two reads of one key, one after the other in real time, the later one longer: swapped, time runs backward.
std::optional<History> swap_reads(const History& history, Random& random) {
  const std::vector<ReadPlace> others = plain_reads(history);
  return with_some_read(history, random, [&](History& spoiled, ReadPlace place) {
    for (const ReadPlace other : others) {
      MicroOp& first = at(spoiled, place);
      MicroOp& second = at(spoiled, other);
      const bool is_after = spoiled.operations[place.operation].completed < spoiled.operations[other.operation].invoked;
      if (!is_after || first.key != second.key || first.list.size() >= second.list.size()) continue;
      std::swap(first.list, second.list);
      return true;
    }
    return false;
  });
}

// An acknowledged append vanishes from all reads, though somebody who was invoked after its answer had seen it.
std::optional<History> drop_append(const History& history, Random& random) {
  return with_some_read(history, random, [&](History& spoiled, ReadPlace place) {
    const MicroOp& read = at(spoiled, place);
    const Key key = read.key;
    for (const Value value : read.list) {
      const Operation& by = spoiled.operations[*writer(spoiled, key, value)];
      if (by.outcome != Outcome::kOk || by.completed > spoiled.operations[place.operation].invoked) continue;
      for (Operation& operation : spoiled.operations) {
        for (MicroOp& micro : operation.micro_ops) {
          if (micro.kind == MicroOp::Kind::kRead && micro.key == key) std::erase(micro.list, value);
        }
      }
      return true;
    }
    return false;
  });
}

// A read moves to before the invocation of a transaction whose append it shows.
std::optional<History> reorder_real_time(const History& history, Random& random) {
  return with_some_read(history, random, [&](History& spoiled, ReadPlace place) {
    const MicroOp& read = at(spoiled, place);
    if (read.list.empty()) return false;
    const uint64_t moment = spoiled.operations[*writer(spoiled, read.key, read.list.back())].invoked;
    for (Operation& operation : spoiled.operations) {
      if (operation.invoked >= moment) operation.invoked += 2;
      if (operation.completed >= moment && operation.completed != kNever) operation.completed += 2;
    }
    Operation& moved = spoiled.operations[place.operation];
    moved.invoked = moment;
    moved.completed = moment + 1;
    moved.process = 1'000'000;  // its own one may be busy then
    std::sort(spoiled.operations.begin(), spoiled.operations.end(),
              [](const Operation& a, const Operation& b) { return a.invoked < b.invoked; });
    return true;
  });
}

// A transaction whose append was read turns out to have failed.
std::optional<History> fail_observed(const History& history, Random& random) {
  return with_some_read(history, random, [&](History& spoiled, ReadPlace place) {
    const MicroOp& read = at(spoiled, place);
    if (read.list.empty()) return false;
    Operation& by = spoiled.operations[*writer(spoiled, read.key, read.list[below(random, read.list.size())])];
    if (by.completed == kNever) return false;
    by.outcome = Outcome::kFail;
    return true;
  });
}

// An append took effect twice.
std::optional<History> duplicate_element(const History& history, Random& random) {
  return with_some_read(history, random, [&](History& spoiled, ReadPlace place) {
    MicroOp& read = at(spoiled, place);
    if (read.list.empty()) return false;
    read.list.push_back(read.list[below(random, read.list.size())]);
    return true;
  });
}

}  // namespace txnic::check
