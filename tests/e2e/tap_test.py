#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The node on a net_tap, seen by a kernel host: ARP, ping, and the Python client that knows docs/PROTOCOL.md only:
every operation, every result that can be reached, bad input of each kind, and exactly-once over a kill -9."""
import collections
import random
import socket
import struct
import subprocess

from lib.harness import Failure, check, main, run, wait_until
from lib.results import Run
from tap_rig import (HOST, INTERFACE, NODE, SESSIONS, SMALL_CAPACITY, SMALL_TABLE, STATIC_SESSION, TABLE, TABLE_B,
                     WINDOW, WORKERS, check_reply, check_result, check_sums, ended, keys_of_shard, malformed,
                     raw_exchange, results, rig, wire)
from txnic_wire import BadSession, Busy, Result, Type, add, check as check_version, delete, get, insert, put


def number(value):
    return struct.pack("<q", value)


class Wire:
    """A packet socket on the tap."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((INTERFACE, 0))
        self.mac = ":".join(f"{byte:02x}" for byte in self.socket.getsockname()[4])

    def send(self, frame):
        self.socket.send(bytes(frame))


def resolve(interface_mac):
    """Asks who has the node's address; its MAC."""
    from scapy.all import ARP, Ether
    own = Wire()
    own.socket.settimeout(1)
    question = Ether(src=interface_mac, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=interface_mac, psrc=HOST, pdst=NODE)
    for _ in range(5):
        own.send(question)
        try:
            for _ in range(50):
                frame = Ether(own.socket.recv(2048))
                if ARP in frame and frame[ARP].op == 2 and frame[ARP].psrc == NODE:
                    check(frame[ARP].pdst == HOST, f"the ARP answer is for {frame[ARP].pdst}")
                    return frame[ARP].hwsrc
        except TimeoutError:
            continue
    raise Failure("no ARP answer")


def reachable():
    with rig() as node:
        for size in (0, 56, 1472):
            done = subprocess.run(["ping", "-c", "3", "-i", "0.2", "-W", "2", "-s", str(size), NODE],
                                  capture_output=True, text=True, check=False)
            check(done.returncode == 0 and " 0% packet loss" in done.stdout, f"ping -s {size}: {done.stdout}")
        own = Wire()
        resolve(own.mac)
        for size in (0, 1, 1424):
            data = bytes(size)
            for worker in range(WORKERS):
                answer = raw_exchange(wire.encode_echo(data), 7700 + worker)
                check(answer is not None and wire.decode_reply(answer).body == data, f"echo of {size} bytes")
        statistics = node.stop()
        check(ended(statistics, "icmp_answered") == 9, "not every ping was counted")
        check(ended(statistics, "arp_answered") >= 1, "ARP was not counted")
        check(int(statistics["engine"]["front"]["echoes"]) == 3 * WORKERS, "not every echo was counted")
        check_sums(statistics)


def operations():
    """Each operation and each business result, in every shard."""
    with rig() as node, node.client() as client:
        facts = client.facts
        check((facts.shard_count, facts.worker_count, facts.base_port, facts.window) == (4, WORKERS, 7700, WINDOW),
              f"{facts}")
        check(not facts.window_survived and facts.durability == 0 and facts.idle_expiry_seconds == 300, f"{facts}")
        for shard in range(facts.shard_count):
            key, other = keys_of_shard(shard, 2)
            one_shard(client, key, other)
        for key in (b"k", b"1234567", b"123456789", bytes(64)):
            client.execute(put(TABLE, key, key * 3))
            check(client.execute(get(TABLE, key)).value(0).data == key * 3, f"key of {len(key)} bytes")
        check_sums(node.stop())


