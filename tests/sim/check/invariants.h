// SPDX-License-Identifier: BSD-3-Clause
// Invariants that every serial execution keeps, checked on what one transaction saw at once (a snapshot): the ring of
// FoundationDB's cycle test, and pairs as in the textbook's write skew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/check/verdict.h"

namespace txnic::check {

// Node i of the ring points to next[i]. Transactions read a -> b -> c -> d and turn it into a -> c -> b -> d, so that
// the ring always holds every node once; two that interleave (write skew) break or split it.
struct RingSnapshot {
  std::string name;  // for messages: "T17", "at the end"
  std::vector<uint64_t> next;
};

// Anomalies: "broken-link" (a pointer to no node), "split-ring" (the walk from node 0 comes back too early, or does not
// come back to node 0).
Verdict check_ring(const std::vector<RingSnapshot>& snapshots);

// Part of a ring as a cycle transaction read it: nodes path[0] -> path[1] -> … . Anomaly "short-walk": it meets a node
// twice before it has seen all `nodes`; "broken-link" as above.
struct RingWalk {
  std::string name;
  std::vector<uint64_t> path;
};
Verdict check_ring_walks(const std::vector<RingWalk>& walks, uint64_t nodes);

// Two values a + b that transactions lower only if their sum stays at or above `floor`, each writing one of them after
// reading both.
struct PairSnapshot {
  std::string name;
  int64_t a = 0;
  int64_t b = 0;
};

// Anomaly "write-skew": a sum below the floor.
Verdict check_pairs(const std::vector<PairSnapshot>& snapshots, int64_t floor);

}  // namespace txnic::check
