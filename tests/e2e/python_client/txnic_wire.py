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
PARTICIPANTS_MAX = 16
NODES_MAX = 32
SHARDS_MAX = 1024
WORKERS_MAX = 64
KEY_BYTES_MAX = 64
VALUE_BYTES_MAX = 1024
SEQUENCE_MAX = 2**48 - 1
NO_SHARD = 0xFFFF

# magic, version, type, length, operation_count, result, session, sequence, stamp, watermark_lag, shard, flags, detail,
# map_epoch, view_epoch, fragment_index, fragment_count [2]
HEADER = struct.Struct("<HBBHBBQQQIHBBIHBB")
OPERATION = struct.Struct("<BBHHH")  # code, key_length, table, value_length, flags [4.1]
VALUE = struct.Struct("<QHBBB3x")  # version, value_length, operation, present, participant [4.3]
OPENED_BODY = struct.Struct("<HHHHIIBB14x")  # [3.3]
PARTICIPANTS = struct.Struct("<BBB5x")  # count, sender, vote [18.1]
MAPPED_BODY = struct.Struct("<IHH8x")  # epoch, node_count, shard_count [19]
MAPPED_NODE = struct.Struct("<IHH")  # address, base_port, workers
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
    PREPARE = 10
    PREPARED = 11
    MAP = 12
    MAPPED = 13


REPLY_TYPES = (Type.CHALLENGE, Type.OPENED, Type.CLOSED, Type.EXECUTED, Type.ECHOED, Type.PREPARED, Type.MAPPED)


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
FLAG_DECIDED = 0x08


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
    PARTICIPANTS = 19


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


def encode_participants(shards):
    body = PARTICIPANTS.pack(len(shards), 0, 0) + b"".join(struct.pack("<H", shard) for shard in shards)
    return body + bytes(-len(body) % 8)


def encode_prepare(session, sequence, stamp, watermark_lag, shard, map_epoch, participants, operations):
    """One participant's part; `operations` are all of `shard` [18.2]."""
    body = encode_participants(participants) + b"".join(operation.encode() for operation in operations)
    return encode_header(Type.PREPARE, session, sequence, stamp, length=48 + len(body),
                         operation_count=len(operations), watermark_lag=watermark_lag, shard=shard,
                         map_epoch=map_epoch) + body


def encode_map(session, stamp, sequence=1):
    return encode_header(Type.MAP, session, sequence, stamp, shard=NO_SHARD)


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
    participant: int = 0

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


@dataclass(frozen=True)
class MapNode:
    address: str
    base_port: int
    workers: int


@dataclass(frozen=True)
class ShardMap:
    """The body of MAPPED [19]."""

    epoch: int
    nodes: tuple
    node_of: tuple  # of each shard: its node's place

    def port_of(self, shard):
        place = self.node_of[shard]
        node = self.nodes[place]
        return node.base_port + self.node_of[:shard].count(place) % node.workers


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
    map_epoch: int = 0
    versions: list = field(default_factory=list)  # PREPARED: each participant's commit version
    map: ShardMap = None

    @property
    def decided(self):
        return bool(self.flags & FLAG_DECIDED)

    @property
    def duplicate(self):
        return bool(self.flags & FLAG_DUPLICATE)

    @property
    def committed(self):
        return self.result == Result.COMMITTED

    def value(self, operation):
        """The value that answers the request's operation with this index."""
        return next(value for value in self.values if value.operation == operation)


def _decode_values(body, at, count, participants=1):
    values, last = [], (0, -1)
    for _ in range(count):
        if at + VALUE.size > len(body):
            raise MalformedReply("a value is cut")
        version, length, operation, present, participant = VALUE.unpack_from(body, at)
        at += VALUE.size
        if length > VALUE_BYTES_MAX or at + length > len(body):
            raise MalformedReply("a value reaches beyond the message")
        if participants == 1:
            participant = 0
        if operation >= OPERATIONS_MAX or participant >= participants or (participant, operation) <= last:
            raise MalformedReply("operation indexes out of order")
        last = (participant, operation)
        values.append(Value(operation, present != 0, version, body[at : at + length], participant))
        at += length
    if at != len(body):
        raise MalformedReply("bytes behind the last value")
    return values


