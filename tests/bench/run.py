#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""./txnic bench [NAME…]: runs the named benchmarks, all by default. Rows go to standard output."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import cross_shard  # noqa: E402
import durable  # noqa: E402
import forwarding  # noqa: E402
import overload  # noqa: E402
import recovery  # noqa: E402
from lib.harness import Failure, Skip  # noqa: E402
from lib.hugepages import Hugepages  # noqa: E402
from rows import progress  # noqa: E402

# Name -> what runs it. get and rmw2 share their trials with the forwarding peer.
BENCHMARKS = {"forwarding": forwarding.forwarding, "get": forwarding.get, "rmw2": forwarding.rmw2,
              "cross-shard": cross_shard.main,
              "smallbank": cross_shard.smallbank, "retwis": cross_shard.retwis, "tatp": cross_shard.tatp,
              "durable": durable.main, "recovery": recovery.main, "overload": overload.main}
HUGEPAGES_MIB = 3072


def arguments():
    parser = argparse.ArgumentParser(prog="txnic bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(BENCHMARKS))
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--trials", type=int, default=5, help="trials of each side (5)")
    parser.add_argument("--seconds", type=float, default=4, help="length of one trial (4)")
    parser.add_argument("--no-huge", action="store_true", help="without hugepages even as root")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark called {', '.join(unknown)}; there are {' '.join(BENCHMARKS)}")
    if options.trials < 1 or options.seconds < 1:
        parser.error("at least one trial of one second")
    return options


def main():
    options = arguments()
    failed = []
    with Hugepages(0 if options.no_huge else HUGEPAGES_MIB) as pages:
        options.huge = pages.available and not options.no_huge
        progress("memory: hugepages" if options.huge else f"memory: --no-huge ({pages.why or 'as asked'})")
        for name in options.names or list(BENCHMARKS):
            progress(f"benchmark {name}")
            try:
                BENCHMARKS[name](options)
            except Skip as skip:
                progress(f"{name}: skipped: {skip}")
            except Failure as failure:
                progress(f"{name}: FAILED: {failure}")
                failed.append(name)
    if failed:
        progress(f"failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
