#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""./txnic demo: a bank on one node, killed in the middle, and nothing acknowledged is lost. Ends with one table."""
import argparse
import os
import random
import re
import sys
import time

from lib.harness import TOP, Failure, Scene
from lib.hugepages import Hugepages
from lib.results import Run

ACCOUNTS = 1_000_000
NODE_MEMORY_MIB = 1024
GENERATOR_MEMORY_MIB = 512
CONFIG = os.path.join(TOP, "configs", "smallbank.textproto")


def say(text=""):
    print(text, flush=True)


class Demo:
    def __init__(self, scene, options):
        self.scene = scene
        self.options = options
        self.rows = []   # (what, Run or None, remark)
        self.log = scene.log()
        self.ledger = scene.path("ledger")
        self.accounts = 50_000 if options.quick else ACCOUNTS

    def seconds(self, full):
        return max(1, full // 4) if self.options.quick else full

    def node(self, durability):
        log = self.log if durability != "none" else None
        node = self.scene.node(CONFIG, memory_mib=NODE_MEMORY_MIB, durability=durability, log=log,
                               echo=lambda line: say(f"    txnode | {line}") if "txnic:" in line else None)
        return node.wait_ready(120)

    def generate(self, workload, seconds, **settings):
        return Run(self.scene, workload, duration=seconds, records=self.accounts, memory_mib=GENERATOR_MEMORY_MIB,
                   echo=self.show_generator, **settings)

    @staticmethod
    def show_generator(line):
        """Its live lines; the figures come in the table."""
        if re.match(r"\[|txgen: (loaded|error)|verify: ", line):
            say(f"    txgen  | {line}")

    def row(self, what, run, remark=""):
        self.rows.append((what, run, remark))

    # ---- the story
    def bank_in_sync(self):
        say(f"\n1. {self.accounts:,} accounts, SmallBank, mode sync: every answer waits for the disk")
        node = self.node("sync")
        run = self.generate("smallbank", self.seconds(12), ledger=self.ledger)
        run.expect_good(180)
        self.row("smallbank, sync", run, "money conserved")
        node.stop()

    def rates_without_log(self):
        say("\n2. get and rmw2, mode none: no disk, every other promise kept")
        node = self.node("none")
        for workload in ("get", "rmw2"):
            run = self.generate(workload, self.seconds(8))
            run.expect_good(120)
            self.row(f"{workload}, none", run)
        node.stop()

    def crash(self):
        say("\n3. SmallBank in mode sync again, from the recovered log; kill -9 in the middle")
        node = self.node("sync")
        run = self.generate("smallbank", 60, ledger=self.ledger, no_load=True, give_up=1)
        run.wait_started()
        time.sleep(self.seconds(8) + random.random())  # the random moment
        node.kill()
        say(f"    kill -9 of txnode (pid {node.pid})")
        run.expect_node_lost(60)
        self.row("smallbank, sync, killed", run, f"{run.unknown_in_all:,} outcomes unknown")
        say("\n4. restart: recovery, then every acknowledged transaction is looked for")
        began = time.monotonic()
        node = self.node("sync")
        ready = time.monotonic() - began
        recovered = node.find(r"recover.*")
        if recovered:
            say(f"    {recovered.group(0)}")
        check = self.generate("smallbank", None, verify=self.ledger)
        check.expect_good(120)
        self.row("verified after kill -9", None, f"nothing acknowledged was lost (ready after {ready:.1f} s)")
        say("\n5. and on")
        run = self.generate("smallbank", self.seconds(8), ledger=self.ledger, no_load=True)
        run.expect_good(120)
        self.row("smallbank, sync, again", run, "money conserved, from the first transaction on")
        node.stop()

    def table(self):
        head = ("", "transactions/s", "goodput/s", "conflicts/s", "p50 us", "p99 us", "p99.9 us", "check")
        lines = [head]
        for what, run, remark in self.rows:
            figures = ("", "", "", "", "", "") if run is None else (
                f"{run.throughput:,.0f}", f"{run.goodput:,.0f}", f"{run.conflicts_per_second:,.0f}",
                f"{run.p50_us:,.0f}", f"{run.p99_us:,.0f}", f"{run.p999_us:,.0f}")
            lines.append((what, *figures, remark))
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        say()
        for number, line in enumerate(lines):
            cells = [cell.ljust(width) if column in (0, len(head) - 1) else cell.rjust(width)
                     for column, (cell, width) in enumerate(zip(line, widths))]
            say("  ".join(cells).rstrip())
            if number == 0:
                say("-" * (sum(widths) + 2 * (len(widths) - 1)))


def arguments():
    parser = argparse.ArgumentParser(prog="txnic demo", description=__doc__)
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--quick", action="store_true", help="fewer accounts, a quarter of the time")
    parser.add_argument("--no-huge", action="store_true", help="without hugepages even as root")
    return parser.parse_args()


def main():
    options = arguments()
    began = time.monotonic()
    with Hugepages(0 if options.no_huge else NODE_MEMORY_MIB + GENERATOR_MEMORY_MIB) as pages:
        huge = pages.available and not options.no_huge
        say("memory: hugepages, given back at the end" if huge else
            f"memory: ordinary pages, --no-huge ({pages.why or 'as asked'}); about a tenth slower")
        try:
            with Scene(options.build, huge=huge, place=options.build) as scene:
                demo = Demo(scene, options)
                demo.bank_in_sync()
                demo.rates_without_log()
                demo.crash()
                demo.table()
        except Failure as failure:
            say(f"\nFAILED: {failure}")
            return 1
    say(f"\nAll checks passed, in {time.monotonic() - began:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