def one_shard(client, key, other):
    absent = client.execute(get(TABLE, key)).value(0)
    check(not absent.present and absent.version != 0 and absent.data == b"", f"{absent}")
    check_result("DELETE of nothing", client.execute(get(TABLE, key), delete(TABLE, key)), Result.NOT_FOUND, 1)
    check_result("ADD to nothing", client.execute(add(TABLE, key, 1)), Result.NOT_FOUND, 0)
    check_result("CHECK of nothing", client.execute(check_version(TABLE, key, 1)), Result.CHECK_FAILED, 0)
    done = client.execute(check_version(TABLE, key, absent.version, absent=True))
    check_result("CHECK that it is absent", done, Result.COMMITTED)
    done = client.execute(put(TABLE, key, b"first", absent.version, absent=True))
    check_result("PUT where nothing was", done, Result.COMMITTED)
    first = client.execute(get(TABLE, key)).value(0)
    check(first.data == b"first" and first.version == done.commit_version != 0, f"{first}, {done}")
    again = client.execute(put(TABLE, key, b"second", absent.version, absent=True))
    check_result("PUT where something is by now", again, Result.CONFLICT, 0)
    check_result("INSERT of a present key", client.execute(insert(TABLE, key, b"x")), Result.EXISTS, 0)
    check_result("the same key in another table", client.execute(insert(TABLE_B, key, b"x")), Result.COMMITTED)
    check_result("PUT of a version", client.execute(put(TABLE, key, b"2", first.version)), Result.COMMITTED)
    check_result("PUT of an old version", client.execute(put(TABLE, key, b"3", first.version)), Result.CONFLICT, 0)
    check_result("a stale read set",
                 client.execute(put(TABLE_B, key, b"y"), check_version(TABLE, key, first.version, read_set=True)),
                 Result.CONFLICT, 1)
    check_result("a stale CHECK",
                 client.execute(put(TABLE_B, key, b"y"), check_version(TABLE, key, first.version)),
                 Result.CHECK_FAILED, 1)
    check(client.execute(get(TABLE_B, key)).value(0).data == b"x", "an abort left something behind")

    # ADD, floors, sizes.
    check_result("ADD to one byte", client.execute(add(TABLE, key, 1)), Result.TOO_LARGE, 0)
    client.execute(put(TABLE, key, number(100)))
    done = client.execute(add(TABLE, key, -30, floor=0))
    check(done.value(0).number == 70 and done.value(0).version == done.commit_version, f"{done}")
    check_result("ADD below the floor", client.execute(add(TABLE, key, -71, floor=0)), Result.BELOW_FLOOR, 0)
    check(client.execute(add(TABLE, key, -70, floor=0)).value(0).number == 0, "the floor itself is allowed")
    check(client.execute(add(TABLE, key, -5)).value(0).number == -5, "without a floor below zero")
    client.execute(put(TABLE, key, number(2**63 - 1)))
    check_result("ADD that overflows", client.execute(add(TABLE, key, 1)), Result.TOO_LARGE, 0)

    # One transaction may name a key twice, read what it wrote, and check what was before.
    before = client.execute(get(TABLE, key), get(TABLE, other))
    done = client.execute(
        put(TABLE, key, number(5)), add(TABLE, key, 2), get(TABLE, key), delete(TABLE, key), get(TABLE, key),
        insert(TABLE, key, number(1)), add(TABLE, key, 1), get(TABLE, other),
        check_version(TABLE, key, before.value(0).version))
    check_result("one key many times", done, Result.COMMITTED)
    check([value.operation for value in done.values] == [1, 2, 4, 6, 7], f"{done.values}")
    check([value.number for value in done.values if value.present] == [7, 7, 2], f"{done.values}")
    check(not done.value(4).present and not done.value(7).present, f"{done.values}")
    check(all(done.value(i).version == done.commit_version for i in (1, 2, 4, 6)), f"{done.values}")
    check(done.value(7).version == before.value(1).version, "a key that was only read keeps its version")
    check(client.execute(get(TABLE, key)).value(0).version == done.commit_version, "the record's version")
    done = client.execute(delete(TABLE, key, done.commit_version), delete(TABLE_B, key))
    check_result("DELETE", done, Result.COMMITTED)
    check(client.execute(get(TABLE, key)).value(0).version >= done.commit_version, "deletes have versions")

    # Values up to the limits.
    for size in (0, 1, 1023, 1024):
        client.execute(put(TABLE, key, bytes(size)))
        check(len(client.execute(get(TABLE, key)).value(0).data) == size, f"value of {size} bytes")
    client.execute(put(TABLE, other, bytes(1024)))
    check_result("a reply that does not fit", client.execute(get(TABLE, key), get(TABLE, other)), Result.TOO_LARGE)
    done = client.execute(put(TABLE_B, key, b"z"), get(TABLE, key), get(TABLE, other))
    check_result("a reply that does not fit, with a write", done, Result.TOO_LARGE)
    check(not client.execute(get(TABLE_B, key)).value(0).present, "nothing happens before TOO_LARGE")
    many = client.execute(*[get(TABLE_B, key)] * 64)
    check(len(many.values) == 64, "64 operations")
    client.execute(delete(TABLE, key), delete(TABLE, other))


