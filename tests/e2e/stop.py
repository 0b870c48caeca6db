#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How a node ends: on SIGINT and SIGTERM, idle and under load, with final statistics that add up."""
import json
import re
import signal

from lib.harness import Scene, check, main, read_json
from lib.results import Run

PORT_STATISTICS = r"[-#]+ +(Forward|NIC) statistics for port 0 +[-#]+"


def final_statistics(node):
    text = node.text()
    check(re.search(PORT_STATISTICS, text), f"no testpmd-shaped port statistics at the end\n{node.tail()}")
    match = re.search(r"RX-packets: *(\d+).*TX-packets: *(\d+)", text, re.S)
    check(match, f"no RX-packets and TX-packets at the end\n{node.tail()}")
    return int(match[1]), int(match[2])


def stop_with(number, load):
    with Scene() as scene:
        node = scene.node(arguments=["--json", scene.path("node.json")]).wait_ready()
        if load:
            Run(scene, "rmw2", records=1000, duration=20).wait_started()
        node.signal(number)
        code = node.wait(30)
        check(code == 0, f"ended with {code}\n{node.tail()}")
        received, _ = final_statistics(node)
        check(received > 0 or not load, f"no packet was counted\n{node.tail()}")
        read_json(scene.path("node.json"))


def interrupt_idle():
    stop_with(signal.SIGINT, load=False)


def terminate_idle():
    stop_with(signal.SIGTERM, load=False)


def interrupt_under_load():
    stop_with(signal.SIGINT, load=True)


def periodic_statistics():
    with Scene() as scene:
        node = scene.node(arguments=["--stats-period", "1"]).wait_ready()
        start = len(node.lines)
        first = node.wait_line(PORT_STATISTICS, 20, start)
        check(first, "no statistics")
        node.stop()
        check(len(re.findall(PORT_STATISTICS, node.text())) >= 2, f"periodic and final statistics\n{node.tail()}")


def snapshots_of_the_moment():
    with Scene() as scene:
        node = scene.node(arguments=["--json", scene.path("node.json")]).wait_ready()
        run = Run(scene, "rmw2", records=1000, duration=1)
        run.process.wait_line(r"^txgen: measuring$", 60)
        for number in (1, 2):
            node.signal(signal.SIGUSR1)
            node.wait_line(rf"^txnic: snapshot {number}$", 10)
        run.expect_good()
        node.stop()
        with open(scene.path("node.json.snapshots"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        lines.append(read_json(scene.path("node.json")))
        for name in ("time_ns", "received"):
            values = [line["dataplane"][name] for line in lines]
            check(len(values) == 3 and 0 < values[0] <= values[1] < values[2], f"{name} of the snapshots: {values}")
        check(lines[0]["dataplane"]["tsc_hz"] > 0, "the clock's rate is not told")


def no_snapshot_without_a_file():
    with Scene() as scene:
        node = scene.node().wait_ready()
        node.signal(signal.SIGUSR1)
        node.wait_line(r"^txnic: no snapshot: --json FILE says where it goes$", 10)
        node.stop()


if __name__ == "__main__":
    main(interrupt_idle, terminate_idle, interrupt_under_load, periodic_statistics, snapshots_of_the_moment,
         no_snapshot_without_a_file)
