# SPDX-License-Identifier: BSD-3-Clause
"""A client of the txnic protocol, written from docs/PROTOCOL.md alone (numbers in brackets are its sections).

    with Client("10.99.0.1") as client:
        client.execute(put(1, b"key", b"value"))
        print(client.execute(get(1, b"key")).value(0).data)

`execute` sends one transaction and waits for its outcome; `submit` and `wait` keep several in flight. Needs the
standard library only.
"""

import os
import random
import socket
import time

import txnic_wire as wire
from txnic_wire import BadSession, Busy, Result, Type, add, check, delete, get, insert, put  # noqa: F401

RETRANSMIT_FIRST_S = 0.020
RETRANSMIT_MAX_S = 0.640
OPEN_RETRY_S = 0.050
RETRIED = (Result.BUSY, Result.LOCKED)
NEVER_SETTLES = (Result.OLD_SEQUENCE, Result.BAD_SESSION)


class Refused(Exception):
    """The session cannot be opened: `reply` says why."""

    def __init__(self, reply):
        super().__init__(f"OPENED {reply.result!r} detail {reply.detail}")
        self.reply = reply


class NoAnswer(Exception):
    """The node did not answer in time."""


class Request:
    """One transaction in flight."""

    def __init__(self, sequence, shard, operations, deadline):
        self.sequence = sequence
        self.shard = shard
        self.operations = operations
        self.deadline = deadline
        self.writes = any(operation.writes for operation in operations)
        self.stamp = 0  # the newest that it was sent under
        self.sends = 0
        self.backoff_s = RETRANSMIT_FIRST_S
        self.resend_at = 0.0
        self.reply = None  # the outcome
        self.retries_busy = True


