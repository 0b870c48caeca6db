#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Statistics against printed tables and by simulation, and merged histograms."""
import math
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from ab.equivalence import Paired, difference, equivalence, holm, t_above, t_quantile  # noqa: E402
from ab.histogram import Histogram, upper_end  # noqa: E402


def pairs(draw, ratio, spread, count):
    return [(100.0, 100.0 * ratio * math.exp(draw.gauss(0, spread))) for _ in range(count)]


class Student(unittest.TestCase):
    def test_table(self):
        for probability, freedom, t in ((0.025, 1, 12.706), (0.05, 2, 2.920), (0.025, 5, 2.571), (0.005, 10, 3.169),
                                        (0.025, 30, 2.042), (0.05, 120, 1.658)):
            self.assertAlmostEqual(t_quantile(probability, freedom), t, delta=0.001)
            self.assertAlmostEqual(t_above(t, freedom), probability, delta=2e-4)
            self.assertAlmostEqual(t_above(-t, freedom), 1 - probability, delta=2e-4)

    def test_centre(self):
        self.assertAlmostEqual(t_above(0, 7), 0.5)


class Holm(unittest.TestCase):
    def test_example(self):
        self.assertEqual([round(p, 6) for p in holm([0.01, 0.04, 0.03, 0.005])], [0.03, 0.06, 0.06, 0.02])

    def test_never_above_one_nor_falling(self):
        self.assertEqual(holm([0.9, 0.8]), [1.0, 1.0])
        self.assertEqual(holm([]), [])


class Tost(unittest.TestCase):
    def test_known_value(self):
        # ln ratios -0.01, 0, 0.01, 0.02: mean 0.005, s = 0.012910, error 0.006455; bound ln 1.03 = 0.029559.
        paired = Paired([(1, math.exp(x)) for x in (-0.01, 0, 0.01, 0.02)])
        self.assertAlmostEqual(paired.mean, 0.005)
        self.assertAlmostEqual(paired.error, 0.0064550, places=6)
        self.assertAlmostEqual(paired.equivalent_p(0.03), t_above((0.029559 - 0.005) / 0.006455, 3), places=5)
        self.assertAlmostEqual(paired.half_width(0.05), 3.182446 * 0.0064550, places=6)

    def test_equal_is_equivalent_and_far_is_not(self):
        draw = random.Random(1)
        self.assertTrue(equivalence({"x": Paired(pairs(draw, 1.0, 0.01, 20))}, 0.03, 0.03, 0.05)["x"].holds)
        self.assertFalse(equivalence({"x": Paired(pairs(draw, 1.05, 0.01, 20))}, 0.03, 0.03, 0.05)["x"].holds)
        self.assertFalse(equivalence({"x": Paired(pairs(draw, 1 / 1.05, 0.01, 20))}, 0.03, 0.03, 0.05)["x"].holds)

    def test_no_verdict_from_noise_or_one_pair(self):
        draw = random.Random(2)
        self.assertFalse(equivalence({"x": Paired(pairs(draw, 1.0, 0.3, 8))}, 0.03, 0.03, 0.05)["x"].holds)
        for few in ([], [(1.0, 1.0)]):
            verdict = equivalence({"x": Paired(few)}, 0.03, 0.03, 0.05)["x"]
            self.assertFalse(verdict.holds)
            self.assertIsNone(verdict.half_width)
            self.assertFalse(difference({"x": Paired(few)}, 0.05)["x"].holds)

    def test_half_width_alone_refuses(self):
        # Equivalent within 10 %, but known only to within 5 %.
        draw = random.Random(3)
        family = {"x": Paired(pairs(draw, 1.0, 0.05, 8))}
        self.assertTrue(equivalence(family, 0.2, 1.0, 0.05)["x"].holds)
        self.assertFalse(equivalence(family, 0.2, 0.01, 0.05)["x"].holds)

    def test_correction_bites(self):
        draw = random.Random(4)
        one = Paired(pairs(draw, 1.0, 0.03, 10))
        alone = equivalence({"x": one}, 0.03, 1.0, 0.05)["x"]
        among = equivalence({"x": one, **{str(i): Paired([]) for i in range(20)}}, 0.03, 1.0, 0.05)["x"]
        self.assertTrue(alone.holds)
        self.assertFalse(among.holds)
        self.assertGreater(among.half_width, alone.half_width)

    def test_wrong_verdicts_are_as_rare_as_promised(self):
        # At the very bound, equivalence is claimed in about alpha of the cases; differences of equals likewise.
        draw, runs = random.Random(5), 2000
        at_bound = sum(equivalence({"x": Paired(pairs(draw, 1.03, 0.01, 8))}, 0.03, 1.0, 0.05)["x"].holds
                       for _ in range(runs))
        self.assertTrue(0.035 < at_bound / runs < 0.065, at_bound / runs)
        equal = sum(difference({"x": Paired(pairs(draw, 1.0, 0.01, 8))}, 0.05)["x"].holds for _ in range(runs))
        self.assertTrue(0.035 < equal / runs < 0.065, equal / runs)

    def test_several_figures_together(self):
        draw, runs = random.Random(6), 400
        wrong = sum(any(v.holds for v in difference({str(i): Paired(pairs(draw, 1.0, 0.01, 6)) for i in range(8)},
                                                    0.05).values()) for _ in range(runs))
        self.assertLess(wrong / runs, 0.085)

    def test_a_real_difference_shows(self):
        draw = random.Random(7)
        verdict = difference({"x": Paired(pairs(draw, 0.5, 0.02, 8))}, 0.05)["x"]
        self.assertTrue(verdict.holds)
        self.assertTrue(verdict.interval[0] < 0.5 < verdict.interval[1])

    def test_no_spread_at_all(self):
        same = Paired([(4, 4), (4, 4), (4, 4)])
        self.assertEqual((same.equivalent_p(0.03), same.different_p()), (0.0, 1.0))
        other = Paired([(4, 8), (4, 8)])
        self.assertEqual((other.equivalent_p(0.03), other.different_p()), (1.0, 0.0))

    def test_missing_values_are_no_pairs(self):
        self.assertEqual(Paired([(None, 1), (1, None), (0, 1), (2, 2)]).count, 1)


