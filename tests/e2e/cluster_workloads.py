#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""SmallBank and list-append over three nodes, each in a network namespace, while nodes are killed and links cut at
random moments: money is conserved, no append is lost, and the history is strictly serializable.

One generator lives through all of it. TXNIC_KILLS and TXNIC_CUTS set the numbers of each of the two runs, TXNIC_SEED
repeats their moments."""
import os
import random
import signal
import time

from lib.cluster import Cluster
from lib.harness import Scene, check, main
from lib.history import judge
from lib.results import Run

KILLS = int(os.environ.get("TXNIC_KILLS") or 10)
CUTS = int(os.environ.get("TXNIC_CUTS") or 3)
SEED = int(os.environ.get("TXNIC_SEED") or random.SystemRandom().randrange(1, 1 << 31))


def wait_progress(run, since):
    """Transactions are acknowledged again, told by a live line behind line `since`."""
    run.process.wait_line(rf"\] {run.workload} +[1-9].* tx/s", 60, since)


def under_faults(workload, **settings):
    print(f"  {workload}: {KILLS} kills, {CUTS} cuts, seed {SEED} (TXNIC_SEED={SEED} repeats the moments)", flush=True)
    chance = random.Random(f"{SEED}-{workload}")
    faults = ["kill"] * KILLS + ["cut"] * CUTS
    chance.shuffle(faults)
    with Scene() as scene:
        cluster = Cluster(scene, nodes=3, durability="sync")
        for node in cluster.start(idle="sleep"):
            node.wait_ready()
        history = scene.path("history.edn") if workload == "append" else None
        run = Run(scene, workload, namespace=cluster.client, transport="socket", idle="sleep", node=cluster.address(0),
                  duration=3600, window=32, give_up=90, seed=SEED, history=history, **settings)
        run.wait_started()
        for fault in faults:
            time.sleep(chance.uniform(0, 0.5))  # the random moment itself
            check(run.process.running(), f"the generator ended early\n{run.process.tail()}")
            node = chance.randrange(cluster.count)
            if fault == "kill":
                cluster.nodes[node].kill()
                since = len(run.process.lines)
                cluster.start_node(node, idle="sleep").wait_ready()
            else:
                cluster.cut(node)
                time.sleep(chance.uniform(0.05, 1))  # how long it lasts
                since = len(run.process.lines)
                cluster.mend(node)
            wait_progress(run, since)
        run.process.signal(signal.SIGINT)
        run.expect_good(180)
        check(run.check_made, f"nothing was checked\n{run.process.tail()}")
        print(f"  {run.describe()}", flush=True)
        for node in cluster.nodes:
            node.stop()
        if history is not None:
            judge(scene, history)


def money_is_conserved():
    under_faults("smallbank", records=500, remote=50)


def histories_are_strictly_serializable():
    under_faults("append", keys=100)


if __name__ == "__main__":
    main(money_is_conserved, histories_are_strictly_serializable)