class Client:
    """One session on one socket. Not for several threads."""

    def __init__(self, address, port=wire.BASE_PORT_DEFAULT, *, session=None, timeout=10.0, bind=("", 0),
                 clock=time.monotonic):
        self.address = address
        self.port = port
        self.session = session or random.Random(os.urandom(16)).randrange(1, 2**64)
        self.timeout = timeout
        self.clock = clock
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(bind)
        self.facts = None
        self.stamp = 0
        self.map_epoch = 0  # of the node's shard map [19]
        self.attempt = 0
        self.cookie = None
        self.next_sequence = 1
        self.in_flight = {}  # sequence → Request, until it is settled
        self.finished = {}  # sequence → Request, until somebody waits for it
        self.statistics = dict.fromkeys(
            ("sent", "retransmitted", "reopened", "windows_lost", "malformed", "ignored"), 0)

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.socket.close()

    # ---- the session [8] ------------------------------------------------------------------------
    def open(self):
        """Opens a new session: nothing may be in flight."""
        reply = self._attempt_open(held_stamp=0)
        if reply.result != Result.COMMITTED:
            raise Refused(reply)

    def reopen(self):
        """Opens again, resumes where the window survived, else settles what is in flight as UNKNOWN_OUTCOME [8.2]."""
        self.statistics["reopened"] += 1
        reply = self._attempt_open(held_stamp=self.stamp)
        if reply.result == Result.BAD_SESSION and reply.detail == BadSession.UNKNOWN:
            self.statistics["windows_lost"] += 1
            for request in list(self.in_flight.values()):
                if request.writes and request.sends:
                    self._settle(request, self._own_reply(request, Result.UNKNOWN_OUTCOME))
            reply = self._attempt_open(held_stamp=0)
        if reply.result != Result.COMMITTED:
            raise Refused(reply)
        for request in self.in_flight.values():
            request.backoff_s = RETRANSMIT_FIRST_S
            request.resend_at = 0.0

    def keep_alive(self):
        """The newest opening once more, at all workers [8.3]. True: the session lives and its stamp is the same."""
        old_stamp, self.attempt = self.stamp, self.attempt - 1
        return self._attempt_open(held_stamp=old_stamp).result == Result.COMMITTED and self.stamp == old_stamp

    def close(self):
        """Ends the session at the node. Answers the result."""
        message = wire.encode_close(self.session, self.stamp)
        reply = self._call(lambda: message, lambda r: r.type == Type.CLOSED)
        self.facts = None
        return reply.result

    def _attempt_open(self, held_stamp):
        self.attempt += 1
        self.cookie = None

        def accept(reply):
            if reply.sequence != self.attempt:
                return False
            if reply.type == Type.CHALLENGE:
                self.cookie = reply.cookie
                self._send(message(), self.port)
                return False
            if reply.type != Type.OPENED:
                return False
            return reply.result != Result.BUSY  # busy: the same attempt again, later

        def message():
            return wire.encode_open(self.session, self.attempt, self.cookie, held_stamp)

        reply = self._call(message, accept)
        if reply.result == Result.COMMITTED:
            self.facts = reply.facts
            self.stamp = reply.stamp
            self.map_epoch = reply.map_epoch
        return reply

    def _call(self, message, accept):
        """Sends a session message until a reply is accepted. Everything else that arrives is handled as usual."""
        end = self.clock() + self.timeout
        pause = OPEN_RETRY_S
        while self.clock() < end:
            self._send(message(), self.port)
            until = min(end, self.clock() + pause)
            while (reply := self._receive(until)) is not None:
                if reply.type != Type.EXECUTED and accept(reply):
                    return reply
                if reply.type == Type.EXECUTED:
                    self._on_executed(reply, may_reopen=False)
            pause = min(2 * pause, 1.0)
        raise NoAnswer(f"{self.address}:{self.port} does not answer within {self.timeout} s")

    # ---- transactions ---------------------------------------------------------------------------
    def execute(self, *operations, **options):
        """One transaction: its Reply, whatever the result. Options as in submit()."""
        return self.wait(self.submit(*operations, **options))

    def submit(self, *operations, shard=None, timeout=None, retry_busy=True):
        """Sends a transaction; answers its sequence. `shard`: only to name a wrong one in tests."""
        if self.facts is None:
            self.open()
        while self.next_sequence - self.watermark() >= self.facts.window:  # [9]: stay inside the window
            self._step(self.clock() + RETRANSMIT_MAX_S)
        if shard is None:
            shard = wire.shard_of(operations[0].key, self.facts.shard_count)
        deadline = self.clock() + (self.timeout if timeout is None else timeout)
        request = Request(self.next_sequence, shard, operations, deadline)
        request.retries_busy = retry_busy
        self.next_sequence += 1
        self.in_flight[request.sequence] = request
        self._send_request(request)
        return request.sequence

    def wait(self, sequence):
        while sequence not in self.finished:
            self._step(self.clock() + RETRANSMIT_MAX_S)
        return self.finished.pop(sequence).reply

    def watermark(self):
        """The lowest sequence whose answer is still wanted."""
        return min(self.in_flight, default=self.next_sequence)

    def encode(self, request):
        lag = request.sequence - min(self.watermark(), request.sequence)
        return wire.encode_execute(self.session, request.sequence, self.stamp, lag, request.shard, request.operations)

    def port_of(self, shard):
        return self.facts.base_port + shard % self.facts.worker_count

    def _send_request(self, request):
        request.stamp = self.stamp
        request.sends += 1
        self.statistics["sent"] += 1
        self.statistics["retransmitted"] += request.sends > 1
        request.resend_at = self.clock() + request.backoff_s
        request.backoff_s = min(2 * request.backoff_s, RETRANSMIT_MAX_S)
        self._send(self.encode(request), self.port_of(request.shard))

    def _step(self, until):
        """Retransmissions and deadlines that are due, then at most one message."""
        now = self.clock()
        for request in list(self.in_flight.values()):
            if request.deadline <= now:
                result = Result.UNKNOWN_OUTCOME if request.writes else Result.BUSY
                self._settle(request, self._own_reply(request, result))
                return
            if request.resend_at <= now:
                self._send_request(request)
            until = min(until, request.resend_at, request.deadline)
        reply = self._receive(until)
        if reply is not None and reply.type == Type.EXECUTED:
            self._on_executed(reply, may_reopen=True)

    def _on_executed(self, reply, may_reopen):
        request = self.in_flight.get(reply.sequence)
        if request is None or reply.session != self.session:
            self.statistics["ignored"] += 1
            return
        if reply.result == Result.BAD_SESSION:
            if may_reopen and request.stamp == self.stamp:
                self.reopen()
            return
        # [9]: COMMITTED always counts; an abort or refusal only under the newest stamp.
        if reply.result in NEVER_SETTLES or (reply.result != Result.COMMITTED and reply.stamp != request.stamp):
            self.statistics["ignored"] += 1
            return
        if reply.result in RETRIED and request.retries_busy:
            return  # sent again when its pause is over
        self._settle(request, reply)

    def _settle(self, request, reply):
        request.reply = reply
        del self.in_flight[request.sequence]
        self.finished[request.sequence] = request

    def _own_reply(self, request, result):
        return wire.Reply(wire.VERSION, Type.EXECUTED, result, self.session, request.sequence, request.stamp,
                          request.shard, 0, 0)

    # ---- the socket -----------------------------------------------------------------------------
    def _send(self, message, port):
        try:
            self.socket.sendto(message, (self.address, port))
        except OSError:
            pass  # as good as lost: it is sent again

    def _receive(self, until):
        """One well-formed reply of this session, or None at `until`."""
        while (left := until - self.clock()) > 0:
            self.socket.settimeout(left)
            try:
                data, source = self.socket.recvfrom(65535)
            except (TimeoutError, ConnectionRefusedError):
                continue
            if source[0] != self.address:
                continue
            try:
                reply = wire.decode_reply(data)
            except wire.MalformedReply:
                self.statistics["malformed"] += 1
                continue
            if reply.session == self.session:
                return reply
        return None

    def exchange(self, message, port=None, timeout=1.0):
        """Tests: sends raw bytes on this session's socket; the first datagram that comes back, decoded, or None."""
        self.drain()
        self._send(message, self.port if port is None else port)
        self.socket.settimeout(timeout)
        try:
            return wire.decode_reply(self.socket.recv(65535))
        except TimeoutError:
            return None

    def drain(self):
        """Tests: throws away what has arrived."""
        self.socket.settimeout(0)
        try:
            while True:
                self.socket.recv(65535)
        except BlockingIOError:
            pass
