# SPDX-License-Identifier: BSD-3-Clause
"""How fast a node recovers a log of several million transactions over several shards, the page cache dropped first; the
disk's own sequential read rate of the same files beside it."""
import os
import time

import rows
import scenes
from lib.harness import Failure
from rows import Trials, progress

RECORDS_MIN = 4_000_000
FILL_SECONDS_MAX = 60
SHARDS = 8
READ_BYTES = 4 << 20


def drop_cache(folder):
    """From the page cache: the whole machine's as root, else these files' (clean pages only)."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("1")
        return
    except OSError:
        pass
    for entry in os.scandir(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read_rate(folder):
    """Bytes a second of reading every file of the folder once, from begin to end, after dropping the cache."""
    drop_cache(folder)
    total, begin = 0, time.perf_counter()
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        descriptor = os.open(entry.path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        while True:
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                break
            total += len(piece)
        os.close(descriptor)
    return total / (time.perf_counter() - begin)


def fill(place, config, log):
    """Writes at least RECORDS_MIN transactions to the log, then kills the node: no clean stop, no checkpoint."""
    node = scenes.node(place, config, "sync", log)
    written, begin = 0, time.monotonic()
    while written < RECORDS_MIN:
        if time.monotonic() - begin > FILL_SECONDS_MAX:
            progress(f"only {written:,} records after {FILL_SECONDS_MAX} s of filling; going on with these")
            break
        run = scenes.run(place, "rmw2", 5, no_load=written > 0)
        run.expect_good()
        written += run.committed
        progress(f"filling: {written:,} of {RECORDS_MIN:,} records")
    node.kill()
    return written


RECOVERED = r"txnic: recovery: (\d+) records, .* in ([\d.]+) s\b"


def recover(place, config, log):
    """(records, seconds) as the node tells them."""
    begin = time.monotonic()
    node = scenes.node(place, config, "sync", log)
    ready = time.monotonic() - begin
    match = node.find(RECOVERED)
    if not match:
        raise Failure(f"the node does not tell its recovery\n{node.tail()}")
    progress(f"{match[0]} (ready after {ready:.2f} s)")
    node.kill()
    return int(match[1]), float(match[2])


def main(options):
    rate, disk, megabytes = Trials(), Trials(), Trials()
    with scenes.scene(options) as place:
        config = scenes.config(place, shards=SHARDS, checkpoint=0)
        log = place.log()
        fill(place, config, log)
        size = sum(entry.stat().st_size for entry in os.scandir(log))
        for number in range(options.trials):
            disk.add(read_rate(log) / 1e6)
            drop_cache(log)
            records, seconds = recover(place, config, log)
            rate.add(records / seconds)
            megabytes.add(size / 1e6 / seconds)
            progress(f"recovery trial {number + 1}/{options.trials}: {records / seconds:,.0f} records/s")
    rows.row("recovery", rate, "records/s", shards=SHARDS, records=records, target=2_000_000)
    rows.row("recovery_bytes", megabytes, "MB/s", "sequential read of the same files", disk)
