// SPDX-License-Identifier: BSD-3-Clause
// What the reads of a history say about each key, and the anomalies that show without a graph.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/check/history.h"
#include "tests/sim/check/verdict.h"

namespace txnic::check {

// One append of one transaction, whatever became of it.
struct Append {
  Value value = 0;
  uint32_t operation = 0;
  uint32_t nth = 0;  // among this transaction's appends to this key, from 0
  bool is_last = false;
  bool observed = false;  // by a read of a committed transaction
};

// An acknowledged read that may be trusted by itself: its list is `base_length` elements that were there before its
// transaction, then the transaction's own appends.
struct Read {
  uint32_t operation = 0;
  const std::vector<Value>* list = nullptr;
  size_t base_length = 0;
  bool is_prefix = false;  // of the key's longest read
  bool is_first = false;   // of its transaction for this key: the others say the same
};

struct KeyView {
  Key key = 0;
  std::vector<Append> appends;  // by value
  std::vector<Read> reads;
  const std::vector<Value>* longest = nullptr;  // null: no read
  uint32_t longest_reader = 0;
  std::vector<Append*> order;  // the writers of the longest read's elements; null: nobody wrote it
  bool is_ordered = true;      // false: reads contradict each other, no order of versions is known

  Append* find(Value value);
};

struct Observations {
  std::vector<KeyView> keys;
  // By operation. A transaction of unknown outcome counts as committed if some read shows an append of it.
  std::vector<bool> committed;
};

// Adds G1a, G1b, internal, future-read, garbage-read, duplicate-elements, incompatible-order, partial-append and
// lost-update to the verdict, or says that the history is unusable. Points into the history.
Observations observe(const History& history, Verdict& verdict);

}  // namespace txnic::check
