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
    """Busy polls of the workers, and what the node's other threads and the kernel's log workers ran. With placement NIC
    of the back's turns only: the rest of the worker is the SmartNIC's."""
    counters = row["node"]
    busy, other = counters.get("busy_ns"), counters.get("other_threads_ns")
    if is_offloaded(row):
        busy = counters.get("back_busy_ns")
    elif busy is not None:
        busy -= counters.get("emulated_ns") or 0
    return None if busy is None else busy + (other or 0)


def is_offloaded(row):
    return bool(row["node"].get("link_frames_front"))


def soc_ns(row):
    """What the SmartNIC's core was busy for, slowed down as its profile says. None with placement HOST."""
    counters = row["node"]
    return counters["busy_ns"] - counters["back_busy_ns"] if is_offloaded(row) else None


def all_ns(row):
    host, soc = host_ns(row), soc_ns(row)
    return host if soc is None or host is None else host + soc


def link(name):
    """Both directions, a committed transaction."""
    def of_row(row):
        counters = row["node"]
        if not is_offloaded(row):
            return None
        return ratio(counters[f"link_{name}_front"] + counters[f"link_{name}_back"], counters.get("committed"))
    return of_row


def cache_hits(row):
    hits, misses = row["node"].get("cache_hits"), row["node"].get("cache_misses")
    return None if not is_offloaded(row) or not hits else 100 * hits / (hits + (misses or 0))


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
    Figure("soc_busy_ns", "ns", "SmartNIC core's time a committed transaction",
           "EMULATED: busy polls of the front, made as long as the profile says; placement NIC only",
           lambda row: ratio(soc_ns(row), row["node"].get("committed")), needs_equal_rate=True),
    Figure("all_busy_ns", "ns", "time of all cores a committed transaction",
           "the host's and the SmartNIC's (EMULATED) together",
           lambda row: ratio(all_ns(row), row["node"].get("committed")), needs_equal_rate=True),
    Figure("link_frames", "frames", "host-link frames a transaction", "sent by both ends, a committed transaction",
           link("frames"), needs_equal_rate=True),
    Figure("link_bytes", "bytes", "host-link bytes a transaction", "the same in bytes of frames", link("bytes"),
           needs_equal_rate=True),
    Figure("link_questions", "", "keys asked of the host a transaction", "each is one crossing of the link",
           node("link_questions")),
    Figure("cache_hits", "%", "cache hits", "keys that were beside the front, of all that transactions named",
           cache_hits, less_is_better=False),
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
