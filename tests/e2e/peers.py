#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Peers start in any order, die and come back, without restarting the other side."""
from lib.harness import Scene, check, main
from lib.results import Run


def generator_first():
    with Scene() as scene:
        run = Run(scene, "rmw2", records=1000, duration=1)
        node = scene.node().wait_ready()
        run.expect_good()
        node.stop()


def generator_dies():
    with Scene() as scene:
        node = scene.node().wait_ready()
        for _ in range(3):
            run = Run(scene, "rmw2", records=1000, duration=30)
            run.wait_started()
            run.process.kill()
        Run(scene, "rmw2", records=1000, duration=1).expect_good()
        check(node.running(), "the node did not outlive its peers")
        node.stop()


def node_dies():
    """Mode none: the new node knows nothing; the generator sees that, and goes on."""
    with Scene() as scene:
        node = scene.node().wait_ready()
        run = Run(scene, "put2", records=1000, duration=6)
        run.wait_started()
        node.kill()
        node = scene.node(name="reborn").wait_ready()
        run.expect_exit()
        check(run.committed > 0, f"nothing committed\n{run.process.tail()}")
        node.stop()
        received = node.find(r"RX-packets: *(\d+)")
        check(received and int(received[1]) > 0, f"the reborn node got no packet\n{node.tail()}")


def two_scenes_at_once():
    with Scene() as one, Scene() as two:
        nodes = [scene.node() for scene in (one, two)]
        for node in nodes:
            node.wait_ready()
        runs = [Run(scene, "smallbank", records=1000, duration=2) for scene in (one, two)]
        for run in runs:
            run.expect_good()
        for node in nodes:
            node.stop()


if __name__ == "__main__":
    main(generator_first, generator_dies, node_dies, two_scenes_at_once)
