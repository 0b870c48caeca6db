# SPDX-License-Identifier: BSD-3-Clause
"""Bad input as rows: messages for the node's UDP ports (docs/PROTOCOL.md, section 13), frames for its Ethernet port."""
import struct

from scapy.all import ARP, ICMP, IP, TCP, UDP, Dot1Q, Ether, IPv6, Raw, fragment
from tap_rig import HOST, NODE, NO_TABLE, SHARDS, TABLE, keys_of_shard, wire
from txnic_wire import BadRequest, BadSession, Busy, Result, Type, get, put

SILENT = None
BROADCAST = "ff:ff:ff:ff:ff:ff"


def message_rows(session, sequence, stamp, window):
    """(description, message, answer (type, result, detail) or SILENT, counter (group, name))."""
    key, other = keys_of_shard(0, 1)[0], keys_of_shard(1, 1)[0]

    def execute(*operations, **fields):
        fields = {"session": session, "sequence": sequence, "stamp": stamp, "watermark_lag": 0, "shard": 0, **fields}
        first = [fields.pop(name) for name in ("session", "sequence", "stamp", "watermark_lag", "shard")]
        return wire.encode_execute(*first, operations, **fields)

    good = execute(put(TABLE, key, b"bad input"))

    def body(data, count=1):
        return wire.encode_header(Type.EXECUTE, session, sequence, stamp, length=48 + len(data),
                                  operation_count=count) + data

    def operation(code, key_length, value_length, flags, rest):
        return body(wire.OPERATION.pack(code, key_length, TABLE, value_length, flags) + rest)

    def bad(reason, group="malformed"):
        return (Type.EXECUTED, Result.BAD_REQUEST, reason), (group, reason.name.lower())

    def refused(result, detail=0):
        return (Type.EXECUTED, result, detail), ("results", result.name.lower())

    def silent(name):
        return SILENT, ("ended", name)

    lying = good[:4] + struct.pack("<H", len(good) + 1) + good[6:]
    header_only = {"length": 48, "operation_count": 0}
    return [(row[0], row[1], *row[2]) for row in [
        ("nothing", b"", silent("txn_short")),
        ("one byte", b"T", silent("txn_short")),
        ("truncated header", good[:47], silent("txn_short")),
        ("truncated message", good[:-1], silent("txn_bad_length")),
        ("a length that lies", lying, silent("txn_bad_length")),
        ("wrong magic", b"XT" + good[2:], silent("txn_bad_magic")),
        ("unknown type", good[:3] + b"\xc8" + good[4:], silent("txn_bad_type")),
        ("a type that only nodes send", good[:3] + bytes([Type.EXECUTED]) + good[4:], silent("txn_bad_type")),
        ("wrong version", execute(version=2), refused(Result.BAD_VERSION)),
        ("reserved: authentication", execute(get(TABLE, key), flags=1), bad(BadRequest.RESERVED)),
        ("reserved: fragments", execute(get(TABLE, key), fragment_count=2), bad(BadRequest.RESERVED)),
        ("reserved: view epoch", execute(get(TABLE, key), view_epoch=1), bad(BadRequest.RESERVED)),
        ("session 0", execute(get(TABLE, key), session=0), bad(BadRequest.SESSION_ZERO)),
        ("sequence 0", execute(get(TABLE, key), sequence=0), bad(BadRequest.SESSION_ZERO)),
        ("zero operations", execute(**header_only), bad(BadRequest.OPERATION_COUNT)),
        ("65 operations", execute(*[get(TABLE, b"k")] * 65), bad(BadRequest.OPERATION_COUNT)),
        ("operation beyond the message", operation(Type.OPEN, 64, 0, 0, b"k"), bad(BadRequest.OPERATION_CUT)),
        ("value beyond the message", operation(2, 1, 1000, 0, b"k"), bad(BadRequest.OPERATION_CUT)),
        ("operation code 0", operation(0, 1, 0, 0, b"k"), bad(BadRequest.OPERATION_CODE)),
        ("operation code 7", operation(7, 1, 0, 0, b"k"), bad(BadRequest.OPERATION_CODE)),
        ("empty key", operation(1, 0, 0, 0, b""), bad(BadRequest.KEY_LENGTH)),
        ("key of 65 bytes", operation(1, 65, 0, 0, bytes(65)), bad(BadRequest.KEY_LENGTH)),
        ("value of 1025 bytes", operation(2, 1, 1025, 0, bytes(1026)), bad(BadRequest.VALUE_LENGTH)),
        ("unknown flag", operation(1, 1, 0, 0x80, b"k"), bad(BadRequest.OPERATION_FLAGS)),
        ("bytes behind the operations", body(execute(get(TABLE, key))[48:] + b"x"), bad(BadRequest.TRAILING_BYTES)),
        ("CLOSE with a body", wire.encode_close(session, stamp)[:4] + b"\x31\0" + bytes(2) +
         wire.encode_close(session, stamp)[8:] + b"x",
         ((Type.CLOSED, Result.BAD_REQUEST, BadRequest.BODY_LENGTH), ("malformed", "body_length"))),
        ("OPEN without its padding", wire.encode_header(Type.OPEN, session, 1, length=64, shard=0xFFFF) + bytes(16),
         ((Type.OPENED, Result.BAD_REQUEST, BadRequest.BODY_LENGTH), ("malformed", "body_length"))),
        ("unknown session", execute(put(TABLE, key, b""), session=session ^ 1),
         refused(Result.BAD_SESSION, BadSession.UNKNOWN)),
        ("old incarnation", execute(put(TABLE, key, b""), stamp=stamp ^ 1 << 32),
         refused(Result.BAD_SESSION, BadSession.OLD_STAMP)),
        ("old opening", execute(put(TABLE, key, b""), stamp=stamp ^ 1 << 20),
         refused(Result.BAD_SESSION, BadSession.OLD_STAMP)),
        ("no such shard", execute(put(TABLE, key, b""), shard=SHARDS), refused(Result.WRONG_SHARD)),
        ("the shard of nobody", execute(put(TABLE, key, b""), shard=0xFFFF), refused(Result.WRONG_SHARD)),
        ("another shard's field", execute(put(TABLE, key, b""), shard=1), refused(Result.CROSS_SHARD, 0)),
        ("keys of two shards", execute(put(TABLE, key, b""), put(TABLE, other, b"")), refused(Result.CROSS_SHARD, 1)),
        ("unknown table", execute(get(TABLE, key), put(NO_TABLE, key, b"")), refused(Result.UNKNOWN_TABLE, 1)),
        ("beyond the window", execute(put(TABLE, key, b""), sequence=sequence + window, watermark_lag=window),
         refused(Result.BUSY, Busy.WINDOW)),
        ("beyond all sequences", execute(put(TABLE, key, b""), sequence=2**48), refused(Result.BUSY, Busy.WINDOW)),
    ]]


