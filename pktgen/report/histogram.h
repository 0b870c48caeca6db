// SPDX-License-Identifier: BSD-3-Clause
// A log-linear histogram of nanoseconds (as HdrHistogram): below 2^8 exact, then 128 steps to each power of two, so a
// percentile is wrong by less than 0.8 %. Histograms are merged; percentiles never averaged.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace txnic::pktgen {

class Histogram {
 public:
  static constexpr uint32_t kStepBits = 7;
  static constexpr uint32_t kSteps = 1u << kStepBits;
  static constexpr uint32_t kValueBitsMax = 42;  // 73 minutes; longer counts as that
  static constexpr uint32_t kCells = (kValueBitsMax - kStepBits + 1) * kSteps;

  Histogram() : cells_(kCells, 0) {}

  void record(uint64_t value) {
    ++cells_[cell_of(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  void merge(const Histogram& other) {
    for (uint32_t i = 0; i < kCells; ++i) cells_[i] += other.cells_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.max_ > max_) max_ = other.max_;
  }
  void clear() { *this = Histogram(); }
  // What was recorded since `earlier` was copied from this (its maximum is a cell's upper end).
  Histogram since(const Histogram& earlier) const {
    Histogram difference;
    for (uint32_t i = 0; i < kCells; ++i) {
      difference.cells_[i] = cells_[i] - earlier.cells_[i];
      if (difference.cells_[i] != 0) difference.max_ = upper_end(i);
    }
    difference.count_ = count_ - earlier.count_;
    difference.sum_ = sum_ - earlier.sum_;
    return difference;
  }

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  uint64_t in_cell(uint32_t cell) const { return cells_[cell]; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // The value that `percent` of the recorded values do not exceed; 0 when empty.
  uint64_t percentile(double percent) const {
    if (count_ == 0) return 0;
    const double exact = percent / 100 * static_cast<double>(count_);
    auto rank = static_cast<uint64_t>(exact);
    if (static_cast<double>(rank) < exact) ++rank;
    if (rank == 0) rank = 1;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < kCells; ++i) {
      seen += cells_[i];
      if (seen >= rank) return upper_end(i) < max_ ? upper_end(i) : max_;
    }
    return max_;
  }

 private:
  static uint32_t cell_of(uint64_t value) {
    if (value >> kValueBitsMax != 0) return kCells - 1;
    if (value < 2 * kSteps) return static_cast<uint32_t>(value);
    const auto shift = static_cast<uint32_t>(std::bit_width(value)) - kStepBits - 1;
    return shift * kSteps + static_cast<uint32_t>(value >> shift);
  }
  static uint64_t upper_end(uint32_t cell) {
    if (cell < 2 * kSteps) return cell;
    const uint32_t shift = cell / kSteps - 1;
    return ((uint64_t{cell} - shift * kSteps + 1) << shift) - 1;
  }

  std::vector<uint64_t> cells_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace txnic::pktgen
