// SPDX-License-Identifier: BSD-3-Clause
// A directed graph of transactions with named dependencies, and its strongly connected components.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/sim/check/history.h"

namespace txnic::check {

enum class EdgeKind : uint8_t {
  kWw,        // `to` appended the next version after `from`'s
  kWr,        // `to` read `from`'s version
  kRw,        // `from` read the version before `to`'s
  kProcess,   // the same process did `from`, then `to`
  kRealtime,  // `from` completed before `to` was invoked
  kPass,      // second half of an edge that goes through an auxiliary node
};

constexpr uint32_t bit(EdgeKind kind) { return 1u << static_cast<uint32_t>(kind); }
inline constexpr uint32_t kWwEdges = bit(EdgeKind::kWw) | bit(EdgeKind::kPass);
inline constexpr uint32_t kDataEdges = kWwEdges | bit(EdgeKind::kWr) | bit(EdgeKind::kRw);

struct Edge {
  uint32_t from = 0;
  uint32_t to = 0;
  EdgeKind kind = EdgeKind::kPass;
  bool is_unseen = false;  // `to`'s append is acknowledged, but in no read yet
  Key key = 0;
  Value after = 0;                           // what `to` appended (ww, rw) or read as the last element (wr)
  const std::vector<Value>* list = nullptr;  // wr, rw: what was read
  size_t list_length = 0;                    // and how much of it was there before the reader's own appends
};

// Nodes 0 … operations-1 are transactions. Those above are auxiliary: many edges "each of these before each of those"
// go through one of them, so that a graph has a linear number of edges.
class Graph {
 public:
  explicit Graph(uint32_t operations) : operations_(operations), nodes_(operations) {}

  uint32_t nodes() const { return nodes_; }
  bool is_operation(uint32_t node) const { return node < operations_; }
  uint32_t add_node() { return nodes_++; }
  void add(const Edge& edge) {
    if (edge.from != edge.to) edges_.push_back(edge);
  }
  // Sorts the edges by their start; after the last add(), before what follows.
  void finish();
  std::span<const Edge> edges() const { return edges_; }
  std::span<const Edge> from(uint32_t node) const {
    return std::span<const Edge>(edges_).subspan(starts_[node], starts_[node + 1] - starts_[node]);
  }

 private:
  uint32_t operations_;
  uint32_t nodes_;
  std::vector<Edge> edges_;
  std::vector<size_t> starts_;
};

struct Components {
  std::vector<uint32_t> of;  // by node
  // Those with at least two nodes: each holds a cycle.
  std::vector<std::vector<uint32_t>> cyclic;
};

// Tarjan's algorithm without recursion, over the edges whose kind is in `kinds`.
Components strong_components(const Graph& graph, uint32_t kinds);

}  // namespace txnic::check
