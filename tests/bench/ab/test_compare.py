#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Order of trials, rejection, figures of rows, and verdicts of whole experiments with known truth."""
import collections
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../e2e")]

from ab import made_up, order, rejection, sampling, trial  # noqa: E402
from ab.compare import Result  # noqa: E402
from ab.experiment import PROTO, TOP, parse  # noqa: E402
from ab.figures import ALL, FIGURES  # noqa: E402
from ab.message import Schema  # noqa: E402
from ab.rules import BROKEN, HELD, OUT, all_rules  # noqa: E402
from ab.table import format_table  # noqa: E402

SCHEMA = Schema(TOP, PROTO)


def result(factors, spread=0.005, change=None, **options):
    plan = made_up.experiment(SCHEMA, **options)
    rows = made_up.rows(plan, factors, spread)
    for row in rows:
        if change:
            change(row)
    return Result(plan, rows, made_up.MACHINE)


class Order(unittest.TestCase):
    def test_blocks_are_palindromes(self):
        slots = order.slots(arms=3, workloads=2, points=2, blocks=4, seed=7)
        self.assertEqual(len(slots), 3 * 2 * 2 * 4 * 2)
        for start in range(0, len(slots), 6):
            block = [slot.arm for slot in slots[start:start + 6]]
            self.assertEqual(block, block[::-1])
            self.assertEqual(sorted(block), [0, 0, 1, 1, 2, 2])
            self.assertEqual(len({(s.workload, s.point) for s in slots[start:start + 6]}), 1)

    def test_pairs_have_each_arm_once(self):
        pairs = collections.Counter((s.workload, s.point, s.pair, s.arm) for s in order.slots(2, 2, 3, 4, 1))
        self.assertEqual(set(pairs.values()), {1})
        self.assertEqual(len({pair for _, _, pair, _ in pairs}), 8)

    def test_the_seed_decides(self):
        def arms(seed):
            return [(s.workload, s.point, s.arm) for s in order.slots(2, 2, 3, 8, seed)]
        self.assertEqual(arms(1), arms(1))
        self.assertNotEqual(arms(1), arms(2))
        firsts = {s.arm for s in order.slots(2, 1, 1, 32, 1)[::4]}
        self.assertEqual(firsts, {0, 1}, "ABBA and BAAB both occur")


class Rejection(unittest.TestCase):
    LIMITS = SCHEMA.empty("txnic.ab.Limits")

    def row(self, steal=0.0, node=0.0, generator=0.0, lag=0.0):
        return {"system": {"steal_percent": steal, "switches": {"node": node, "generator": generator}},
                "client": {"lag_percent": lag}}

    def test_limits(self):
        self.assertEqual(rejection.reasons(self.row(steal=1.0, node=300, generator=300), self.LIMITS), [])
        self.assertEqual(len(rejection.reasons(self.row(steal=1.01), self.LIMITS)), 1)
        self.assertIn("generator", rejection.reasons(self.row(generator=301), self.LIMITS)[0])
        self.assertEqual(len(rejection.reasons(self.row(steal=5, node=301, generator=301), self.LIMITS)), 3)

    def test_lag_is_no_setting(self):
        self.assertEqual(rejection.invalid(self.row(lag=1.0)), "")
        self.assertIn("1.01 %", rejection.invalid(self.row(lag=1.01)))
        self.assertEqual(rejection.invalid({"client": {}}), "", "a closed loop has no lag")


