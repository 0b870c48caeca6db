// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/invariants.h"

#include "tests/sim/check/words.h"

namespace txnic::check {
namespace {

void add(Verdict& verdict, const char* anomaly, const std::string& text) {
  verdict.add(anomaly, {}, [&] { return words::line(text); });
}

}  // namespace

Verdict check_ring(const std::vector<RingSnapshot>& snapshots) {
  Verdict verdict;
  for (const RingSnapshot& snapshot : snapshots) {
    const uint64_t nodes = snapshot.next.size();
    std::vector<bool> visited(nodes, false);
    uint64_t at = 0;
    uint64_t steps = 0;
    while (at < nodes && !visited[at]) {
      visited[at] = true;
      at = snapshot.next[at];
      ++steps;
    }
    if (nodes == 0) continue;
    if (at >= nodes) {
      add(verdict, "broken-link",
          snapshot.name + ": after " + std::to_string(steps) + " steps from node 0 comes " + std::to_string(at) +
              ", but there are " + std::to_string(nodes) + " nodes");
    } else if (at != 0 || steps != nodes) {
      add(verdict, "split-ring",
          snapshot.name + ": the walk from node 0 meets node " + std::to_string(at) + " again after " +
              std::to_string(steps) + " of " + std::to_string(nodes) + " nodes");
    }
  }
  return verdict;
}

Verdict check_ring_walks(const std::vector<RingWalk>& walks, uint64_t nodes) {
  Verdict verdict;
  for (const RingWalk& walk : walks) {
    std::vector<uint64_t> seen;  // walks are short
    for (size_t i = 0; i < walk.path.size(); ++i) {
      const uint64_t node = walk.path[i];
      if (node >= nodes) {
        add(verdict, "broken-link",
            walk.name + ": step " + std::to_string(i) + " leads to " + std::to_string(node) + ", but there are " +
                std::to_string(nodes) + " nodes");
        break;
      }
      if (i >= nodes && node != walk.path[i - nodes]) {
        add(verdict, "short-walk",
            walk.name + ": after all " + std::to_string(nodes) + " nodes comes " + std::to_string(node) + " and not " +
                std::to_string(walk.path[i - nodes]));
        break;
      }
      bool is_repeated = false;
      for (const uint64_t other : seen) is_repeated |= other == node;
      if (is_repeated && i < nodes) {
        add(verdict, "short-walk",
            walk.name + ": node " + std::to_string(node) + " comes again after " + std::to_string(i) + " of " +
                std::to_string(nodes) + " nodes");
        break;
      }
      seen.push_back(node);
    }
  }
  return verdict;
}

Verdict check_pairs(const std::vector<PairSnapshot>& snapshots, int64_t floor) {
  Verdict verdict;
  for (const PairSnapshot& pair : snapshots) {
    if (pair.a + pair.b >= floor) continue;
    add(verdict, "write-skew",
        pair.name + ": " + std::to_string(pair.a) + " + " + std::to_string(pair.b) + " is below " +
            std::to_string(floor));
  }
  return verdict;
}

}  // namespace txnic::check
