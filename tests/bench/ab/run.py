#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""./txnic ab CONFIG: two sides of one configuration, measured by turns at the same offered loads. A table goes to
standard output, progress to standard error, rows and the report to files."""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../e2e")]

from lib.hugepages import Hugepages  # noqa: E402
from rows import progress  # noqa: E402

from ab import experiment as experiments  # noqa: E402
from ab.compare import Result  # noqa: E402
from ab.message import FormatError  # noqa: E402
from ab.report import write_report  # noqa: E402
from ab.runner import Runner  # noqa: E402
from ab.table import format_table  # noqa: E402
from ab.trial import Machine  # noqa: E402

HUGEPAGES_MIB = 2048
EXIT_FAILED, EXIT_USAGE = 1, 2


def arguments():
    parser = argparse.ArgumentParser(prog="txnic ab", description=__doc__)
    parser.add_argument("config", metavar="CONFIG",
                        help="an experiment, as configs/ab/aa.textproto (schema: configs/ab.proto)")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", metavar="DIR", help="where rows.jsonl and report.html go (build/ab/NAME)")
    parser.add_argument("--no-huge", action="store_true", help="without hugepages even as root")
    parser.add_argument("--dry-run", action="store_true", help="read and check the file, show what would run, end")
    return parser.parse_args()


def describe(experiment):
    load = experiment.load
    print(f"{experiment.settings.name}: {experiment.settings.question}")
    for arm in experiment.arms:
        print(f"  {arm.key:3} {arm.name}")
    for workload in experiment.settings.workload:
        print(f"  workload {experiments.workload_name(workload)}, {workload.records:,} records")
    points = [f"{rate:,.0f}/s" for rate in load.rate] or [f"{share:g} of A's closed loop" for share in load.share]
    print(f"  offered {', '.join(points)}; {load.warmup_seconds:g} s warm-up, {load.seconds:g} s measured")
    trials = len(experiment.arms) * len(experiment.settings.workload) * len(points) * experiment.trials.blocks * 2
    print(f"  {trials} trials, configuration {experiment.hash}, seed {experiment.settings.seed}")


def main():
    options = arguments()
    try:
        experiment = experiments.load(options.config)
    except FormatError as error:
        print(error, file=sys.stderr)
        return EXIT_USAGE
    if options.dry_run:
        describe(experiment)
        return 0
    builds = os.path.dirname(os.path.abspath(options.build))
    folder = options.out or os.path.join(builds, "ab", experiment.settings.name)
    os.makedirs(folder, exist_ok=True)
    with Hugepages(0 if options.no_huge else HUGEPAGES_MIB) as pages:
        huge = pages.available and not options.no_huge
        progress("memory: hugepages" if huge else f"memory: --no-huge ({pages.why or 'as asked'})")
        with open(os.path.join(folder, "rows.jsonl"), "w", encoding="utf-8") as file:
            runner = Runner(experiment, Machine(options.build, huge, options.build), file).run()
    result = Result(experiment, runner.rows, runner.facts, runner.peak, runner.stopped)
    path = os.path.join(folder, "report.html")
    write_report(result, path)
    print(format_table(result))
    print(f"report: {path}\nrows: {os.path.join(folder, 'rows.jsonl')}")
    return EXIT_FAILED if runner.failures or runner.stopped else 0


if __name__ == "__main__":
    sys.exit(main())
