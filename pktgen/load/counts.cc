// SPDX-License-Identifier: BSD-3-Clause
#include "pktgen/load/counts.h"

#include <type_traits>

namespace txnic::pktgen {

namespace {

// MachineStatistics is a row of counters, so that sums and differences need not name each.
using Statistics = client::MachineStatistics;
constexpr size_t kCounters = sizeof(Statistics) / sizeof(uint64_t);
static_assert(std::is_trivially_copyable_v<Statistics> && sizeof(Statistics) % sizeof(uint64_t) == 0);
using Row = std::array<uint64_t, kCounters>;

Row to_row(const Statistics& s) {
  Row row;
  std::memcpy(row.data(), &s, sizeof s);
  return row;
}

Statistics from_row(const Row& row) {
  Statistics s;
  std::memcpy(static_cast<void*>(&s), row.data(), sizeof s);
  return s;
}

}  // namespace

Statistics difference(const Statistics& later, const Statistics& earlier) {
  Row a = to_row(later);
  const Row b = to_row(earlier);
  for (size_t i = 0; i < kCounters; ++i) a[i] -= b[i];
  return from_row(a);
}

void add_to(Statistics* sum, const Statistics& more) {
  Row a = to_row(*sum);
  const Row b = to_row(more);
  for (size_t i = 0; i < kCounters; ++i) a[i] += b[i];
  *sum = from_row(a);
}

Counts Counts::since(const Counts& earlier) const {
  Counts d = *this;
  d.begun -= earlier.begun;
  d.good -= earlier.good;
  d.requests -= earlier.requests;
  for (size_t i = 0; i < kResultCount; ++i) {
    d.by_result[i] -= earlier.by_result[i];
    d.requests_by_result[i] -= earlier.requests_by_result[i];
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    d.kinds[i].executed -= earlier.kinds[i].executed;
    d.kinds[i].good -= earlier.kinds[i].good;
    d.kinds[i].other -= earlier.kinds[i].other;
  }
  return d;
}

std::string check_sums(const PhaseResult& result) {
  const Counts& c = result.total;
  const auto& m = result.total_machines;
  const auto differ = [](const char* what, uint64_t a, const char* of, uint64_t b) {
    return std::string(what) + " " + std::to_string(a) + ", but " + of + " " + std::to_string(b);
  };
  if (c.begun != c.ended()) {
    return differ("transactions begun", c.begun, "committed + aborted + unknown + refused", c.ended());
  }
  if (c.requests != c.requests_ended()) {
    return differ("requests sent", c.requests, "committed + aborted + unknown + refused", c.requests_ended());
  }
  if (m.submitted != c.requests) return differ("requests sent", c.requests, "the protocol machine saw", m.submitted);
  const uint64_t settled = m.committed + m.aborted + m.unknown + m.refused + m.timed_out;
  if (m.submitted != settled) return differ("the protocol machine sent", m.submitted, "settled", settled);
  if (m.unknown != c.requests_by_result[static_cast<size_t>(Result::kUnknownOutcome)]) {
    return differ("the protocol machine has unknown outcomes", m.unknown, "the generator",
                  c.requests_by_result[static_cast<size_t>(Result::kUnknownOutcome)]);
  }
  return {};
}

}  // namespace txnic::pktgen
