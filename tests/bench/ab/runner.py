# SPDX-License-Identifier: BSD-3-Clause
"""Makes all trials of an experiment and writes a row for each attempt. Ctrl-C ends it with what there is."""
import datetime
import json

from lib.harness import Failure
from rows import progress

from . import facts, order, rejection, trial
from .compare import counts
from .experiment import workload_name

FAILURES_MAX = 3
PEAK_TRIALS = 2


class Runner:
    """`rows` grows, and so does the file behind it, a JSON object a line."""

    def __init__(self, experiment, machine, file):
        self.experiment = experiment
        self.machine = machine
        self.file = file
        self.facts = facts.machine(machine.huge)
        self.commit = facts.source()
        self.rows = []
        self.peak = {}
        self.stopped = ""
        self.failures = []

    def run(self):
        try:
            self._run()
        except (KeyboardInterrupt, SystemExit):
            self.stopped = "stopped by the user"
            progress("stopped: the report holds what there is")
        return self

    def _run(self):
        offered = self._offered()
        settings = self.experiment.settings
        points = len(next(iter(offered.values())))
        slots = order.slots(len(self.experiment.arms), len(settings.workload), points, self.experiment.trials.blocks,
                            settings.seed)
        load = self.experiment.load
        each = load.seconds + load.warmup_seconds + 3
        progress(f"{len(slots)} trials of {load.seconds:g} s, about {len(slots) * each / 60:.0f} minutes")
        for slot in slots:
            self._slot(slot, offered, len(slots))
            if len(self.failures) > FAILURES_MAX:
                self.stopped = f"{len(self.failures)} trials failed"
                progress(f"given up: {self.stopped}")
                return

    def _offered(self):
        """workload -> rates."""
        load, out = self.experiment.load, {}
        for workload in self.experiment.settings.workload:
            name = workload_name(workload)
            if load.rate:
                out[name] = list(load.rate)
                continue
            rates = []
            for _ in range(PEAK_TRIALS):
                measured = trial.measure(self.machine, self.experiment, self.experiment.arm_a, workload, None)
                rates.append(measured["client"]["committed"] / measured["client"]["seconds"])
            self.peak[name] = max(rates)
            progress(f"{name}: side A commits {self.peak[name]:,.0f}/s in a closed loop")
            out[name] = [share * self.peak[name] for share in load.share]
        return out

    def _slot(self, slot, offered, total):
        arm = self.experiment.arms[slot.arm]
        workload = self.experiment.settings.workload[slot.workload]
        name = workload_name(workload)
        rate = round(offered[name][slot.point], 3)
        for attempt in range(self.experiment.trials.attempts):
            row = {"kind": "trial", "experiment": self.experiment.settings.name, "number": slot.number,
                   "attempt": attempt, "workload": name, "point": slot.point, "offered": rate, "pair": slot.pair,
                   "arm": arm.key, "arm_name": arm.name, "sweep": arm.side.sweep if arm.side.has("sweep") else None,
                   "profile": arm.side.profile or "none",
                   "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
            self._measure(row, arm, workload, rate)
            self._keep(row)
            text = (f"trial {slot.number + 1}/{total} {trial.describe(self.experiment, arm, workload, rate)}: "
                    f"{outcome(row)}")
            progress(text)
            if not row["rejected"]:
                return

    def _measure(self, row, arm, workload, rate):
        row.update({"rejected": [], "invalid": "", "failed": ""})
        try:
            row.update(trial.measure(self.machine, self.experiment, arm, workload, rate))
        except Failure as failure:
            row["failed"] = str(failure)
            self.failures.append(row["failed"])
            progress(row["failed"])
        else:
            row["rejected"] = rejection.reasons(row, self.experiment.limits)
            row["invalid"] = rejection.invalid(row)
        row["machine"] = dict(self.facts, tsc_hz=row.pop("tsc_hz", None))
        row.update({"config_hash": self.experiment.hash, "commit": self.commit, "build_commit": row.get("commit"),
                    "seed": self.experiment.settings.seed})

    def _keep(self, row):
        self.rows.append(row)
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()


def outcome(row):
    if row["failed"]:
        return "FAILED"
    client = row["client"]
    text = f"{client['committed'] / client['seconds']:,.0f} committed/s"
    if counts(row):
        return text
    return f"{text}; " + ("; ".join(f"rejected: {why}" for why in row["rejected"]) or f"invalid: {row['invalid']}")
