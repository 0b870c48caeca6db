// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/mutants.h"

namespace txnic::sim {
namespace {

constexpr Mutant kMutants[] = {
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
