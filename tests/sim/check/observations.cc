// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/check/observations.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "tests/sim/check/words.h"

namespace txnic::check {
namespace {

class Observer {
 public:
  Observer(const History& history, Verdict& verdict) : history_(history), verdict_(verdict) {}

  Observations run() {
    collect_appends();
    if (!verdict_.unusable.empty()) return std::move(result_);
    for (size_t i = 0; i < history_.operations.size(); ++i) {
      if (history_.operations[i].outcome == Outcome::kOk) collect_reads(static_cast<uint32_t>(i));
    }
    for (KeyView& key : result_.keys) {
      order_versions(key);
      check_partial(key);
      check_intermediate(key);
      check_lost_updates(key);
    }
    find_committed();
    return std::move(result_);
  }

 private:
  KeyView& view(Key key) {
    const auto [found, is_new] = index_.try_emplace(key, result_.keys.size());
    if (is_new) result_.keys.emplace_back().key = key;
    return result_.keys[found->second];
  }

  std::string label(size_t operation) const { return words::label(history_, operation); }

  void collect_appends() {
    for (size_t i = 0; i < history_.operations.size(); ++i) {
      for (const MicroOp& micro : history_.operations[i].micro_ops) {
        KeyView& key = view(micro.key);
        if (micro.kind != MicroOp::Kind::kAppend) continue;
        Append append{micro.value, static_cast<uint32_t>(i), 0, true, false};
        // The same transaction's appends to the same key are neighbours here.
        if (!key.appends.empty() && key.appends.back().operation == append.operation) {
          key.appends.back().is_last = false;
          append.nth = key.appends.back().nth + 1;
        }
        key.appends.push_back(append);
      }
    }
    for (KeyView& key : result_.keys) {
      std::stable_sort(key.appends.begin(), key.appends.end(),
                       [](const Append& a, const Append& b) { return a.value < b.value; });
      const auto twice = std::adjacent_find(key.appends.begin(), key.appends.end(),
                                            [](const Append& a, const Append& b) { return a.value == b.value; });
      if (twice == key.appends.end()) continue;
      verdict_.unusable =
          std::string("value ") + std::to_string(twice->value) + " is appended to key " + std::to_string(key.key) +
          " twice, by the transactions at index " + words::index(history_, twice->operation) + " and " +
          words::index(history_, (twice + 1)->operation) + "; each append to a key needs a value of its own";
      return;
    }
  }

  // Splits each read of a committed transaction into what was there before and its own appends.
  void collect_reads(uint32_t operation) {
    struct Seen {
      const MicroOp* read;
      size_t base_length;
    };
    std::vector<Seen> seen;
    const std::vector<MicroOp>& micro_ops = history_.operations[operation].micro_ops;
    std::vector<Value> own;
    for (size_t i = 0; i < micro_ops.size(); ++i) {
      const MicroOp& read = micro_ops[i];
      if (read.kind != MicroOp::Kind::kRead) continue;
      own.clear();
      for (size_t k = 0; k < i; ++k) {
        if (micro_ops[k].kind == MicroOp::Kind::kAppend && micro_ops[k].key == read.key) {
          own.push_back(micro_ops[k].value);
        }
      }
      if (own.size() > read.list.size() || !std::equal(own.rbegin(), own.rend(), read.list.rbegin())) {
        report_internal(operation, read, std::string("which does not end with its own appends ") + edn_list(own));
        continue;
      }
      const std::span<const Value> base(read.list.data(), read.list.size() - own.size());
      if (find_future(operation, read, base, i)) continue;
      const auto earlier =
          std::find_if(seen.begin(), seen.end(), [&](const Seen& s) { return s.read->key == read.key; });
      const bool is_first = earlier == seen.end();
      if (is_first) {
        seen.push_back({&read, base.size()});
      } else if (!std::equal(base.begin(), base.end(), earlier->read->list.begin(),
                             earlier->read->list.begin() + static_cast<std::ptrdiff_t>(earlier->base_length))) {
        report_internal(operation, read, std::string("after it had read ") + words::list(earlier->read->list));
        continue;
      }
      view(read.key).reads.push_back({operation, &read.list, base.size(), false, is_first});
    }
  }

  void report_internal(uint32_t operation, const MicroOp& read, const std::string& why) {
    verdict_.add("internal", {operation}, [&] {
      return words::line(label(operation) + " read key " + std::to_string(read.key) + " as " + words::list(read.list) +
                         ", " + why);
    });
  }

  // An append of its own that the transaction reads before it does it.
  bool find_future(uint32_t operation, const MicroOp& read, std::span<const Value> base, size_t at) {
    const std::vector<MicroOp>& micro_ops = history_.operations[operation].micro_ops;
    for (size_t i = at + 1; i < micro_ops.size(); ++i) {
      const MicroOp& micro = micro_ops[i];
      if (micro.kind != MicroOp::Kind::kAppend || micro.key != read.key) continue;
      if (std::find(base.begin(), base.end(), micro.value) == base.end()) continue;
      verdict_.add("future-read", {operation}, [&] {
        return words::line(label(operation) + " read key " + std::to_string(read.key) + " as " +
                           words::list(read.list) + ", with its own " + std::to_string(micro.value) +
                           " in a place where it had not appended it yet");
      });
      return true;
    }
    return false;
  }