class Samples(unittest.TestCase):
    STAT = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 0 5 80 0 0 1 4 0 0\ncpu1 10 0 5 80 0 0 1 9 7 7\nintr 5\n"

    def test_steal_of_the_cpus_in_use(self):
        self.assertEqual(sampling.steal_ticks([0], self.STAT), (4, 100))
        self.assertEqual(sampling.steal_ticks([0, 1], self.STAT), (13, 205))

    def test_own_threads(self):
        tasks = sampling.read_tasks(os.getpid())
        self.assertIn(os.getpid(), tasks)
        self.assertGreaterEqual(tasks[os.getpid()].involuntary, 0)
        self.assertEqual(sampling.read_tasks(2 ** 30), {})

    def test_difference(self):
        before, after = sampling.Sample([0], {}), sampling.Sample([0], {})
        before.steal, before.ticks, after.steal, after.ticks = 0, 0, 2, 100
        worker, other, young = sampling.Task("rte-worker-1", 5, 10), sampling.Task("keeper", 100, 0), None
        before.tasks = {"node": {1: sampling.Task("txnode", 0, 0), 2: worker, 3: other}}
        young = sampling.Task("iou-wrk-2", 30, 0)
        after.tasks = {"node": {1: sampling.Task("txnode", 9, 99), 2: sampling.Task("rte-worker-1", 9, 30),
                                3: sampling.Task("keeper", 150, 0), 4: young}}
        got = sampling.between(before, after, 2.0, {"node": 1})
        self.assertEqual((got["steal_percent"], got["switches"], got["other_threads_ns"]),
                         (2.0, {"node": 10.0}, {"node": 80}))


class Figures(unittest.TestCase):
    def test_of_a_row(self):
        plan = made_up.experiment(SCHEMA)
        row = made_up.rows(plan, {}, spread=0)[0]
        committed = row["client"]["committed"]
        self.assertEqual(FIGURES["committed"].value(row), committed / 4)
        self.assertEqual(FIGURES["host_busy_ns"].value(row), 500)
        self.assertEqual(FIGURES["host_busy_cycles"].value(row), 1000)
        self.assertEqual(FIGURES["packets"].value(row), 2)
        self.assertEqual(FIGURES["packets_busy_poll"].value(row), 4)
        row["node"]["other_threads_ns"] = 100 * committed
        self.assertEqual(FIGURES["host_busy_ns"].value(row), 600, "kernel time of log writes counts")
        row["node"]["emulated_ns"] = 50 * committed
        self.assertEqual(FIGURES["host_busy_ns"].value(row), 550, "what a profile made it wait does not")

    def test_what_is_not_told_is_left_out(self):
        for figure in ALL:
            self.assertIsNone(figure.value({"client": {}, "node": {}, "machine": {}}), figure.name)

    def test_node_counters_between_snapshots(self):
        def snapshot(base, log):
            engine = {"results": {"committed": base}}
            if log:
                engine["log"] = {"record_bytes": 7 * base}
            return {"dataplane": {"busy_ns": 3 * base, "ports": [{"rx_packets": base, "tx_packets": base}] * 2},
                    "engine": engine}
        got = trial.node_figures([snapshot(10, True), snapshot(30, True)])
        self.assertEqual((got["busy_ns"], got["committed"], got["packets"], got["log_record_bytes"]), (60, 20, 80, 140))
        self.assertNotIn("log_record_bytes", trial.node_figures([snapshot(1, False), snapshot(2, False)]))


