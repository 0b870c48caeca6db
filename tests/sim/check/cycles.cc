// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/cycles.h"

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <utility>

namespace txnic::check {
namespace {

// What a path has seen so far, in four bits.
constexpr uint32_t kRwMask = 3;  // number of rw edges, 2 means more
constexpr uint32_t kWrSeen = 4;
constexpr uint32_t kOrderSeen = 8;
constexpr uint32_t kFlagStates = 16;
constexpr uint32_t kRejected = UINT32_MAX;
constexpr uint32_t kNone = UINT32_MAX;

struct Kind {
  const char* name;
  uint32_t edges;
  uint32_t rw_min;
  uint32_t rw_max;
  bool needs_wr;
};

constexpr Kind kKinds[] = {
    {"G0", kWwEdges, 0, 0, false},
    {"G1c", kWwEdges | bit(EdgeKind::kWr), 0, 0, true},
    {"G-single", kDataEdges, 1, 1, false},
    {"G2", kDataEdges, 2, 2, false},
};

struct Mode {
  const char* suffix;
  uint32_t order_edge;  // which must be in the cycle; 0: none
};

constexpr Mode kModes[] = {{"", 0}, {"-process", bit(EdgeKind::kProcess)}, {"-realtime", bit(EdgeKind::kRealtime)}};

// A breadth-first search for the shortest closed walk through a given start, over (node, what the walk has seen).
// Edges kPass cost nothing, so that auxiliary nodes do not count.
class Search {
 public:
  Search(const Graph& graph, const Components& components, const Kind& kind, const Mode& mode)
      : graph_(graph),
        components_(components),
        kind_(kind),
        mode_(mode),
        allowed_(kind.edges | mode.order_edge),
        seen_(static_cast<size_t>(graph.nodes()) * kFlagStates, 0),
        came_(seen_.size(), {kNone, nullptr}) {}

  // Shorter than `best`, or nothing.
  void from(uint32_t start, std::vector<Edge>& best) {
    ++round_;
    queue_.clear();
    queue_.push_back({start * kFlagStates, 0});
    start_ = start;
    while (!queue_.empty() && steps_ < kSearchStepsMax) {
      const Place place = queue_.front();
      queue_.pop_front();
      if (seen_[place.state] == round_ * 2) continue;  // expanded before, by a cheaper way
      seen_[place.state] = round_ * 2;
      if (!best.empty() && place.length >= best.size()) return;
      if (expand(place, best)) return;
    }
  }

  bool is_exhausted() const { return steps_ >= kSearchStepsMax; }

 private:
  struct Place {
    uint32_t state;
    uint32_t length;
  };
  struct Came {
    uint32_t state;
    const Edge* edge;
  };

  uint32_t step(uint32_t flags, const Edge& edge) const {
    const uint32_t kind = bit(edge.kind);
    if ((kind & allowed_) == 0) return kRejected;
    if (edge.kind == EdgeKind::kWr && kind_.needs_wr) return flags | kWrSeen;
    if ((kind & mode_.order_edge) != 0) return flags | kOrderSeen;
    if (edge.kind != EdgeKind::kRw) return flags;
    const uint32_t count = flags & kRwMask;
    if (count == kind_.rw_max) return kind_.rw_max == 2 ? flags : kRejected;
    return (flags & ~kRwMask) | (count + 1);
  }

  bool is_goal(uint32_t flags) const {
    return (flags & kRwMask) >= kind_.rw_min && (!kind_.needs_wr || (flags & kWrSeen) != 0) &&
           (mode_.order_edge == 0 || (flags & kOrderSeen) != 0);
  }

  // True when the start is reached; `best` is then the new cycle, if it is one (no transaction twice).
  bool expand(const Place& place, std::vector<Edge>& best) {
    const uint32_t node = place.state / kFlagStates;
    for (const Edge& edge : graph_.from(node)) {
      ++steps_;
      if (components_.of[edge.to] != components_.of[node]) continue;
      const uint32_t flags = step(place.state % kFlagStates, edge);
      if (flags == kRejected) continue;
      const uint32_t state = edge.to * kFlagStates + flags;
      if (edge.to == start_) {
        if (!is_goal(flags)) continue;
        finish(place.state, edge, best);
        return true;
      }
      const bool is_free = edge.kind == EdgeKind::kPass;
      if (seen_[state] == round_ * 2 || (seen_[state] == round_ * 2 - 1 && !is_free)) continue;
      seen_[state] = round_ * 2 - 1;
      came_[state] = {place.state, &edge};
      if (is_free) {
        queue_.push_front({state, place.length});
      } else {
        queue_.push_back({state, place.length + 1});
      }
    }
    return false;
  }

