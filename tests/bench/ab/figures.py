# SPDX-License-Identifier: BSD-3-Clause
"""Every figure of a trial: its unit, what it says, and how it follows from what the processes told (a row of trial.py).

A figure that the processes do not give is None and is left out: nothing is estimated."""
import math

from .histogram import Histogram


class Figure:
    def __init__(self, name, unit, title, says, value, less_is_better=True, needs_equal_rate=False, whole=None):
        self.name = name
        self.unit = unit
        self.title = title
        self.says = says
        self.value = value
        self.less_is_better = less_is_better
        self.needs_equal_rate = needs_equal_rate  # depends on batch sizes, so only comparable at equal committed rates
        self.whole = whole  # of several trials together, where that is no mean: merged histograms


def ratio(over, under):
    return over / under if over is not None and under else None


def client(name):
    return lambda row: row["client"].get(name)


def per_second(name):
    return lambda row: ratio(row["client"].get(name), row["client"].get("seconds"))


def node(name):
    """Within the snapshots' interval, a committed transaction of the node."""
    return lambda row: ratio(row["node"].get(name), row["node"].get("committed"))


def per(name, under):
    return lambda row: ratio(row["node"].get(name), row["node"].get(under))


def merged(rows):
    """The latency histogram of several trials."""
    out = Histogram()
    for row in rows:
        out.merge(Histogram.from_json(row["client"].get("latency_cells")))
    return out


def latency(percent):
    def of_row(row):
        return of_rows([row])

    def of_rows(rows):
        return in_us(merged(rows).quantile(percent))
    return {"value": of_row, "whole": of_rows}


def in_us(nanoseconds):
    return None if nanoseconds is None else nanoseconds / 1000


def host_ns(row):
    """Busy polls of the workers, and what the node's other threads and the kernel's log workers ran."""
    busy, other = row["node"].get("busy_ns"), row["node"].get("other_threads_ns")
    return None if busy is None else busy - (row["node"].get("emulated_ns") or 0) + (other or 0)


def host_cycles(row):
    nanoseconds, hertz = host_ns(row), row["machine"].get("tsc_hz")
    return None if nanoseconds is None or not hertz else nanoseconds * hertz / 1e9


def idle_share(row):
    busy, idle = row["node"].get("busy_ns"), row["node"].get("idle_ns")
    return None if busy is None or idle is None or busy + idle == 0 else 100 * idle / (busy + idle)


ALL = [
    Figure("committed", "/s", "committed transactions", "transactions a second that committed, told by the client",
           per_second("committed"), less_is_better=False),
    Figure("goodput", "/s", "goodput", "transactions a second that committed and did their work",
           client("goodput_per_second"), less_is_better=False),
    Figure("p50", "us", "latency p50", "from the intended send to the answer; histograms of the trials merged",
           **latency(50)),
    Figure("p99", "us", "latency p99", "the same; needs a thousand samples", **latency(99)),
    Figure("p99.9", "us", "latency p99.9", "the same; needs a hundred thousand samples", **latency(99.9)),
    Figure("p99.99", "us", "latency p99.99", "the same; needs a million samples", **latency(99.99)),
    Figure("host_busy_ns", "ns", "host time a committed transaction",
           "polls of the host's workers that did work, and kernel time of log writes; idle polls not counted",
           lambda row: ratio(host_ns(row), row["node"].get("committed")), needs_equal_rate=True),
    Figure("host_busy_cycles", "cycles", "host TSC cycles a committed transaction", "the same time in ticks of the TSC",
           lambda row: ratio(host_cycles(row), row["node"].get("committed")), needs_equal_rate=True),
    Figure("log_kernel_ns", "ns", "log threads' time a committed transaction",
           "run time of the node's threads that are no workers: keeper, writer, io_uring's", node("other_threads_ns"),
           needs_equal_rate=True),
    Figure("idle_share", "%", "idle polls", "share of the workers' time in polls that found nothing", idle_share,
           less_is_better=False, needs_equal_rate=True),
    Figure("packets_busy_poll", "packets", "packets a busy poll", "how much work a poll that did some found",
           per("received", "busy_steps"), less_is_better=False, needs_equal_rate=True),
    Figure("packets", "packets", "packets a transaction",
           "received and sent by the node's ports, a committed transaction", node("packets")),
    Figure("round_trips", "", "round trips a transaction", "requests of the client, a transaction that ended",
           lambda row: ratio(row["client"].get("requests"), row["client"].get("executed"))),
    Figure("log_bytes", "bytes", "log bytes a transaction", "bytes of log records, a committed transaction",
           node("log_record_bytes")),
    Figure("log_written_bytes", "bytes", "bytes written to the log a transaction", "the same with padding and heads",
           node("log_written_bytes")),
    Figure("aborted", "/s", "aborts", "transactions a second that aborted, business outcomes included",
           per_second("aborted")),
]
FIGURES = {figure.name: figure for figure in ALL}


def stage_shares(rows):
    """stage -> (share of the workers' time, its standard error), from samples of all trials; {} without samples."""
    sums = {}
    for row in rows:
        for name, value in (row["node"].get("stages") or {}).items():
            sums[name] = sums.get(name, 0) + value
    total = sum(sums.values())
    return {name: (value / total, math.sqrt(value / total * (1 - value / total) / total))
            for name, value in sums.items()} if total else {}
