// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/mutants.h"

namespace txnic::sim {
namespace {

constexpr Mutant kMutants[] = {
    {"absence-has-no-version", "trap 2, COMMIT 17", "a key that is absent again passes for unchanged",
     [](Switches* s) { s->node.absence_has_no_version = true; }, 400},
    {"repeats-versions", "trap 3", "versions start again at every start of a node",
     [](Switches* s) { s->node.repeats_versions = true; }, 600},
    {"forgets-windows", "trap 4", "recovery brings sessions back with empty windows",
     [](Switches* s) { s->node.forgets_windows = true; }, 40},
    {"answers-early", "trap 5", "no answer waits for the disk", [](Switches* s) { s->node.answers_early = true; }, 40},
    {"reads-do-not-wait", "trap 5", "the answer to a read does not wait for the disk",
     [](Switches* s) { s->node.reads_do_not_wait = true; }, 600},
    {"disk-acknowledges-early", "trap 5", "a write counts as durable when it is in the disk's cache",
     [](Switches* s) { s->disk.acknowledges_early = true; }, 40},
    {"executes-duplicates", "trap 8", "a request that was executed before is executed again",
     [](Switches* s) { s->node.executes_duplicates = true; }, 40},
    {"client-renumbers-copies", "trap 8", "a client gives a further copy of a request another sequence",
     [](Switches* s) { s->client.renumbers_copies = true; }, 40},
    {"checkpoint-without-windows", "trap 9", "the windows of a checkpoint are lost",
     [](Switches* s) { s->node.checkpoint_without_windows = true; }, 600},
    {"checkpoint-without-watermarks", "COMMIT 11, 13", "a checkpoint's session comes back without its watermark",
     [](Switches* s) { s->node.checkpoint_without_watermarks = true; }, 4000, true},
    {"segments-share-a-seed", "trap 10", "checksums do not tell a reused segment's old records",
     [](Switches* s) { s->node.segments_share_a_seed = true; }, 200},
    {"sync-tried-again", "trap 11", "a failed sync is tried again and believed",
     [](Switches* s) { s->disk.hides_sync_errors = true; }, 40},
    {"goes-on-after-failure", "trap 11", "a node whose log has failed does not stop",
     [](Switches* s) { s->node.goes_on_after_failure = true; }, 40},
    {"forgets-aborts", "trap 14", "an abort that was told is not recorded",
     [](Switches* s) { s->node.forgets_aborts = true; }, 600},
    {"ignores-stamps", "trap 14, COMMIT 8", "what was sent before a restart is executed after it",
     [](Switches* s) { s->node.ignores_stamps = true; }, 1000, true},
    {"believes-stale-aborts", "trap 14, COMMIT 8", "a client believes an abort that answers an older copy",
     [](Switches* s) { s->client.accepts_stale_aborts = true; }, 4000, true},
    {"reads-ignore-locks", "trap 1", "a read of a prepared transaction's key answers the old value",
     [](Switches* s) { s->node.reads_ignore_locks = true; }, 200},
    {"writes-ignore-locks", "COMMIT 1", "a transaction of one shard writes what is locked",
     [](Switches* s) { s->node.writes_ignore_locks = true; }, 200},
    {"no-read-locks", "trap 15, COMMIT 1", "what was read is not locked until the decision",
     [](Switches* s) { s->node.no_read_locks = true; }, 200},
    {"votes-early", "COMMIT 6", "a vote does not wait for its PREPARE record",
     [](Switches* s) { s->node.votes_early = true; }, 200},
    {"promises-in-memory", "trap 6, COMMIT 2", "\"never\" is said without a record",
     [](Switches* s) { s->node.promises_in_memory = true; }, 1000, true},
    {"acknowledges-early", "trap 7", "a decision is acknowledged before it is durable",
     [](Switches* s) { s->node.acknowledges_early = true; }, 1000, true},
    {"tells-aborts-early", "COMMIT 3", "an abort is told before its record is durable",
     [](Switches* s) { s->node.tells_aborts_early = true; }, 1000, true},
    {"tells-decisions-early", "DESIGN 4.3", "participants hear a decision that is not durable",
     [](Switches* s) { s->node.tells_decisions_early = true; }, 200},
    {"forgets-prepared", "COMMIT 1, 13", "a restart does not lock again what was prepared",
     [](Switches* s) { s->node.forgets_prepared = true; }, 200},
    {"forgets-decisions", "COMMIT 13", "a restart does not know a decision that was not acknowledged",
     [](Switches* s) { s->node.forgets_decisions = true; }, 1000},
    {"checkpoint-without-transactions", "trap 9", "a checkpoint does not hold what is undecided",
     [](Switches* s) { s->node.checkpoint_without_transactions = true; }, 400},
    {"never-asks", "COMMIT 2", "a coordinator that misses votes does not ask for them",
     [](Switches* s) { s->node.never_asks = true; }, 100},
    {"unlocks-by-timer", "DESIGN 4.3", "a prepared transaction is given up after some time",
     [](Switches* s) { s->node.unlocks_by_timer = true; }, 100},
    {"ends-early", "COMMIT 9, 13", "a decision is forgotten before all have acknowledged it",
     [](Switches* s) { s->node.ends_early = true; }, 400},
    {"no-is-never", "COMMIT 4", "a coordinator takes a plain \"no\" from before its restart for a durable one",
     [](Switches* s) { s->node.no_is_never = true; }, 2000, true},
    {"reuses-reserved-versions", "trap 3, COMMIT 17", "a reserved version is given out again",
     [](Switches* s) { s->node.reuses_reserved_versions = true; }, 400},
    {"reads-are-not-checked", "trap 13", "reads over several shards are not validated after the last one",
     [](Switches* s) { s->client.skips_checks = true; }, 100},
};

}  // namespace

std::span<const Mutant> mutants() { return kMutants; }

const Mutant* find_mutant(const std::string& name) {
  for (const Mutant& mutant : kMutants) {
    if (name == mutant.name) return &mutant;
  }
  return nullptr;
}

Options hunt(const Mutant& mutant, Options options) {
  options.harsh = true;
  options.mutant = mutant.name;
  mutant.apply(&options.switches);
  return options;
}

}  // namespace txnic::sim
