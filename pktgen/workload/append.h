// SPDX-License-Identifier: BSD-3-Clause
// append: lists of numbers, each number appended once in a run. A transaction reads up to four lists and appends to
// some of them, validated at commit, over all shards. The lists are read again at the end: what was acknowledged is
// there once, what failed is not. With --history the checker of strict serializability judges every read.
//
// A list is a value (4 bytes a number). A list that is nearly full is left alone: a fresh key takes its place. Keys are
// fresh in every run, because a history begins with empty lists: a counter in the table numbers the runs.
#pragma once

#include <array>
#include <vector>

#include "pktgen/workload/history.h"
#include "pktgen/workload/key_space.h"
#include "pktgen/workload/settings.h"
#include "pktgen/workload/workload.h"

namespace txnic::pktgen {

class Append final : public Workload {
 public:
  static constexpr uint32_t kOperationsMax = 4;      // reads and appends in a transaction
  static constexpr uint32_t kListBytesDefault = 256;  // four lists fit a message
  static constexpr uint32_t kListElementsMax = limits::kValueBytesMax / 4;
  static constexpr uint32_t kElementsMax = 1 << 24;  // appended in one run
  // Keys: the counter of runs, then run and list.
  static constexpr uint64_t kRunCounter = 1ull << 62;
  static constexpr uint32_t kRunBits = 30;
  static constexpr uint32_t kListBits = 31;

  enum Kind : uint8_t { kReads, kAppends, kKinds };

  explicit Append(const WorkloadSettings& settings) : settings_(settings) {}
  const char* name() const override { return "append"; }
  std::span<const char* const> kinds() const override;
  std::string prepare(const Facts& facts) override;
  ShardId fill(uint32_t flow, wire::ExecuteBuilder& request) override;
  Progress settled(uint32_t flow, const Reply& reply) override;
  std::unique_ptr<Workload> loader() override;
  std::unique_ptr<Workload> survey(Survey when) override;
  Check check() const override;
  std::string finish() override { return history_.close(); }

  uint64_t lists() const { return next_list_; }

 private:
  class BeginRun;
  class ReadLists;

  enum class Step : uint8_t { kDraw, kRead, kCheck, kWrite };
  enum class Fate : uint8_t { kNone, kFailed, kAcknowledged };

  struct List {
    uint64_t number = 0;
    ShardId shard = 0;
    bool is_present = false;
    Version version = 0;
    uint32_t length = 0;     // with what this transaction appends, once it was read
    uint32_t read = 0;       // of them, as read
    std::array<uint32_t, kListElementsMax> elements;
  };
  struct Wanted {
    uint8_t list = 0;        // index into lists
    bool is_append = false;
    uint32_t element = 0;
    uint32_t seen = 0;       // a read: how many elements it sees
  };
  struct FlowState {
    Step step = Step::kDraw;
    bool is_at_once = false;      // reads of all shards in one transaction
    uint8_t operations = 0, lists = 0;
    uint8_t from = 0, to = 0;     // of lists: what the request in flight is about
    uint64_t process = 0;
    std::array<Wanted, kOperationsMax> wanted;
    std::array<List, kOperationsMax> list;
  };

  uint64_t key_of(uint64_t list) const { return kRunCounter | run_ << kListBits | list; }
  ShardId shard_of_list(uint64_t list) const { return shard_of(hash_key8(key_of(list)), shards_); }
  uint32_t elements_max() const { return list_bytes_ / 4; }
  void draw(uint32_t flow);
  void advance(FlowState& state, bool together);
  bool take(FlowState& state, const Reply& reply);
  bool see(FlowState& state);
  void fill_write(const FlowState& state, wire::ExecuteBuilder& request) const;
  void end(FlowState& state, Result result);
  void note(HistoryType type, const FlowState& state);
  void look_at_final(uint64_t list, std::span<const uint32_t> elements);

  const WorkloadSettings settings_;
  HistoryFile history_;
  uint32_t shards_ = 1;
  uint32_t list_bytes_ = kListBytesDefault;
  uint32_t operations_max_ = kOperationsMax;
  uint64_t run_ = 0;                  // 0: not begun
  uint64_t next_list_ = 0;
  uint64_t next_process_ = 0;
  uint32_t next_element_ = 1;
  std::vector<uint64_t> slots_;       // lists in use
  std::vector<FlowState> flows_;
  std::vector<Random> random_;        // by flow
  std::vector<Fate> fates_;           // by element
  std::vector<bool> is_there_;        // by element, from the last reading
  bool is_surveyed_ = false;
  uint64_t acknowledged_ = 0, wrong_ = 0;
  std::string first_wrong_;
};

}  // namespace txnic::pktgen