def _decode_executed(body, count):
    if not body:
        if count:
            raise MalformedReply("values without a body")
        return 0, []
    if len(body) < 8:
        raise MalformedReply("EXECUTED of a wrong length")
    return struct.unpack_from("<Q", body)[0], _decode_values(body, 8, count)


def _decode_prepared(reply, body, count):
    """Only what is decided and committed has a body [18.2]. Answers versions and values."""
    if not body:
        if count:
            raise MalformedReply("values without a body")
        return [], []
    if not reply.decided or not reply.committed or len(body) < PARTICIPANTS.size:
        raise MalformedReply("PREPARED with a body that it may not have")
    participants, _sender, _vote = PARTICIPANTS.unpack_from(body)
    at = PARTICIPANTS.size + (participants * 2 + 7) // 8 * 8
    end = at + participants * 8
    if not 2 <= participants <= PARTICIPANTS_MAX or end > len(body):
        raise MalformedReply("participants")
    if any(body[3:8]) or any(body[PARTICIPANTS.size + participants * 2 : at]):
        raise MalformedReply("reserved bytes of the participants")
    versions = list(struct.unpack_from(f"<{participants}Q", body, at))
    return versions, _decode_values(body, end, count, participants)


def _decode_map(body):
    if len(body) < MAPPED_BODY.size:
        raise MalformedReply("MAPPED is cut")
    epoch, node_count, shard_count = MAPPED_BODY.unpack_from(body)
    shards_at = MAPPED_BODY.size + node_count * MAPPED_NODE.size
    if not (1 <= node_count <= NODES_MAX and 1 <= shard_count <= SHARDS_MAX) or len(body) != shards_at + shard_count:
        raise MalformedReply("MAPPED of a wrong length")
    nodes = []
    for at in range(MAPPED_BODY.size, shards_at, MAPPED_NODE.size):
        address, port, workers = MAPPED_NODE.unpack_from(body, at)
        if not 1 <= workers <= WORKERS_MAX or not 0 < port <= 65536 - workers:
            raise MalformedReply("a node's ports")
        nodes.append(MapNode(".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0)), port, workers))
    if max(body[shards_at:]) >= node_count:
        raise MalformedReply("a shard of no node")
    return ShardMap(epoch, tuple(nodes), tuple(body[shards_at:]))


def decode_reply(data):
    if len(data) < HEADER.size or len(data) > MESSAGE_BYTES_MAX:
        raise MalformedReply("length of the datagram")
    (magic, version, type, length, count, result, session, sequence, stamp, lag, shard, flags, detail, map_epoch,
     _view_epoch, _fragment_index, _fragment_count) = HEADER.unpack_from(data)
    if magic != MAGIC or length != len(data):
        raise MalformedReply("magic or length")
    if version != VERSION and result != Result.BAD_VERSION:
        raise MalformedReply("version")
    if type not in REPLY_TYPES:
        raise MalformedReply("not a reply")
    reply = Reply(version, Type(type), result_of(result), session, sequence, stamp, shard, flags, detail, lag,
                  map_epoch=map_epoch)
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
        reply.commit_version, reply.values = _decode_executed(body, count)
    elif type == Type.PREPARED:
        if count > OPERATIONS_MAX:
            raise MalformedReply("too many values")
        reply.versions, reply.values = _decode_prepared(reply, body, count)
    elif type == Type.MAPPED and result == Result.COMMITTED:
        reply.map = _decode_map(body)
    elif type == Type.ECHOED:
        reply.body = body
    elif body:
        raise MalformedReply("a body where none belongs")
    return reply