class Histograms(unittest.TestCase):
    def test_cells_are_those_of_txgen(self):
        # pktgen/report/histogram.h: below 256 exact, then 128 steps to a power of two.
        self.assertEqual([upper_end(c) for c in (0, 255, 256, 257, 383, 384)], [0, 255, 257, 259, 511, 515])

    def test_merged_not_averaged(self):
        fast = Histogram({10: 900})
        slow = Histogram({200: 100})
        merged = Histogram().merge(fast).merge(slow)
        self.assertEqual(merged.count, 1000)
        self.assertEqual(merged.percentile(50), 10)
        self.assertEqual(merged.percentile(99), 200)
        self.assertEqual(fast.count, 900)  # what was merged is untouched

    def test_percentiles_need_samples(self):
        self.assertIsNone(Histogram({5: 999_999}).percentile(99.99))
        self.assertEqual(Histogram({5: 1_000_000}).percentile(99.99), 5)
        self.assertIsNone(Histogram({5: 999}).percentile(99))
        self.assertIsNone(Histogram().percentile(50))

    def test_rank(self):
        self.assertEqual(Histogram({1: 989, 2: 1, 3: 10}).percentile(99), 2)
        self.assertEqual(Histogram({1: 988, 2: 1, 3: 11}).percentile(99), 3)

    def test_json_round_trip(self):
        h = Histogram({3: 4, 300: 1})
        self.assertEqual(Histogram.from_json(h.to_json()).cells, h.cells)
        self.assertEqual(Histogram.from_json({"cell": [7], "count": ["12"]}).count, 12)  # 64-bit numbers are strings
        self.assertEqual(Histogram.from_json(None).count, 0)


if __name__ == "__main__":
    unittest.main()
