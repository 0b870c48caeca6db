// SPDX-License-Identifier: BSD-3-Clause
// What a checker says: nothing found, or anomalies with their names and a text that a person can follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace txnic::check {

inline constexpr uint64_t kExamplesMax = 4;  // anomalies of one name that are described; the rest are only counted

struct Anomaly {
  std::string name;
  std::string text;                // lines, each ending in a newline
  std::vector<size_t> operations;  // places in History::operations; empty where a checker has no history
};

struct Verdict {
  std::string unusable;  // why the input cannot be judged; empty if it was judged
  std::vector<Anomaly> anomalies;
  std::map<std::string, uint64_t> counts;  // name -> how many were found

  bool valid() const { return unusable.empty() && counts.empty(); }
  bool has(const std::string& name) const { return counts.contains(name); }

  // Counts an anomaly and, while it is among the first ones of its name, describes it by make_text().
  template <typename MakeText>
  void add(const char* name, std::vector<size_t> operations, MakeText make_text) {
    if (++counts[name] <= kExamplesMax) anomalies.push_back({name, make_text(), std::move(operations)});
  }
};

// "G-single-realtime ×1, lost-update ×2"; "none".
std::string summary(const Verdict& verdict);
// Each anomaly's name and text.
std::string report(const Verdict& verdict);
// As a JSON string literal, quotes included.
std::string json_string(const std::string& text);
// An array of {"name":…,"operations":[…],"text":…}.
std::string json_anomalies(const Verdict& verdict);

}  // namespace txnic::check
