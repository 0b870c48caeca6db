// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/graph.h"

#include <algorithm>
#include <utility>

namespace txnic::check {
namespace {

constexpr uint32_t kUnvisited = UINT32_MAX;

// R. Tarjan: Depth-first search and linear graph algorithms. SIAM J. Computing 1(2), 1972.
class Tarjan {
 public:
  Tarjan(const Graph& graph, uint32_t kinds)
      : graph_(graph),
        kinds_(kinds),
        number_(graph.nodes(), kUnvisited),
        low_(graph.nodes(), 0),
        on_stack_(graph.nodes(), false) {
    result_.of.assign(graph.nodes(), 0);
  }

  Components run() {
    for (uint32_t node = 0; node < graph_.nodes(); ++node) {
      if (number_[node] == kUnvisited) visit(node);
    }
    return std::move(result_);
  }

 private:
  struct Frame {
    uint32_t node;
    size_t next_edge;
  };

  void enter(uint32_t node) {
    number_[node] = low_[node] = counter_++;
    on_stack_[node] = true;
    stack_.push_back(node);
    frames_.push_back({node, 0});
  }

  void visit(uint32_t root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const uint32_t node = frame.node;
      const std::span<const Edge> edges = graph_.from(node);
      if (frame.next_edge == edges.size()) {
        leave(node);
        continue;
      }
      const Edge& edge = edges[frame.next_edge++];
      if ((bit(edge.kind) & kinds_) == 0) continue;
      if (number_[edge.to] == kUnvisited) {
        enter(edge.to);
      } else if (on_stack_[edge.to]) {
        low_[node] = std::min(low_[node], number_[edge.to]);
      }
    }
  }

  void leave(uint32_t node) {
    frames_.pop_back();
    if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
    if (low_[node] != number_[node]) return;
    std::vector<uint32_t> members;
    uint32_t member;
    do {
      member = stack_.back();
      stack_.pop_back();
      on_stack_[member] = false;
      result_.of[member] = components_;
      members.push_back(member);
    } while (member != node);
    ++components_;
    if (members.size() > 1) result_.cyclic.push_back(std::move(members));
  }

  const Graph& graph_;
  uint32_t kinds_;
  std::vector<uint32_t> number_;
  std::vector<uint32_t> low_;
  std::vector<bool> on_stack_;
  std::vector<uint32_t> stack_;
  std::vector<Frame> frames_;
  uint32_t counter_ = 0;
  uint32_t components_ = 0;
  Components result_;
};

}  // namespace

void Graph::finish() {
  starts_.assign(nodes_ + 1, 0);
  for (const Edge& edge : edges_) ++starts_[edge.from + 1];
  for (uint32_t node = 0; node < nodes_; ++node) starts_[node + 1] += starts_[node];
  std::vector<size_t> next(starts_.begin(), starts_.end() - 1);
  std::vector<Edge> sorted(edges_.size());
  for (const Edge& edge : edges_) sorted[next[edge.from]++] = edge;
  edges_ = std::move(sorted);
}

Components strong_components(const Graph& graph, uint32_t kinds) { return Tarjan(graph, kinds).run(); }

}  // namespace txnic::check
