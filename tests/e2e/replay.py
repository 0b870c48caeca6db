#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock tools agree: dpdk-testpmd replays a pcap of valid requests over memif, at full speed, from a static session
(`replay: EXECUTE`); the node commits each one, and the counters of both are the same."""
import re
import shutil
import subprocess

from lib.harness import Failure, Scene, Skip, check, find_program, main, memif, read_json, wait_until
from lib.results import find_values, node_counter

SESSION = 77
SHARDS = 4
PACKETS = 500


def write_pcap(scene, workload, workers):
    path = scene.path("requests.pcap")
    scene.start("templates", [find_program(scene.build, "txgen"), "--write-pcap", path, "--workload", workload,
                              "--records", "1000", "--count", PACKETS, "--static-session", SESSION,
                              "--shards", SHARDS, "--workers", workers]).expect_exit(0)
    return path


def testpmd(scene, pcap):
    """Port 0 reads the file for ever, port 1 is the memif; what comes in on one goes out on the other."""
    if not shutil.which("dpdk-testpmd"):
        raise Skip("no dpdk-testpmd here (Debian: dpdk-dev)")
    devices = [f"--vdev=net_pcap0,rx_pcap={pcap},infinite_rx=1", memif("client", scene.socket())]
    command = ["stdbuf", "-oL", "dpdk-testpmd", *scene.eal(1, 1, 256, devices), "--", "-i", "--forward-mode=io",
               "--total-num-mbufs=16384", "--no-flush-rx"]
    process = scene.start("testpmd", command, stdin=subprocess.PIPE)
    process.wait_line(r"Checking link statuses", 60)  # its prompt has no line of its own
    return process


def transmitted(process):
    """Packets that went out on the memif port, from testpmd's own statistics after `stop`."""
    text = process.text()
    block = re.search(r"Forward statistics for port 1 .*?TX-packets: *(\d+)", text, re.S)
    if not block:
        raise Failure(f"testpmd shows no statistics for port 1\n{process.tail()}")
    return int(block[1])


def received(node):
    match = node.find(r"^ *RX-packets: *(\d+)")
    return int(match[1]) if match else 0


def replay(workload, workers=1):
    with Scene() as scene:
        config = scene.config(shards=SHARDS, sessions=f"static_session {{ id: {SESSION} replay: EXECUTE }}")
        node = scene.node(config, workers=workers,
                          arguments=["--json", scene.path("node.json"), "--stats-period", "1"]).wait_ready()
        peer = testpmd(scene, write_pcap(scene, workload, workers))
        # The link has to be there before the counting begins.
        peer.type("show port info 1")
        wait_until(lambda: link_is_up(peer), 30, "the memif link of testpmd")
        peer.type("start")
        peer.wait_line("io packet forwarding|Logical Core", 20)
        run_for_a_while(peer)
        peer.type("stop")
        peer.wait_line(r"Accumulated forward statistics", 20)
        sent = transmitted(peer)
        check(sent >= PACKETS, f"testpmd sent only {sent} packets\n{peer.tail()}")
        # What testpmd's ring still holds when it stops is the node's too: it needs a moment to take it.
        wait_until(lambda: received(node) >= sent, 20, f"the last of {sent} packets at the node")
        node.stop()
        statistics = read_json(scene.path("node.json"))
        replays = node_counter(statistics, "replays")
        committed = sum(int(value) for value in find_values(statistics, "committed"))
        # Two workers share one core here: the ring between them may be full, and the node counts that by name.
        full = node_counter(statistics, "ring_full") if workers > 1 else 0
        print(f"  {workload}, {workers} workers: testpmd sent {sent:,}, replays {replays:,}, committed {committed:,}, "
              f"ring full {full:,}", flush=True)
        check(committed == replays and replays + full == sent,
              f"testpmd sent {sent}, the node executed {replays}\n{node.tail()}\n{peer.tail()}")


def link_is_up(peer):
    if peer.find(r"Link status: *up"):
        return True
    peer.type("show port info 1")
    return False


def run_for_a_while(peer):
    """Until testpmd's own counters have passed some thousand packets."""
    def enough():
        peer.type("show port stats 1")
        match = peer.find(r"TX-packets: *(\d+)")
        return match is not None and int(match[1]) > 20 * PACKETS
    wait_until(enough, 30, "traffic from testpmd")


def puts():
    replay("put2")


def gets():
    replay("get")


def two_workers():
    replay("put2", workers=2)


if __name__ == "__main__":
    main(puts, gets, two_workers)
