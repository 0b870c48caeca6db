# SPDX-License-Identifier: BSD-3-Clause
"""rmw2 in mode sync against the same in mode none, and its p99 beside the disk's own fdatasync."""
import os
import statistics
import time

import rows
import scenes
from rows import Trials, progress

# As many requests in flight as it takes to keep a disk busy; the same in both modes.
WINDOW = 4096
SEGMENT_MIB = 1024  # one holds a whole run, the next is prepared before it begins: in the long run segments are reused
SYNCS = 300
BLOCK = 4096


def fdatasync_p50_us(folder):
    """The median of a 4 KiB overwrite with fdatasync, in a preallocated file on the log's own disk."""
    path = os.path.join(folder, "fdatasync.probe")
    with open(path, "wb", buffering=0) as file:
        file.write(b"\0" * (BLOCK * SYNCS))
        os.fsync(file.fileno())
        times = []
        for number in range(SYNCS):
            begin = time.perf_counter_ns()
            os.pwrite(file.fileno(), bytes([number % 255 + 1]) * BLOCK, number * BLOCK)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter_ns() - begin) / 1000)
    os.unlink(path)
    return statistics.median(times)


def wait_prepared(folder):
    """Until the segment behind the first one has been made (its head is written last)."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready = 0
        for entry in os.scandir(folder):
            if entry.stat().st_size == SEGMENT_MIB << 20:
                with open(entry.path, "rb") as file:
                    ready += file.read(8) != bytes(8)
        if ready >= 2:
            return
        time.sleep(0.05)
    progress("durable: the second log segment was not ready after 60 s")


def trial(options, durability):
    with scenes.scene(options) as place:
        sync_us = fdatasync_p50_us(place.disk)
        log = place.log() if durability != "none" else None
        node = scenes.node(place, scenes.config(place, checkpoint=4096, segment=SEGMENT_MIB), durability, log)
        if log:
            wait_prepared(log)
        run = scenes.run(place, "rmw2", options.seconds, window=WINDOW)
        run.expect_good()
        node.stop()
        run.facts = scenes.facts(place, run)
        return run, sync_us


def main(options):
    scenes.warn_about_cpus()
    figures = {"none": Trials(), "sync": Trials()}
    p99 = {"none": Trials(), "sync": Trials()}
    disk = Trials()
    for number in range(options.trials):
        for durability in ("none", "sync") if number % 2 == 0 else ("sync", "none"):
            run, sync_us = trial(options, durability)
            figures[durability].add(run.throughput)
            p99[durability].add(run.p99_us)
            disk.add(sync_us)
            progress(f"durable trial {number + 1}/{options.trials} {durability}: {run.throughput:,.0f}/s, "
                     f"p99 {run.p99_us:,.0f} us, fdatasync p50 {sync_us:,.0f} us")
    rows.row("durable", figures["sync"], "transactions/s", "rmw2 in mode none", figures["none"], target=0.4,
             **run.facts)
    rows.row("durable_p99", p99["sync"], "us", "fdatasync of 4 KiB, p50", disk, none_p99_us=p99["none"].median,
             **run.facts)
