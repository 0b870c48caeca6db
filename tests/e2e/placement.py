#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Placement NIC with real processes: front and back in one, and each in a process of its own with a memif between them,
while either side is killed at random moments: money is conserved, and histories are strictly serializable.

One generator lives through all kills of a run. TXNIC_KILLS sets how often each side is killed in each run, TXNIC_SEED
repeats the moments."""
import os
import random
import signal
import time

from lib.harness import Scene, check, main, memif, read_json
from lib.history import judge
from lib.results import Run

KILLS = int(os.environ.get("TXNIC_KILLS") or 5)
SEED = int(os.environ.get("TXNIC_SEED") or random.SystemRandom().randrange(1, 1 << 31))
SERVES = r"host link: front serves, incarnation"
NIC_MEMORY_MIB = 640  # two ports
PLACEMENT = ["--placement", "nic"]


class Sides:
    """A front and a back in two processes of one scene."""

    def __init__(self, scene, durability="none", config=None):
        self.scene = scene
        self.config = config or scene.config()
        self.durability = durability
        self.log = scene.log() if durability != "none" else None
        self.starts = 0
        self.nic = self.host = None

    def start(self, role, devices, memory_mib=None, arguments=()):
        self.starts += 1
        return self.scene.node(self.config, devices=devices, memory_mib=memory_mib, durability=self.durability,
                               log=self.log, arguments=[*PLACEMENT, "--role", role, *arguments],
                               name=f"{role}-{self.starts}")

    def start_host(self):
        self.host = self.start("host", [memif("server", self.scene.socket("host.sock"))]).wait_ready()

    def start_nic(self, arguments=()):
        devices = [memif("server", self.scene.socket()), memif("client", self.scene.socket("host.sock"), 1)]
        self.nic = self.start("nic", devices, NIC_MEMORY_MIB, arguments).wait_ready()

    def wait_serving(self, since=0):
        self.nic.wait_line(SERVES, 60, since)

    def kill(self, side):
        """Kills it, starts it again and waits until transactions can go on."""
        since = 0
        if side == "nic":
            self.nic.kill()
            self.start_nic()
        else:
            since = len(self.nic.lines)
            self.host.kill()
            self.start_host()
        self.wait_serving(since)

    def stop(self):
        self.nic.stop()
        self.host.stop()


def one_process_is_both_sides():
    with Scene() as scene:
        result = scene.path("node.json")
        node = scene.node(arguments=[*PLACEMENT, "--json", result], memory_mib=NIC_MEMORY_MIB).wait_ready()
        run = Run(scene, "smallbank", duration=2, records=20000, window=256)
        run.expect_good()
        node.stop()
        statistics = read_json(result)
        engine, dataplane = statistics["engine"], statistics["dataplane"]
        check(statistics["placement"] == "nic" and statistics["role"] == "both", "it says what it is")
        frames = engine["nic"]["frames"]["frames_sent"] + engine["link_server"]["frames"]["frames_sent"]
        commits = engine["link_server"]["link"]["commits"]
        check(commits > 0 and engine["nic"]["cache"]["commits"] == commits, f"commits: {engine}")
        check(engine["store"]["records"] == 40000, "what was written is in the host's store")
        check(engine["nic"]["cache"]["hits"] > engine["nic"]["cache"]["misses"], "the hot keys are in the cache")
        check(0 < dataplane["back_busy_ns"] < dataplane["busy_ns"], "the back's time is counted apart")
        print(f"  {run.describe()}\n  {frames / commits:.2f} link frames a commit, back busy for "
              f"{100 * dataplane['back_busy_ns'] / dataplane['busy_ns']:.0f} % of the busy time", flush=True)


def killed(workload, sides_killed, durability, **settings):
    print(f"  {workload}, mode {durability}: {KILLS} kills of {' and of '.join(sides_killed)}, seed {SEED} "
          f"(TXNIC_SEED={SEED} repeats the moments)", flush=True)
    chance = random.Random(f"{SEED}-{workload}-{durability}")
    kills = [side for side in sides_killed for _ in range(KILLS)]
    chance.shuffle(kills)
    with Scene() as scene:
        sides = Sides(scene, durability)
        sides.start_host()
        sides.start_nic()
        sides.wait_serving()
        history = scene.path("history.edn") if workload == "append" else None
        run = Run(scene, workload, duration=3600, window=32, give_up=90, seed=SEED, history=history, **settings)
        run.wait_started()
        for side in kills:
            time.sleep(chance.uniform(0, 0.4))  # the random moment itself
            check(run.process.running(), f"the generator ended early\n{run.process.tail()}")
            sides.kill(side)
            run.process.wait_line(rf"\] {workload} +[1-9].* tx/s", 60, len(run.process.lines))
        run.process.signal(signal.SIGINT)
        run.expect_good(180)
        check(run.check_made, f"nothing was checked\n{run.process.tail()}")
        check(run.unknown == 0, f"{run.unknown} outcomes are not known, but every session was kept")
        print(f"  {run.describe()}", flush=True)
        sides.stop()
        if history is not None:
            judge(scene, history)


def money_survives_kills_of_either_side():
    killed("smallbank", ("nic", "host"), "sync", records=500)


def histories_survive_kills_of_either_side():
    killed("append", ("nic", "host"), "sync", keys=100)


def the_nics_death_loses_nothing_without_a_log():
    killed("smallbank", ("nic",), "none", records=500)


def ends_that_do_not_fit_say_so():
    with Scene() as scene:
        sides = Sides(scene)
        sides.start_host()
        sides.config = scene.config("other.textproto", shards=2)
        sides.start_nic()
        sides.nic.wait_line(r"host link: the other end has another configuration: start both with the same file", 30)
        sides.stop()


if __name__ == "__main__":
    main(one_process_is_both_sides, ends_that_do_not_fit_say_so, money_survives_kills_of_either_side,
         histories_survive_kills_of_either_side, the_nics_death_loses_nothing_without_a_log)
