# SPDX-License-Identifier: BSD-3-Clause
"""One run of txgen and what it says of itself (pktgen/report/result.proto; 64-bit numbers are strings in its JSON)."""
import itertools
import os

from .harness import Failure, read_json

EXIT_CHECK_FAILED = 1
EXIT_CANNOT_START = 3
EXIT_NODE_SILENT = 4
# A live line of a phase that is no loading or survey.
RUNNING = r"^\[ *\d+ s\] .* tx/s"
NUMBERS = itertools.count(1)


class Run:
    """Starts txgen at once. Settings are its options (records=10 is --records 10), and those of Scene.generator."""

    def __init__(self, scene, workload, verify=None, echo=None, **settings):
        number = next(NUMBERS)
        self.workload = workload
        self.verify = verify  # a ledger: no run, no result file
        self.result_file = None if verify else scene.path(f"run-{number}.json")
        self.process = scene.generator(workload, verify=verify, json=self.result_file, progress=True, echo=echo,
                                       name=f"generator-{number}", **settings)
        self.result = None

    # ---- while it runs
    def wait_started(self, timeout=120):
        """The run itself has begun: transactions are being acknowledged."""
        self.process.wait_line(RUNNING, timeout)

    # ---- how it ends
    def finish(self, timeout):
        code = self.process.wait(timeout)
        if self.result_file and os.path.exists(self.result_file):
            self.result = read_json(self.result_file)
        return code

    def expect_exit(self, codes=(0,), timeout=120):
        code = self.finish(timeout)
        if code not in codes:
            raise Failure(f"{self.workload}: txgen ended with {code}, expected {codes}\n{self.process.tail()}")
        return code

    def expect_good(self, timeout=120):
        """It ended by itself, every check passed, and something was done."""
        self.expect_exit((0,), timeout)
        if self.verify:
            if not self.process.find(r"^verify: .* holds"):
                raise Failure(f"{self.workload}: nothing was verified\n{self.process.tail()}")
            return
        if self.result is None:
            raise Failure(f"{self.workload}: no result file\n{self.process.tail()}")
        for name in ("sums", "check"):
            check = self.result.get(name, {})
            if check.get("made") and not check.get("passed"):
                raise Failure(f"{self.workload}: {name} failed: {check.get('text')}\n{self.process.tail()}")
        if self.executed == 0 and not self.check_made:
            raise Failure(f"{self.workload}: nothing was executed\n{self.process.tail()}")

    def expect_node_lost(self, timeout=60):
        """The node was killed: the run gave up; its books are right all the same."""
        return self.expect_exit((EXIT_NODE_SILENT, EXIT_CANNOT_START), timeout)

    # ---- figures, of the measured time
    def number(self, name, group=None):
        entry = self.result or {}
        if group:
            entry = entry.get(group) or {}
        value = entry.get(name, 0)
        return float(value) if isinstance(value, float) else int(value)

    executed = property(lambda self: self.number("executed"))
    committed = property(lambda self: self.number("committed"))
    aborted = property(lambda self: self.number("aborted"))
    refused = property(lambda self: self.number("refused"))
    unknown = property(lambda self: self.number("unknown"))
    sent = property(lambda self: self.number("sent"))
    retransmissions = property(lambda self: self.number("retransmissions"))
    throughput = property(lambda self: float(self.number("throughput_per_second")))
    goodput = property(lambda self: float(self.number("goodput_per_second")))
    p50_us = property(lambda self: self.number("p50_ns", "latency") / 1000)
    p99_us = property(lambda self: self.number("p99_ns", "latency") / 1000)
    p999_us = property(lambda self: self.number("p99_9_ns", "latency") / 1000)
    check_made = property(lambda self: bool((self.result or {}).get("check", {}).get("made")))
    check_text = property(lambda self: (self.result or {}).get("check", {}).get("text", ""))

    @property
    def unknown_in_all(self):
        """Also behind the measured time, where those end that the node's death leaves open."""
        match = self.process.find(r"\+ unknown ([\d,]+) \(")
        return int(match[1].replace(",", "")) if match else self.unknown

    @property
    def conflicts_per_second(self):
        """Aborts that are no business outcome."""
        seconds = float(self.number("seconds"))
        causes = (self.result or {}).get("by_result", {})
        count = sum(int(causes.get(cause, 0)) for cause in ("CONFLICT", "CHECK_FAILED", "LOCKED"))
        return count / seconds if seconds else 0.0

    @property
    def sent_rate(self):
        """Open loop: arrivals a second that the generator really made."""
        seconds = float(self.number("seconds"))
        return self.number("arrivals", "open_loop") / seconds if seconds else 0.0

    def describe(self):
        if self.result is None:
            return "no result"
        text = (f"{self.throughput:,.0f}/s, {self.committed:,} committed, {self.aborted:,} aborted, "
                f"{self.unknown:,} unknown, p50 {self.p50_us:,.0f} us, p99 {self.p99_us:,.0f} us")
        return f"{text}; {self.check_text}" if self.check_made else text


def find_values(entry, name):
    """Every value under a key, wherever it stands in the JSON."""
    if isinstance(entry, dict):
        for key, value in entry.items():
            if key == name:
                yield value
            yield from find_values(value, name)
    elif isinstance(entry, list):
        for value in entry:
            yield from find_values(value, name)


def node_counter(statistics, name):
    """The sum of a counter over everything that txnode --json tells."""
    return sum(int(value) for value in find_values(statistics, name) if not isinstance(value, (dict, list)))