def sessions():
    """Opening, limits, duplicates, the window, closing, static sessions."""
    with rig() as node:
        client = node.client()
        unproven(client)
        client.open()
        key = keys_of_shard(0, 1)[0]
        duplicates(client, key)
        window(client, key)
        opening_again(client, key)

        others = [node.client() for _ in range(SESSIONS)]
        opened = []
        for other in others:
            other.timeout = 1.0
            message = other_open(other)
            if message.result == Result.COMMITTED:
                opened.append(other)
            else:
                check_reply("too many sessions", message, Type.OPENED, Result.BUSY, Busy.SESSIONS)
        check(len(opened) < SESSIONS, "the session table has no limit")
        check_result("the others go on", client.execute(get(TABLE, key)), Result.COMMITTED)
        for other in opened:
            check(other.close() == Result.COMMITTED, "CLOSE")
        check(opened[0].close() == Result.BAD_SESSION, "CLOSE again")
        late = wire.encode_execute(opened[0].session, 1, opened[0].stamp, 0, 0, [put(TABLE, key, b"late")])
        check_result("after CLOSE", opened[0].exchange(late), Result.BAD_SESSION, BadSession.UNKNOWN)
        with node.client() as newcomer:
            check_result("there is room again", newcomer.execute(get(TABLE, key)), Result.COMMITTED)

        static_session(client, key)
        full_table(client)
        check_sums(node.stop())


def other_open(client):
    """OPEN by hand: OPENED, whatever it says."""
    challenge = client.exchange(wire.encode_open(client.session, 1))
    check_reply("OPEN", challenge, Type.CHALLENGE, Result.COMMITTED)
    reply = client.exchange(wire.encode_open(client.session, 1, challenge.cookie))
    client.stamp = reply.stamp
    return reply


def unproven(client):
    """Nothing that an address without a cookie sends gets a longer answer."""
    for message in (wire.encode_open(client.session, 1), wire.encode_open(client.session, 1, bytes(range(16))),
                    wire.encode_close(client.session, 5),
                    wire.encode_execute(client.session, 1, 5, 0, 0, [get(TABLE, keys_of_shard(0, 1)[0])])):
        answer = raw_exchange(message)
        check(answer is not None and len(answer) <= len(message), f"{len(message)} bytes get {len(answer or b'')}")
    # A cookie is good for its own address only.
    challenge = client.exchange(wire.encode_open(client.session, 1))
    stolen = wire.decode_reply(raw_exchange(wire.encode_open(client.session, 1, challenge.cookie)))
    check(stolen.type == Type.CHALLENGE, "another port's cookie was accepted")


def duplicates(client, key):
    sequence = client.next_sequence
    request = wire.encode_execute(client.session, sequence, client.stamp, 0, 0, [put(TABLE, key, number(0))])
    check_result("first", client.exchange(request), Result.COMMITTED)
    client.next_sequence += 1
    sequence = client.next_sequence
    client.next_sequence += 1
    request = wire.encode_execute(client.session, sequence, client.stamp, 0, 0, [add(TABLE, key, 1)])
    first = client.exchange(request)
    check(first.value(0).number == 1 and not first.duplicate, f"{first}")
    for worker in range(WORKERS):  # at the wrong worker too
        second = client.exchange(request, 7700 + worker)
        check(second.duplicate and second.committed and second.values == [], f"{second}")
        check(second.commit_version == first.commit_version, f"{first.commit_version} {second.commit_version}")
    check(client.execute(get(TABLE, key)).value(0).number == 1, "executed twice")
    # An abort that was told stays one, although it would succeed now.
    sequence = client.next_sequence
    client.next_sequence += 1
    request = wire.encode_execute(client.session, sequence, client.stamp, 0, 0, [add(TABLE, key, -5, floor=0)])
    check_result("below the floor", client.exchange(request), Result.BELOW_FLOOR)
    later = wire.encode_execute(client.session, client.next_sequence, client.stamp, 1, 0, [add(TABLE, key, 100)])
    check_result("meanwhile", client.exchange(later), Result.COMMITTED)
    client.next_sequence += 1
    again = client.exchange(request)
    check_result("the same again", again, Result.BELOW_FLOOR, 0)
    check(again.duplicate, "without the flag")
    foreign = wire.decode_reply(raw_exchange(request))
    check_result("from another port", foreign, Result.BAD_SESSION, BadSession.WRONG_ADDRESS)


