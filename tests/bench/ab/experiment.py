# SPDX-License-Identifier: BSD-3-Clause
"""Reads an experiment (configs/ab.proto) and checks what the schema cannot say. Every error names file and line."""
import hashlib
import os
import re

from .figures import FIGURES
from .message import FormatError, Schema, line_of

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
PROTO = "configs/ab.proto"
EXPERIMENT = "txnic.ab.Experiment"
NODE = "txnic.config.Node"
RATE_MAX = 1e8
SECONDS_MAX = 600
BLOCKS_MAX = 1000
POINTS_MAX = 50  # loads of a sweep, workloads, and sides B
WORKLOADS = re.compile(r"get|(put|rmw)[1-9]\d?|ycsb-[abcf]|smallbank|tatp|retwis|append|cycle")
# Tables that a workload needs, of so many records each, and shards; capacity is a multiple of the workload's records.
TABLES = {"smallbank": ((2, "savings", 1, 8), (3, "checking", 1, 8)),
          "tatp": ((11, "subscriber", 1, 40), (12, "sec_subscriber", 1, 8), (13, "access_info", 3, 16),
                   (14, "special_facility", 3, 8), (15, "call_forwarding", 6, 16))}
MICRO_TABLE = ((1, "micro", 1, 40),)
LOG_DEFAULTS = "log { segment_mib: 64 }\n"


class Arm:
    """One of the things that are measured by turns: A, A' (the same settings), and each B."""

    def __init__(self, key, side, name, node_data):
        self.key = key
        self.side = side
        self.name = name
        self.node_data = node_data  # encoded txnic.config.Node: the base with the side's own settings over it


class Experiment:
    """The message as `settings`, and what follows from it: `arms`, `hash`, the node's configuration of each arm."""

    def __init__(self, schema, settings, path, text):
        self.schema = schema
        self.settings = settings
        self.path = path
        self.text = text
        self.trials = settings.trials or schema.empty("txnic.ab.Trials")
        self.limits = settings.limits or schema.empty("txnic.ab.Limits")
        self.load = settings.load
        self.hash = hashlib.sha256(settings.raw).hexdigest()[:16]
        self.arms = self._arms()

    def _arms(self):
        sides = [("A", self.settings.a, "a", 0)]
        if self.trials.aa:
            sides.append(("A'", self.settings.a, "a", 0))
        many = len(self.settings.b) > 1
        sides += [(f"B{i + 1}" if many else "B", side, "b", i) for i, side in enumerate(self.settings.b)]
        base = self.settings.node.raw if self.settings.node else b""
        arms = []
        for key, side, _, _ in sides:
            own = side.node.raw if side.node else b""
            name = (side.name or key) + (", again" if key == "A'" else "")
            arms.append(Arm(key, side, name, base + own))
        return arms

    @property
    def arm_a(self):
        return self.arms[0]

    @property
    def arms_b(self):
        return [arm for arm in self.arms if arm.key.startswith("B")]

    @property
    def figures(self):
        """Those that A/A must show to be equivalent."""
        return self.limits.figure or ["committed", "p50", "p99", "host_busy_ns"]

    def node(self, arm):
        return self.schema.decode(NODE, arm.node_data)

    def node_text(self, arm, workload):
        """txnode's configuration file of an arm."""
        text = self.schema.text(NODE, arm.node_data)
        node = self.node(arm)
        if not node.table:
            for number, name, factor, value_bytes in TABLES.get(workload.workload, MICRO_TABLE):
                size = workload.value_size if workload.has("value_size") and number == 1 else value_bytes
                text += (f'table {{ id: {number} name: "{name}" capacity: {factor * workload.records} '
                         f'value_bytes: {size} }}\n')
        if node.log is None:
            text += LOG_DEFAULTS
        return text

    def line(self, *path):
        """`FILE:LINE` of a field; a step of the path is a name or (name, index)."""
        steps = [step if isinstance(step, tuple) else (step, 0) for step in path]
        return f"{self.path}:{line_of(self.text, steps)}"


def workload_name(workload):
    return workload.name or workload.workload


def in_range(value, low, high):
    return low <= value <= high