  void order_versions(KeyView& key) {
    for (const Read& read : key.reads) {
      if (key.longest == nullptr || read.list->size() > key.longest->size()) {
        key.longest = read.list;
        key.longest_reader = read.operation;
      }
    }
    if (key.longest == nullptr) return;
    key.order.reserve(key.longest->size());
    inspect(key, *key.longest, key.longest_reader);
    for (const Value value : *key.longest) key.order.push_back(key.find(value));
    for (Read& read : key.reads) {
      read.is_prefix = std::equal(read.list->begin(), read.list->end(), key.longest->begin());
      if (read.is_prefix) continue;
      key.is_ordered = false;
      inspect(key, *read.list, read.operation);
      verdict_.add("incompatible-order", {read.operation, key.longest_reader}, [&] {
        return words::line(label(read.operation) + " read key " + std::to_string(key.key) + " as " +
                           words::list(*read.list)) +
               words::line(label(key.longest_reader) + " read it as " + words::list(*key.longest) +
                           ", which is no longer form of the same list");
      });
    }
  }

  // The elements of one list: each written once, and by somebody who did not fail.
  void inspect(KeyView& key, const std::vector<Value>& list, uint32_t reader) {
    const auto said = [&](Value value, const std::string& why) {
      return words::line(label(reader) + " read key " + std::to_string(key.key) + " as " + words::list(list)) +
             words::line(std::to_string(value) + " " + why);
    };
    for (const Value value : list) {
      Append* append = key.find(value);
      if (append == nullptr) {
        verdict_.add("garbage-read", {reader}, [&] { return said(value, "was never appended to it by anybody"); });
        continue;
      }
      append->observed = true;
      if (history_.operations[append->operation].outcome == Outcome::kFail) {
        verdict_.add("G1a", {reader, append->operation}, [&] {
          return said(value, std::string("was appended by ") + label(append->operation) + ", which failed");
        });
      }
    }
    std::vector<Value> sorted(list);
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return;
    key.is_ordered = false;
    verdict_.add("duplicate-elements", {reader}, [&] { return said(*twice, "is in it more than once"); });
  }

  // A transaction's appends to a key are there all, in its order. (That nobody's stand between them, the graph tells.)
  void check_partial(KeyView& key) {
    if (!key.is_ordered) return;
    std::unordered_map<uint32_t, uint32_t> next;  // operation -> the append of it that must come next
    for (const Append* append : key.order) {
      if (append == nullptr || (append->nth == 0 && append->is_last)) continue;
      uint32_t& expected = next[append->operation];
      if (append->nth != expected) {
        verdict_.add("partial-append", {key.longest_reader, append->operation}, [&] {
          return words::line(label(key.longest_reader) + " read key " + std::to_string(key.key) + " as " +
                             words::list(*key.longest)) +
                 words::line(std::to_string(append->value) + " is append " + std::to_string(append->nth + 1) +
                             " to this key of " + label(append->operation) +
                             ", and what that appended before is missing or behind it");
        });
      }
      expected = append->nth + 1;
    }
  }

  // Adya's G1b: a read that ends within another transaction's appends.
  void check_intermediate(KeyView& key) {
    for (const Read& read : key.reads) {
      if (read.base_length == 0) continue;
      const Append* append = key.find((*read.list)[read.base_length - 1]);
      if (append == nullptr || append->is_last || !read.is_first) continue;
      verdict_.add("G1b", {read.operation, append->operation}, [&] {
        return words::line(label(read.operation) + " read key " + std::to_string(key.key) + " as " +
                           words::list(*read.list)) +
               words::line(std::to_string(append->value) + " is not the last that " + label(append->operation) +
                           " appended to it");
      });
    }
  }

  // Two committed transactions that read the same version of a key and both append to it: one did not see the other.
  void check_lost_updates(KeyView& key) {
    if (!key.is_ordered) return;
    std::set<uint32_t> writers;
    for (const Append& append : key.appends) writers.insert(append.operation);
    std::map<size_t, uint32_t> first;  // base length -> its first writer
    for (const Read& read : key.reads) {
      if (!read.is_first || !writers.contains(read.operation)) continue;
      const auto [found, is_new] = first.try_emplace(read.base_length, read.operation);
      if (is_new) continue;
      const uint32_t other = found->second;
      verdict_.add("lost-update", {other, read.operation}, [&] {
        const std::vector<Value> base(read.list->begin(),
                                      read.list->begin() + static_cast<std::ptrdiff_t>(read.base_length));
        return words::line(label(other) + " and") + words::line(label(read.operation)) +
               words::line(std::string("both read key ") + std::to_string(key.key) + " as " + words::list(base) +
                           " and appended to it");
      });
    }
  }

  void find_committed() {
    result_.committed.resize(history_.operations.size());
    for (size_t i = 0; i < history_.operations.size(); ++i) {
      result_.committed[i] = history_.operations[i].outcome == Outcome::kOk;
    }
    for (const KeyView& key : result_.keys) {
      for (const Append& append : key.appends) {
        if (append.observed && history_.operations[append.operation].outcome == Outcome::kInfo) {
          result_.committed[append.operation] = true;
        }
      }
    }
  }

  const History& history_;
  Verdict& verdict_;
  Observations result_;
  std::unordered_map<Key, size_t> index_;
};

}  // namespace

Append* KeyView::find(Value value) {
  const auto found = std::lower_bound(appends.begin(), appends.end(), value,
                                      [](const Append& append, Value wanted) { return append.value < wanted; });
  return found != appends.end() && found->value == value ? &*found : nullptr;
}

Observations observe(const History& history, Verdict& verdict) { return Observer(history, verdict).run(); }

}  // namespace txnic::check