def window(client, key):
    base = client.next_sequence

    def send(sequence, watermark):
        return client.exchange(wire.encode_execute(client.session, sequence, client.stamp, sequence - watermark, 0,
                                                   [add(TABLE, key, 1)]))
    check_result("the first of the window", send(base, base), Result.COMMITTED)
    check_result("the last of the window", send(base + WINDOW - 1, base), Result.COMMITTED)
    check_result("one further", send(base + WINDOW, base), Result.BUSY, Busy.WINDOW)
    check_result("after the watermark moved", send(base + WINDOW, base + 1), Result.COMMITTED)
    check_result("below the watermark", send(base, base), Result.OLD_SEQUENCE, 0)
    check_result("not used before", send(base + 1, base + 1), Result.COMMITTED)
    client.next_sequence = base + WINDOW + 1
    # A crowd in flight, answered in any order.
    before = client.execute(get(TABLE, key)).value(0).number
    sequences = [client.submit(add(TABLE, key, 1)) for _ in range(3 * WINDOW)]
    sums = [client.wait(sequence).value(0).number for sequence in sequences]
    check(sorted(sums) == list(range(before + 1, before + 3 * WINDOW + 1)), f"{sums}")


def opening_again(client, key):
    old_stamp = client.stamp
    check(client.keep_alive() and client.stamp == old_stamp, "the same attempt gets another stamp")
    client.reopen()
    check(client.stamp != old_stamp and client.facts.window_survived, "opened again")
    late = wire.encode_execute(client.session, client.next_sequence, old_stamp, 0, 0, [put(TABLE, key, b"late")])
    reply = client.exchange(late)
    check_result("an old stamp", reply, Result.BAD_SESSION, BadSession.OLD_STAMP)
    check(reply.stamp == client.stamp >> 32 << 32, "the refusal names the incarnation")
    stale = client.exchange(wire.encode_open(client.session, client.attempt - 1, client.cookie, old_stamp), timeout=0.5)
    check(stale is None, f"an attempt from before is answered by {stale}")
    stranger = wire.encode_open(client.session ^ 1, 1, None, 77)
    cookie = client.exchange(stranger).cookie
    lost = client.exchange(wire.encode_open(client.session ^ 1, 1, cookie, 77))
    check_reply("a window that nobody knows", lost, Type.OPENED, Result.BAD_SESSION, BadSession.UNKNOWN)


def static_session(client, key):
    client.execute(put(TABLE, key, number(0)))
    for _ in range(3):
        request = wire.encode_execute(STATIC_SESSION, 1, 12345, 0, 0, [add(TABLE, key, 1)])
        reply = wire.decode_reply(raw_exchange(request))
        check(reply.committed and reply.flags == wire.FLAG_REPLAY, f"{reply}")
    check(client.execute(get(TABLE, key)).value(0).number == 3, "each copy is executed")
    challenge = client.exchange(wire.encode_open(STATIC_SESSION, 1))
    reply = client.exchange(wire.encode_open(STATIC_SESSION, 1, challenge.cookie))
    check_reply("OPEN of a static session", reply, Type.OPENED, Result.BAD_SESSION, BadSession.WRONG_ADDRESS)


def full_table(client):
    """A table's capacity is the whole node's, and reaching it is an answer; deletes make room."""
    keys = keys_of_shard(0, 4 * SMALL_CAPACITY)
    refused = None
    for key in keys:
        reply = client.execute(insert(SMALL_TABLE, key, b"x"), retry_busy=False)
        if reply.result != Result.COMMITTED:
            refused = reply
            break
    check_result("a full table", refused, Result.BUSY, Busy.MEMORY)
    check_result("reads go on", client.execute(get(SMALL_TABLE, keys[0])), Result.COMMITTED)
    check_result("deletes go on", client.execute(delete(SMALL_TABLE, keys[0])), Result.COMMITTED)
    check_result("there is room", client.execute(insert(SMALL_TABLE, keys[-1], b"x")), Result.COMMITTED)


