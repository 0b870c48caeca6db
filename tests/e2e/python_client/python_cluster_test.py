#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Python client of several nodes against a pair of small nodes played by this test."""

import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import txnic_client as client_module  # noqa: E402
import txnic_cluster as cluster_module  # noqa: E402
import txnic_wire as wire  # noqa: E402
from txnic_wire import BadSession, Result, Type, add, get, put  # noqa: E402

SESSION = 0x1122334455667788
EPOCH = 5


class Clock:
    """Moves only when the client waits."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Pair:
    """What the two nodes share: PREPAREs, and outcomes. A transaction happens when its last PREPARE arrives."""

    def __init__(self):
        self.prepares = {}  # sequence → {shard: message}
        self.outcomes = {}  # sequence → result
        self.executions = 0
        self.result = Result.COMMITTED
        self.lose = 0  # answers to PREPARE
        self.map = struct.pack("<IHH8x", EPOCH, 2, 4) + struct.pack("<IHHIHH", 0x0A000001, 7700, 1, 0x0A000002, 7700, 1)
        self.node_of = [0, 0, 1, 1]


class Node:
    """Stands in for the socket that the client has for a node."""

    def __init__(self, clock, pair, number):
        self.clock, self.pair, self.number = clock, pair, number
        self.inbox, self.sent, self.timeout = [], [], 0.0
        self.incarnation, self.openings = 7, 0
        self.sessions, self.windows = {}, set()

    def bind(self, _address): pass
    def close(self): pass
    def settimeout(self, seconds): self.timeout = seconds

    def sendto(self, message, address):
        assert address[0] == f"10.0.0.{self.number + 1}", address
        self.sent.append(message)
        reply = self.answer(message)
        if reply is not None:
            self.inbox.append(reply)

    def recvfrom(self, _size):
        if not self.inbox:
            self.clock.now += self.timeout
            raise TimeoutError
        return self.inbox.pop(0), (f"10.0.0.{self.number + 1}", 7700)

    def restart(self, keeps_windows):
        self.incarnation += 1
        self.sessions = {}
        if not keeps_windows:
            self.windows = set()

    def prepares(self):
        return [message for message in self.sent if message[3] == Type.PREPARE]

    def answer(self, message):
        header = wire.HEADER.unpack_from(message)
        type, id, sequence, stamp, shard = header[2], header[6], header[7], header[8], header[10]

        def reply(type, stamp, result=Result.COMMITTED, detail=0, flags=0, body=b"", **fields):
            return wire.encode_header(type, id, sequence, stamp, length=48 + len(body), result=result, detail=detail,
                                      flags=flags, shard=shard, **fields) + body

        if type == Type.OPEN:
            if stamp and id not in self.windows:
                return reply(Type.OPENED, self.incarnation << 32, Result.BAD_SESSION, BadSession.UNKNOWN)
            self.openings += 1
            self.windows.add(id)
            self.sessions[id] = self.incarnation << 32 | self.openings
            body = wire.OPENED_BODY.pack(2, 1, 7700, 0, 64, 300, 1 if stamp else 0, 0)
            return reply(Type.OPENED, self.sessions[id], body=body, map_epoch=EPOCH)
        if self.sessions.get(id) != stamp:
            return reply(type + 1, self.incarnation << 32, Result.BAD_SESSION, BadSession.UNKNOWN)
        if type == Type.MAP:
            return reply(Type.MAPPED, stamp, body=self.pair.map + bytes(self.pair.node_of))
        if self.pair.node_of[shard] != self.number:
            return reply(type + 1, stamp, Result.WRONG_SHARD)
        if type == Type.EXECUTE:
            return reply(Type.EXECUTED, stamp, body=struct.pack("<Q", 9))
        return self.prepare(message, sequence, shard, reply, stamp)

    def prepare(self, message, sequence, shard, reply, stamp):
        count = message[48]
        participants = struct.unpack_from(f"<{count}H", message, 56)
        is_duplicate = sequence in self.pair.outcomes
        if not is_duplicate:
            parts = self.pair.prepares.setdefault(sequence, {})
            parts[shard] = message
            if len(parts) < count:
                return None
            self.pair.outcomes[sequence] = self.pair.result
            self.pair.executions += self.pair.result == Result.COMMITTED
        elif shard != participants[0]:
            return None
        if self.pair.lose:
            self.pair.lose -= 1
            return None
        flags, body, values = wire.FLAG_DECIDED | (wire.FLAG_DUPLICATE if is_duplicate else 0), b"", 0
        if self.pair.outcomes[sequence] == Result.COMMITTED and not is_duplicate:
            body = wire.encode_participants(participants) + struct.pack(f"<{count}Q", *(100 + s for s in participants))
            for place, participant in enumerate(participants):
                for index in range(self.pair.prepares[sequence][participant][6]):
                    text = f"{participant}.{index}".encode()
                    body += wire.VALUE.pack(7, len(text), index, 1, place) + text
                    values += 1
        return reply(Type.PREPARED, stamp, self.pair.outcomes[sequence], flags=flags, body=body,
                     operation_count=values, map_epoch=EPOCH)


def key_of(shard, number=0):
    return [key for key in (b"k%d" % i for i in range(1000)) if wire.shard_of(key, 4) == shard][number]


class Several(unittest.TestCase):
    def setUp(self):
        self.clock, self.pair = Clock(), Pair()
        self.nodes = [Node(self.clock, self.pair, number) for number in (0, 1)]
        sockets = list(self.nodes)
        original = client_module.socket.socket
        client_module.socket.socket = lambda *_: sockets.pop(0)
        self.addCleanup(setattr, client_module.socket, "socket", original)
        self.cluster = cluster_module.Cluster("10.0.0.1", session=SESSION, clock=self.clock)
        self.cluster.open()

    def transfer(self, **options):
        return self.cluster.execute(add(1, key_of(0), -1), add(1, key_of(2), 1), **options)

    def test_the_map_is_learned_and_nodes_are_opened_when_needed(self):
        self.assertEqual(self.cluster.map.node_of, (0, 0, 1, 1))
        self.assertTrue(self.cluster.execute(put(1, key_of(1), b"v")).committed)
        self.assertEqual(self.nodes[1].sent, [])
        self.assertTrue(self.cluster.execute(put(1, key_of(3), b"v")).committed)
        self.assertEqual(self.nodes[1].openings, 1)

    def test_values_come_in_the_callers_order(self):
        reply = self.cluster.execute(get(1, key_of(2)), get(1, key_of(0)), get(1, key_of(2, 1)), get(1, key_of(3)))
        self.assertTrue(reply.committed and reply.decided)
        self.assertEqual([value.data for value in reply.values], [b"2.0", b"0.0", b"2.1", b"3.0"])
        self.assertEqual([value.operation for value in reply.values], [0, 1, 2, 3])
        self.assertEqual(reply.versions, [102, 100, 103])

    def test_a_lost_answer_is_asked_for_again_everywhere(self):
        self.pair.lose = 2
        reply = self.transfer()
        self.assertTrue(reply.committed and reply.duplicate)
        self.assertEqual(self.pair.executions, 1)
        self.assertGreaterEqual(len(self.nodes[1].prepares()), 3)

    def test_a_decided_lock_is_final(self):
        self.pair.result = Result.LOCKED
        self.assertEqual(self.transfer().result, Result.LOCKED)
        self.pair.result = Result.COMMITTED
        self.assertTrue(self.transfer().committed)

    def test_a_restart_that_keeps_the_window_is_invisible(self):
        self.transfer()
        self.nodes[1].restart(keeps_windows=True)
        self.assertTrue(self.transfer().committed)
        self.assertEqual(self.nodes[1].openings, 2)

    def test_a_participant_that_lost_its_window_does_not_see_the_id_again(self):
        self.transfer()
        self.nodes[1].restart(keeps_windows=False)
        before = len(self.nodes[1].prepares())
        self.assertEqual(self.transfer(timeout=2.0).result, Result.UNKNOWN_OUTCOME)  # this coordinator never decides
        self.assertEqual(len(self.nodes[1].prepares()), before + 1)
        self.assertGreater(len(self.nodes[0].prepares()), before + 2)
        self.assertTrue(self.transfer().committed)

    def test_a_coordinator_that_lost_its_window_makes_it_unknown(self):
        self.transfer()
        self.nodes[0].restart(keeps_windows=False)
        self.pair.lose = 100
        before = len(self.nodes[0].prepares())
        self.assertEqual(self.transfer().result, Result.UNKNOWN_OUTCOME)
        self.assertEqual(len(self.nodes[0].prepares()), before + 1)

    def test_a_moved_shard_is_followed(self):
        self.transfer()
        self.pair.node_of = [1, 0, 1, 1]
        self.assertTrue(self.transfer().committed)
        self.assertEqual(self.cluster.map.node_of, (1, 0, 1, 1))


if __name__ == "__main__":
    unittest.main()
