// SPDX-License-Identifier: BSD-3-Clause
// What every call of the client library answers: a value, or an Error that says what happened, why, and what to do.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "txn/result.h"
#include "txn/transaction.h"

namespace txnic {

// The first question is always: can it have happened?
enum class ErrorKind : uint8_t {
  kAborted,         // no: the node decided so (`result`: CONFLICT, CHECK_FAILED, EXISTS, NOT_FOUND, BELOW_FLOOR; of
                    // several shards also LOCKED and others)
  kRefused,         // no: the node refused it (`result`: BUSY, TOO_LARGE, UNKNOWN_TABLE …)
  kTimeout,         // no: no answer in time, but the request only reads or never left
  kInvalid,         // no: the call was wrong (a key too long, too many shards); nothing was sent
  kSystem,          // no: the operating system refused (sockets)
  kClosed,          // no: there is no session
  kUnknownOutcome,  // perhaps: the answer is lost, and a write may or may not have been executed. Never repeat it
                    // blindly: read what it should have changed, or write so that twice does no harm
};
const char* name(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  Result result = Result::kBadRequest;  // the node's answer, or the nearest one
  uint8_t detail = 0;                   // BusyReason …, or the index of the operation that decided
  std::string text;                     // for people: the cause and the next step
  TransactionId transaction{};          // kUnknownOutcome: what Client::outcome() can still ask for; else 0

  // Worth another try of the whole transaction: somebody else changed what it had read.
  bool is_conflict() const { return result == Result::kConflict || result == Result::kLocked; }
};

template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Asserts ok().
  T& value() { return *check(); }
  const T& value() const { return *const_cast<Expected*>(this)->check(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Asserts !ok().
  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  T* check() {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};
using Status = Expected<void>;

}  // namespace txnic
