#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts what meson's test logs say. Arguments: LABEL=testlog.json … The last line is "N passed, N failed".

A GoogleTest program counts once for each of its test cases, any other test once. Skips are printed with their reasons,
failures with their output. Exit code: 0 when something ran and nothing failed."""
import json
import re
import sys

OUTPUT_LINES_MAX = 200
CASE = re.compile(r"^\[ *(OK|FAILED|SKIPPED) *\] (\S.*) \(\d+ ms\)$")
NOT_REASONS = re.compile(r"^(\S+:\d+: Skipped|\[.*\].*|Running main.*|Note: .*|)$")


def gtest_cases(text):
    """(verdict, name, reason) of each case in a GoogleTest program's output."""
    cases, reason, lines = [], "", text.splitlines()
    for line in lines:
        match = CASE.match(line)
        if match:
            cases.append((match.group(1), match.group(2), reason))
            reason = ""
        elif line.startswith("[ RUN"):
            reason = ""
        elif not NOT_REASONS.match(line):
            reason = line.strip()
    return cases


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


class Summary:
    def __init__(self):
        self.passed = self.failed = 0
        self.skips, self.failures = [], []

    def add(self, label, entry):
        name = f"{label}: {entry['name']}"
        text = entry.get("stdout") or ""
        errors = entry.get("stderr") or ""
        result = entry["result"]
        if result == "SKIP":
            self.skips.append(f"{name}: {last_line(text + chr(10) + errors)}")
            return
        cases = gtest_cases(text)
        failed_cases = [case for case in cases if case[0] == "FAILED"]
        for verdict, case, reason in cases:
            if verdict == "SKIPPED":
                self.skips.append(f"{name}: {case}: {reason}")
        self.passed += sum(1 for case in cases if case[0] == "OK")
        if result in ("OK", "EXPECTEDFAIL"):
            self.passed += 0 if cases else 1
            return
        self.failed += max(1, len(failed_cases))
        self.failures.append((name, result, entry.get("returncode"), text, errors))

    def missing(self, label, path):
        self.failed += 1
        self.failures.append((label, "no test log", None, f"{path} is missing or empty: meson ran no test", ""))

    def show(self, out):
        for name, result, code, text, errors in self.failures:
            print(f"\n==== FAILED {name} ({result}, exit code {code})", file=out)
            for part in (text, errors):
                lines = part.rstrip().splitlines()
                if len(lines) > OUTPUT_LINES_MAX:
                    print(f"[… {len(lines) - OUTPUT_LINES_MAX} lines left out]", file=out)
                for line in lines[-OUTPUT_LINES_MAX:]:
                    print(line, file=out)
        print(file=out)
        for skip in self.skips:
            print(f"skipped: {skip}", file=out)
        for name, result, *_ in self.failures:
            print(f"failed: {name} ({result})", file=out)
        skipped = f", {len(self.skips)} skipped" if self.skips else ""
        print(f"{self.passed} passed, {self.failed} failed{skipped}", file=out)


def main(arguments):
    summary = Summary()
    for argument in arguments:
        label, _, path = argument.partition("=")
        try:
            with open(path, encoding="utf-8") as log:
                entries = [json.loads(line) for line in log if line.strip()]
        except OSError:
            entries = []
        if not entries:
            summary.missing(label, path)
        for entry in entries:
            summary.add(label, entry)
    summary.show(sys.stdout)
    return 0 if summary.failed == 0 and summary.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
