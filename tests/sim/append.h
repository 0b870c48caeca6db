// SPDX-License-Identifier: BSD-3-Clause
// Workload: list append. Lists are values of numbers that are appended once in the whole run; a transaction reads a few
// lists of a shard and appends to some of them, validated at commit. Its history goes to the checker of strict
// serializability (tests/sim/check); beside it, with what only the end shows: every list that was read is the beginning
// of the final one, what was acknowledged is in it, what failed is not, nothing is in it twice, and no read is older
// than what somebody had been told before it began.
#pragma once

#include <map>

#include "tests/sim/history.h"
#include "tests/sim/task.h"

namespace txnic::sim {

class Append final : public Workload {
 public:
  Append(Context* context, const Routing* routing);
  std::vector<std::unique_ptr<Task>> setup() override { return {}; }
  std::unique_ptr<Task> begin(uint64_t process) override;
  std::vector<std::unique_ptr<Task>> closing() override;
  void check(const FinalState& state) override;

  const History& history() const { return history_; }

 private:
  class Use;
  static constexpr uint32_t kListsPerPlace = 3;  // in use at a time
  static constexpr uint32_t kElementsMax = 40;   // then another list takes its place
  static constexpr uint32_t kPlacesMax = 3;      // shards that one transaction's lists are of
  static constexpr uint32_t kReadsMax = 3;       // lists in one message

  static constexpr uint64_t kClosing = uint64_t{1} << 40;  // above all numbers of clients' processes

  struct List {
    Place place;
    size_t told = 0;  // the length that somebody has been told
  };
  struct Element {
    uint64_t key = 0;
    HistoryType outcome = HistoryType::kInvoke;
    uint64_t transaction = 0;  // numbered from 1
    TimeNs begun = 0;
    bool is_over_several = false;  // shards; known when it is sent
  };

  void fill(uint32_t slot);
  void note(HistoryType type, uint64_t process, const std::vector<MicroOperation>& value);
  void check_final(const std::map<uint64_t, std::vector<uint64_t>>& finals);
  void check_memory(const std::map<uint64_t, uint32_t>& seen);
  void check_list(uint64_t key, const std::vector<uint64_t>& list, std::map<uint64_t, uint32_t>* seen);

  Context& context_;
  const Routing& routing_;
  History history_;
  std::vector<uint64_t> slots_;              // kListsPerPlace of each place: the key in use
  std::vector<uint32_t> next_list_;          // of each place
  std::map<uint64_t, List> lists_;           // by key, all that ever were
  std::vector<Element> elements_;            // by element number
  std::map<uint64_t, uint64_t> process_of_;  // a process gets a new number after an unknown outcome
  uint64_t last_process_ = 0;
  uint64_t transactions_ = 0;  // that append
};

}  // namespace txnic::sim
