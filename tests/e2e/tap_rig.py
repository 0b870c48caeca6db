# SPDX-License-Identifier: BSD-3-Clause
"""A node on a net_tap in a network namespace of its own, and what tap_test.py needs around it.

The test's thread enters the namespace, so that the Python client's sockets, raw sockets and ping are on the tap."""
import contextlib
import ctypes
import os
import socket
import sys

from lib.harness import Failure, Scene, check, read_json, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_client"))
import txnic_wire as wire  # noqa: E402
from txnic_client import Client  # noqa: E402

NODE = "10.99.0.1"
HOST = "10.99.0.2"
INTERFACE = "txnic0"
SHARDS = 4
WORKERS = 2
WINDOW = 64
SESSIONS = 6
STATIC_SESSION = 7
TABLE, TABLE_B, SMALL_TABLE, NO_TABLE = 1, 2, 3, 99
SMALL_CAPACITY = 64

CONFIG = f"""name: "tap"
shards: {SHARDS}
table {{ id: {TABLE} name: "a" capacity: 10000 }}
table {{ id: {TABLE_B} name: "b" capacity: 10000 }}
table {{ id: {SMALL_TABLE} name: "small" capacity: {SMALL_CAPACITY} }}
log {{ segment_mib: 16 group_kib: 1024 }}
sessions {{ count: {SESSIONS} window: {WINDOW} static_session {{ id: {STATIC_SESSION} replay: EXECUTE }} }}
network {{ address: "{NODE}" }}
"""
CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def inside(namespace):
    """This thread's network is the namespace's."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise Failure(f"setns: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.setns(before, CLONE_NEWNET)
    finally:
        os.close(there)
        os.close(before)


class Rig:
    """One namespace, one node at a time."""

    def __init__(self, scene, durability=None):
        self.scene = scene
        self.durability = durability
        self.log = scene.path("log") if durability else None
        self.config = scene.write("tap.textproto", CONFIG)
        self.namespace = scene.namespace()
        # The kernel's own IPv6 chatter would be counted.
        run(["ip", "netns", "exec", self.namespace, "sh", "-c",
             "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done"])
        self.runs = 0
        self.node = None
        self.start()

    def start(self):
        self.runs += 1
        self.node = self.scene.node(
            self.config, workers=WORKERS, devices=[f"--vdev=net_tap0,iface={INTERFACE}"], namespace=self.namespace,
            durability=self.durability, log=self.log, arguments=["--json", self.json_path()], name=f"node{self.runs}")
        self.scene.tap(self.namespace, INTERFACE, f"{HOST}/24")
        self.node.wait_ready()

    def json_path(self):
        return self.scene.path(f"node-{self.runs}.json")

    def stop(self):
        """A clean stop; the node's counters."""
        self.node.stop()
        return read_json(self.json_path())

    def client(self, **options):
        return Client(NODE, **options)


@contextlib.contextmanager
def rig(durability=None):
    with Scene() as scene:
        made = Rig(scene, durability)
        with inside(made.namespace):
            yield made


def ended(statistics, name):
    return int(statistics["dataplane"]["ended"][name])


def malformed(statistics, name):
    return int(statistics["engine"]["malformed"][name])


def results(statistics, name):
    return int(statistics["engine"]["results"][name])


def check_sums(statistics):
    """Every packet ended in exactly one named counter, and none in 'other'."""
    plane = statistics["dataplane"]
    total = sum(int(count) for count in plane["ended"].values())
    check(total == int(plane["received"]) == int(plane["ended_total"]),
          f"received {plane['received']}, but the counters say {total}")
    check(ended(statistics, "other") == 0, f"other: {ended(statistics, 'other')}")


def check_reply(what, reply, type, result, detail=None):
    if reply is None:
        raise Failure(f"{what}: no answer, expected {result!r}")
    check(reply.type == type and reply.result == result and (detail is None or reply.detail == detail),
          f"{what}: {reply.type!r} {reply.result!r} detail {reply.detail}, expected {result!r} detail {detail}")


def check_result(what, reply, result, detail=None):
    check_reply(what, reply, wire.Type.EXECUTED, result, detail)


def raw_exchange(message, port=wire.BASE_PORT_DEFAULT, timeout=1.0):
    """From a fresh socket: the answer's bytes, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.settimeout(timeout)
        own.sendto(message, (NODE, port))
        try:
            return own.recv(65535)
        except TimeoutError:
            return None


def keys_of_shard(shard, count, shards=SHARDS):
    """8-byte keys of one shard."""
    numbers = (number for number in range(1 << 20)
               if wire.shard_of(number.to_bytes(8, "little"), shards) == shard)
    return [next(numbers).to_bytes(8, "little") for _ in range(count)]
