// SPDX-License-Identifier: BSD-3-Clause
// Histories in the EDN form that Jepsen writes and Elle checks: one map an event, in real-time order.
//
//   {:type :invoke, :process 3, :f :txn, :value [[:append 5 17] [:r 6 nil]], :index 0, :time 12000}
//   {:type :ok, :process 3, :f :txn, :value [[:append 5 17] [:r 6 [1 2]]], :index 1, :time 64000}
//
// Keys of the map may come in any order; :index and :time are optional; unknown keys, tags, comments and events of
// other processes (:nemesis) or functions are skipped. Keys and values of micro-operations are integers of 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/check/history.h"

namespace txnic::check {

inline constexpr int kEdnDepthMax = 64;  // of nested collections, so that no input can exhaust the stack

// Why a file cannot be used, and where. Lines and columns count from 1; columns count bytes.
struct InputError {
  std::string file;
  uint64_t line = 0;
  uint64_t column = 0;
  std::string what;

  std::string text() const;  // FILE:LINE:COLUMN: WHAT
};

struct ReadResult {
  History history;
  uint64_t skipped = 0;  // events of other processes or functions
  std::optional<InputError> error;
};

// Parses a whole file. `file_name` is only for messages. Positions of events are their ordinals among all maps of the
// file, so they equal :index in files that Jepsen or write_edn() wrote. An :invoke without an answer becomes kInfo.
ReadResult read_edn(std::string_view text, std::string_view file_name);

// All events of a history in real-time order, one a line, each with :index (and :time where it is known).
std::string write_edn(const History& history);

}  // namespace txnic::check
