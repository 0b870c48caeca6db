# SPDX-License-Identifier: BSD-3-Clause
"""Rows as a runner would make them, without any process: for tests of what follows from rows."""
import math
import random

from . import order
from .experiment import parse, workload_name

TEXT = """name: "made-up"
question: "Is <b> & \\"quoted\\" text escaped?"
node {{ shards: 2 }}
a {{ name: "sixty-four" }}
b {{ name: "eight" node {{ network {{ burst: 8 }} }} {more_b} }}
{more}
workload {{ workload: "smallbank" }}
load {{ rate: 1000 rate: 2000 }}
trials {{ blocks: {blocks} }}
"""
MACHINE = {"processor": "made-up", "cpus": 2, "kernel": "0", "virtual": True, "governor": "not told", "memory_mib": 1,
           "memory": "ordinary pages", "tsc_hz": 2_000_000_000}


def experiment(schema, blocks=6, more="", more_b=""):
    return parse(TEXT.format(blocks=blocks, more=more, more_b=more_b), "made-up.textproto", schema)


def row(draw, slot, plan, rate, factor, spread):
    """A trial whose node takes 500 ns a transaction times `factor`, and whose latency is 30 us times that."""
    arm = plan.arms[slot.arm]
    committed = int(rate * 4)
    noise = math.exp(draw.gauss(0, spread))
    cell = int(200 + 100 * math.log2(factor * noise))
    return {
        "kind": "trial", "experiment": plan.settings.name, "number": slot.number, "attempt": 0,
        "workload": workload_name(plan.settings.workload[slot.workload]), "point": slot.point, "offered": rate,
        "pair": slot.pair, "arm": arm.key, "arm_name": arm.name, "sweep": None, "profile": "none", "time": "then",
        "rejected": [], "invalid": "", "failed": "",
        "client": {"executed": committed, "good": committed, "committed": committed, "aborted": 10, "refused": 0,
                   "unknown": 0, "requests": committed + 10, "retransmissions": 0, "busy_retries": 0, "seconds": 4.0,
                   "throughput_per_second": committed / 4, "goodput_per_second": committed / 4,
                   "by_result": {"COMMITTED": committed, "CONFLICT": 10},
                   "latency_cells": {"cell": [cell, cell + 200], "count": [committed - 100, 100]}, "lag_percent": 0.01,
                   "arrivals": committed, "delayed": 0, "late_mean_ns": 1.0, "check": ""},
        "node": {"busy_ns": int(committed * 500 * factor * noise), "idle_ns": 10 ** 9, "emulated_ns": 0,
                 "busy_steps": committed // 4, "idle_steps": 10, "received": committed, "committed": committed,
                 "packets": 2 * committed, "other_threads_ns": 0, "checkpoints": 0},
        "system": {"steal_percent": 0.1, "switches": {"node": 1.0, "generator": 2.0}, "seconds": 3.8},
        "live": [[3, 900], [4, int(rate)], [5, int(rate)]], "machine": MACHINE,
        "commands": {"node": ["txnode", "--config", "a file"], "generator": ["txgen"]}, "commit": "abc",
        "config_hash": plan.hash, "seed": 1}


def rows(plan, factors, spread=0.005, seed=1):
    """All trials; `factors`: arm key -> how much slower than A it is."""
    draw = random.Random(seed)
    rates = list(plan.load.rate)
    return [row(draw, slot, plan, rates[slot.point], factors.get(plan.arms[slot.arm].key, 1.0), spread)
            for slot in order.slots(len(plan.arms), len(plan.settings.workload), len(rates), plan.trials.blocks,
                                    plan.settings.seed)]
