# SPDX-License-Identifier: BSD-3-Clause
"""A client of several nodes, written from docs/PROTOCOL.md alone (numbers in brackets are its sections).

    with Cluster("10.99.0.1") as cluster:
        cluster.execute(add(1, b"mine", -5, floor=0), add(1, b"yours", 5))

One address is enough: the shard map comes from there [19]. One transaction at a time; a transaction over several shards
is sent as a PREPARE to each [18.2]. The session has one id and one sequence for all nodes, and a socket for each.
"""

import dataclasses
import os
import random
import time

import txnic_client
import txnic_wire as wire
from txnic_wire import Result, Type

PAUSE_S = 0.005  # between looking at one node's socket and at the next one's


class Cluster:
    """Not for several threads."""

    def __init__(self, address, port=wire.BASE_PORT_DEFAULT, *, session=None, timeout=10.0, clock=time.monotonic):
        self.session = session or random.Random(os.urandom(16)).randrange(1, 2**64)
        self.timeout = timeout
        self.clock = clock
        self.map = None
        self.clients = {}  # (address, base port) → Client, where it is open
        self.first = self._client(address, port)
        self.next_sequence = 1
        self.statistics = {"prepares": 0, "maps": 0}

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        for client in {id(client): client for client in (self.first, *self.clients.values())}.values():
            client.socket.close()

    def _client(self, address, port):
        return txnic_client.Client(address, port, session=self.session, timeout=self.timeout, clock=self.clock)

    def open(self):
        self.first.open()
        facts = self.first.facts
        if self.first.map_epoch == 0:  # alone: OPENED says everything
            node = wire.MapNode(self.first.address, facts.base_port, facts.worker_count)
            self.map = wire.ShardMap(0, (node,), (0,) * facts.shard_count)
        else:
            self.fetch_map(self.first)
        self.clients[(self.first.address, facts.base_port)] = self.first

    def fetch_map(self, client):
        """Asks a node that the session is open at."""
        self.statistics["maps"] += 1
        message = wire.encode_map(self.session, client.stamp)
        reply = client._call(lambda: message, lambda r: r.type == Type.MAPPED and r.map is not None)
        self.map = reply.map

    def node_of(self, shard):
        """The client of the shard's node, opened when it is first needed."""
        node = self.map.nodes[self.map.node_of[shard]]
        where = (node.address, node.base_port)
        if where not in self.clients:
            client = self._client(node.address, node.base_port)
            client.open()
            self.clients[where] = client
        return self.clients[where]

    def shard_of(self, key):
        return wire.shard_of(key, len(self.map.node_of))

    def execute(self, *operations, timeout=None):
        """One transaction: its Reply. `value(i)` is that of the i-th operation, wherever it was executed."""
        sequence, self.next_sequence = self.next_sequence, self.next_sequence + 1
        parts = {}  # shard → [(index, operation)], in the order of their first operation
        for index, operation in enumerate(operations):
            parts.setdefault(self.shard_of(operation.key), []).append((index, operation))
        if len(parts) == 1:
            shard = next(iter(parts))
            client = self.node_of(shard)
            client.next_sequence = sequence
            reply = client.execute(*operations, shard=shard, timeout=timeout)
            if reply.result == Result.WRONG_SHARD and self.map.epoch:
                self.fetch_map(self.first)
            return reply
        return self._execute_over(sequence, parts, self.clock() + (self.timeout if timeout is None else timeout))

    def _execute_over(self, sequence, parts, deadline):
        participants, epoch = list(parts), self.map.epoch
        coordinator = participants[0]
        for shard in participants:  # all are open before the first PREPARE
            self.node_of(shard)
        lost = set()  # participants that must not see this id again
        pause, resend_at = txnic_client.RETRANSMIT_FIRST_S, self.clock()
        while self.clock() < deadline:
            if self.clock() >= resend_at:
                for shard in participants:
                    if shard in lost:
                        continue
                    client, mine = self.node_of(shard), [operation for _, operation in parts[shard]]
                    message = wire.encode_prepare(self.session, sequence, client.stamp, 0, shard, epoch, participants,
                                                  mine)
                    client._send(message, self.map.port_of(shard))
                    self.statistics["prepares"] += 1
                resend_at, pause = self.clock() + pause, min(2 * pause, txnic_client.RETRANSMIT_MAX_S)
            for shard in participants:
                client = self.node_of(shard)
                reply = client._receive(min(deadline, self.clock() + PAUSE_S))
                if reply is None or reply.type != Type.PREPARED or reply.sequence != sequence:
                    continue
                if reply.decided:
                    return self._in_order(reply, participants, parts)
                outcome = self._refused(reply, client, coordinator, participants, lost)
                if outcome is not None:
                    return outcome
        return self._own_reply(sequence, coordinator, Result.UNKNOWN_OUTCOME)

    def _refused(self, reply, client, coordinator, participants, lost):
        """A copy was not taken: no outcome, but for what the coordinator will say to every copy [18.2]."""
        if reply.result == Result.BAD_SESSION and reply.stamp >> 32 != client.stamp >> 32:
            losses = client.statistics["windows_lost"]
            client.reopen()
            if client.statistics["windows_lost"] != losses:
                lost.update(shard for shard in participants if self.node_of(shard) is client)
                if coordinator in lost:
                    return self._own_reply(reply.sequence, coordinator, Result.UNKNOWN_OUTCOME)
        elif reply.result == Result.WRONG_SHARD and self.map.epoch:
            self.fetch_map(client)
        elif reply.shard == coordinator and reply.result in (Result.UNKNOWN_TABLE, Result.CROSS_SHARD,
                                                             Result.BAD_REQUEST, Result.WRONG_SHARD):
            return reply
        return None

    @staticmethod
    def _in_order(reply, participants, parts):
        """Values under the indexes of the caller's operations."""
        values = [dataclasses.replace(value, operation=parts[participants[value.participant]][value.operation][0])
                  for value in reply.values]
        reply.values = sorted(values, key=lambda value: value.operation)
        reply.commit_version = next((version for version in reply.versions if version), 0)
        return reply

    def _own_reply(self, sequence, shard, result):
        return wire.Reply(wire.VERSION, Type.PREPARED, result, self.session, sequence, 0, shard, 0, 0)
