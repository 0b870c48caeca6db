#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""txcheck as a command: its exit codes, its verdict line, its JSON. Argument: the program."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)

VALID = """\
{:type :invoke, :process 0, :f :txn, :value [[:append 1 1]]}
{:type :ok, :process 0, :f :txn, :value [[:append 1 1]]}
{:type :invoke, :process 1, :f :txn, :value [[:r 1 nil]]}
{:type :ok, :process 1, :f :txn, :value [[:r 1 [1]]]}
"""
STALE = VALID.replace("[:r 1 [1]]", "[:r 1 nil]")
BROKEN = VALID.replace(":append", ":write")


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_program(self, *arguments, text=None):
        return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=60,
                              check=False)

    def test_valid(self):
        done = self.run_program(self.file("good.edn", VALID))
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(done.stdout.startswith("valid: "), done)
        self.assertIn("strictly serializable; 2 transactions (2 ok, 0 fail, 0 info)", done.stdout)
        self.assertIn("operations/s", done.stdout)

    def test_anomaly(self):
        done = self.run_program(self.file("stale.edn", STALE))
        self.assertEqual(done.returncode, 1, done)
        self.assertTrue(done.stdout.startswith("anomaly: "), done)
        self.assertIn("G-single-realtime ×1", done.stdout.splitlines()[0])
        self.assertIn("T1 read key 1 as [], without 1, which T0 appended", done.stdout)

    def test_unusable(self):
        path = self.file("broken.edn", BROKEN)
        done = self.run_program(path)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, f"unusable: {path}:1:47: a micro-operation is :append or :r\n")
        self.assertEqual(self.run_program(os.path.join(self.folder, "missing")).returncode, 2)
        self.assertEqual(self.run_program(self.file("empty.edn", "")).returncode, 2)
        self.assertEqual(self.run_program().returncode, 2)
        self.assertEqual(self.run_program("--nonsense", path).returncode, 2)

    def test_several_files_and_standard_input(self):
        good = self.file("good.edn", VALID)
        self.assertEqual(self.run_program(good, "-", text=VALID).returncode, 0)
        self.assertEqual(self.run_program(good, "-", text=BROKEN).returncode, 2)
        self.assertEqual(self.run_program("-", good, self.file("broken.edn", BROKEN), text=STALE).returncode, 1)

    def test_json(self):
        done = self.run_program("--json", self.file("stale.edn", STALE), self.file("broken\n\"q\".edn", BROKEN))
        self.assertEqual(done.returncode, 1, done)
        stale, broken = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual((stale["verdict"], stale["transactions"], stale["ok"]), ("anomaly", 2, 2))
        self.assertEqual(stale["counts"], {"G-single-realtime": 1})
        self.assertEqual(stale["anomalies"][0]["operations"], [0, 1])
        self.assertEqual(broken["verdict"], "unusable")
        self.assertIn(":1:47: ", broken["error"])


if __name__ == "__main__":
    unittest.main()
