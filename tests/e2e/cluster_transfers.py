#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Transfers between accounts on three nodes, each in a network namespace, while nodes are killed and links cut: every
account has in the end what the outcomes say, and nothing waits for ever.

TXNIC_KILLS and TXNIC_CUTS set their numbers, TXNIC_SEED repeats their moments."""
import collections
import itertools
import os
import random
import struct
import threading
import time

from lib.cluster import Cluster
from lib.harness import Failure, Scene, check, main, read_json
from tap_rig import inside, wire
from txnic_cluster import Cluster as Client  # tap_rig has put its folder on the path

TABLE = 1
ACCOUNTS = 20  # of each shard
THREADS = 4
DECIDED_WITHIN_S = 90  # a transaction, nodes' restarts included
UNKNOWN_MAX = 10


class Bank:
    """Accounts of all shards and what they must hold."""

    def __init__(self, shards):
        self.accounts = [[] for _ in range(shards)]
        number = 0
        while min(len(keys) for keys in self.accounts) < ACCOUNTS:
            key = struct.pack("<Q", number)
            keys = self.accounts[wire.shard_of(key, shards)]
            if len(keys) < ACCOUNTS:
                keys.append(key)
            number += 1
        self.lock = threading.Lock()
        self.expected = collections.Counter()
        self.unknown = []  # changes that may have happened or not
        self.outcomes = collections.Counter()

    def everything(self):
        return [key for keys in self.accounts for key in keys]

    def note(self, outcome, changes):
        with self.lock:
            self.outcomes[outcome.name] += 1
            if outcome == wire.Result.COMMITTED:
                self.expected.update(changes)
            elif outcome == wire.Result.UNKNOWN_OUTCOME:
                self.unknown.append(changes)

    def judge(self, actual):
        """Every committed transfer is there, whole; no other is, but any of the unknown ones may be, whole."""
        check(sum(actual.values()) == 0, f"money was made or lost: {sum(actual.values())}")
        check(len(self.unknown) <= UNKNOWN_MAX, f"{len(self.unknown)} outcomes are unknown")
        for chosen in itertools.chain.from_iterable(
                itertools.combinations(self.unknown, n) for n in range(len(self.unknown) + 1)):
            wanted = collections.Counter(self.expected)
            for changes in chosen:
                wanted.update(changes)
            if all(wanted[key] == value for key, value in actual.items()):
                return
        wrong = {key.hex(): (value, self.expected[key]) for key, value in actual.items() if value != self.expected[key]}
        check(False, f"accounts (held, expected) that no set of unknown transfers explains: {wrong}")


class Teller(threading.Thread):
    """Transfers between random accounts, one after another, until told to stop."""

    def __init__(self, cluster, bank, seed):
        super().__init__(daemon=True)
        self.cluster, self.bank, self.random = cluster, bank, random.Random(seed)
        self.stopping = threading.Event()
        self.error = None
        self.done = 0
        self.slowest_s = 0.0

    def run(self):
        try:
            with inside(self.cluster.client):
                while not self.stopping.is_set():
                    with connect(self.cluster) as client:
                        self.transfer_until_unknown(client)
        except Exception as error:  # pylint: disable=broad-except  (told by the main thread)
            self.error = error

    def transfer_until_unknown(self, client):
        # So that the session is in every node's log, and its window survives.
        for keys in self.bank.accounts:
            client.execute(wire.add(TABLE, keys[0], 0))
        while not self.stopping.is_set():
            if self.transfer(client) == wire.Result.UNKNOWN_OUTCOME:
                return

    def transfer(self, client):
        shards = self.random.sample(range(len(self.bank.accounts)), self.random.choice((2, 2, 3)))
        keys = [self.random.choice(self.bank.accounts[shard]) for shard in shards]
        amount = self.random.randrange(1, 100)
        amounts = [-amount, amount, 0][:len(shards)]
        begin_s = time.monotonic()
        outcome = client.execute(*(wire.add(TABLE, key, change) for key, change in zip(keys, amounts))).result
        self.slowest_s = max(self.slowest_s, time.monotonic() - begin_s)
        self.bank.note(outcome, dict(zip(keys, amounts)))
        self.done += 1
        return outcome


def connect(cluster):
    return Client(cluster.address(0), timeout=DECIDED_WITHIN_S)


def fill(cluster, bank):
    with inside(cluster.client), connect(cluster) as client:
        for key in bank.everything():
            reply = client.execute(wire.put(TABLE, key, bytes(8)))
            check(reply.committed, f"an account is refused: {reply}")


def read_all(cluster, bank):
    with inside(cluster.client), connect(cluster) as client:
        actual = {}
        for key in bank.everything():
            reply = client.execute(wire.get(TABLE, key))
            check(reply.committed, f"an account cannot be read, {reply.result!r}: does a lock outlive its transaction?")
            actual[key] = reply.value(0).number
        return actual


def wait_done(tellers, count, timeout=120):
    """Each teller has done `count` more; bounded."""
    goals = [teller.done + count for teller in tellers]
    deadline = time.monotonic() + timeout
    while any(teller.done < goal for teller, goal in zip(tellers, goals)):
        for teller in tellers:
            if teller.error is not None:
                raise teller.error
        check(time.monotonic() < deadline, "the tellers do not come on: " + str([teller.done for teller in tellers]))
        time.sleep(0.02)


def finish(cluster, bank, tellers):
    for teller in tellers:
        teller.stopping.set()
    for teller in tellers:
        teller.join(DECIDED_WITHIN_S + 30)
        check(not teller.is_alive(), "a transaction is not decided")
        if teller.error is not None:
            raise teller.error
    bank.judge(read_all(cluster, bank))
    planes = []
    for i, node in enumerate(cluster.nodes):
        node.stop()
        plane = read_json(cluster.json(i))["dataplane"]
        check(plane["received"] == plane["ended_total"], f"node {i}: received {plane['received']}, ended otherwise")
        check(int(plane["ended"]["other"]) == 0 and int(plane["outbox"]["lost"]["no_shard"]) == 0, f"node {i}: {plane}")
        planes.append(plane)
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(bank.outcomes.items()))
    print(f"  {sum(teller.done for teller in tellers)} transfers: {outcomes}; slowest "
          f"{max(teller.slowest_s for teller in tellers):.1f} s", flush=True)
    return planes


def begin(scene, seed, **options):
    cluster = Cluster(scene, nodes=3, **options)
    for node in cluster.start(idle="sleep"):
        node.wait_ready()
    bank = Bank(cluster.count * cluster.shards)
    fill(cluster, bank)
    tellers = [Teller(cluster, bank, f"{seed}-{i}") for i in range(THREADS)]
    for teller in tellers:
        teller.start()
    return cluster, bank, tellers


def the_judge_can_say_no():
    bank = Bank(2)
    (first, second, *_), keys = bank.everything(), dict.fromkeys(bank.everything(), 0)
    bank.note(wire.Result.COMMITTED, {first: -5, second: 5})
    bank.note(wire.Result.UNKNOWN_OUTCOME, {first: -7, second: 7})
    bank.judge({**keys, first: -5, second: 5})
    bank.judge({**keys, first: -12, second: 12})
    for wrong in ({}, {first: -5}, {first: -7, second: 7}, {first: -12, second: 5}, {first: -10, second: 10}):
        try:
            bank.judge({**keys, **wrong})
        except Failure:
            continue
        raise Failure(f"accepted: {wrong}")


def between_workers_and_nodes():
    with Scene() as scene:
        cluster, bank, tellers = begin(scene, 1, workers=2, shards=4)
        wait_done(tellers, 200)
        planes = finish(cluster, bank, tellers)
        check(not bank.unknown, f"unknown outcomes without any fault: {bank.unknown}")
        for i, plane in enumerate(planes):
            check(int(plane["from_workers"]) > 0, f"node {i}: no messages between its workers")
            check(int(plane["ended"]["txn_node_message"]) > int(plane["from_workers"]), f"node {i}: none from others")


def deaths_and_cuts():
    seed = int(os.environ.get("TXNIC_SEED") or random.randrange(1, 10**6))
    kills = int(os.environ.get("TXNIC_KILLS") or 8)
    cuts = int(os.environ.get("TXNIC_CUTS") or 6)
    print(f"  seed {seed}, {kills} kills, {cuts} cuts", flush=True)
    chance = random.Random(seed)
    faults = ["kill"] * kills + ["cut"] * cuts
    chance.shuffle(faults)
    with Scene() as scene:
        cluster, bank, tellers = begin(scene, seed, durability="sync")
        for fault in faults:
            wait_done(tellers, chance.randrange(1, 12))
            time.sleep(chance.uniform(0, 0.02))  # a random moment, not a wait for anything
            node = chance.randrange(cluster.count)
            if fault == "kill":
                cluster.nodes[node].kill()
                cluster.start_node(node, idle="sleep").wait_ready()
            else:
                cluster.cut(node)
                time.sleep(chance.uniform(0.05, 1))  # how long it lasts
                cluster.mend(node)
        wait_done(tellers, 5)
        finish(cluster, bank, tellers)


if __name__ == "__main__":
    main(the_judge_can_say_no, between_workers_and_nodes, deaths_and_cuts)
