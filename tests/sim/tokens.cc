// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/tokens.h"

#include "tests/sim/load.h"
#include "tests/sim/tables.h"

namespace txnic::sim {

// To and fro, some times: what is absent now was present a moment ago.
class Tokens::Moves final : public Task {
 public:
  explicit Moves(Tokens* tokens)
      : tokens_(*tokens),
        token_(tokens->context_.random.below32(kTokenCount)),
        from_(tokens->context_.random.below32(2)),
        left_(1 + tokens->context_.random.below32(kMovesMost)) {}
  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous != nullptr) {
      if (previous->is_unknown || left_ == 0) return false;
      // It is at the other side now, or was there all the time.
      if (previous->committed() || previous->result == Result::kNotFound) from_ = 1 - from_;
    }
    --left_;
    const uint32_t to = 1 - from_;
    transaction->parts.clear();
    transaction->add(tokens_.place_of(token_, from_),
                     {wire::Code::kDelete, kTokens, tokens_.key_of(token_, from_), {}, 0, 0});
    transaction->add(tokens_.place_of(token_, to),
                     {wire::Code::kInsert, kTokens, tokens_.key_of(token_, to), bytes_of(uint64_t{token_}), 0, 0});
    return true;
  }
  void abandon() override {}

 private:
  Tokens& tokens_;
  const uint32_t token_;
  uint32_t from_;
  uint32_t left_;
};

// Reads one side, then the other; then checks one, then the other.
class Tokens::Looks final : public Task {
 public:
  explicit Looks(Tokens* tokens)
      : tokens_(*tokens),
        token_(tokens->context_.random.below32(kTokenCount)),
        left_(1 + tokens->context_.random.below32(kLooksMost)) {}
  bool next(const Outcome* previous, Transaction* transaction) override {
    if (previous != nullptr && !take(*previous)) return false;
    const uint32_t side = step_ % 2;
    Operation operation{wire::Code::kGet, kTokens, tokens_.key_of(token_, side), {}, 0, 0};
    if (step_ >= 2) {
      operation.code = wire::Code::kCheck;
      operation.flags = static_cast<uint16_t>(wire::kReadSet | (seen_[side].present ? 0 : wire::kExpectAbsent));
      operation.expected = seen_[side].version;
    }
    transaction->parts.clear();
    transaction->add(tokens_.place_of(token_, side), std::move(operation));
    return true;
  }
  void abandon() override {}

 private:
  // False: enough.
  bool take(const Outcome& outcome) {
    if (!outcome.committed() || outcome.is_duplicate) {
      step_ = 0;  // this look failed
      return !outcome.is_unknown && --left_ != 0;
    }
    if (step_ < 2) seen_[step_] = {outcome.values.front().version, outcome.values.front().present};
    if (++step_ < 4) return true;
    step_ = 0;
    if (seen_[0].present == seen_[1].present) {
      tokens_.context_.fail("a token was seen " + std::string(seen_[0].present ? "twice" : "nowhere"));
    }
    return --left_ != 0;
  }

  struct Seen {
    Version version = 0;
    bool present = false;
  };
  Tokens& tokens_;
  const uint32_t token_;
  uint32_t left_;
  uint32_t step_ = 0;  // reads of both sides, then checks of both
  Seen seen_[2];
};

std::vector<std::unique_ptr<Task>> Tokens::setup() {
  std::vector<std::unique_ptr<Task>> tasks;
  for (uint32_t token = 0; token < kTokenCount; ++token) {
    Part part{place_of(token, 0), {}};
    part.operations.push_back({wire::Code::kInsert, kTokens, key_of(token, 0), bytes_of(uint64_t{token}), 0, 0});
    tasks.push_back(std::make_unique<Load>(&context_, std::move(part)));
  }
  return tasks;
}

std::unique_ptr<Task> Tokens::begin(uint64_t) {
  if (context_.random.below(2) == 0) return std::make_unique<Moves>(this);
  return std::make_unique<Looks>(this);
}

void Tokens::check(const FinalState& state) {
  for (uint32_t token = 0; token < kTokenCount; ++token) {
    if (state.contains({kTokens, key_of(token, 0)}) != state.contains({kTokens, key_of(token, 1)})) continue;
    context_.fail("a token ends in two places, or in none");
  }
}

}  // namespace txnic::sim
