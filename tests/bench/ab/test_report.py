#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report: well-formed, self-contained, with figures, rules and rows; also when little or nothing was measured."""
import html.parser
import json
import os
import re
import sys
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../e2e")]

from ab import charts, made_up, svg  # noqa: E402
from ab.compare import Result  # noqa: E402
from ab.experiment import PROTO, TOP  # noqa: E402
from ab.message import Schema  # noqa: E402
from ab.report import html as report_html  # noqa: E402

SCHEMA = Schema(TOP, PROTO)
VOID = {"meta", "br", "link", "img", "input"}


class Checker(html.parser.HTMLParser):
    """Every element is closed, in order; what could fetch something is noted."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.problems, self.fetches, self.data = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "xlink:href"):
                self.fetches.append(f"{tag} {name}={value}")
        if tag == "script" and dict(attrs).get("type") != "application/json":
            self.problems.append("a script that runs")
        if tag not in VOID:
            self.stack.append((tag, dict(attrs).get("id")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1][0] != tag:
            self.problems.append(f"</{tag}> closes {self.stack[-1:]}")
        else:
            self.stack.pop()

    def handle_data(self, data):
        if self.stack:
            self.data[self.stack[-1]] = self.data.get(self.stack[-1], "") + data


def checked(test, text):
    checker = Checker()
    checker.feed(text)
    checker.close()
    test.assertEqual((checker.problems, checker.stack, checker.fetches), ([], [], []))
    return checker


def report(factors=None, rows=None, **options):
    plan = made_up.experiment(SCHEMA, **options)
    return report_html(Result(plan, made_up.rows(plan, factors or {"B": 1.5}) if rows is None else rows,
                              made_up.MACHINE, {"smallbank": 5000.0}))


class Whole(unittest.TestCase):
    def test_parses_and_fetches_nothing(self):
        text = report()
        checked(self, text)
        self.assertNotRegex(re.sub(r'xmlns="[^"]*"', "", text), r"https?://|@import|url\(")

    def test_text_is_escaped(self):
        text = report()
        self.assertIn("Is &lt;b&gt; &amp;", text)
        self.assertNotIn("Is <b>", re.sub(r"<script.*?</script>", "", text, flags=re.S))

    def test_raw_rows_are_in_it(self):
        plan = made_up.experiment(SCHEMA)
        rows = made_up.rows(plan, {})
        rows[0]["rejected"] = ["</script><b>"]
        text = report_html(Result(plan, rows, made_up.MACHINE))
        data = checked(self, text).data[("script", "rows")]
        self.assertEqual(json.loads(data), rows)

    def test_each_row_names_experiment_and_machine(self):
        for row in made_up.rows(made_up.experiment(SCHEMA), {}):
            for name in ("config_hash", "commit", "seed", "machine"):
                self.assertTrue(row[name])

    def test_figures_are_pictures_with_sentences(self):
        text = report()
        pictures = re.findall(r'<figure id="figure-\d+">(.*?)</figure>', text, re.S)
        self.assertGreaterEqual(len(pictures), 7)
        for picture in pictures:
            self.assertRegex(picture, r"(?s)(<svg .*</svg>|nothing was measured)")
            self.assertRegex(picture, r"(?s)<figcaption><b>Figure \d+\..*emulated")
        for title in ("latency against offered load", "committed against offered load", "host time a committed",
                      "packets a busy poll", "how transactions ended", "where time goes, by stage", "first second"):
            self.assertIn(title, text)

    def test_rules_and_commands(self):
        text = report()
        for number in range(1, 11):
            self.assertIn(f"<tr><td>{number}</td><td class=text>", text)
        self.assertIn("./txnic ab made-up.textproto", text)
        self.assertIn("txnode --config &#x27;a file&#x27;", text)
        self.assertIn("burst: 8", text)

    def test_rules_of_an_emulated_smartnic(self):
        text = report(more='b { profile: "bluefield3" node { offload { placement: NIC } } }')
        checked(self, text)
        self.assertIn("their times are counted apart", text)
        self.assertIn("an assumption that was not swept", text)
        self.assertNotIn("All sides run on host cores alone", text)
        self.assertIn("All sides run on host cores alone", report())

    def test_a_difference_beside_a_bad_a_a_is_no_claim(self):
        self.assertIn("no difference is claimed", report({"A'": 1.2, "B": 1.5}).replace("\n", " "))
        self.assertNotIn("no difference is claimed", report({"B": 1.5}))

    def test_little_or_nothing(self):
        checked(self, report(rows=[]))
        plan = made_up.experiment(SCHEMA)
        few = made_up.rows(plan, {})[:2]
        few[1].update({"failed": "txgen <died>\nmore"})
        for name in ("client", "node", "system", "live", "commands"):
            few[1].pop(name)
        text = report(rows=few)
        checked(self, text)
        self.assertIn("txgen &lt;died&gt;", text)

    def test_all_invalid(self):
        plan = made_up.experiment(SCHEMA)
        rows = made_up.rows(plan, {})
        for row in rows:
            row["invalid"] = "the generator lagged by 5 %"
        text = report(rows=rows)
        checked(self, text)
        self.assertIn("no trial counts", text)
        self.assertIn("36 invalid: the generator lagged", text)

    def test_stages(self):
        plan = made_up.experiment(SCHEMA)
        rows = made_up.rows(plan, {})
        self.assertIn("tells no stages", report(rows=rows))
        for row in rows:
            row["node"]["stages"] = {"parse": 30, "process": 70}
        text = report(rows=rows)
        self.assertNotIn("tells no stages", text)
        self.assertIn("A parse 30.0 ± 1.3 %, process 70.0 ± 1.3 %", text)

    def test_sweep_and_break_even(self):
        plan = made_up.experiment(SCHEMA, more_b="sweep: 1",
                                  more='b { name: "two" node { network { burst: 9 } } sweep: 2 }')
        text = report_html(Result(plan, made_up.rows(plan, {"B1": 0.8, "B2": 1.2}), made_up.MACHINE))
        checked(self, text)
        self.assertRegex(text, r"host time a committed transaction: even at 1\.[45]")

    def test_break_even(self):
        self.assertAlmostEqual(charts.break_even([(1, 0.5), (2, 0.9), (4, 1.1)]), 3)
        self.assertIsNone(charts.break_even([(1, 0.5), (2, 0.9)]))


class Pictures(unittest.TestCase):
    def test_well_formed_and_inside(self):
        for log_y in (False, True):
            series = [svg.Series("a <b>", [(10, 5, 4, 600), (1e6, 123456, None, None)], 0),
                      svg.Series("one", [(3, 7)], 5, 1)]
            root = xml.etree.ElementTree.fromstring(svg.lines("t & u", "x", "y", series, log_y=log_y, diagonal=True))
            for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
                self.assertTrue(0 <= float(circle.get("cx")) <= svg.WIDTH)
                self.assertTrue(0 <= float(circle.get("cy")) <= svg.HEIGHT)

    def test_whiskers_are_at_their_values(self):
        text = svg.lines("t", "x", "y", [svg.Series("a", [(1, 50, 0, 100)])])
        bottom, top = svg.HEIGHT - svg.BOTTOM, svg.TOP
        self.assertIn(f"{bottom:.1f}V{top:.1f}", text)

    def test_bars_add_up(self):
        root = xml.etree.ElementTree.fromstring(svg.bars("t", "y", [("A", [1, 3]), ("B", [2, 2])], ["p", "q"]))
        heights = [float(r.get("height")) for r in root.iter("{http://www.w3.org/2000/svg}rect")][1:5]
        self.assertAlmostEqual(sum(heights[:2]), sum(heights[2:]), places=0)
        self.assertAlmostEqual(heights[1], 3 * heights[0], delta=0.3)

    def test_nothing_to_draw(self):
        for text in (svg.lines("t", "x", "y", []), svg.lines("t", "x", "y", [svg.Series("a", [])]),
                     svg.bars("t", "y", [], []), svg.bars("t", "y", [("A", [0])], ["p"])):
            self.assertIn("nothing was measured", text)

    def test_ticks(self):
        self.assertEqual(svg.nice_ticks(0, 10), [0, 2, 4, 6, 8, 10])
        for low, high in ((0, 1), (0, 97), (3, 3), (0, 0), (1e-9, 1e9)):
            ticks = svg.nice_ticks(low, high)
            self.assertTrue(ticks[0] <= low and ticks[-1] >= high and 2 <= len(ticks) <= 12, (low, high, ticks))
        for low, high in ((1, 1), (0.5, 2e6), (20, 30)):
            ticks = svg.log_ticks(low, high)
            self.assertTrue(ticks[0] <= low and ticks[-1] >= high and len(ticks) >= 2, (low, high, ticks))


if __name__ == "__main__":
    unittest.main()
