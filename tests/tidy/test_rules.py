#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shows that each rule of rules.py, purity.py and summary.py can fail, and that good text passes."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import purity  # noqa: E402
import rules  # noqa: E402
import summary  # noqa: E402

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
LONG_BODY = "  step();\n" * 120


def problems(path, text):
    return list(rules.check_text(path, text))


class Includes(unittest.TestCase):
    def refused(self, path, line, part):
        found = problems(path, SPDX + line + "\n")
        self.assertTrue(any(part in problem and f"{path}:2:" in problem for problem in found), (path, line, found))

    def allowed(self, path, line):
        self.assertEqual(problems(path, SPDX + line + "\n"), [])

    def test_arrows_against_the_table(self):
        for path, header in (("txn/a.h", "offload/back.h"), ("offload/a.h", "host/store/shard.h"),
                             ("offload/a.cc", "dataplane/loop.h"), ("dataplane/a.cc", "host/log/disk.h"),
                             ("host/store/a.cc", "host/log/disk.h"), ("host/store/a.cc", "offload/front.h"),
                             ("host/log/a.cc", "host/store/shard.h"), ("host/control/a.cc", "offload/back.h"),
                             ("host/client/a.cc", "host/control/config.h"), ("pktgen/a.cc", "host/store/shard.h"),
                             ("host/back/a.cc", "dataplane/loop.h"), ("pktgen/a.cc", "offload/front.h"),
                             ("txn/a.cc", "tests/support/x.h"), ("host/apps/a.cc", "tests/support/x.h")):
            self.refused(path, f'#include "{header}"', "may not include")

    def test_arrows_of_the_table(self):
        for path, header in (("txn/wire/a.cc", "txn/types.h"), ("offload/a.h", "txn/types.h"),
                             ("host/store/a.cc", "offload/back.h"), ("host/back/a.h", "offload/front.h"),
                             ("host/apps/a.cc", "host/store/shard.h"), ("pktgen/a.cc", "host/client/client.h"),
                             ("tests/unit/a.cc", "tests/support/x.h"), ("dataplane/a.h", "dataplane/modes/mode.h")):
            self.allowed(path, f'#include "{header}"')

    def test_relative_includes(self):
        self.refused("txn/a.cc", '#include "../offload/back.h"', "from the root")

    def test_outside_libraries(self):
        for path, header in (("host/store/a.cc", "rte_mbuf.h"), ("pktgen/load/a.cc", "rte_cycles.h"),
                             ("offload/a.h", "tbb/parallel_for.h"), ("host/back/a.cc", "liburing.h"),
                             ("host/back/a.cc", "isa-l.h"), ("dataplane/a.cc", "google/protobuf/message.h"),
                             ("host/store/a.cc", "sys/socket.h"), ("host/log/a.cc", "gtest/gtest.h")):
            self.refused(path, f"#include <{header}>", "may not touch")
        for path, header in (("dataplane/a.cc", "rte_mbuf.h"), ("host/log/a.cc", "liburing.h"),
                             ("host/control/a.cc", "google/protobuf/message.h"), ("tests/unit/a.cc", "rte_eal.h")):
            self.allowed(path, f"#include <{header}>")

    def test_the_core_is_pure(self):
        for header in ("chrono", "random", "thread", "cstdio", "sys/time.h", "fstream"):
            self.refused("txn/a.h", f"#include <{header}>", "is pure")
            self.refused("offload/a.h", f"#include <{header}>", "is pure")


