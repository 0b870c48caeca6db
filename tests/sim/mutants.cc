// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/mutants.h"

namespace txnic::sim {
namespace {

constexpr Mutant kMutants[] = {
    {"absence-has-no-version", "trap 2, COMMIT 17", "a key that is absent again passes for unchanged",
     [](Switches* s) { s->node.absence_has_no_version = true; }, 400},
    {"repeats-versions", "trap 3", "versions start again at every start of a node",
     [](Switches* s) { s->node.repeats_versions = true; }, 600},
    {"forgets-windows", "trap 4, COMMIT 13", "recovery brings sessions back with empty windows",
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
    {"checkpoint-without-watermarks", "COMMIT 11, COMMIT 13", "a checkpoint's session comes back without its watermark",
     [](Switches* s) { s->node.checkpoint_without_watermarks = true; }, 4000, true},
    {"segments-share-a-seed", "trap 10, COMMIT 15", "checksums do not tell a reused segment's old records",
     [](Switches* s) { s->node.segments_share_a_seed = true; }, 200},
    {"sync-tried-again", "trap 11", "a failed sync is tried again and believed",
     [](Switches* s) { s->disk.hides_sync_errors = true; }, 40},
    {"goes-on-after-failure", "trap 11", "a node whose log has failed does not stop",
     [](Switches* s) { s->node.goes_on_after_failure = true; }, 40},
    {"forgets-aborts", "trap 14", "an abort that was told is not recorded",
     [](Switches* s) { s->node.forgets_aborts = true; }, 600},
    {"ignores-stamps", "trap 14, COMMIT 8", "what was sent before a restart is executed after it",
     [](Switches* s) { s->node.ignores_stamps = true; }, 1000},
    {"believes-stale-aborts", "trap 14, COMMIT 8", "a client believes an abort that answers an older copy",
     [](Switches* s) { s->client.accepts_stale_aborts = true; }, 6000, true},
    {"reads-ignore-locks", "trap 1", "a read of a prepared transaction's key answers the old value",
     [](Switches* s) { s->node.reads_ignore_locks = true; }, 200},
    {"writes-ignore-locks", "COMMIT 1", "a transaction of one shard writes what is locked",
     [](Switches* s) { s->node.writes_ignore_locks = true; }, 200},
    {"no-read-locks", "trap 15, COMMIT 1", "what was read is not locked until the decision",
     [](Switches* s) { s->node.no_read_locks = true; }, 200},
    {"votes-early", "COMMIT 6", "a vote does not wait for its PREPARE record",
     [](Switches* s) { s->node.votes_early = true; }, 200},
    {"promises-in-memory", "trap 6, COMMIT 2", "\"never\" is said without a record",
     [](Switches* s) { s->node.promises_in_memory = true; }, 1000},
    {"acknowledges-early", "trap 7", "a decision is acknowledged before it is durable",
     [](Switches* s) { s->node.acknowledges_early = true; }, 1000, true},
    {"tells-aborts-early", "COMMIT 3", "an abort is told before its record is durable",
     [](Switches* s) { s->node.tells_aborts_early = true; }, 1000, true},
    {"tells-decisions-early", "DESIGN 4.3", "participants hear a decision that is not durable",
     [](Switches* s) { s->node.tells_decisions_early = true; }, 200},
    {"forgets-prepared", "COMMIT 1, COMMIT 13", "a restart does not lock again what was prepared",
     [](Switches* s) { s->node.forgets_prepared = true; }, 200},
    {"forgets-decisions", "COMMIT 13", "a restart does not know a decision that was not acknowledged",
     [](Switches* s) { s->node.forgets_decisions = true; }, 1000},
    {"checkpoint-without-transactions", "trap 9", "a checkpoint does not hold what is undecided",
     [](Switches* s) { s->node.checkpoint_without_transactions = true; }, 400},
    {"never-asks", "COMMIT 2", "a coordinator that misses votes does not ask for them",
     [](Switches* s) { s->node.never_asks = true; }, 100},
    {"unlocks-by-timer", "DESIGN 4.3", "a prepared transaction is given up after some time",
     [](Switches* s) { s->node.unlocks_by_timer = true; }, 100},
    {"ends-early", "COMMIT 9, COMMIT 13", "a decision is forgotten before all have acknowledged it",
     [](Switches* s) { s->node.ends_early = true; }, 400},
    {"no-is-never", "COMMIT 4", "a coordinator takes a plain \"no\" from before its restart for a durable one",
     [](Switches* s) { s->node.no_is_never = true; }, 2000, true},
    {"reuses-reserved-versions", "trap 3, COMMIT 17", "a reserved version is given out again",
     [](Switches* s) { s->node.reuses_reserved_versions = true; }, 400},
    {"forgets-own-writes", "trap 12", "a second ADD of a key in one transaction does not see the first",
     [](Switches* s) { s->node.forgets_own_writes = true; }, 40},
    {"commits-may-fail", "trap 16", "some prepared writes find no memory when they are carried out",
     [](Switches* s) { s->node.commits_may_fail = true; }, 40},
    {"unknown-is-abort", "trap 17, COMMIT 5", "a client takes UNKNOWN_OUTCOME for an abort",
     [](Switches* s) { s->client.unknown_is_abort = true, s->durability = Durability::kNone; }, 400},
    {"reborn-says-abort", "COMMIT 18", "mode none: a coordinator that was started again says abort of what it forgot",
     [](Switches* s) { s->node.reborn_says_abort = true, s->durability = Durability::kNone; }, 600},
    {"async-votes-early", "COMMIT 18", "mode async: a vote does not wait for its PREPARE record",
     [](Switches* s) { s->node.votes_early = true, s->durability = Durability::kAsync; }, 200},
    {"believes-refusals", "COMMIT 5", "a client takes BUSY and LOCKED for aborts",
     [](Switches* s) { s->client.believes_refusals = true; }, 1000, true},
    {"rebinds-ids", "COMMIT 7", "a message that names other participants than the id is bound to is taken",
     [](Switches* s) { s->node.rebinds_ids = s->client.rotates_participants = true; }, 100},
    {"slides-by-newest", "COMMIT 10", "an outcome that is still wanted leaves the window for newer ones",
     [](Switches* s) { s->node.slides_by_newest = true; }, 200},
    {"silent-below-watermark", "COMMIT 11", "a coordinator says nothing of what is below the watermark",
     [](Switches* s) { s->node.silent_below_watermark = true; }, 400},
    {"windows-of-nodes", "COMMIT 12", "the second PREPARE of a transaction on one worker counts as a duplicate",
     [](Switches* s) { s->node.windows_of_nodes = true; }, 100},
    {"repeats-incarnations", "COMMIT 14", "two starts one after the other have one incarnation",
     [](Switches* s) { s->node.repeats_incarnations = true; }, 400},
    {"torn-tail-is-damage", "COMMIT 16", "what a power loss has torn stops the start",
     [](Switches* s) { s->node.torn_tail_is_damage = true; }, 40},
    {"forgotten-is-never", "COMMIT 24", "a participant says abort of what it has forgotten",
     [](Switches* s) { s->node.forgotten_is_never = true; }, 1000},
    {"reads-are-not-checked", "trap 13", "reads over several shards are not validated after the last one",
     [](Switches* s) { s->client.skips_checks = true; }, 100},
};

constexpr const char* kPlacement = "front and back apart: issue 4, not in the simulator yet";

constexpr Rule kRules[] = {
    {"trap 1", "a read of what is prepared never answers the old value"},
    {"trap 2", "a read of an absent key is validated by version"},
    {"trap 3", "versions never repeat"},
    {"trap 4", "the exactly-once window survives a crash"},
    {"trap 5", "a reply waits for the records that it depends on"},
    {"trap 6", "\"not prepared\" is said after a promise that outlives a crash"},
    {"trap 7", "a decision is acknowledged when it is durable here"},
    {"trap 8", "messages are lost, doubled and reordered"},
    {"trap 9", "a checkpoint holds all that the log is cut below"},
    {"trap 10", "a torn tail is cut, old records are never taken for new"},
    {"trap 11", "a failed sync stops the node"},
    {"trap 12", "one transaction names a key several times"},
    {"trap 13", "reads over several shards are validated after the last one"},
    {"trap 14", "an abort that was told stays an abort"},
    {"trap 15", "write skew: what was read is locked until the decision"},
    {"trap 16", "after a yes, COMMIT cannot fail"},
    {"trap 17", "mode none: old sessions end as UNKNOWN_OUTCOME"},
    {"COMMIT 1", "PREPARE locks reads and writes, also after a restart"},
    {"COMMIT 2", "votes are asked for; \"never\" is durable first"},
    {"COMMIT 3", "an abort is told when it is durable"},
    {"COMMIT 4", "after a restart plain no votes from before are ignored"},
    {"COMMIT 5", "a no is remembered; a refusal is no outcome"},
    {"COMMIT 6", "every answer waits for the log it depends on"},
    {"COMMIT 7", "an id is bound to its participants"},
    {"COMMIT 8", "stamps: nothing from before an opening counts after it"},
    {"COMMIT 9", "windows stay until the transaction is over"},
    {"COMMIT 10", "windows slide by the client's watermark alone"},
    {"COMMIT 11", "below the watermark the coordinator answers abort"},
    {"COMMIT 12", "windows, votes and promises are a shard's"},
    {"COMMIT 13", "what a checkpoint holds"},
    {"COMMIT 14", "the incarnation is durable before the first packet"},
    {"COMMIT 15", "checksums are seeded: old records stay invalid"},
    {"COMMIT 16", "unsynced writes reach the disk in any order"},
    {"COMMIT 17", "versions are reserved in PREPARE; buckets have one"},
    {"COMMIT 18", "what the durability modes promise"},
    {"COMMIT 19", "link epochs", kPlacement},
    {"COMMIT 20", "the front keeps APPENDs until DURABLE", kPlacement},
    {"COMMIT 21", "cached reads only under a lease", kPlacement},
    {"COMMIT 22", "a planned switch carries the whole window", kPlacement},
    {"COMMIT 23", "a dead front counts as a crash of the node", kPlacement},
    {"COMMIT 24", "in doubt, the others are asked; who forgot is silent"},
    {"DESIGN 4.3", "decisions are told when durable, locks know no timer"},
};

}  // namespace

std::span<const Mutant> mutants() { return kMutants; }

std::span<const Rule> rules() { return kRules; }

bool breaks(const Mutant& mutant, const Rule& rule) {
  const std::string_view name = rule.name;
  for (std::string_view left = mutant.rule; !left.empty();) {
    const size_t end = left.find(", ");
    if (left.substr(0, end) == name) return true;
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 2);
  }
  return false;
}

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
  options.durability = options.switches.durability;
  return options;
}

}  // namespace txnic::sim
