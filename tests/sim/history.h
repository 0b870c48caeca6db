// SPDX-License-Identifier: BSD-3-Clause
// What clients did and were told, in real-time order: list-append histories in the shape of Jepsen's Elle, as plain
// values for a checker and as EDN for strangers.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "txn/types.h"

namespace txnic::sim {

enum class HistoryType : uint8_t { kInvoke, kOk, kFail, kInfo };

// One micro-operation of a transaction: [:append key element] or [:r key list].
struct MicroOperation {
  bool is_append = false;
  bool has_list = false;  // reads of an :ok
  uint64_t key = 0;
  uint64_t element = 0;
  std::vector<uint64_t> list;
};

struct HistoryEntry {
  HistoryType type = HistoryType::kInvoke;
  uint64_t process = 0;  // one transaction at a time; retired after an :info
  TimeNs at = 0;         // simulated
  std::vector<MicroOperation> value;
};

using History = std::vector<HistoryEntry>;

// What the checker of strict serializability (tests/sim/check) says; empty: it found nothing.
std::string judge(const History& history);

// One operation map a line, as issue 3 names it.
void write_edn(const History& history, std::FILE* to);

}  // namespace txnic::sim