def check_load(experiment):
    load = experiment.load
    where = experiment.line("load")
    if bool(load.rate) == bool(load.share):
        yield f"{where}: load: give `rate` (transactions a second) or `share` (of side A's closed loop), not both"
    for name, high in (("rate", RATE_MAX), ("share", 10)):
        values = getattr(load, name)
        for index, value in enumerate(values):
            if not in_range(value, 1e-3, high):
                yield (f"{experiment.line('load', (name, index))}: load.{name}: {value:g} is not within 0.001 to "
                       f"{high:g}")
            if index and value <= values[index - 1]:
                yield f"{experiment.line('load', (name, index))}: load.{name}: they must rise"
        if len(values) > POINTS_MAX:
            yield f"{where}: load.{name}: at most {POINTS_MAX}"
    for name, low, high in (("window", 1, 1 << 20), ("warmup_seconds", 0.2, SECONDS_MAX),
                            ("seconds", 0.5, SECONDS_MAX)):
        if not in_range(getattr(load, name), low, high):
            yield (f"{experiment.line('load', name)}: load.{name}: {getattr(load, name):g} is not within "
                   f"{low:g} to {high:g}")


def check_numbers(experiment):
    rows = (("trials", experiment.trials, (("blocks", 1, BLOCKS_MAX), ("attempts", 1, 20))),
            ("limits", experiment.limits, (("steal_percent", 0, 100), ("involuntary_switches", 0, 1e6),
                                           ("rate_difference_percent", 0.01, 100), ("equivalence_percent", 0.1, 100),
                                           ("half_width_percent", 0.1, 100), ("alpha", 1e-6, 0.2))))
    for group, message, fields in rows:
        for name, low, high in fields:
            value = getattr(message, name)
            if not in_range(value, low, high):
                yield f"{experiment.line(group, name)}: {group}.{name}: {value:g} is not within {low:g} to {high:g}"
    for index, name in enumerate(experiment.limits.figure):
        if name not in FIGURES:
            yield (f"{experiment.line('limits', ('figure', index))}: limits.figure: no figure called '{name}'; there "
                   f"are {' '.join(FIGURES)}")


def check_workloads(experiment):
    workloads = experiment.settings.workload
    if not in_range(len(workloads), 1, POINTS_MAX):
        yield f"{experiment.path}:1: workload: give 1 to {POINTS_MAX}"
    names = [workload_name(workload) for workload in workloads]
    for index, workload in enumerate(workloads):
        where = experiment.line(("workload", index))
        if not WORKLOADS.fullmatch(workload.workload):
            yield f"{where}: workload: no workload called '{workload.workload}' that can be compared (txgen --help)"
        if names.index(names[index]) != index:
            yield f"{where}: workload: two are called '{names[index]}'; give one a `name`"
        if not in_range(workload.records, 2, 1 << 30):
            yield f"{where}: workload.records: {workload.records} is not within 2 to {1 << 30}"


def check_sides(experiment):
    sides = experiment.settings.b
    if not in_range(len(sides), 1, POINTS_MAX):
        yield f"{experiment.path}:1: b: give 1 to {POINTS_MAX} sides"
    paths = [(("a", 0), experiment.arm_a)] + [(("b", i), arm) for i, arm in enumerate(experiment.arms_b)]
    for step, arm in paths:
        if not in_range(arm.side.workers, 1, 32):
            yield f"{experiment.line(step, 'workers')}: workers: {arm.side.workers} is not within 1 to 32"
        node = experiment.node(arm)
        if node.cluster is not None:
            yield f"{experiment.line('node', 'cluster')}: node.cluster: an experiment has one node"
        profile = arm.side.profile
        if profile and not os.path.exists(os.path.join(TOP, "configs", "profiles", profile + ".textproto")):
            yield f"{experiment.line(step, 'profile')}: profile: there is no configs/profiles/{profile}.textproto"
        is_nic = node.offload is not None and node.offload.placement == "NIC"
        if is_nic and arm.side.workers != 1:
            yield f"{experiment.line(step, 'workers')}: workers: placement NIC has one worker so far"
        if profile and profile != "none" and not is_nic:
            yield f"{experiment.line(step, 'profile')}: profile: a hardware profile goes with placement NIC"


def check(experiment):
    for part in (check_load, check_numbers, check_workloads, check_sides):
        yield from part(experiment)


def parse(text, path, schema=None):
    """An Experiment; FormatError with every problem, a line each."""
    schema = schema or Schema(TOP, PROTO)
    settings = schema.decode(EXPERIMENT, schema.encode(EXPERIMENT, text, path))
    experiment = Experiment(schema, settings, path, text)
    problems = list(check(experiment))
    if problems:
        raise FormatError("\n".join(problems))
    return experiment


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from None
    return parse(text, path)
