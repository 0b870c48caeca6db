// SPDX-License-Identifier: BSD-3-Clause
// The final table.
#include <cstdio>

#include "pktgen/report/row.h"
#include "pktgen/build_info.h"

namespace txnic::pktgen {

const char* name(PhaseEnd end) {
  switch (end) {
    case PhaseEnd::kFinished: return "finished";
    case PhaseEnd::kStopped: return "stopped";
    case PhaseEnd::kNodeSilent: return "node_silent";
    case PhaseEnd::kRefused: return "refused";
    case PhaseEnd::kFailed: return "failed";
  }
  return "?";
}

const char* name(Durability durability) {
  switch (durability) {
    case Durability::kNone: return "none";
    case Durability::kAsync: return "async";
    case Durability::kSync: return "sync";
  }
  return "?";
}

const char* build_commit() { return TXGEN_COMMIT; }

std::string with_commas(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_ns(double ns) {
  char text[32];
  if (ns < 1e3) {
    std::snprintf(text, sizeof text, "%.0f ns", ns);
  } else if (ns < 1e6) {
    std::snprintf(text, sizeof text, "%.1f us", ns / 1e3);
  } else if (ns < 1e9) {
    std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", ns / 1e9);
  }
  return text;
}

namespace {

class Lines {
 public:
  void add(const char* label, const std::string& value) {
    char line[64];
    std::snprintf(line, sizeof line, "  %-19s ", label);
    text_ += line + value + "\n";
  }
  void heading(const std::string& text) { text_ += text + "\n"; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string rate(uint64_t count, TimeNs ns) {
  if (ns == 0) return "-";
  const double per_second = static_cast<double>(count) * 1e9 / static_cast<double>(ns);
  return with_commas(static_cast<uint64_t>(per_second + 0.5)) + " /s";
}

std::string percent_of(uint64_t part, uint64_t whole) {
  if (whole == 0) return {};
  char text[32];
  std::snprintf(text, sizeof text, " (%.2f %%)", 100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

void add_latency(Lines* lines, const Histogram& h) {
  if (h.count() == 0) return;
  const auto p = [&h](double percent) { return format_ns(static_cast<double>(h.percentile(percent))); };
  lines->add("latency", "p50 " + p(50) + "   p90 " + p(90) + "   p99 " + p(99) + "   p99.9 " + p(99.9) + "   p99.99 " +
                            p(99.99) + "   max " + format_ns(static_cast<double>(h.max())));
}

void add_kinds(Lines* lines, const RunRow& row) {
  const Counts& c = row.result.measured;
  if (row.kinds.size() < 2) return;
  for (size_t i = 0; i < row.kinds.size(); ++i) {
    const KindCounts& kind = c.kinds[i];
    if (kind.executed + kind.other == 0) continue;
    lines->add(("- " + row.kinds[i]).c_str(),
               with_commas(kind.executed) + " executed" + percent_of(kind.executed, c.executed()) + ", " +
                   with_commas(kind.good) + " good, " + with_commas(kind.other) + " not executed");
  }
}

void add_outcomes(Lines* lines, const RunRow& row) {
  const Counts& c = row.result.measured;
  lines->add("committed", with_commas(c.committed()));
  std::string causes;
  for (uint32_t i = 1; i < kResultCount; ++i) {
    const auto result = static_cast<Result>(i);
    if (c.by_result[i] == 0 || result == Result::kUnknownOutcome) continue;
    causes += "   " + std::string(txnic::name(result)) + " " + with_commas(c.by_result[i]);
    if (is_business(result)) causes += " (business)";
  }
  const uint64_t aborted = c.aborted() + c.refused();
  lines->add("aborted", with_commas(aborted) + percent_of(aborted, c.ended()) + causes);
  lines->add("unknown", with_commas(c.unknown()));
  const auto& m = row.result.measured_machines;
  std::string sent = with_commas(m.retransmissions);
  if (m.reopens != 0) sent += "   sessions opened again " + with_commas(m.reopens);
  if (m.timed_out != 0) sent += "   deadlines passed without effect " + with_commas(m.timed_out);
  if (m.windows_lost != 0) sent += "   windows lost " + with_commas(m.windows_lost);
  if (row.transport_statistics.send_dropped != 0) {
    sent += "   not taken by the port " + with_commas(row.transport_statistics.send_dropped);
  }
  lines->add("retransmissions", sent);
}

void add_open_loop(Lines* lines, const RunRow& row) {
  if (row.limits.rate <= 0) return;
  const OpenLoopLag& lag = row.result.lag;
  char text[160];
  std::snprintf(text, sizeof text, "%.2f %% (own lateness: mean %s, max %s), %s of %s arrivals found every place taken",
                lag.percent, format_ns(lag.late_mean_ns).c_str(),
                format_ns(static_cast<double>(lag.late_max_ns)).c_str(), with_commas(lag.delayed).c_str(),
                with_commas(lag.arrivals).c_str());
  lines->add("generator lag", text);
  if (lag.percent > kLagPercentMax) lines->add("", "INVALID POINT: the generator itself lagged by more than 1 %");
}

}  // namespace

std::string format_table(const RunRow& row) {
  Lines lines;
  const Counts& c = row.result.measured;
  const TimeNs ns = row.result.measured_ns;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f s", static_cast<double>(ns) / 1e9);
  lines.heading("");
  std::string loop = "closed loop";
  if (row.limits.rate > 0) loop = "open loop at " + with_commas(static_cast<uint64_t>(row.limits.rate)) + " /s";
  lines.heading(row.name + ": " + loop + ", window " + std::to_string(row.window) + " over " +
                std::to_string(row.sessions) + " sessions, " + row.peer + " over " + row.transport + ", durability " +
                row.durability + ", " + std::to_string(row.shards) + " shards, measured " + seconds);
  if (row.result.end != PhaseEnd::kFinished) {
    lines.add("ended early", std::string(name(row.result.end)) + ": " + row.result.why);
  }
  if (row.loaded_records != 0) {
    lines.add("loaded", with_commas(row.loaded_records) + " records in " +
                            format_ns(static_cast<double>(row.load_ns)) + ", " +
                            rate(row.loaded_records, row.load_ns));
  }
  lines.add("throughput", rate(c.executed(), ns) + "   executed " + with_commas(c.executed()));
  lines.add("goodput", rate(c.good, ns) + percent_of(c.good, c.executed()));
  add_outcomes(&lines, row);
  add_latency(&lines, row.result.latency);
  add_open_loop(&lines, row);
  add_kinds(&lines, row);
  const Counts& t = row.result.total;
  lines.add("sums", row.sums_problem.empty()
                        ? "sent " + with_commas(t.begun) + " = committed " + with_commas(t.committed()) +
                              " + aborted " + with_commas(t.aborted()) + " + refused " + with_commas(t.refused()) +
                              " + unknown " + with_commas(t.unknown()) + " (warm-up and draining included)"
                        : "FAILED: " + row.sums_problem);
  if (row.check.made) lines.add("check", (row.check.passed ? "ok: " : "FAILED: ") + row.check.text);
  return lines.take();
}

}  // namespace txnic::pktgen
