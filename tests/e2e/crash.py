#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 in a loop, mode sync: at random moments, under load; after each recovery nothing acknowledged may be missing.

Rounds alternate between SmallBank and counter. In each one a generator runs, keeping its books in a ledger file; the
node is killed somewhere in the middle, the generator sees it and ends with some transactions of unknown outcome; the
node recovers; then both ledgers are verified against it: every acknowledged transaction once, every unknown one as a
whole or not at all."""
import os
import random
import signal
import time

from lib.harness import Failure, Scene, check, main
from lib.results import Run

KILLS = int(os.environ.get("TXNIC_KILLS", "20"))
# How long a generator waits for a silent node, at its start too: a busy machine connects the link late.
GIVE_UP_SECONDS = 4
ACCOUNTS = 2000
SEED = int(os.environ.get("TXNIC_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)


def kill_loop(kills, workers=1):
    print(f"  {kills} kills, seed {SEED} (TXNIC_SEED={SEED} repeats the moments)", flush=True)
    chance = random.Random(SEED)
    with Scene() as scene:
        log = scene.log()
        config = scene.config(capacity=20000)
        node = scene.node(config, workers=workers, durability="sync", log=log).wait_ready()
        ledgers = {}
        for kill in range(kills):
            workload = ("smallbank", "counter")[kill % 2]
            ledger = scene.path(f"{workload}.ledger")
            first = workload not in ledgers
            run = Run(scene, workload, duration=30, records=ACCOUNTS, window=64, seed=chance.randrange(1, 1 << 30),
                      ledger=ledger, no_load=not first, give_up=GIVE_UP_SECONDS)
            # The random moment: in most rounds under full load, in some while sessions open or balances are read.
            under_load = first or chance.random() < 0.8
            if under_load:
                run.wait_started()
            time.sleep(chance.uniform(0.01, 0.5 if under_load else 1.5))
            node.kill()
            run.expect_node_lost()
            ledgers[workload] = ledger
            node = scene.node(config, workers=workers, durability="sync", log=log, name=f"node-{kill + 1}")
            node.wait_ready()
            for name, path in ledgers.items():
                Run(scene, name, records=ACCOUNTS, verify=path).expect_good()
            print(f"  kill {kill + 1}/{kills}: {workload}: {run.committed:,} committed, {run.unknown_in_all:,} unknown",
                  flush=True)
        node.stop()


def every_recovery_keeps_what_was_acknowledged():
    kill_loop(KILLS)


def sessions_live_through_crashes():
    """One generator all the way: it keeps its sessions, sends again what was not answered; all counters are exact."""
    chance = random.Random(SEED + 1)
    with Scene() as scene:
        log = scene.log()
        config = scene.config()
        node = scene.node(config, durability="sync", log=log).wait_ready()
        run = Run(scene, "counter", duration=3600, window=64)
        run.wait_started()
        for kill in range(6):
            time.sleep(chance.uniform(0.05, 0.6))  # the random moment itself
            check(run.process.running(), f"the generator ended early\n{run.process.tail()}")
            node.kill()
            start = len(run.process.lines)
            node = scene.node(config, durability="sync", log=log, name=f"node-{kill + 1}").wait_ready()
            run.process.wait_line(r"\] counter +[1-9].* tx/s", 60, start)
        run.process.signal(signal.SIGINT)
        run.expect_good()
        if run.unknown:
            raise Failure(f"{run.unknown} unknown outcomes, but every session was recovered\n{run.process.tail()}")
        print(f"  {run.describe()}", flush=True)
        node.stop()


if __name__ == "__main__":
    main(every_recovery_keeps_what_was_acknowledged, sessions_live_through_crashes)