def frame_rows(host_mac, node_mac):
    """(description, frames, name of the counter that ends them, how many)."""
    ether = Ether(src=host_mac, dst=node_mac)
    ip = IP(src=HOST, dst=NODE)
    message = wire.encode_echo(b"x" * 100)

    def udp(**fields):
        return UDP(**{"sport": 5000, "dport": 7700, **fields})

    def changed(at, data, packet=None):
        """A good frame with bytes overwritten after the checksums were computed."""
        frame = bytes(packet or ether / ip / udp() / Raw(message))
        return frame[:at] + data + frame[at + len(data):]

    whole = ip / udp() / Raw(bytes(1000))
    pieces = [ether / piece for piece in fragment(whole, fragsize=400)]
    arp = Ether(src=host_mac, dst=BROADCAST) / ARP(hwsrc=host_mac, psrc=HOST, pdst="10.99.0.77")
    return [
        ("VLAN", [ether / Dot1Q(vlan=5) / ip / udp() / Raw(message)], "vlan", 1),
        ("VLAN in VLAN", [Ether(src=host_mac, dst=node_mac, type=0x88A8) / Dot1Q(vlan=5) / ip / udp() / Raw(message)],
         "vlan", 1),
        ("IPv6", [ether / IPv6(src="fe80::1", dst="fe80::2") / udp() / Raw(message)], "ipv6", 1),
        ("unknown Ethertype", [Ether(src=host_mac, dst=node_mac, type=0x88B5) / Raw(bytes(60))], "other_ethertype", 1),
        ("IP options", [ether / IP(src=HOST, dst=NODE, options=[("NOP")] * 4) / udp() / Raw(message)], "ip_options", 1),
        ("IP fragments", pieces, "ip_fragment", len(pieces)),
        ("IP version 5", [changed(14, b"\x55")], "ip_version", 1),
        ("IP header of 16 bytes", [changed(14, b"\x44")], "ip_version", 1),
        ("IP longer than the frame", [ether / IP(src=HOST, dst=NODE, len=1400) / udp() / Raw(message)], "truncated", 1),
        ("IP shorter than its header", [ether / IP(src=HOST, dst=NODE, len=10) / udp() / Raw(message)], "ip_length", 1),
        ("UDP longer than its packet", [ether / ip / udp(len=1000) / Raw(message)], "udp_length", 1),
        ("UDP shorter than its header", [ether / ip / udp(len=4) / Raw(message)], "udp_length", 1),
        ("another address", [ether / IP(src=HOST, dst="10.99.0.3") / udp() / Raw(message)], "other_address", 1),
        ("another port", [ether / ip / udp(dport=7700 + 999) / Raw(message)], "other_port", 1),
        ("TCP", [ether / ip / TCP(dport=7700)], "not_udp", 1),
        ("ICMP that is no echo", [ether / ip / ICMP(type=13)], "icmp_other", 1),
        ("ARP for another address", [arp], "arp_other", 1),
        ("cut in the IP header", [bytes(ether / ip)[:30]], "truncated", 1),
        ("cut in ARP", [bytes(arp)[:30]], "truncated", 1),
    ]
