#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A transaction in doubt as an operator sees it: its coordinator is away, the participant lists it with its age and
what it waits for, keeps its locks across a restart, and is told to commit or abort. The coordinator's return agrees, or
the contradiction is reported and changes nothing."""
import struct

from lib.cluster import Cluster
from lib.harness import Scene, check, main, read_json
from tap_rig import inside, wire
from txnic_cluster import Cluster as Client  # tap_rig has put its folder on the path

TABLE = 1
COORDINATOR, PARTICIPANT = 0, 1  # nodes, and their shards: one each
OLD, NEW = struct.pack("<q", 5), struct.pack("<q", 6)


def key_of(shard, shards):
    return next(key for key in (struct.pack("<Q", n) for n in range(1000)) if wire.shard_of(key, shards) == shard)


def check_locked(reply, when):
    """A reader is told that a lock is in the way: neither the old value nor the new one is final."""
    check(reply.result == wire.Result.LOCKED, f"read {when}: {reply.result!r}, not LOCKED")


class Doubt:
    """Two nodes; the participant has prepared a write, and the coordinator has never heard of it."""

    def __init__(self, scene):
        self.cluster = Cluster(scene, nodes=2, shards=1, durability="sync")
        for node in self.cluster.start(idle="sleep", arguments=["--stats-period", "1"]):
            node.wait_ready()
        self.key = key_of(PARTICIPANT, 2)
        self.node = self.cluster.nodes[PARTICIPANT]
        with inside(self.cluster.client), Client(self.cluster.address(PARTICIPANT)) as client:
            check(client.execute(wire.put(TABLE, self.key, OLD)).committed, "the first value is refused")
            for shard in (COORDINATOR, PARTICIPANT):
                client.node_of(shard)
            self.cluster.cut(COORDINATOR)
            self.prepare(client)
            self.name = f"{client.session}:{self.sequence}:{PARTICIPANT}"

    def prepare(self, client):
        """PREPARE to the participant alone, until its statistics show it; nobody answers it."""
        self.sequence, client.next_sequence = client.next_sequence, client.next_sequence + 1
        node = client.node_of(PARTICIPANT)
        message = wire.encode_prepare(client.session, self.sequence, node.stamp, 0, PARTICIPANT, client.map.epoch,
                                      [COORDINATOR, PARTICIPANT], [wire.put(TABLE, self.key, NEW)])
        node._send(message, client.map.port_of(PARTICIPANT))  # pylint: disable=protected-access
        self.wait_listed(client.session)

    def wait_listed(self, session):
        match = self.node.wait_line(rf"in doubt: {session}:{self.sequence}:{PARTICIPANT} for ([\d.]+) s, "
                                    rf"waits for shard {COORDINATOR}\b", 60)
        check(float(match[1]) > 0, f"its age is {match[1]}")

    def restart(self, *resolve):
        """Kills the participant and starts it again."""
        self.node.kill()
        self.node = self.cluster.start_node(
            PARTICIPANT, idle="sleep",
            arguments=["--stats-period", "1", *(word for how in resolve for word in ("--resolve", how))])
        return self.node

    def read(self):
        """At once: a client would ask again while a lock is in the way."""
        with inside(self.cluster.client), Client(self.cluster.address(PARTICIPANT)) as client:
            return client.first.execute(wire.get(TABLE, self.key), shard=PARTICIPANT, retry_busy=False)

    def stop(self):
        """Both nodes' commit counters."""
        counters = []
        for i, node in enumerate(self.cluster.nodes):
            node.stop()
            counters.append(read_json(self.cluster.json(i))["engine"]["commit"])
            check(read_json(self.cluster.json(i))["engine"]["in_doubt"] == [], f"node {i} is still in doubt")
        return counters


def stays_in_doubt_across_a_restart_until_the_coordinator_answers():
    with Scene() as scene:
        doubt = Doubt(scene)
        session = int(doubt.name.split(":")[0])
        check_locked(doubt.read(), "while it is prepared")
        doubt.restart().wait_ready()
        doubt.wait_listed(session)
        check_locked(doubt.read(), "after a restart")
        doubt.cluster.mend(COORDINATOR)
        # It has never heard of the transaction: it promises never to prepare it, and the participant aborts.
        doubt.node.wait_line(r"several aborted +1\b", 60)
        reply = doubt.read()
        check(reply.committed and reply.value(0).data == OLD, f"after the abort: {reply}")
        doubt.stop()


def forced_against_the_coordinator():
    with Scene() as scene:
        doubt = Doubt(scene)
        doubt.restart(doubt.name + "=commit")
        doubt.node.wait_line(rf"WARNING: transaction {doubt.name.rsplit(':', 1)[0]} at shard {PARTICIPANT} is FORCED "
                             r"to COMMIT by the operator")
        doubt.node.wait_ready()
        reply = doubt.read()
        check(reply.committed and reply.value(0).data == NEW, f"after the forced commit: {reply}")
        # The same once more: it is not in doubt any more, and the node says so instead of starting.
        doubt.restart(doubt.name + "=abort")
        doubt.node.expect_exit(2)
        check("is not in doubt here" in doubt.node.text(), doubt.node.tail())
        doubt.restart().wait_ready()
        doubt.cluster.mend(COORDINATOR)
        doubt.node.wait_line("WARNING: CONTRADICTION: 1 decision", 60)
        reply = doubt.read()
        check(reply.committed and reply.value(0).data == NEW, f"a contradiction has changed something: {reply}")
        check(int(doubt.stop()[PARTICIPANT]["contradictions"]) >= 1, "the contradiction is not counted")


def forced_as_the_coordinator_decides():
    with Scene() as scene:
        doubt = Doubt(scene)
        doubt.restart(doubt.name + "=abort")
        doubt.node.wait_line(r"is FORCED to ABORT by the operator")
        doubt.node.wait_ready()
        doubt.cluster.mend(COORDINATOR)
        reply = doubt.read()
        check(reply.committed and reply.value(0).data == OLD, f"after the forced abort: {reply}")
        counters = doubt.stop()
        check(int(counters[PARTICIPANT]["contradictions"]) == 0, f"a contradiction where both agree: {counters}")


if __name__ == "__main__":
    main(stays_in_doubt_across_a_restart_until_the_coordinator_answers, forced_against_the_coordinator,
         forced_as_the_coordinator_decides)