def bad_messages():
    from tap_rows import SILENT, message_rows
    with rig() as node, node.client() as client:
        key = keys_of_shard(0, 1)[0]
        client.execute(put(TABLE, key, b"untouched"))
        expected = collections.Counter()
        for description, message, answer, counter in message_rows(client.session, client.next_sequence, client.stamp,
                                                                  WINDOW):
            for worker in range(WORKERS):
                reply = client.exchange(message, 7700 + worker, timeout=0.3 if answer is SILENT else 2)
                if answer is SILENT:
                    check(reply is None, f"{description}: answered by {reply}")
                else:
                    check_reply(description, reply, *answer)
                expected[counter] += 1
        check(client.execute(get(TABLE, key)).value(0).data == b"untouched", "bad input changed a record")
        check_result("the session lives", client.execute(put(TABLE, key, b"v")), Result.COMMITTED)
        statistics = node.stop()
        for (group, name), count in expected.items():
            seen = {"ended": ended, "malformed": malformed, "results": results}[group](statistics, name)
            check(seen == count, f"{group}.{name}: {seen}, expected {count}")
        check_sums(statistics)


def bad_frames():
    from tap_rows import frame_rows
    with rig() as node:
        own = Wire()
        # The kernel must be willing to send what is too long for the protocol.
        run(["ip", "link", "set", INTERFACE, "mtu", "1600"])
        rows = frame_rows(own.mac, resolve(own.mac))
        expected = collections.Counter()
        for _description, frames, name, count in rows:
            for frame in frames:
                own.send(frame)
            expected[name] += count
        for size in (wire.MESSAGE_BYTES_MAX + 1, 1560):
            header = wire.encode_header(Type.EXECUTE, 5, 1, 1, length=size, operation_count=1)
            check(raw_exchange(header + bytes(size - 48), timeout=0.3) is None, f"{size} bytes are answered")
            expected["txn_bad_length"] += 1
        check(raw_exchange(wire.encode_echo(b"alive")) is not None, "the node does not answer any more")
        statistics = node.stop()
        for name, count in expected.items():
            check(ended(statistics, name) == count, f"{name}: {ended(statistics, name)}, expected {count}")
        check_sums(statistics)


def mutated(random, data):
    data = bytearray(data)
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(data))
        change = random.randrange(4)
        if change == 0:
            data[at] ^= 1 << random.randrange(8)
        elif change == 1:
            data[at] = random.randrange(256)
        elif change == 2 and at:
            del data[at:]
        else:
            data[at:at] = random.randbytes(random.randrange(1, 9))
    if len(data) > 6 and random.randrange(4):  # a length that lies would hide all the rest
        data[4:6] = struct.pack("<H", len(data))
    return bytes(data)


def fuzzed():
    """Changed messages and frames by the thousand: each ends in a named counter, and the node lives."""
    from scapy.all import IP, UDP, Ether, Raw
    source = random.Random(20)
    with rig() as node, node.client() as client:
        key = keys_of_shard(0, 1)[0]
        own = Wire()
        node_mac = resolve(own.mac)
        seeds = [wire.encode_open(client.session, 1), wire.encode_echo(b"x"), wire.encode_close(5, 5),
                 wire.encode_execute(client.session, 5, client.stamp, 0, 0,
                                     [put(TABLE, key, b"v"), add(TABLE_B, key, 1, floor=0), get(TABLE, key)]),
                 wire.encode_execute(STATIC_SESSION, 5, 1, 0, 0, [put(TABLE, key, b"v", 5), delete(TABLE, key)])]
        headers = Ether(src=own.mac, dst=node_mac) / IP(src=HOST, dst=NODE) / UDP(sport=9, dport=7700)
        frames = [bytes(headers / Raw(seed)) for seed in seeds]
        for number_ in range(2500):
            client.socket.sendto(mutated(source, source.choice(seeds)), (NODE, 7700 + number_ % WORKERS))
            own.send(mutated(source, source.choice(frames))[:1500].ljust(20, b"\0"))
            if number_ % 64 == 0:  # no faster than it takes them, or the kernel would drop most
                check(client.exchange(wire.encode_echo(b"sync"), timeout=5) is not None, "the node does not answer")
        check_result("the session lives", node.client().execute(get(TABLE, key)), Result.COMMITTED)
        statistics = node.stop()
        check_sums(statistics)
        seen = sum(count > 0 for count in statistics["dataplane"]["ended"].values())
        check(seen >= 15 and int(statistics["dataplane"]["received"]) >= 2500, f"too little was reached: {statistics}")


