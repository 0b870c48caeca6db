#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The aarch64 node under qemu-user on a net_tap: transactions of the Python client, each answer checked."""
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib.harness import Node, Scene, Skip, check, main  # noqa: E402
from tap_rig import SHARDS, TABLE, Rig, check_result, check_sums, inside, keys_of_shard, results  # noqa: E402
from txnic_wire import Result, add, get, put  # noqa: E402

EMULATOR = "qemu-aarch64-static"
MEMORY_MIB = 640  # cache lines of 128 bytes: a packet takes more than on x86
ROUNDS = 25       # of transactions, for each shard
ELF_AARCH64 = 183


class ArmScene(Scene):
    """Nodes are aarch64 programs; everything else is this machine's."""

    def __init__(self):
        super().__init__()
        top = os.path.dirname(self.build)
        self.program = os.path.join(top, "arm64", "host/apps/txnode")
        self.sysroot = os.path.join(top, "sysroot-arm64")
        if not os.access(self.program, os.X_OK):
            raise Skip("no aarch64 txnode; build it with ./txnic build arm64")
        if not shutil.which(EMULATOR):
            raise Skip(f"no {EMULATOR} here (Debian: qemu-user-static)")

    def node(self, *arguments, **settings):
        return super().node(*arguments, **settings, memory_mib=MEMORY_MIB)

    def start(self, name, command, kind=None, *more):
        if kind is Node:
            command = [EMULATOR, "-L", self.sysroot, self.program, *command[1:]]
        return super().start(name, command, kind, *more)


def machine_of(path):
    with open(path, "rb") as file:
        return struct.unpack_from("<H", file.read(20), 18)[0]


def transactions():
    with ArmScene() as scene:
        check(machine_of(scene.program) == ELF_AARCH64, f"{scene.program} is no aarch64 program")
        rig = Rig(scene)
        with inside(rig.namespace), rig.client(timeout=30.0) as client:
            for shard in range(SHARDS):
                key, other = keys_of_shard(shard, 2)
                check_result("PUT", client.execute(put(TABLE, key, struct.pack("<q", 0))), Result.COMMITTED)
                for _ in range(ROUNDS):
                    check_result("ADD", client.execute(add(TABLE, key, 2), put(TABLE, other, b"x")), Result.COMMITTED)
                refused = client.execute(add(TABLE, key, -1000, floor=0))
                check_result("ADD below its floor", refused, Result.BELOW_FLOOR, 0)
                check(client.execute(get(TABLE, key)).value(0).number == 2 * ROUNDS, "a sum is wrong")
        statistics = rig.stop()
        check_sums(statistics)
        committed = results(statistics, "committed")
        check(committed == SHARDS * (ROUNDS + 2), f"{committed} committed")
        print(f"aarch64 under {EMULATOR}: {committed} transactions committed, each answer as on x86")


if __name__ == "__main__":
    main(transactions)
