#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several workers on one port: a packet that arrives at the wrong worker still succeeds."""
from lib.harness import Scene, check, main, read_json
from lib.results import Run, node_counter


def several_workers(workers, durability):
    with Scene() as scene:
        log = scene.log() if durability != "none" else None
        node = scene.node(workers=workers, durability=durability, log=log,
                          arguments=["--json", scene.path("node.json")]).wait_ready()
        check(node.workers == workers, f"{node.workers} workers, expected {workers}")
        for workload in ("rmw2", "smallbank", "counter"):
            Run(scene, workload, records=2000, duration=1).expect_good()
        node.stop()
        forwarded = node_counter(read_json(scene.path("node.json")), "forwarded")
        print(f"  {workers} workers, {durability}: {forwarded} packets went to another worker", flush=True)


def two_workers():
    several_workers(2, "none")


def three_workers_sync():
    several_workers(3, "sync")


def restart_with_fewer_and_more():
    """A log that N workers wrote starts with M."""
    with Scene() as scene:
        log = scene.log()
        ledger = scene.path("ledger")
        config = scene.config()
        for turn, workers in enumerate((2, 1, 4)):
            node = scene.node(config, workers=workers, durability="sync", log=log, name=f"node-{workers}").wait_ready()
            if turn:
                Run(scene, "smallbank", records=2000, verify=ledger).expect_good()
            Run(scene, "smallbank", records=2000, duration=1, ledger=ledger, no_load=turn > 0).expect_good()
            node.kill()


if __name__ == "__main__":
    main(two_workers, three_workers_sync, restart_with_fewer_and_more)
