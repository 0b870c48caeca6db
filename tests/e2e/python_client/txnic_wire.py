# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the txnic protocol, version 1, written from docs/PROTOCOL.md alone.

Numbers in brackets are its sections."""

import enum
import struct
from dataclasses import dataclass, field

MAGIC = 0x5854
VERSION = 1
BASE_PORT_DEFAULT = 7700
MESSAGE_BYTES_MAX = 1472
OPERATIONS_MAX = 64
KEY_BYTES_MAX = 64
VALUE_BYTES_MAX = 1024
SEQUENCE_MAX = 2**48 - 1
NO_SHARD = 0xFFFF

# magic, version, type, length, operation_count, result, session, sequence, stamp, watermark_lag, shard, flags, detail,
# map_epoch, view_epoch, fragment_index, fragment_count [2]
HEADER = struct.Struct("<HBBHBBQQQIHBBIHBB")
OPERATION = struct.Struct("<BBHHH")  # code, key_length, table, value_length, flags [4.1]
VALUE = struct.Struct("<QHBBI")  # version, value_length, operation, present, reserved [4.3]
OPENED_BODY = struct.Struct("<HHHHIIBB14x")  # [3.3]
assert HEADER.size == 48 and OPERATION.size == 8 and VALUE.size == 16 and OPENED_BODY.size == 32

MASK = 2**64 - 1


class Type(enum.IntEnum):
    OPEN = 1
    CHALLENGE = 2
    OPENED = 3
    CLOSE = 4
    CLOSED = 5
    EXECUTE = 6
    EXECUTED = 7
    ECHO = 8
    ECHOED = 9


REPLY_TYPES = (Type.CHALLENGE, Type.OPENED, Type.CLOSED, Type.EXECUTED, Type.ECHOED)


class Code(enum.IntEnum):
    GET = 1
    PUT = 2
    INSERT = 3
    DELETE = 4
    ADD = 5
    CHECK = 6


EXPECT_VERSION = 0x1
EXPECT_ABSENT = 0x2
HAS_FLOOR = 0x4
READ_SET = 0x8

FLAG_DUPLICATE = 0x02
FLAG_REPLAY = 0x04


class Result(enum.IntEnum):
    COMMITTED = 0
    CONFLICT = 1
    CHECK_FAILED = 2
    EXISTS = 3
    NOT_FOUND = 4
    BELOW_FLOOR = 5
    LOCKED = 16
    TOO_LARGE = 17
    BUSY = 18
    WRONG_SHARD = 19
    UNKNOWN_TABLE = 20
    BAD_SESSION = 21
    OLD_SEQUENCE = 22
    UNKNOWN_OUTCOME = 23
    CROSS_SHARD = 24
    BAD_REQUEST = 25
    BAD_VERSION = 26


class Busy(enum.IntEnum):
    MEMORY = 1
    LOG_FULL = 2
    WINDOW = 3
    SESSIONS = 4
    HELD_REPLIES = 5
    NOT_READY = 6


class BadSession(enum.IntEnum):
    UNKNOWN = 1
    OLD_STAMP = 2
    WRONG_ADDRESS = 3


class BadRequest(enum.IntEnum):
    """The numbers of section 13."""

    SHORT = 1
    MAGIC = 2
    LENGTH = 3
    TYPE = 4
    VERSION = 8
    RESERVED = 9
    OPERATION_COUNT = 10
    OPERATION_CUT = 11
    OPERATION_CODE = 12
    KEY_LENGTH = 13
    VALUE_LENGTH = 14
    OPERATION_FLAGS = 15
    TRAILING_BYTES = 16
    BODY_LENGTH = 17
    SESSION_ZERO = 18


def result_of(number):
    """A Result, or the plain number where a node newer than this client sent one [16]."""
    try:
        return Result(number)
    except ValueError:
        return number


# ---- shards [7] ---------------------------------------------------------------------------------
def mix(x):
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & MASK
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def hash_key(key):
    h = len(key) * 0x9E3779B97F4A7C15 & MASK
    for at in range(0, len(key), 8):
        h = mix(h ^ int.from_bytes(key[at : at + 8], "little"))
    return h


def shard_of(key, shard_count):
    return (hash_key(key) >> 32) * shard_count >> 32


# ---- requests -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Operation:
    code: int
    table: int
    key: bytes
    value: bytes = b""
    flags: int = 0
    expected: int = 0  # with EXPECT_VERSION, and always in CHECK

    def encode(self):
        head = OPERATION.pack(self.code, len(self.key), self.table, len(self.value), self.flags)
        has_version = self.code == Code.CHECK or self.flags & EXPECT_VERSION
        return head + (struct.pack("<Q", self.expected) if has_version else b"") + self.key + self.value

    @property
    def writes(self):
        return Code.PUT <= self.code <= Code.ADD


def _expect(flags, expected, absent):
    if expected is None:
        return flags, 0
    return flags | EXPECT_VERSION | (EXPECT_ABSENT if absent else 0), expected


def get(table, key):
    return Operation(Code.GET, table, key)


def put(table, key, value, expected=None, absent=False):
    flags, expected = _expect(0, expected, absent)
    return Operation(Code.PUT, table, key, value, flags, expected)


def insert(table, key, value):
    return Operation(Code.INSERT, table, key, value)


def delete(table, key, expected=None):
    flags, expected = _expect(0, expected, False)
    return Operation(Code.DELETE, table, key, b"", flags, expected)


def add(table, key, delta, floor=None, expected=None):
    flags, expected = _expect(0 if floor is None else HAS_FLOOR, expected, False)
    value = struct.pack("<q", delta) + (b"" if floor is None else struct.pack("<q", floor))
    return Operation(Code.ADD, table, key, value, flags, expected)


def check(table, key, expected, absent=False, read_set=False):
    flags = (EXPECT_ABSENT if absent else 0) | (READ_SET if read_set else 0)
    return Operation(Code.CHECK, table, key, b"", flags, expected)


def encode_header(type, session=0, sequence=0, stamp=0, *, length=48, operation_count=0, result=0, watermark_lag=0,
                  shard=0, flags=0, detail=0, map_epoch=0, view_epoch=0, fragment_index=0, fragment_count=0,
                  magic=MAGIC, version=VERSION):
    return HEADER.pack(magic, version, type, length, operation_count, result, session, sequence, stamp, watermark_lag,
                       shard, flags, detail, map_epoch, view_epoch, fragment_index, fragment_count)


def encode_open(session, attempt, cookie=None, held_stamp=0):
    return encode_header(Type.OPEN, session, attempt, held_stamp, length=96, shard=NO_SHARD) + (
        cookie if cookie is not None else bytes(16)
    ) + bytes(32)


def encode_close(session, stamp, sequence=1):
    return encode_header(Type.CLOSE, session, sequence, stamp, shard=NO_SHARD)


def encode_execute(session, sequence, stamp, watermark_lag, shard, operations, **header_fields):
    body = b"".join(operation.encode() for operation in operations)
    fields = {"length": 48 + len(body), "operation_count": len(operations), **header_fields}
    fields = {"watermark_lag": watermark_lag, "shard": shard, **fields}
    return encode_header(Type.EXECUTE, session, sequence, stamp, **fields) + body


def encode_echo(body=b""):
    return encode_header(Type.ECHO, length=48 + len(body)) + body


# ---- replies ------------------------------------------------------------------------------------
class MalformedReply(Exception):
    pass


@dataclass(frozen=True)
class Value:
    operation: int
    present: bool
    version: int
    data: bytes

    @property
    def number(self):
        return struct.unpack("<q", self.data)[0]


@dataclass(frozen=True)
class NodeFacts:
    """The body of OPENED."""

    shard_count: int
    worker_count: int
    base_port: int
    window: int
    idle_expiry_seconds: int
    window_survived: bool
    durability: int


@dataclass
class Reply:
    version: int
    type: Type
    result: int
    session: int
    sequence: int
    stamp: int
    shard: int
    flags: int
    detail: int
    watermark_lag: int = 0
    commit_version: int = 0
    values: list = field(default_factory=list)
    cookie: bytes = b""
    facts: NodeFacts = None
    body: bytes = b""

    @property
    def duplicate(self):
        return bool(self.flags & FLAG_DUPLICATE)

    @property
    def committed(self):
        return self.result == Result.COMMITTED

    def value(self, operation):
        """The value that answers the request's operation with this index."""
        return next(value for value in self.values if value.operation == operation)