class Verdicts(unittest.TestCase):
    def test_equal_sides_are_equivalent(self):
        got = result({})
        self.assertTrue(got.aa.holds)
        self.assertEqual((got.aa.arm, got.aa.other), ("A", "A'"))
        for verdict in got.ab["B"].verdicts.values():
            self.assertFalse(verdict.holds)

    def test_a_bad_a_a_is_told(self):
        got = result({"A'": 1.1})
        self.assertFalse(got.aa.holds)
        self.assertIn("NOT shown to be equivalent", format_table(got))
        self.assertIn("claim nothing", format_table(got))
        self.assertFalse(result({}, spread=0.2).aa.holds, "noise is no equivalence")

    def test_a_figure_that_is_not_there_is_not_equivalent(self):
        def silent(row):
            if row["point"] == 1:
                del row["node"]["busy_ns"]
        got = result({}, change=silent)
        self.assertFalse(got.aa.holds)
        self.assertEqual([name for (_, name), verdict in got.aa.verdicts.items() if not verdict.holds],
                         ["host_busy_ns"])

    def test_a_difference_is_found(self):
        verdict = result({"B": 1.5}).ab["B"].verdicts[("smallbank", 0), "host_busy_ns"]
        self.assertTrue(verdict.holds)
        self.assertTrue(verdict.interval[0] < 1.5 < verdict.interval[1])
        p50 = result({"B": 1.5}).ab["B"].verdicts[("smallbank", 0), "p50"]
        self.assertTrue(p50.holds and p50.interval[0] < p50.paired.ratio < p50.interval[1])

    def test_costs_need_equal_rates(self):
        def slower(row):
            if row["arm"] == "B" and row["point"] == 1:
                row["client"]["committed"] = int(row["client"]["committed"] * 0.97)
        got = result({"B": 1.5}, change=slower)
        self.assertEqual(list(got.ab["B"].unequal), [("smallbank", 1)])
        self.assertNotIn((("smallbank", 1), "host_busy_ns"), got.ab["B"].verdicts)
        self.assertIn((("smallbank", 0), "host_busy_ns"), got.ab["B"].verdicts)
        self.assertIn((("smallbank", 1), "p50"), got.ab["B"].verdicts)

    def test_rejected_and_invalid_trials_are_in_no_figure(self):
        def spoil(row):
            if row["pair"] == 0 and row["arm"] == "B":
                row["node"]["busy_ns"] *= 100
                row["invalid" if row["point"] else "rejected"] = "lag" if row["point"] else ["steal"]
        got = result({}, change=spoil)
        for cell in got.cells:
            self.assertEqual(len(cell.of("B")), 11)
            self.assertEqual(len(cell.pairs("A", "B")), 11)
            self.assertLess(cell.value(FIGURES["host_busy_ns"], "B"), 600)
        self.assertEqual([cell.invalid for cell in got.cells], [0, 1])

    def test_a_a_by_itself(self):
        plan = made_up.experiment(SCHEMA)
        text = plan.text.replace("node { network { burst: 8 } }", "").replace("trials {", "trials { aa: false ")
        plan = parse(text, "aa.textproto", SCHEMA)
        got = Result(plan, made_up.rows(plan, {}), made_up.MACHINE)
        self.assertEqual((got.aa.arm, got.aa.other, got.ab), ("A", "B", {}))
        self.assertTrue(got.aa.holds)

    def test_no_a_a_no_claim(self):
        plan = made_up.experiment(SCHEMA)
        plan = parse(plan.text.replace("trials {", "trials { aa: false "), "no.textproto", SCHEMA)
        got = Result(plan, made_up.rows(plan, {"B": 1.5}), made_up.MACHINE)
        self.assertIsNone(got.aa)
        self.assertIn("no difference is claimed", format_table(got))

    def test_nothing_measured(self):
        got = Result(made_up.experiment(SCHEMA), [], made_up.MACHINE, stopped="stopped by the user")
        self.assertIn("INCOMPLETE", format_table(got))
        self.assertFalse(got.aa.holds)


class Rules(unittest.TestCase):
    def status(self, got):
        return {number: status for number, _, status, _ in all_rules(got)}

    def test_all_ten(self):
        status = self.status(result({}))
        self.assertEqual(list(status), list(range(1, 11)))
        self.assertEqual([status[n] for n in (1, 2, 3, 6, 7, 8, 10)], [HELD] * 7)
        self.assertEqual([status[n] for n in (4, 5, 9)], [OUT] * 3)

    def test_what_did_not_hold_is_said(self):
        def late(row):
            if row["number"] == 3:
                row["invalid"] = "the generator lagged"

        def all_late(row):
            if row["arm"] == "B" and row["point"] == 1:
                row["invalid"] = "the generator lagged"
        status = self.status(result({"A'": 1.1}, change=late))
        self.assertEqual((status[1], status[2]), (BROKEN, HELD), "a late trial is shown as such")
        got = result({}, change=all_late)
        self.assertEqual(self.status(got)[2], BROKEN)
        self.assertIn("smallbank at 2,000/s", all_rules(got)[1][3])


if __name__ == "__main__":
    unittest.main()
