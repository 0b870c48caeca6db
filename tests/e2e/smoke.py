#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each workload over memif, against one node; each run's own check has to pass."""
from lib.harness import Scene, check, main
from lib.results import Run

RECORDS = 20000
DURATION = 1

# Workload, further settings.
WORKLOADS = [
    ("echo", {}),
    ("get", {"records": RECORDS}),
    ("rmw2", {"records": RECORDS}),
    ("rmw8", {"records": RECORDS}),
    ("put2", {"records": RECORDS}),
    ("ycsb-a", {"records": RECORDS, "value_size": 100}),
    ("ycsb-b", {"records": RECORDS, "value_size": 100}),
    ("ycsb-c", {"records": RECORDS, "value_size": 100}),
    ("ycsb-f", {"records": RECORDS, "value_size": 100}),
    ("ycsb-a", {"records": RECORDS, "value_size": 100, "operations": 10}),
    ("smallbank", {"records": RECORDS}),
    ("retwis", {"records": RECORDS}),
    ("counter", {}),
    ("append", {}),
    ("cycle", {}),
]
TATP = """name: "tatp"
table { id: 11 capacity: 20000 }
table { id: 12 capacity: 20000 value_bytes: 8 }
table { id: 13 capacity: 60000 value_bytes: 16 }
table { id: 14 capacity: 60000 value_bytes: 8 }
table { id: 15 capacity: 120000 value_bytes: 16 }
"""


def run_all(durability, workloads, workers=1):
    with Scene() as scene:
        log = scene.log() if durability != "none" else None
        node = scene.node(durability=durability, log=log, workers=workers).wait_ready()
        for workload, settings in workloads:
            run = Run(scene, workload, duration=DURATION, **settings)
            run.expect_good()
            print(f"  {durability}: {workload} {settings}: {run.describe()}", flush=True)
        node.stop()


def mode_none():
    run_all("none", WORKLOADS)


def mode_sync():
    run_all("sync", [entry for entry in WORKLOADS if entry[0] in ("rmw2", "smallbank", "counter")])


def mode_async():
    run_all("async", [entry for entry in WORKLOADS if entry[0] in ("rmw2", "smallbank")])


def tatp():
    """Over five tables of one shard; the shares of successes are the specification's."""
    with Scene() as scene:
        node = scene.node(scene.write("tatp.textproto", TATP)).wait_ready()
        run = Run(scene, "tatp", records=RECORDS, duration=2)
        run.expect_good()
        check(run.check_made, f"nothing was checked: {run.check_text}")
        print(f"  {run.check_text}", flush=True)
        node.stop()


def open_loop():
    with Scene() as scene:
        node = scene.node().wait_ready()
        run = Run(scene, "rmw2", records=RECORDS, duration=2, rate=20000)
        run.expect_good()
        print(f"  open loop: {run.describe()}", flush=True)
        node.stop()


if __name__ == "__main__":
    main(mode_none, mode_sync, mode_async, tatp, open_loop)