class Texts(unittest.TestCase):
    def refused(self, path, text, part):
        self.assertTrue(any(part in problem for problem in problems(path, text)), (text[:200], part))

    def test_good(self):
        self.assertEqual(problems("txn/a.cc", SPDX + "int f() {\n  return 1;\n}\n"), [])

    def test_spdx(self):
        for path in ("txn/a.cc", "tests/a.py", "txn/meson.build", "configs/a.textproto", "txnic", ".ci/run"):
            self.refused(path, "x = 1\n", "SPDX")

    def test_file_length(self):
        self.refused("txn/a.cc", SPDX + "\n" * 501, "lines; a file")

    def test_lines(self):
        self.refused("txn/a.cc", SPDX + "x" * 121 + "\n", "121 columns")
        self.refused("txn/a.cc", SPDX + "x \n", "white space")
        self.refused("txn/a.cc", SPDX + "\tx\n", "a tab")
        self.refused("txn/a.cc", SPDX + "x", "no newline")
        self.assertEqual(problems("docs/a.md", "x" * 200 + "\n"), [])

    def test_words(self):
        self.refused("docs/a.md", "// TO" + "DO: later\n", "leftover marker")
        self.refused("docs/a.md", "see /wo" + "rk/main\n", "path of one machine")
        self.refused("docs/a.md", "from pypi" + ".org\n", "registry")
        self.assertEqual(problems("docs/a.md", "docs/wo" + "rk/x and build/ro" + "ot/y\n"), [])

    def test_function_length(self):
        body = LONG_BODY
        for head in ("void f() {\n", "int C::f(int a) const noexcept {\n", "auto f() -> int {\n", "C::C() : a_(1) {\n",
                     "TEST(A, B) {\n", "namespace a {\nvoid f(int a,\n       int b) {\n"):
            tail = "}\n}\n" if head.startswith("namespace") else "}\n"
            self.refused("txn/a.cc", SPDX + head + body + tail, "a function of 12")
        self.refused("tests/a.py", "# SPDX-License-Identifier: BSD-3-Clause\ndef f():\n" + "    x = 1\n" * 120,
                     "a function of 121")

    def test_long_things_that_are_no_functions(self):
        for head in ("namespace a {\n", "class A : public B {\n", "struct A {\n"):
            self.assertEqual(problems("txn/a.cc", SPDX + head + "  int a;\n" * 120 + "}\n"), [])
        short = "void f() {\n  if (a) {\n    b('{');\n  }\n  c(\"}{\");\n}\n"
        self.assertEqual(problems("txn/a.cc", SPDX + short * 50), [])

    def test_readmes(self):
        paths = ["README.md", "txn/README.md", "txn/a.cc", "host/README.md", "host/log/a.cc", ".ci/run"]
        self.assertEqual([problem.split(":")[0] for problem in rules.check_readmes(paths)], ["host/log/"])
        self.assertEqual(list(rules.check_readmes(["txnic"])), ["README.md: missing at the top"])


class Purity(unittest.TestCase):
    def test_forbidden_symbols(self):
        for symbol in ("clock_gettime", "malloc", "_Znwm", "_ZdlPvm", "rand", "read", "syscall", "pthread_mutex_lock",
                       "_ZNSt6chrono3_V212steady_clock3nowEv", "rte_rdtsc", "time", "abort"):
            self.assertEqual(purity.forbidden({symbol}, set()), [symbol], symbol)

    def test_allowed_symbols(self):
        for symbol in ("memcpy", "memset", "memcmp", "memmove", "__stack_chk_fail", "__assert_fail",
                       "_GLOBAL_OFFSET_TABLE_", "__popcountdi2"):
            self.assertEqual(purity.forbidden({symbol}, set()), [], symbol)
        self.assertEqual(purity.forbidden({"_ZN5txnic1fEv"}, {"_ZN5txnic1fEv"}), [])

    def test_nm_lines(self):
        text = "x.o:\n                 U malloc@GLIBC_2.2\n0000000000000000 T f\n0000000000000000 W g\n w h\n"
        self.assertEqual(purity.parse(text), ({"malloc", "h"}, {"f", "g"}))


class Summary(unittest.TestCase):
    def run_one(self, result, text="", code=0):
        counted = summary.Summary()
        counted.add("x", {"name": "n", "result": result, "stdout": text, "returncode": code})
        return counted.passed, counted.failed, len(counted.skips)

    def test_counts(self):
        text = ("[ RUN      ] A.a\n[       OK ] A.a (0 ms)\n[ RUN      ] A.b\nx.cc:1: Skipped\nno root\n"
                "[  SKIPPED ] A.b (0 ms)\n")
        self.assertEqual(self.run_one("OK", text), (1, 0, 1))
        self.assertEqual(self.run_one("FAIL", text + "[  FAILED  ] A.c (1 ms)\n[  FAILED  ] A.c\n", 1), (1, 1, 1))
        self.assertEqual(self.run_one("FAIL", text, -11), (1, 1, 1))
        self.assertEqual(self.run_one("OK"), (1, 0, 0))
        self.assertEqual(self.run_one("TIMEOUT"), (0, 1, 0))
        self.assertEqual(self.run_one("ERROR"), (0, 1, 0))
        self.assertEqual(self.run_one("SKIP", "needs root\n", 77), (0, 0, 1))

    def test_skip_reason(self):
        cases = summary.gtest_cases("[ RUN      ] A.b\nx.cc:1: Skipped\nno root\n\n[  SKIPPED ] A.b (0 ms)\n")
        self.assertEqual(cases, [("SKIPPED", "A.b", "no root")])


if __name__ == "__main__":
    unittest.main()
