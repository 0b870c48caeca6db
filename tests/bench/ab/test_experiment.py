#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Experiments' files: the examples are read; what is wrong is told with file and line."""
import glob
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from ab.experiment import PROTO, TOP, load, parse  # noqa: E402
from ab.message import FormatError, Schema, line_of  # noqa: E402

SCHEMA = Schema(TOP, PROTO)
GOOD = """name: "x"
node { shards: 2 network { burst: 64 address: "10.99.0.1" } }
a { }
b {
  node {
    network { burst: 8 }
  }
}
workload { workload: "smallbank" records: 1000 }
workload { workload: "rmw2" }
load { rate: 1000 rate: 2000 }
"""


def read(text):
    return parse(text, "x.textproto", SCHEMA)


class Examples(unittest.TestCase):
    def test_all_are_good(self):
        paths = sorted(glob.glob(os.path.join(TOP, "configs", "ab", "*.textproto")))
        self.assertGreaterEqual(len(paths), 3)
        for path in paths:
            self.assertTrue(load(path).settings.question, path)


class Meaning(unittest.TestCase):
    def test_defaults(self):
        e = read(GOOD)
        self.assertEqual((e.trials.blocks, e.trials.aa, e.limits.alpha, e.load.window, e.settings.seed),
                         (4, True, 0.05, 4096, 1))
        self.assertEqual([arm.key for arm in e.arms], ["A", "A'", "B"])
        self.assertEqual(e.figures, ["committed", "p50", "p99", "host_busy_ns"])

    def test_side_is_merged_over_base(self):
        e = read(GOOD)
        a, again, b = (e.node(arm) for arm in e.arms)
        self.assertEqual((a.network.burst, b.network.burst, b.shards), (64, 8, 2))
        self.assertEqual(b.network.address, "10.99.0.1")
        self.assertEqual(again.raw, a.raw)
        text = e.node_text(e.arms[2], e.settings.workload[0])
        for part in ("burst: 8", 'name: "savings" capacity: 1000', 'name: "checking"', "segment_mib"):
            self.assertIn(part, text)
        # What was written is a node's configuration again.
        self.assertEqual(SCHEMA.decode("txnic.config.Node", SCHEMA.encode("txnic.config.Node", text, "n")).shards, 2)

    def test_own_tables_are_kept(self):
        e = read(GOOD.replace("node { shards: 2", 'node { table { id: 9 capacity: 5 } shards: 2'))
        self.assertNotIn("savings", e.node_text(e.arms[0], e.settings.workload[0]))

    def test_hash_is_of_the_meaning(self):
        self.assertEqual(read(GOOD).hash, read("# a remark\n" + GOOD).hash)
        self.assertNotEqual(read(GOOD).hash, read(GOOD.replace("2000", "2001")).hash)

    def test_several_b(self):
        e = read(GOOD + "b { sweep: 2 }\nb { sweep: 3 }\n")
        self.assertEqual([arm.key for arm in e.arms], ["A", "A'", "B1", "B2", "B3"])


class Errors(unittest.TestCase):
    def expect(self, text, pattern):
        with self.assertRaisesRegex(FormatError, pattern):
            read(text)

    def test_unknown_field(self):
        self.expect(GOOD.replace("burst: 8", "bursts: 8"), r'^x\.textproto:6:\d+: .*no field named "bursts"')

    def test_wrong_type(self):
        self.expect(GOOD.replace("records: 1000", 'records: "many"'), r"^x\.textproto:9:\d+: ")

    def test_unknown_enum(self):
        self.expect(GOOD.replace("a { }", "a { idle: NEVER }"), r"^x\.textproto:3:\d+: .*NEVER")

    def test_missing_field(self):
        self.expect(GOOD.replace('workload { workload: "rmw2" }', 'workload { name: "w" }'),
                    r"^x\.textproto:10: required and not there: workload\[1\]\.workload")

    def test_values(self):
        for old, new, pattern in (
                ("rate: 2000", "rate: 500", r":11: load\.rate: they must rise"),
                ("rate: 2000", "share: 1", r":11: load: give `rate`"),
                ("rate: 1000 rate: 2000", "", r":11: load: give `rate`"),
                ("rate: 2000", "seconds: 0.1", r":11: load\.seconds: 0\.1 is not within"),
                ('"rmw2"', '"rmwx"', r":10: workload: no workload called 'rmwx'"),
                ('"rmw2"', '"smallbank"', r":10: workload: two are called 'smallbank'"),
                ("a { }", "a { workers: 0 }", r":3: workers: 0"),
                ("a { }", 'a { profile: "fast" }', r":3: profile: there is no configs/profiles/fast"),
                ("a { }", 'a { profile: "bluefield3" }', r":3: profile: a hardware profile goes with placement NIC"),
                ("a { }", "a { workers: 2 node { offload { placement: NIC } } }",
                 r":3: workers: placement NIC has one")):
            with self.subTest(new):
                self.expect(GOOD.replace(old, new), pattern)
        self.expect(GOOD + "trials {\n blocks: 0 }\n", r":13: trials\.blocks: 0 is not within")
        self.expect(GOOD + 'limits { figure: "p50"\n figure: "p51" }\n', r":13: limits\.figure: no figure called 'p51'")

    def test_all_problems_at_once(self):
        with self.assertRaises(FormatError) as caught:
            read(GOOD.replace('"rmw2"', '"rmwx"').replace("rate: 2000", "rate: 1"))
        self.assertEqual(len(str(caught.exception).splitlines()), 2)

    def test_unreadable_file(self):
        with self.assertRaisesRegex(FormatError, "cannot be read"):
            load("no/such/file.textproto")


class Lines(unittest.TestCase):
    def test_names_in_strings_and_remarks_do_not_count(self):
        text = '# load { rate: 1 }\nname: "load { rate"\nload {\n  # rate: 5\n  rate: 1\n  rate: 2 }\n'
        self.assertEqual(line_of(text, [("load", 0)]), 3)
        self.assertEqual(line_of(text, [("load", 0), ("rate", 1)]), 6)
        self.assertEqual(line_of(text, [("load", 0), ("seconds", 0)]), 3)


if __name__ == "__main__":
    unittest.main()