  void finish(uint32_t last_state, const Edge& closing, std::vector<Edge>& best) {
    std::vector<const Edge*> path = {&closing};
    for (uint32_t state = last_state; state != start_ * kFlagStates; state = came_[state].state) {
      path.push_back(came_[state].edge);
    }
    std::reverse(path.begin(), path.end());
    std::vector<Edge> cycle;
    std::unordered_set<uint32_t> visited;
    for (const Edge* edge : path) {
      if (edge->kind != EdgeKind::kPass) {
        if (!visited.insert(edge->from).second) return;
        cycle.push_back(*edge);
      } else {  // the second half of the edge before, or a further piece of it
        cycle.back().to = edge->to;
        if (edge->is_unseen) cycle.back().after = edge->after;
      }
    }
    if (!best.empty() && cycle.size() >= best.size()) return;
    // It begins with the transaction that was invoked first, wherever the search began.
    std::rotate(
        cycle.begin(),
        std::min_element(cycle.begin(), cycle.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; }),
        cycle.end());
    best = std::move(cycle);
  }

  const Graph& graph_;
  const Components& components_;
  const Kind& kind_;
  const Mode& mode_;
  uint32_t allowed_;
  std::vector<uint32_t> seen_;  // round*2-1: queued in this round, round*2: expanded in this round
  std::vector<Came> came_;
  std::deque<Place> queue_;
  uint32_t round_ = 0;
  uint32_t start_ = 0;
  uint64_t steps_ = 0;
};

// Transactions of cyclic components; first those whose dependency leads farthest back in time, because that is where a
// short cycle is.
std::vector<uint32_t> starts(const Graph& graph, const History& history, const Components& components) {
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (const std::vector<uint32_t>& members : components.cyclic) {
    for (const uint32_t node : members) {
      if (!graph.is_operation(node)) continue;
      const auto invoked = static_cast<int64_t>(history.operations[node].invoked);
      int64_t back = INT64_MIN;
      for (const Edge& edge : graph.from(node)) {
        if (components.of[edge.to] != components.of[node] || !graph.is_operation(edge.to)) continue;
        const uint64_t completed = history.operations[edge.to].completed;
        if (completed != kNever) back = std::max(back, invoked - static_cast<int64_t>(completed));
      }
      order.emplace_back(back, node);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<uint32_t> nodes;
  for (const auto& entry : order) nodes.push_back(entry.second);
  return nodes;
}

// A cycle without conditions, named by what is in it. For graphs so tangled that no search above found a simple one.
Cycle any_cycle(const Graph& graph, const History& history, const Components& components) {
  const Kind any = {"", kDataEdges | bit(EdgeKind::kRealtime), 0, 2, false};
  const Mode mode = kModes[0];
  Search search(graph, components, any, mode);
  Cycle cycle;
  for (const uint32_t start : starts(graph, history, components)) {
    search.from(start, cycle.edges);
    if (!cycle.edges.empty()) break;
  }
  uint32_t rw = 0;
  bool has_wr = false;
  bool has_realtime = false;
  for (const Edge& edge : cycle.edges) {
    rw += edge.kind == EdgeKind::kRw;
    has_wr |= edge.kind == EdgeKind::kWr;
    has_realtime |= edge.kind == EdgeKind::kRealtime;
  }
  cycle.name = rw > 1 ? "G2" : rw == 1 ? "G-single" : has_wr ? "G1c" : "G0";
  if (has_realtime) cycle.name += "-realtime";
  cycle.components = components.cyclic.size();
  return cycle;
}

}  // namespace

std::vector<Cycle> find_cycles(const Graph& graph, const History& history) {
  std::vector<Cycle> cycles;
  const Components all = strong_components(graph, kDataEdges | bit(EdgeKind::kRealtime));
  if (all.cyclic.empty()) return cycles;
  for (const Kind& kind : kKinds) {
    for (const Mode& mode : kModes) {
      const Components components = strong_components(graph, kind.edges | mode.order_edge);
      if (components.cyclic.empty()) continue;
      Search search(graph, components, kind, mode);
      Cycle cycle{std::string(kind.name) + mode.suffix, {}, components.cyclic.size()};
      for (const uint32_t start : starts(graph, history, components)) {
        search.from(start, cycle.edges);
        if (cycle.edges.size() == 2 || search.is_exhausted()) break;
      }
      if (cycle.edges.empty()) continue;
      cycles.push_back(std::move(cycle));
      break;
    }
  }
  if (cycles.empty()) cycles.push_back(any_cycle(graph, history, all));
  return cycles;
}

}  // namespace txnic::check
