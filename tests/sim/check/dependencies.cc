// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/dependencies.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace txnic::check {
namespace {

class Builder {
 public:
  Builder(const History& history, const Observations& observations)
      : history_(history), observations_(observations), graph_(static_cast<uint32_t>(history.operations.size())) {}

  Graph run() {
    for (const KeyView& key : observations_.keys) {
      if (!key.is_ordered) continue;
      add_versions(key);
      add_reads(key);
      add_unseen(key);
    }
    add_process_order();
    add_realtime_order();
    graph_.finish();
    return std::move(graph_);
  }

 private:
  bool is_committed(const Append* append) const {
    return append != nullptr && observations_.committed[append->operation];
  }

  Edge ww(const KeyView& key, uint32_t from, const Append& to, bool is_unseen) const {
    return {from, to.operation, EdgeKind::kWw, is_unseen, key.key, to.value, nullptr, 0};
  }

  void add_versions(const KeyView& key) {
    const Append* before = nullptr;
    for (const Append* append : key.order) {
      if (!is_committed(append)) continue;
      if (before != nullptr) graph_.add(ww(key, before->operation, *append, false));
      before = append;
    }
  }

  // wr from the writer of the last element read, rw to the writer of the first element not read.
  void add_reads(const KeyView& key) {
    std::vector<const Append*> following(key.order.size() + 1, nullptr);
    for (size_t i = key.order.size(); i-- > 0;) {
      following[i] = is_committed(key.order[i]) ? key.order[i] : following[i + 1];
    }
    for (const Read& read : key.reads) {
      if (!read.is_first) continue;
      const size_t length = read.base_length;
      if (length > 0 && is_committed(key.order[length - 1])) {
        const Append& last = *key.order[length - 1];
        graph_.add({last.operation, read.operation, EdgeKind::kWr, false, key.key, last.value, read.list, length});
      }
      if (following[length] != nullptr) {
        const Append& next = *following[length];
        graph_.add({read.operation, next.operation, EdgeKind::kRw, false, key.key, next.value, read.list, length});
      }
    }
  }

  // Acknowledged appends that the longest read does not show come after it, in an order that nobody knows: after the
  // writer of its last element, and after everybody who read all of it.
  void add_unseen(const KeyView& key) {
    std::vector<const Append*> unseen;  // the first of each transaction
    std::unordered_set<uint32_t> writers;
    for (const Append& append : key.appends) {
      if (append.observed || !observations_.committed[append.operation]) continue;
      if (writers.insert(append.operation).second) unseen.push_back(&append);
    }
    if (unseen.empty()) return;
    const auto last =
        std::find_if(key.order.rbegin(), key.order.rend(), [&](const Append* append) { return is_committed(append); });
    if (last != key.order.rend()) {
      for (const Append* append : unseen) graph_.add(ww(key, (*last)->operation, *append, true));
    }
    add_unseen_readers(key, unseen, writers);
  }

  // Each reader of the whole list before each unseen writer but itself, with a linear number of edges: those who only
  // read go through one auxiliary node to all writers; those who also wrote through another one to the writers who did
  // not read, and each to the next one of its own sort in a ring (two of them contradict each other anyway).
  void add_unseen_readers(const KeyView& key, const std::vector<const Append*>& unseen,
                          const std::unordered_set<uint32_t>& writers) {
    std::vector<Read> only_read;
    std::vector<Read> also_wrote;
    std::unordered_set<uint32_t> both;
    for (const Read& read : key.reads) {
      if (!read.is_first || read.base_length != key.order.size()) continue;
      const bool wrote = writers.contains(read.operation);
      (wrote ? also_wrote : only_read).push_back(read);
      if (wrote) both.insert(read.operation);
    }
    const auto rw = [&](const Read& read, uint32_t to, Value value) {
      return Edge{read.operation, to, EdgeKind::kRw, true, key.key, value, read.list, read.base_length};
    };
    const auto pass = [&](uint32_t from, const Append& to) {
      return Edge{from, to.operation, EdgeKind::kPass, true, key.key, to.value, nullptr, 0};
    };
    if (!only_read.empty()) {
      const uint32_t middle = graph_.add_node();
      for (const Read& read : only_read) graph_.add(rw(read, middle, 0));
      for (const Append* append : unseen) graph_.add(pass(middle, *append));
    }
    if (also_wrote.empty()) return;
    const uint32_t middle = graph_.add_node();
    for (const Read& read : also_wrote) graph_.add(rw(read, middle, 0));
    std::unordered_map<uint32_t, Value> value_of;
    for (const Append* append : unseen) {
      value_of[append->operation] = append->value;
      if (!both.contains(append->operation)) graph_.add(pass(middle, *append));
    }
    for (size_t i = 0; i < also_wrote.size(); ++i) {
      const uint32_t next = also_wrote[(i + 1) % also_wrote.size()].operation;
      graph_.add(rw(also_wrote[i], next, value_of[next]));
    }
  }

  static Edge order(uint32_t from, uint32_t to, EdgeKind kind) { return {from, to, kind, false, 0, 0, nullptr, 0}; }

  // As in Elle, between acknowledged transactions of one process: what is unknown may take effect later.
  void add_process_order() {
    std::unordered_map<int64_t, uint32_t> last;
    for (uint32_t i = 0; i < history_.operations.size(); ++i) {
      const Operation& operation = history_.operations[i];
      if (operation.outcome != Outcome::kOk) continue;
      const auto [found, is_new] = last.try_emplace(operation.process, i);
      if (is_new) continue;
      graph_.add(order(found->second, i, EdgeKind::kProcess));
      found->second = i;
    }
  }

  // One auxiliary node for each run of completions in real time; each leads to the next. What completed leads to the
  // node of its run; what is invoked is led to by the newest node: linear, and exactly "completed before invoked".
  void add_realtime_order() {
    struct Event {
      uint64_t position;
      uint32_t operation;
      bool is_completion;
    };
    std::vector<Event> events;
    for (uint32_t i = 0; i < history_.operations.size(); ++i) {
      if (!observations_.committed[i]) continue;
      const Operation& operation = history_.operations[i];
      events.push_back({operation.invoked, i, false});
      if (operation.outcome == Outcome::kOk) events.push_back({operation.completed, i, true});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.position < b.position; });
    bool has_barrier = false;
    bool was_completion = false;
    uint32_t barrier = 0;
    for (const Event& event : events) {
      if (event.is_completion) {
        if (!was_completion) {
          const uint32_t next = graph_.add_node();
          if (has_barrier) graph_.add(order(barrier, next, EdgeKind::kPass));
          barrier = next;
          has_barrier = true;
        }
        graph_.add(order(event.operation, barrier, EdgeKind::kRealtime));
      } else if (has_barrier) {
        graph_.add(order(barrier, event.operation, EdgeKind::kPass));
      }
      was_completion = event.is_completion;
    }
  }

  const History& history_;
  const Observations& observations_;
  Graph graph_;
};

}  // namespace

Graph build_graph(const History& history, const Observations& observations) {
  return Builder(history, observations).run();
}

}  // namespace txnic::check
