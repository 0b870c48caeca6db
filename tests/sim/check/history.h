// SPDX-License-Identifier: BSD-3-Clause
// A client history of list-append transactions: what was asked, what was answered, and in which order in real time.
// Every checker here judges a History and nothing else: no header of the engine is included in this folder, so that a
// mistake of the engine cannot hide in a shared type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace txnic::check {

using Key = int64_t;
using Value = int64_t;

// kOk: committed. kFail: certainly not committed. kInfo: nobody knows (also: no answer before the history ended).
enum class Outcome : uint8_t { kOk, kFail, kInfo };

// [:append key value] or [:r key list]. `list` is what an acknowledged read returned, oldest element first; it means
// nothing in other reads and in appends.
struct MicroOp {
  enum class Kind : uint8_t { kAppend, kRead };

  Kind kind = Kind::kRead;
  Key key = 0;
  Value value = 0;
  std::vector<Value> list;

  static MicroOp append(Key key, Value value) { return {Kind::kAppend, key, value, {}}; }
  static MicroOp read(Key key, std::vector<Value> list = {}) { return {Kind::kRead, key, 0, std::move(list)}; }
  bool operator==(const MicroOp&) const = default;
};

inline constexpr uint64_t kNever = UINT64_MAX;
inline constexpr int64_t kNoTime = -1;

// One transaction of one client. `invoked` and `completed` are positions in the one real-time order of all events
// (0, 1, 2 … as in Jepsen's :index); what completed at a lower position than another was invoked came before it.
struct Operation {
  int64_t process = 0;
  uint64_t invoked = 0;
  uint64_t completed = kNever;
  int64_t invoked_ns = kNoTime;  // for people only: the order is `invoked` and `completed`
  int64_t completed_ns = kNoTime;
  Outcome outcome = Outcome::kInfo;
  std::vector<MicroOp> micro_ops;

  bool operator==(const Operation&) const = default;
};

// Operations in the order of their invocations.
struct History {
  std::vector<Operation> operations;
  uint64_t next_position = 0;

  // Notes that `process` sends a transaction now. Returns its place in `operations`, for complete().
  size_t invoke(int64_t process, std::vector<MicroOp> micro_ops, int64_t time_ns = kNoTime);
  // Notes its answer now. For kOk the caller has put the lists into operations[operation].micro_ops.
  void complete(size_t operation, Outcome outcome, int64_t time_ns = kNoTime);
};

// One micro-operation, or all of one operation, as EDN: [[:append 5 17] [:r 6 [1 2]]].
// Lists longer than `list_elements_max` are shown by their beginning, their end and their length (for people).
std::string edn_list(const std::vector<Value>& list, size_t list_elements_max = SIZE_MAX);
std::string edn_micro_ops(const Operation& operation, bool with_lists, size_t list_elements_max = SIZE_MAX);

}  // namespace txnic::check
