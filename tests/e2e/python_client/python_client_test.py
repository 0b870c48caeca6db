#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Python client against the golden packets, and its behaviour against a small node played by this test."""

import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import txnic_client as client_module  # noqa: E402
import txnic_wire as wire  # noqa: E402
from txnic_wire import BadSession, Busy, Result, Type, add, check, delete, get, insert, put  # noqa: E402

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SESSION = 0x1122334455667788
STAMP = 7 << 32 | 3
VERSION = 7 << 48 | 1000
KEY_42 = (42).to_bytes(8, "little")


def read_golden():
    packets, name = {}, None
    with open(os.path.join(TESTS, "golden", "packets.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words[:1] == ["packet"]:
                name = words[1]
                packets[name] = (words[2], b"")
            elif words:
                packets[name] = (packets[name][0], packets[name][1] + bytes.fromhex("".join(words)))
    return packets


GOLDEN = read_golden()


def packet(name):
    return GOLDEN[name][1]


class GoldenRequests(unittest.TestCase):
    def test_session_messages(self):
        cookie = wire.decode_reply(packet("challenge")).cookie
        self.assertEqual(wire.encode_open(SESSION, 1), packet("open_first"))
        self.assertEqual(wire.encode_open(SESSION, 1, cookie), packet("open_cookie"))
        self.assertEqual(wire.encode_open(SESSION, 2, cookie, STAMP), packet("open_resume"))
        self.assertEqual(wire.encode_close(SESSION, STAMP), packet("close"))
        self.assertEqual(wire.encode_echo(b"ping"), packet("echo"))

    def test_transactions(self):
        reads = [get(1, KEY_42), get(2, KEY_42)]
        self.assertEqual(wire.encode_execute(SESSION, 1, STAMP, 0, 0, reads), packet("execute_get"))
        self.assertEqual(wire.encode_execute(SESSION, 2, STAMP, 1, 0, [add(1, KEY_42, 5)]), packet("execute_add"))

    def test_every_operation(self):
        key = b"account:1"
        operations = [
            get(65535, key), put(1, key, b"v"), put(1, key, b"", VERSION), put(1, key, b"xy", VERSION - 1, absent=True),
            insert(2, key, b"new"), delete(2, key), delete(2, key, VERSION),
            add(3, key, -1), add(3, key, -7, floor=0), add(3, key, 1, expected=VERSION),
            add(3, key, 1, floor=-5, expected=VERSION),
            check(1, key, VERSION), check(1, key, VERSION - 1, absent=True), check(1, key, VERSION, read_set=True),
            check(1, key, VERSION - 1, absent=True, read_set=True),
        ]
        self.assertEqual(wire.encode_execute(SESSION, 300, STAMP, 255, 3, operations), packet("execute_every"))


    def test_several_shards_and_nodes(self):
        key = (1).to_bytes(8, "little")
        operations = [add(1, key, -5), get(2, key)]
        self.assertEqual(wire.encode_prepare(SESSION, 5, STAMP, 1, 3, 2, [0, 3], operations), packet("prepare"))
        self.assertEqual(wire.encode_map(SESSION, STAMP), packet("map"))


class GoldenReplies(unittest.TestCase):
    def test_every_reply_is_decoded_and_every_request_refused(self):
        for name, (kind, data) in GOLDEN.items():
            with self.subTest(name):
                if kind == "reply":
                    self.assertEqual(len(data), struct.unpack_from("<H", data, 4)[0])
                    wire.decode_reply(data)
                else:
                    with self.assertRaises(wire.MalformedReply):
                        wire.decode_reply(data)

    def test_opened(self):
        reply = wire.decode_reply(packet("opened"))
        self.assertEqual((reply.type, reply.session, reply.sequence, reply.stamp), (Type.OPENED, SESSION, 1, STAMP))
        self.assertEqual(reply.facts, wire.NodeFacts(4, 2, 7700, 256, 300, False, 2))
        self.assertTrue(wire.decode_reply(packet("opened_resumed")).facts.window_survived)
        lost = wire.decode_reply(packet("opened_lost"))
        self.assertEqual((lost.result, lost.detail, lost.stamp), (Result.BAD_SESSION, BadSession.UNKNOWN, 8 << 32))
        self.assertEqual(wire.decode_reply(packet("opened_busy")).detail, Busy.SESSIONS)

    def test_values(self):
        reply = wire.decode_reply(packet("executed_get"))
        self.assertEqual(reply.commit_version, 0)
        self.assertEqual(reply.value(0), wire.Value(0, True, VERSION, b"hello"))
        self.assertEqual(reply.value(1), wire.Value(1, False, VERSION - 9, b""))
        reply = wire.decode_reply(packet("executed_add"))
        self.assertEqual(reply.value(0).number, 105)
        self.assertEqual(reply.value(0).version, reply.commit_version)

    def test_prepared(self):
        reply = wire.decode_reply(packet("prepared"))
        self.assertTrue(reply.decided and reply.committed)
        self.assertEqual(reply.versions, [VERSION, VERSION + 7])
        self.assertEqual([(value.participant, value.operation, value.number) for value in reply.values],
                         [(0, 0, 105), (1, 0, 95)])
        abort = wire.decode_reply(packet("prepared_abort"))
        self.assertEqual((abort.decided, abort.result), (True, Result.LOCKED))
        refused = wire.decode_reply(packet("prepared_refused"))
        self.assertEqual((refused.decided, refused.result, refused.detail), (False, Result.BUSY, Busy.LOG_FULL))

    def test_map(self):
        shard_map = wire.decode_reply(packet("mapped")).map
        self.assertEqual((shard_map.epoch, shard_map.node_of), (2, (0, 0, 1, 1, 0)))
        self.assertEqual(shard_map.nodes[1], wire.MapNode("10.0.0.2", 7000, 1))
        self.assertEqual([shard_map.port_of(shard) for shard in range(5)], [7700, 7701, 7000, 7000, 7700])
        self.assertIsNone(wire.decode_reply(packet("mapped_refused")).map)

    def test_results(self):
        for result in Result:
            if result in (Result.COMMITTED, Result.UNKNOWN_OUTCOME, Result.BAD_SESSION):
                continue
            self.assertEqual(wire.decode_reply(packet("executed_" + result.name.lower())).result, result)
        for reason in BadSession:
            reply = wire.decode_reply(packet("executed_bad_session_" + reason.name.lower()))
            self.assertEqual((reply.result, reply.detail), (Result.BAD_SESSION, reason))

    def test_duplicates(self):
        reply = wire.decode_reply(packet("executed_duplicate"))
        self.assertTrue(reply.duplicate and reply.committed)
        self.assertEqual((reply.commit_version, reply.values), (VERSION + 1, []))

    def test_other_version(self):
        reply = wire.decode_reply(packet("executed_bad_version_2"))
        self.assertEqual((reply.result, reply.version), (Result.BAD_VERSION, 2))

    def test_cut_and_lying_replies_are_refused(self):
        for name, (kind, data) in GOLDEN.items():
            if kind != "reply":
                continue
            for length in range(len(data)):
                cut = data[:length]
                with self.assertRaises(wire.MalformedReply):
                    wire.decode_reply(cut)
            if b"ECHO" not in name.upper().encode():
                with self.assertRaises(wire.MalformedReply):
                    longer = data + b"\0"
                    wire.decode_reply(longer[:4] + struct.pack("<H", len(longer)) + longer[6:])


class Corpus(unittest.TestCase):
    def test_corpus_of_the_fuzzer_is_the_golden_packets(self):
        for name, (_, data) in GOLDEN.items():
            with open(os.path.join(TESTS, "fuzz", "corpus", "wire", name), "rb") as file:
                self.assertEqual(file.read(), data, name)

    def test_example_of_the_document(self):
        with open(os.path.join(os.path.dirname(TESTS), "docs", "PROTOCOL.md"), encoding="utf-8") as file:
            text = file.read()
        for name in ("open_first", "challenge", "open_cookie", "opened", "execute_add", "executed_add"):
            lines = [packet(name)[at : at + 16].hex(" ") for at in range(0, len(packet(name)), 16)]
            self.assertIn("\n".join(["        " + line for line in lines]) + "\n", text, name)


class Shards(unittest.TestCase):
    def test_vectors_of_the_document(self):
        rows = 0
        with open(os.path.join(os.path.dirname(TESTS), "docs", "PROTOCOL.md"), encoding="utf-8") as file:
            for line in file:
                cells = [cell.strip("` \n") for cell in line.split("|")[1:-1]]
                if len(cells) != 7 or len(cells[2]) != 16:
                    continue
                rows += 1
                key = bytes.fromhex(cells[0])
                self.assertEqual(len(key), int(cells[1]))
                self.assertEqual(f"{wire.hash_key(key):016x}", cells[2])
                for count, cell in zip((2, 4, 16, 1024), cells[3:]):
                    self.assertEqual(wire.shard_of(key, count), int(cell))
        self.assertEqual(rows, 12)


class Clock:
    """Moves only when the client waits."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class FakeNode:
    """Stands in for the client's socket: a node of one shard that counts executions and can be told to misbehave."""

    def __init__(self, clock):
        self.clock = clock
        self.inbox = []  # for the client
        self.sent = []  # what the client sent
        self.timeout = 0.0
        self.incarnation = 1
        self.openings = 0
        self.sessions = {}  # id → [stamp, window: sequence → reply bytes]
        self.executions = 0
        self.lose_replies = 0
        self.drop = lambda message: False
        self.window = 4

    # the socket's face
    def bind(self, _address): pass
    def close(self): pass
    def settimeout(self, seconds): self.timeout = seconds

    def sendto(self, message, address):
        self.sent.append((message, address[1]))
        if not self.drop(message):
            reply = self.answer(message)
            if reply is not None:
                if self.lose_replies:
                    self.lose_replies -= 1
                else:
                    self.inbox.append(reply)

    def recvfrom(self, _size):
        if not self.inbox:
            self.clock.now += self.timeout
            raise TimeoutError
        return self.inbox.pop(0), ("10.0.0.1", 7700)

    # the node
    def restart(self, keeps_windows):
        self.incarnation += 1
        self.sessions = {id: [0, window] for id, (_, window) in self.sessions.items()} if keeps_windows else {}

    @staticmethod
    def _reply(header, type, stamp, result=Result.COMMITTED, detail=0, flags=0, body=b""):
        return wire.encode_header(type, header[6], header[7], stamp, length=48 + len(body), result=result,
                                  detail=detail, flags=flags, shard=header[10]) + body

    def answer(self, message):
        header = wire.HEADER.unpack_from(message)
        type, id, sequence, stamp, lag = header[2], header[6], header[7], header[8], header[9]
        refusal = self.incarnation << 32
        session = self.sessions.get(id)
        if type == Type.OPEN:
            cookie = struct.pack("<QQ", self.incarnation, id)
            if message[48:64] != cookie:
                return self._reply(header, Type.CHALLENGE, stamp, body=cookie)
            if stamp and session is None:
                return self._reply(header, Type.OPENED, refusal, Result.BAD_SESSION, BadSession.UNKNOWN)
            self.openings += 1
            window = session[1] if stamp else {}
            self.sessions[id] = [self.incarnation << 32 | self.openings, window]
            body = wire.OPENED_BODY.pack(1, 1, 7700, 0, self.window, 300, 1 if stamp else 0, 0)
            return self._reply(header, Type.OPENED, self.sessions[id][0], body=body)
        if session is None:
            return self._reply(header, type + 1, refusal, Result.BAD_SESSION, BadSession.UNKNOWN)
        if session[0] != stamp:
            return self._reply(header, type + 1, refusal, Result.BAD_SESSION, BadSession.OLD_STAMP)
        if type == Type.CLOSE:
            del self.sessions[id]
            return self._reply(header, Type.CLOSED, stamp)
        if lag >= self.window:
            return self._reply(header, Type.EXECUTED, stamp, Result.BUSY, Busy.WINDOW)
        duplicate = sequence in session[1]
        if not duplicate:
            self.executions += 1
            session[1][sequence] = self.executions
        return self._reply(header, Type.EXECUTED, stamp, flags=wire.FLAG_DUPLICATE if duplicate else 0,
                           body=struct.pack("<Q", session[1][sequence]))


class Behaviour(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.node = FakeNode(self.clock)
        original = client_module.socket.socket
        client_module.socket.socket = lambda *_: self.node
        self.addCleanup(setattr, client_module.socket, "socket", original)
        self.client = client_module.Client("10.0.0.1", session=SESSION, clock=self.clock)

    def put(self, **options):
        return self.client.execute(put(1, b"k", b"v"), **options)

    def test_opens_and_executes(self):
        self.client.open()
        self.assertEqual(self.client.stamp, 1 << 32 | 1)
        self.assertEqual(self.put().result, Result.COMMITTED)
        self.assertEqual(self.client.close(), Result.COMMITTED)

    def test_a_lost_answer_is_asked_for_again_with_the_same_sequence(self):
        self.client.open()
        self.node.lose_replies = 3
        reply = self.put()
        self.assertTrue(reply.committed and reply.duplicate)
        self.assertEqual(self.node.executions, 1)
        self.assertEqual(self.client.statistics["retransmitted"], 3)

    def test_restart_with_windows_gives_the_same_answer(self):
        self.client.open()
        self.node.lose_replies = 1
        sequence = self.client.submit(put(1, b"k", b"v"))
        self.node.restart(keeps_windows=True)
        reply = self.client.wait(sequence)
        self.assertTrue(reply.committed and reply.duplicate)
        self.assertEqual(self.node.executions, 1)
        self.assertEqual(self.client.stamp >> 32, 2)

    def test_restart_without_windows_is_an_unknown_outcome_and_never_sent_again(self):
        self.client.open()
        self.node.lose_replies = 1
        sequence = self.client.submit(put(1, b"k", b"v"))
        self.node.restart(keeps_windows=False)
        self.assertEqual(self.client.wait(sequence).result, Result.UNKNOWN_OUTCOME)
        self.assertEqual(self.node.executions, 1)
        self.assertEqual(self.put().result, Result.COMMITTED)
        self.assertEqual(self.client.next_sequence, 3, "sequences go on")

    # The first OPENED after the restart is lost: the second must not claim that the window survived.
    def test_lost_openings_do_not_resurrect_a_window(self):
        self.client.open()
        self.node.lose_replies = 1
        sequence = self.client.submit(put(1, b"k", b"v"))
        self.node.restart(keeps_windows=False)
        seen = []

        def drop(message):
            if message[3] != Type.OPEN or len(seen) >= 6:
                return False
            seen.append(message)
            if len(seen) % 2 == 0:
                self.node.answer(message)  # it arrives, but its answer is lost
            return True

        self.node.drop = drop
        self.assertEqual(self.client.wait(sequence).result, Result.UNKNOWN_OUTCOME)
        self.assertEqual(self.node.executions, 1)

    def test_reads_survive_a_lost_window(self):
        self.client.open()
        self.node.lose_replies = 1
        sequence = self.client.submit(get(1, b"k"))
        self.node.restart(keeps_windows=False)
        self.assertEqual(self.client.wait(sequence).result, Result.COMMITTED)

    def test_deadline(self):
        self.client.open()
        self.node.drop = lambda message: True
        self.assertEqual(self.put(timeout=0.3).result, Result.UNKNOWN_OUTCOME)
        self.assertEqual(self.client.execute(get(1, b"k"), timeout=0.3).result, Result.BUSY)

    def test_window_and_watermark(self):
        self.client.open()
        sequences = [self.client.submit(put(1, b"k", b"v")) for _ in range(20)]
        for sequence in sequences:
            self.assertEqual(self.client.wait(sequence).result, Result.COMMITTED)
        lags = [struct.unpack_from("<I", message, 32)[0] for message, _ in self.node.sent if message[3] == Type.EXECUTE]
        self.assertLess(max(lags), self.node.window)
        self.assertEqual(self.client.watermark(), 21)

    def test_an_abort_under_an_old_stamp_is_ignored(self):
        self.client.open()
        self.node.drop = lambda message: True
        sequence = self.client.submit(put(1, b"k", b"v"))
        abort = wire.encode_header(Type.EXECUTED, SESSION, sequence, 1, result=Result.CONFLICT)
        self.node.inbox.append(abort)
        self.node.drop = lambda message: False
        self.assertEqual(self.client.wait(sequence).result, Result.COMMITTED)

    def test_keep_alive_and_silence(self):
        self.client.open()
        self.node.drop = lambda message: True
        with self.assertRaises(client_module.NoAnswer):
            self.client.keep_alive()


if __name__ == "__main__":
    unittest.main()