def restart_keeps_answers():
    """Sync: what was committed before a kill -9 is there after it, and its duplicate gets the same answer."""
    with rig("sync") as node, node.client(timeout=30.0) as client:
        check(client.facts.durability == 2, f"{client.facts}")
        keys = [keys_of_shard(shard, 1)[0] for shard in range(4)]
        requests, answers = [], []
        for key in keys:
            client.execute(put(TABLE, key, number(10)))
        base = client.next_sequence
        for index, key in enumerate(keys):
            request = (base + index, index, [add(TABLE, key, 1)])
            requests.append(request)
            answers.append(client.exchange(wire.encode_execute(client.session, request[0], client.stamp, index,
                                                               request[1], request[2])))
            check(answers[-1].value(0).number == 11, f"{answers[-1]}")
        abort = (base + 4, 0, [add(TABLE, keys[0], -100, floor=0)])
        client.next_sequence = base + 5
        old_stamp = client.stamp
        node.node.kill()
        node.start()

        late = wire.encode_execute(client.session, base, old_stamp, 0, 0, requests[0][2])
        reply = None
        wait_until(lambda: ask(client, late) is not None, 20, "an answer after the restart")
        reply = ask(client, late)
        check_result("a copy from before the restart", reply, Result.BAD_SESSION, BadSession.OLD_STAMP)
        client.reopen()
        check(client.facts.window_survived and client.stamp >> 32 != old_stamp >> 32, f"{client.facts}")
        for request, answer in zip(requests, answers):
            again = client.exchange(wire.encode_execute(client.session, request[0], client.stamp, request[0] - base,
                                                        request[1], request[2]))
            check(again.committed and again.duplicate, f"{again}")
            check(again.commit_version == answer.commit_version, f"{again.commit_version} {answer.commit_version}")
        fresh = client.exchange(wire.encode_execute(client.session, abort[0], client.stamp, 4, abort[1], abort[2]))
        check_result("not sent before the kill", fresh, Result.BELOW_FLOOR, 0)
        for key in keys:
            check(client.execute(get(TABLE, key)).value(0).number == 11, "executed twice, or lost")
        new = client.execute(put(TABLE, keys[0], number(1)))
        check(new.commit_version not in [answer.commit_version for answer in answers], "a version came twice")
        check_sums(node.stop())


def ask(client, message):
    """exchange(), also while the tap is on its way back."""
    try:
        return client.exchange(message, timeout=0.5)
    except OSError:
        return None


def restart_without_log():
    """None: everything is lost, and a client learns that: an unknown outcome, never an abort."""
    with rig() as node, node.client(timeout=30.0) as client:
        key = keys_of_shard(0, 1)[0]
        client.execute(put(TABLE, key, b"lost"))
        node.node.kill()
        sequence = client.submit(put(TABLE, key, b"in flight"))
        node.start()
        check_result("in flight over a restart", client.wait(sequence), Result.UNKNOWN_OUTCOME)
        check(not client.execute(get(TABLE, key)).value(0).present, "executed after it was given up")
        check_result("the session goes on", client.execute(put(TABLE, key, b"new")), Result.COMMITTED)
        check(client.statistics["windows_lost"] == 1, f"{client.statistics}")
        check_sums(node.stop())


def generator_over_sockets():
    """txgen without DPDK: the client machine over the kernel's UDP sockets, every increment counted."""
    with rig() as node:
        generator = Run(node.scene, "counter", devices=[], transport="socket", node=NODE, address=HOST, records=500,
                        window=32, transactions=5000, namespace=node.namespace, idle="sleep")
        generator.expect_good()
        check(generator.check_made and generator.committed > 0, f"nothing was counted: {generator.check_text}")
        statistics = node.stop()
        check(results(statistics, "committed") >= generator.committed, "the node committed less than was acknowledged")
        check_sums(statistics)


if __name__ == "__main__":
    main(reachable, operations, sessions, bad_messages, bad_frames, fuzzed, generator_over_sockets,
         restart_keeps_answers, restart_without_log)
