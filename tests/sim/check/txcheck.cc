// SPDX-License-Identifier: BSD-3-Clause
// txcheck: judges list-append histories in EDN. `./txnic check FILE`.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/sim/check/edn.h"
#include "tests/sim/check/list_append.h"

namespace {

using namespace txnic::check;

constexpr int kValid = 0;
constexpr int kAnomaly = 1;
constexpr int kUnusable = 2;

constexpr const char* kUsage =
    R"(txcheck [--json] FILE…    judge histories of list-append transactions for strict serializability

FILE is EDN as Jepsen writes and Elle checks it, one map an event in real-time order; - is standard input:
  {:type :invoke, :process 3, :f :txn, :value [[:append 5 17] [:r 6 nil]]}
  {:type :ok, :process 3, :f :txn, :value [[:append 5 17] [:r 6 [1 2]]]}

--json    one JSON object a file instead of a verdict line and the anomalies
Exit code: 0 valid, 1 an anomaly in any file, 2 a file cannot be used (or wrong arguments).
)";

struct Counts {
  uint64_t ok = 0;
  uint64_t fail = 0;
  uint64_t info = 0;
};

struct Judgement {
  Verdict verdict;
  Counts counts;
  uint64_t skipped = 0;
  double seconds = 0;
};

bool read_file(const std::string& name, std::string& text) {
  if (name == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return !std::cin.bad();
  }
  std::ifstream file(name, std::ios::binary);
  if (!file) return false;
  text.assign(std::istreambuf_iterator<char>(file), {});
  return !file.bad();
}

Judgement judge(const std::string& name) {
  Judgement result;
  const auto start = std::chrono::steady_clock::now();
  std::string text;
  if (!read_file(name, text)) {
    result.verdict.unusable = name + ": cannot be read";
    return result;
  }
  const ReadResult read = read_edn(text, name);
  result.skipped = read.skipped;
  if (read.error) {
    result.verdict.unusable = read.error->text();
    return result;
  }
  for (const Operation& operation : read.history.operations) {
    result.counts.ok += operation.outcome == Outcome::kOk;
    result.counts.fail += operation.outcome == Outcome::kFail;
    result.counts.info += operation.outcome == Outcome::kInfo;
  }
  result.verdict = check_list_append(read.history);
  if (!result.verdict.unusable.empty()) result.verdict.unusable = name + ": " + result.verdict.unusable;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

uint64_t transactions(const Counts& counts) { return counts.ok + counts.fail + counts.info; }

double rate(const Judgement& result) {
  return result.seconds > 0 ? static_cast<double>(transactions(result.counts)) / result.seconds : 0;
}

void print_text(const std::string& name, const Judgement& result) {
  if (!result.verdict.unusable.empty()) {
    std::cout << "unusable: " << result.verdict.unusable << '\n';
    return;
  }
  const Counts& counts = result.counts;
  char speed[64];
  std::snprintf(speed, sizeof speed, "%.3f s, %.0f operations/s", result.seconds, rate(result));
  std::cout << (result.verdict.valid() ? "valid: " : "anomaly: ") << name << ": "
            << (result.verdict.valid() ? "strictly serializable" : summary(result.verdict)) << "; "
            << transactions(counts) << " transactions (" << counts.ok << " ok, " << counts.fail << " fail, "
            << counts.info << " info)";
  if (result.skipped > 0) std::cout << ", " << result.skipped << " other events skipped";
  std::cout << "; " << speed << '\n' << report(result.verdict);
}

void print_json(const std::string& name, const Judgement& result) {
  const Counts& counts = result.counts;
  const char* verdict = !result.verdict.unusable.empty() ? "unusable" : result.verdict.valid() ? "valid" : "anomaly";
  std::cout << "{\"file\":" << json_string(name) << ",\"verdict\":\"" << verdict << "\"";
  if (!result.verdict.unusable.empty()) std::cout << ",\"error\":" << json_string(result.verdict.unusable);
  std::cout << ",\"transactions\":" << transactions(counts) << ",\"ok\":" << counts.ok << ",\"fail\":" << counts.fail
            << ",\"info\":" << counts.info << ",\"skipped\":" << result.skipped << ",\"seconds\":" << result.seconds
            << ",\"operations_per_second\":" << static_cast<uint64_t>(rate(result)) << ",\"counts\":{";
  const char* comma = "";
  for (const auto& [anomaly, count] : result.verdict.counts) {
    std::cout << comma << json_string(anomaly) << ':' << count;
    comma = ",";
  }
  std::cout << "},\"anomalies\":" << json_anomalies(result.verdict) << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  bool is_json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::cout << kUsage;
      return kValid;
    }
    if (argument == "--json") {
      is_json = true;
    } else if (argument.size() > 1 && argument[0] == '-') {
      std::cerr << "txcheck: no option called " << argument << "\n" << kUsage;
      return kUnusable;
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) {
    std::cerr << kUsage;
    return kUnusable;
  }
  bool has_anomaly = false;
  bool has_unusable = false;
  for (const std::string& file : files) {
    const Judgement result = judge(file);
    (is_json ? print_json : print_text)(file, result);
    has_unusable |= !result.verdict.unusable.empty();
    has_anomaly |= !result.verdict.counts.empty();
  }
  return has_anomaly ? kAnomaly : has_unusable ? kUnusable : kValid;
}