def _decode_values(body, count):
    if not body:
        if count:
            raise MalformedReply("values without a body")
        return 0, []
    if len(body) < 8:
        raise MalformedReply("EXECUTED of a wrong length")
    (commit_version,) = struct.unpack_from("<Q", body)
    at, values, last = 8, [], -1
    for _ in range(count):
        if at + VALUE.size > len(body):
            raise MalformedReply("a value is cut")
        version, length, operation, present, _reserved = VALUE.unpack_from(body, at)
        at += VALUE.size
        if length > VALUE_BYTES_MAX or at + length > len(body):
            raise MalformedReply("a value reaches beyond the message")
        if not last < operation < OPERATIONS_MAX:
            raise MalformedReply("operation indexes out of order")
        last = operation
        values.append(Value(operation, present != 0, version, body[at : at + length]))
        at += length
    if at != len(body):
        raise MalformedReply("bytes behind the last value")
    return commit_version, values


def decode_reply(data):
    if len(data) < HEADER.size or len(data) > MESSAGE_BYTES_MAX:
        raise MalformedReply("length of the datagram")
    (magic, version, type, length, count, result, session, sequence, stamp, lag, shard, flags, detail, _map_epoch,
     _view_epoch, _fragment_index, _fragment_count) = HEADER.unpack_from(data)
    if magic != MAGIC or length != len(data):
        raise MalformedReply("magic or length")
    if version != VERSION and result != Result.BAD_VERSION:
        raise MalformedReply("version")
    if type not in REPLY_TYPES:
        raise MalformedReply("not a reply")
    reply = Reply(version, Type(type), result_of(result), session, sequence, stamp, shard, flags, detail, lag)
    body = data[HEADER.size :]
    if type == Type.CHALLENGE:
        if len(body) != 16:
            raise MalformedReply("CHALLENGE of a wrong length")
        reply.cookie = body
    elif type == Type.OPENED and result == Result.COMMITTED:
        if len(body) != OPENED_BODY.size:
            raise MalformedReply("OPENED of a wrong length")
        shards, workers, port, _reserved, window, expiry, survived, durability = OPENED_BODY.unpack(body)
        reply.facts = NodeFacts(shards, workers, port, window, expiry, survived != 0, durability)
    elif type == Type.EXECUTED:
        if count > OPERATIONS_MAX:
            raise MalformedReply("too many values")
        reply.commit_version, reply.values = _decode_values(body, count)
    elif type == Type.ECHOED:
        reply.body = body
    elif body:
        raise MalformedReply("a body where none belongs")
    return reply
