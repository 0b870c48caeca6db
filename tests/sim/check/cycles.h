// SPDX-License-Identifier: BSD-3-Clause
// Cycles of the dependency graph, classified after Adya and Elle.
//
//   G0        only ww edges                     (write cycle)
//   G1c       ww and wr edges, at least one wr  (circular information flow)
//   G-single  exactly one rw edge               (read skew)
//   G2        two or more rw edges              (anti-dependency cycle, such as write skew)
//
// Each also as NAME-process or NAME-realtime: a cycle that needs process order or real-time order to close.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/check/graph.h"

namespace txnic::check {

// Steps of one search for one kind, after which the shortest cycle found so far is good enough (about a second).
inline constexpr uint64_t kSearchStepsMax = 30'000'000;

struct Cycle {
  std::string name;
  std::vector<Edge> edges;  // in order, each from a transaction to the next; the last leads back to the first
  uint64_t components = 0;  // strongly connected components of this sort
};

// At least one cycle if there is any. For each of the four kinds one that is as short as possible: without process and
// real-time edges if there is one, else with the former, else with the latter.
std::vector<Cycle> find_cycles(const Graph& graph, const History& history);

}  // namespace txnic::check
