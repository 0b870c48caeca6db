// SPDX-License-Identifier: BSD-3-Clause
// What a run is made of. Seed and options together decide everything that happens in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/support/test_disk.h"
#include "tests/unit/back/rig_back.h"

namespace txnic::sim {

// The other side's broken rules, beside test::RigSwitches (a node's) and test::TestDisk::Lies (a disk's).
struct ClientSwitches {
  bool renumbers_copies = false;      // a further copy of a request gets another sequence
  bool skips_checks = false;          // trap 13: reads of several transactions are not validated after the last one
  bool believes_refusals = false;     // COMMIT 5: BUSY and its like count as aborts
  bool unknown_is_abort = false;      // trap 17, COMMIT 5: UNKNOWN_OUTCOME counts as an abort
  bool rotates_participants = false;  // COMMIT 7: further copies of a PREPARE name the participants in another order
  bool accepts_stale_aborts = false;  // COMMIT 8: an abort of an older stamp than the newest is believed
};

struct Switches {
  test::RigSwitches node;
  test::TestDisk::Lies disk;
  ClientSwitches client;
  Durability durability = Durability::kSync;  // in which it is hunted
};

inline constexpr const char* name(Durability mode) {
  return mode == Durability::kNone ? "none" : mode == Durability::kAsync ? "async" : "sync";
}

struct Options {
  uint64_t seed = 1;
  double minutes = 0.5;  // simulated, under load and faults
  uint32_t nodes = 3;
  uint32_t workers_max = 3;  // each start of a node draws 1 to so many
  uint32_t shards = 4;       // of each node
  uint32_t clients = 5;
  uint32_t processes_max = 3;  // transactions that a client may have under way; each client draws 1 to so many
  std::optional<Durability> durability;  // none: the seed draws it
  bool trace = false;
  bool harsh = false;  // every node dies every few seconds and clients think long: what mutants are hunted with
  std::string mutant;  // by name; empty: none
  Switches switches;   // of the mutant

  // The command that plays this run again.
  std::string command() const;
};

}  // namespace txnic::sim
